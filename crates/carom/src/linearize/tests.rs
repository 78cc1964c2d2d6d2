use std::path::Path;

use super::{
    ForwardMode, Layout, Linearization, Tangent, acceleration, covers, step, step_by_formulas,
};
use crate::data::Data;
use crate::dual::{Dual, LANES};
use crate::dynamics;
use crate::integrate;
use crate::model::{Family, Integrator, JointKind, Model, Quantity};
use crate::stages::solve;
use crate::state::{Input, State};
use crate::testing::{
    Random, every_joint_law, model_from_file, model_from_mjcf, random_input, random_model,
    random_state,
};

/// A and B by dual numbers through the whole step.
fn by_duals(model: &Model, state: &State, input: &Input) -> (Vec<f64>, Vec<f64>) {
    let layout = Layout::new(model, 0);
    let size = layout.control();
    let (mut a, mut b) = (vec![0.0; size * size], vec![0.0; size * layout.inputs]);
    ForwardMode::new(model).linearize(state, input, &layout, (&mut a, &mut b));
    (a, b)
}

/// Asserts that the formulas cover this step and agree with dual numbers.
fn assert_exact(name: &str, model: &Model, state: &State, input: &Input) {
    let mut data = Data::new(model);
    dynamics::forward(model, state, input, &mut data);
    assert!(covers(model, &data), "{name}: not covered");
    let mut found = Linearization::new(model);
    step(model, state, input, &mut data, &mut found);
    let (a, b) = by_duals(model, state, input);
    assert_matrix(&format!("{name}, A"), &found.a, &a, found.size());
    assert_matrix(&format!("{name}, B"), &found.b, &b, model.counts().nu);
    assert_numbers_exact(name, model, state, input);
}

/// Quantities that the formulas may cover.
const NUMBERS: [Quantity; 20] = [
    Quantity::JointLawParameter,
    Quantity::DofDamping,
    Quantity::DofDampingPoly,
    Quantity::DofArmature,
    Quantity::DofFrictionloss,
    Quantity::DofInverseWeight,
    Quantity::JointStiffness,
    Quantity::JointStiffnessPoly,
    Quantity::QposSpring,
    Quantity::ActuatorGain,
    Quantity::ActuatorBias,
    Quantity::OptionGravity,
    Quantity::BodyMass,
    Quantity::BodyInertialPosition,
    Quantity::BodyInertialQuat,
    Quantity::BodyInertia,
    Quantity::BodyInertiaProducts,
    Quantity::BodyInverseWeight,
    Quantity::TendonInverseWeight,
    // Never covered: what moves geoms.
    Quantity::GeomSize,
];

/// A model in which the numbers of some fields change, each field along its lane, as far as the formulas may cover them.
fn varied_model(model: &Model, fields: &[Quantity]) -> Model<Dual<LANES>> {
    let mut random = Random::new(3);
    let mut varied = model.map(Dual::constant);
    let joints = model.structure.joints.clone();
    let is_straight =
        |joint: usize| matches!(joints.kind[joint], JointKind::Hinge | JointKind::Slide);
    let joint_at = |at: usize| joints.qpos.iter().rposition(|&first| first <= at).unwrap();
    varied.for_each_mut(|quantity, element, component, number| {
        let Some(lane) = fields.iter().position(|&known| known == quantity) else {
            return;
        };
        let is_free = match quantity.family() {
            Family::Joints => is_straight(element),
            Family::Qpos => is_straight(joint_at(element)),
            Family::Actuators => component < 3,
            Family::Bodies => element > 0,
            _ => true,
        };
        if is_free {
            number.tangent[lane] = random.next() * (0.1 + number.value.abs());
        }
    });
    for quat in &mut varied.bodies.inertial_quat {
        // Tangential: a change of direction alone.
        for lane in 0..LANES {
            let along: f64 = (0..4)
                .map(|k| quat.0[k].value * quat.0[k].tangent[lane])
                .sum();
            for k in 0..4 {
                quat.0[k].tangent[lane] -= along * quat.0[k].value;
            }
        }
    }
    varied
}

/// The changes of the next state along the directions of a model over dual numbers.
fn changes_by_duals(
    model: &Model<Dual<LANES>>,
    plain: (&Model, &State, &Input),
) -> Vec<Dual<LANES>> {
    let mut state = dual_state(plain.0, plain.1);
    let mut data = Data::new(model);
    integrate::step(model, &mut state, &dual_input(plain.0, plain.2), &mut data);
    let end: Vec<_> = (state.qpos.iter())
        .map(|number| Dual::constant(number.value))
        .collect();
    let mut change = vec![Dual::constant(0.0); plain.0.counts().nv];
    integrate::difference(model, &end, &state.qpos, &mut change);
    change.extend(&state.qvel);
    change.extend(&state.act);
    change
}

/// Asserts that the columns of all numbers that are covered agree with dual numbers.
fn assert_numbers_exact(name: &str, model: &Model, state: &State, input: &Input) -> usize {
    let covered: Vec<_> = (NUMBERS.into_iter())
        .filter(|&field| {
            let varied = varied_model(model, &[field]);
            Linearization::along(model, &[varied], 1).is_some()
        })
        .collect();
    let has_geoms = model.counts().ngeom > 0;
    assert!(
        !(has_geoms && covered.contains(&Quantity::GeomSize)),
        "{name}"
    );
    let varied: Vec<_> = covered
        .chunks(LANES)
        .map(|fields| varied_model(model, fields))
        .collect();
    let mut found = Linearization::along(model, &varied, covered.len()).unwrap();
    let mut data = Data::new(model);
    dynamics::forward(model, state, input, &mut data);
    assert!(
        step_by_formulas(model, state, input, &mut data, &mut found),
        "{name}"
    );
    let (inputs, nu) = (found.inputs(), model.counts().nu);
    for (index, field) in covered.iter().enumerate() {
        let expected = changes_by_duals(&varied[index / LANES], (model, state, input));
        let expected: Vec<f64> = expected
            .iter()
            .map(|number| number.tangent[index % LANES])
            .collect();
        let actual: Vec<f64> = (0..found.size())
            .map(|row| found.b[row * inputs + nu + index])
            .collect();
        let scale = expected.iter().fold(1e-4_f64, |max, x| max.max(x.abs()));
        for (row, (a, e)) in actual.iter().zip(&expected).enumerate() {
            let error = (a - e).abs() / scale;
            assert!(
                error < 1e-8,
                "{name}, {field:?}, row {row}: {a} instead of {e}"
            );
        }
    }
    covered.len()
}

fn assert_matrix(name: &str, actual: &[f64], expected: &[f64], width: usize) {
    let scale = expected.iter().fold(1.0_f64, |max, x| max.max(x.abs()));
    for (index, (a, e)) in actual.iter().zip(expected).enumerate() {
        let error = (a - e).abs() / scale;
        let (row, column) = (index / width, index % width);
        assert!(
            error < 1e-9,
            "{name} at ({row}, {column}): {a} instead of {e}"
        );
    }
}

/// The acceleration's derivatives by duals through the forward pass: by generalised forces.
fn assert_force_response(name: &str, model: &Model, state: &State, input: &Input) {
    let mut data = Data::new(model);
    dynamics::forward(model, state, input, &mut data);
    let mut room = Linearization::new(model);
    let found = acceleration(model, state, input, &mut data, &mut room).expect(name);
    let nv = model.counts().nv;
    let dual = model.map(Dual::<LANES>::constant);
    let mut dual_data = Data::new(&dual);
    let mut expected = vec![0.0; nv * nv];
    for column in 0..nv {
        let (dual_state, mut dual_input) = (dual_state(model, state), dual_input(model, input));
        dual_input.force[column].tangent[0] = 1.0;
        dynamics::forward(&dual, &dual_state, &dual_input, &mut dual_data);
        for row in 0..nv {
            expected[row * nv + column] = dual_data.solve.qacc[row].tangent[0];
        }
    }
    assert_matrix(name, found.by_force, &expected, nv);
}

fn dual_state(model: &Model, state: &State) -> State<Dual<LANES>> {
    let mut dual = State::reference(&model.map(Dual::constant));
    let parts = [
        (&mut dual.qpos, &state.qpos),
        (&mut dual.qvel, &state.qvel),
        (&mut dual.act, &state.act),
        (&mut dual.warmstart, &state.warmstart),
    ];
    for (to, from) in parts {
        for (to, &from) in to.iter_mut().zip(from) {
            *to = Dual::constant(from);
        }
    }
    dual
}

fn dual_input(model: &Model, input: &Input) -> Input<Dual<LANES>> {
    let mut dual = Input::zeros(&model.map(Dual::constant));
    for (to, from) in [
        (&mut dual.ctrl, &input.ctrl),
        (&mut dual.force, &input.force),
    ] {
        for (to, &from) in to.iter_mut().zip(from) {
            *to = Dual::constant(from);
        }
    }
    for (to, from) in dual.body_force.iter_mut().zip(&input.body_force) {
        *to = from.map(Dual::constant);
    }
    dual
}

#[test]
fn forces_move_as_dual_numbers_say() {
    for seed in 0..10 {
        let model = random_model(seed, 7);
        let (state, input) = (random_state(seed, &model), random_input(seed, &model));
        assert_force_response(&format!("seed {seed}"), &model, &state, &input);
    }
    let mut model = model_from_mjcf(&format!(
        r#"<mujoco><compiler angle="degree"/>{SCENE}</mujoco>"#
    ));
    solve::tighten(&mut model);
    let (mut state, input) = (State::reference(&model), Input::zeros(&model));
    let mut data = Data::new(&model);
    for _ in 0..100 {
        integrate::step(&model, &mut state, &input, &mut data);
    }
    assert!(data.collision.contacts.len() > 8);
    assert_force_response("scene", &model, &state, &input);
}

/// Without implicit damping, the velocity of the next state is v + h·a.
#[test]
fn the_acceleration_alone_is_that_of_the_step() {
    let mut model = random_model(4, 7);
    model.settings.integrator = Integrator::Euler;
    model.settings.disable.eulerdamp = true;
    let (state, input) = (random_state(4, &model), random_input(4, &model));
    let (a, b) = by_duals(&model, &state, &input);
    let mut data = Data::new(&model);
    dynamics::forward(&model, &state, &input, &mut data);
    let mut room = Linearization::new(&model);
    let found = acceleration(&model, &state, &input, &mut data, &mut room).unwrap();
    let (h, n) = (model.option.timestep[0], model.counts());
    let size = 2 * n.nv + n.na;
    for dof in 0..n.nv {
        let mut actual = [found.by_qpos(dof), found.by_qvel(dof), found.by_act(dof)].concat();
        for rate in &mut actual {
            *rate *= h;
        }
        actual[n.nv + dof] += 1.0;
        let row = n.nv + dof;
        assert_matrix("A", &actual, &a[row * size..(row + 1) * size], size);
        let actual: Vec<f64> = found.by_ctrl(dof).iter().map(|rate| rate * h).collect();
        assert_matrix("B", &actual, &b[row * n.nu..(row + 1) * n.nu], n.nu);
    }
}

#[test]
fn free_mechanisms_agree_with_dual_numbers() {
    for seed in 0..30 {
        let mut model = random_model(seed, 7);
        let (state, input) = (random_state(seed, &model), random_input(seed, &model));
        for integrator in [
            Integrator::Euler,
            Integrator::ImplicitFast,
            Integrator::Implicit,
        ] {
            model.settings.integrator = integrator;
            for eulerdamp in [false, true] {
                model.settings.disable.eulerdamp = eulerdamp;
                let name = format!("seed {seed}, {integrator:?}, {eulerdamp}");
                assert_exact(&name, &model, &state, &input);
            }
        }
    }
}

/// A scene of many contacts, from which a few steps are made.
fn assert_exact_along(name: &str, mjcf: &str, steps: usize, every: usize) {
    let mut model = model_from_mjcf(mjcf);
    solve::tighten(&mut model);
    let mut random = Random::new(5);
    let (mut state, mut input) = (State::reference(&model), Input::zeros(&model));
    let mut data = Data::new(&model);
    for control in &mut input.ctrl {
        *control = random.next();
    }
    for velocity in &mut state.qvel {
        *velocity = 0.3 * random.next();
    }
    for index in 0..steps {
        if index % every == every - 1 {
            assert_exact(&format!("{name}, step {index}"), &model, &state, &input);
        }
        integrate::step(&model, &mut state, &input, &mut data);
    }
}

const SCENE: &str = r#"<worldbody><geom type="plane" size="2 2 1"/>
  <body pos="0 0 .18"><freejoint/><geom type="box" size=".1 .12 .08" mass=".5"/></body>
  <body pos=".03 .02 .36"><freejoint/><geom type="box" size=".1 .12 .08" euler="2 3 20" mass=".5"/></body>
  <body pos=".5 0 .12"><freejoint/><geom type="sphere" size=".1"/></body>
  <body pos=".45 .05 .28"><freejoint/><geom type="capsule" size=".05 .1" euler="70 10 0"/></body>
  <body pos="-.5 0 .2"><joint type="ball"/><geom type="capsule" fromto="0 0 0 .2 0 -.1" size=".04"/>
    <body pos=".2 0 -.1"><joint axis="0 1 0" damping=".1" range="-40 40" frictionloss=".01"/>
      <geom type="capsule" fromto="0 0 0 .2 0 -.1" size=".04"/></body></body>
</worldbody>"#;

#[test]
fn contacts_agree_with_dual_numbers() {
    for cone in ["pyramidal", "elliptic"] {
        for dimension in [1, 3, 4, 6] {
            let mjcf = format!(
                r#"<mujoco><option cone="{cone}" impratio="2"/><compiler angle="degree"/>
                  <default><geom condim="{dimension}" friction=".6 .02 .01"/></default>{SCENE}</mujoco>"#
            );
            assert_exact_along(&format!("{cone} {dimension}"), &mjcf, 200, 25);
        }
    }
}

#[test]
fn contacts_under_implicit_integrators_agree_with_dual_numbers() {
    for integrator in ["implicitfast", "implicit"] {
        for medium in ["", r#"density="300" viscosity=".2" wind=".3 .2 .1""#] {
            let mjcf = format!(
                r#"<mujoco><option integrator="{integrator}" {medium}/><compiler angle="degree"/>{SCENE}</mujoco>"#
            );
            assert_exact_along(&format!("{integrator} {medium}"), &mjcf, 200, 25);
        }
    }
}

#[test]
fn every_pair_of_shapes_agrees_with_dual_numbers() {
    let kinds = [
        r#"type="sphere" size=".1""#,
        r#"type="capsule" size=".08 .1""#,
        r#"type="ellipsoid" size=".08 .1 .12""#,
        r#"type="cylinder" size=".08 .1""#,
        r#"type="box" size=".08 .1 .12""#,
        r#"type="mesh" mesh="wedge""#,
    ];
    let mut pairs = Vec::new();
    for (index, first) in kinds.iter().enumerate() {
        let plane = r#"<geom type="plane" size="1 1 1"/><body pos="0 0 .07" euler="10 20 30">"#;
        pairs.push(format!("{plane}<freejoint/><geom {first}/></body>"));
        for second in &kinds[index..] {
            pairs.push(format!(
                r#"<body pos="0 0 0"><freejoint/><geom {first}/></body>
                  <body pos=".02 .03 .13" euler="10 20 30"><freejoint/><geom {second}/></body>"#
            ));
        }
    }
    for bodies in pairs {
        let mjcf = format!(
            r#"<mujoco><asset><mesh name="wedge" vertex="-.1 -.1 -.1 .1 -.1 -.1 0 .1 -.1 0 0 .12"/></asset>
              <worldbody>{bodies}</worldbody></mujoco>"#
        );
        let mut model = model_from_mjcf(&mjcf);
        solve::tighten(&mut model);
        let (mut state, input) = (State::reference(&model), Input::zeros(&model));
        let mut random = Random::new(5);
        for velocity in &mut state.qvel {
            *velocity = 0.3 * random.next();
        }
        let mut data = Data::new(&model);
        dynamics::forward(&model, &state, &input, &mut data);
        assert!(!data.collision.contacts.is_empty(), "{bodies}");
        assert_exact(&bodies, &model, &state, &input);
    }
}

#[test]
fn runge_kutta_agrees_with_dual_numbers() {
    for seed in 0..10 {
        let mut model = random_model(seed, 6);
        model.settings.integrator = Integrator::RungeKutta4;
        let (state, input) = (random_state(seed, &model), random_input(seed, &model));
        assert_exact(&format!("seed {seed}"), &model, &state, &input);
    }
    let mjcf =
        format!(r#"<mujoco><option integrator="RK4"/><compiler angle="degree"/>{SCENE}</mujoco>"#);
    assert_exact_along("scene", &mjcf, 60, 20);
}

/// States of all shipped models under random controls.
fn shipped(mut check: impl FnMut(&str, &Model, &State, &Input)) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../models");
    let folders = [folder.clone(), folder.join("features")];
    let mut files: Vec<_> = (folders.iter())
        .flat_map(|folder| std::fs::read_dir(folder).unwrap())
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|ending| ending == "xml"))
        .collect();
    files.sort();
    for path in files {
        let mut model = model_from_file(&path);
        solve::tighten(&mut model);
        let mut random = Random::new(11);
        let (mut state, mut input) = (State::reference(&model), Input::zeros(&model));
        for control in &mut input.ctrl {
            *control = 0.4 * random.next();
        }
        for velocity in &mut state.qvel {
            *velocity = 0.2 * random.next();
        }
        let mut data = Data::new(&model);
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        for step in 0..=40 {
            if step % 20 == 0 {
                check(&format!("{name}, step {step}"), &model, &state, &input);
            }
            integrate::step(&model, &mut state, &input, &mut data);
        }
    }
}

#[test]
fn numbers_of_joints_bodies_and_servos_are_covered() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../models");
    for name in ["arm7", "pendulum", "double_pendulum", "hand"] {
        let model = model_from_file(&folder.join(name).with_extension("xml"));
        for field in NUMBERS.into_iter().take(NUMBERS.len() - 1) {
            let varied = varied_model(&model, &[field]);
            let found = Linearization::along(&model, &[varied], 1);
            assert!(found.is_some(), "{name}, {field:?}");
        }
    }
}

#[test]
fn shipped_models_agree_with_dual_numbers() {
    let mut covered = Vec::new();
    shipped(|name, model, state, input| {
        let mut data = Data::new(model);
        dynamics::forward(model, state, input, &mut data);
        if covers(model, &data) {
            assert_exact(name, model, state, input);
            covered.push(name.to_owned());
        }
    });
    for name in [
        "humanoid",
        "hand",
        "quadruped",
        "arm7",
        "muscle_arm",
        "cube",
        "terrain",
        "gem",
    ] {
        let found = covered.iter().any(|covered| covered.starts_with(name));
        assert!(found, "{name} is not covered; {covered:?} are");
    }
}

#[test]
fn products_with_directions_are_those_of_the_matrices() {
    let model = random_model(3, 6);
    let (state, input) = (random_state(3, &model), random_input(3, &model));
    let (a, b) = by_duals(&model, &state, &input);
    let mut random = Random::new(2);
    let mut direction = Tangent::zeros(&model);
    for part in [
        &mut direction.qpos,
        &mut direction.qvel,
        &mut direction.act,
        &mut direction.ctrl,
    ] {
        part.fill_with(|| random.next());
    }
    let mut change = Tangent::zeros(&model);
    ForwardMode::new(&model).jvp(&state, &input, &direction, &mut change);
    let x = [&*direction.qpos, &direction.qvel, &direction.act].concat();
    let actual = [&*change.qpos, &change.qvel, &change.act].concat();
    let dot = |row: &[f64], x: &[f64]| -> f64 { row.iter().zip(x).map(|(a, x)| a * x).sum() };
    for (row, actual) in actual.iter().enumerate() {
        let nu = direction.ctrl.len();
        let expected = dot(&a[row * x.len()..(row + 1) * x.len()], &x)
            + dot(&b[row * nu..(row + 1) * nu], &direction.ctrl);
        assert!((actual - expected).abs() < 1e-10 * (1.0 + expected.abs()));
    }
}

#[test]
fn the_change_along_numbers_of_the_model_is_that_of_differences() {
    let model = model_from_mjcf(
        r#"<mujoco><worldbody><body><joint axis="0 1 0" damping=".2"/><geom size=".1" pos=".3 0 0" mass="2"/>
          </body></worldbody></mujoco>"#,
    );
    let mut state = State::reference(&model);
    state.qvel[0] = 0.7;
    let input = Input::zeros(&model);
    let mut direction = model.map(|_| 0.0);
    direction.dofs.damping[0] = 1.0;
    let mut change = Tangent::zeros(&model);
    ForwardMode::new(&model).jvp_of_model(&state, &input, (&model, &direction), &mut change);
    let end = |by: f64| {
        let mut model = model.clone();
        model.dofs.damping[0] += by;
        let (mut state, mut data) = (state.clone(), Data::new(&model));
        integrate::step(&model, &mut state, &input, &mut data);
        state.qvel[0]
    };
    let expected = (end(1e-6) - end(-1e-6)) / 2e-6;
    assert!(expected.abs() > 1e-4 && (change.qvel[0] - expected).abs() < 1e-8);
}

const JOINED: &str = r#"<worldbody>
  <body name="a" pos="0 0 .5"><freejoint/><geom size=".1" pos=".03 0 0"/><site name="sa" pos=".1 0 .02" euler="10 20 30"/>
    <body name="b" pos=".2 0 0"><joint name="j1" axis="0 1 0" damping=".1"/><geom type="capsule" size=".04 .1"/>
      <body name="c" pos=".2 0 .05"><joint type="ball"/><geom type="box" size=".05 .06 .07"/><site name="sc" euler="0 40 0"/></body></body></body>
  <body name="d" pos=".1 .3 .6" euler="0 20 40"><joint name="j2" type="slide" axis="1 0 0"/><joint name="j3" axis="0 0 1"/>
    <geom type="box" size=".05 .06 .07"/>
    <body pos="0 .2 0"><joint name="j4" axis="1 0 0"/><geom size=".05"/></body></body>
  <body name="e" pos=".4 0 .3"><freejoint/><geom type="box" size=".05 .06 .07"/></body></worldbody>
  <tendon><fixed name="t1"><joint joint="j3" coef=".5"/><joint joint="j4" coef="-.7"/></fixed>
    <fixed name="t2"><joint joint="j2" coef=".8"/><joint joint="j4" coef=".3"/></fixed></tendon>
  <equality><connect body1="a" body2="d" anchor=".1 .2 0"/><connect site1="sa" site2="sc"/>
    <weld body1="c" body2="e" torquescale=".7" relpose=".1 0 0 .9 .1 .2 0"/><weld site1="sc" site2="sa"/><weld body1="b"/>
    <joint joint1="j2" joint2="j3" polycoef=".1 .5 .3 -.2 .1"/><joint joint1="j1" polycoef=".2 0 0 0 0"/>
    <tendon tendon1="t1" tendon2="t2" polycoef=".05 .6 .4 .2 -.1"/></equality>"#;

#[test]
fn laws_of_joints_agree_with_dual_numbers() {
    for integrator in ["Euler", "implicitfast", "implicit", "RK4"] {
        let option = format!(r#"integrator="{integrator}""#);
        assert_exact_along(integrator, &every_joint_law(&option), 30, 10);
    }
}

#[test]
fn equalities_agree_with_dual_numbers() {
    for integrator in ["Euler", "implicitfast", "implicit", "RK4"] {
        let mjcf = format!(r#"<mujoco><option integrator="{integrator}"/>{JOINED}</mujoco>"#);
        assert_exact_along(integrator, &mjcf, 30, 10);
    }
}

const STRINGS: &str = r#"<worldbody><site name="ceiling" pos="0 .1 1"/>
  <body pos="0 0 .6"><joint name="base" type="ball" damping=".01"/><geom size=".05" pos="0 0 -.1"/><site name="s0" pos=".05 0 -.1"/>
    <geom name="drum" type="cylinder" size=".04 .1" pos="0 0 -.2" euler="80 10 0" contype="0" conaffinity="0"/>
    <site name="side" pos="0 .08 -.2"/>
    <body pos=".1 0 -.3"><joint name="left" axis="0 1 0"/><geom type="capsule" size=".03 .08"/><site name="s1" pos=".02 .05 -.05"/>
      <body pos="0 0 -.2"><joint name="left2" axis="1 .2 0"/><geom size=".04"/><site name="s2" pos="0 .03 0"/></body></body>
    <body pos="-.1 0 -.3"><joint name="right" axis="0 1 .3"/><geom type="capsule" size=".03 .08"/><site name="s3" pos="0 -.05 .05"/>
      <geom name="ball" size=".05" pos="0 0 -.15" contype="0" conaffinity="0"/>
      <body pos="0 0 -.3"><joint name="right2" axis="1 0 0"/><geom size=".03"/><site name="s4" pos="0 .09 0"/></body></body></body>
  <body pos=".5 0 .5"><freejoint/><geom type="box" size=".05 .06 .07"/><site name="s5" pos=".02 .03 .05" euler="20 30 40"/></body></worldbody>
  <tendon>
    <spatial name="cable" stiffness="30 4 2" damping=".02 .01 .01" springlength=".1 .2"><site site="ceiling"/><site site="s0"/><site site="s1"/></spatial>
    <spatial name="belt" limited="true" range="0 .3" frictionloss=".02" damping=".01"><site site="s1"/><geom geom="drum" sidesite="side"/><site site="s3"/></spatial>
    <spatial name="chain" range="0 .2"><site site="s3"/><geom geom="ball"/><site site="s4"/><pulley divisor="2"/><site site="s4"/><site site="s2"/></spatial>
    <spatial name="tether" stiffness="10" armature=".3"><site site="s2"/><site site="s5"/></spatial>
    <spatial name="weight" armature=".2"><site site="s1"/><site site="s2"/><pulley divisor="3"/><site site="ceiling"/><site site="s4"/><site site="s3"/></spatial>
    <fixed name="mixed" damping=".002 .001 .001"><joint joint="left2" coef=".5"/><joint joint="right" coef="-.4"/></fixed></tendon>
  <actuator><muscle tendon="chain" lengthrange=".1 .6"/><position tendon="belt" kp="2" kv=".02"/><motor site="s5" gear="1 .5 0 0 .2 .1"/>
    <motor site="s4" gear="0 1 .3 .1 0 0"/><general tendon="mixed" gaintype="affine" gainprm=".1 .05 .01" biastype="affine" biasprm=".1 -.1 -.01" dyntype="filter" dynprm=".1"/>
    <intvelocity joint="left" kp="5" actrange="-1 1"/></actuator>
  <equality><tendon tendon1="cable" tendon2="chain" polycoef=".3 .4 .2 0 0"/></equality>"#;

#[test]
fn strings_agree_with_dual_numbers() {
    for integrator in ["Euler", "implicitfast", "implicit", "RK4"] {
        let mjcf = format!(
            r#"<mujoco><option timestep=".0005" integrator="{integrator}"/>{STRINGS}</mujoco>"#
        );
        assert_exact_along(integrator, &mjcf, 45, 15);
    }
}

const LEVERS: &str = r#"<worldbody><site name="anchor" pos=".1 0 .8" euler="10 20 30"/>
  <body pos="0 0 .6"><joint name="ball" type="ball" damping=".02"/><geom size=".05" pos="0 0 -.1"/><site name="a" pos=".05 0 -.1" euler="40 0 10"/>
    <body pos=".1 0 -.3"><joint name="h1" axis="0 1 0" damping=".01"/><geom type="capsule" size=".03 .08"/><site name="b" pos=".02 .05 -.05" euler="0 30 20"/>
      <body pos="0 0 -.2"><joint name="h2" axis="1 .2 0"/><geom size=".04"/><site name="c" pos="0 .03 0"/></body></body>
    <body pos="-.1 0 -.3"><joint name="h3" axis="0 1 .3"/><geom type="capsule" size=".03 .08"/><site name="d" pos="0 -.05 .05" euler="0 0 50"/></body></body>
  <body pos=".5 0 .5"><freejoint name="free"/><geom type="box" size=".05 .06 .07"/><site name="e" pos=".02 .03 .05" euler="20 30 40"/></body></worldbody>
  <actuator>
    <position joint="ball" kp="2" kv=".1" gear=".5 1 -.4"/><position jointinparent="ball" kp="1.5" kv=".1" gear=".3 .2 .8"/>
    <general joint="free" gear=".3 .2 .1 .02 .01 .03" gainprm="1" biastype="affine" biasprm=".1 -2 -.1"/><motor jointinparent="free" gear=".1 .2 .3 .03 .02 .01"/>
    <position site="c" refsite="d" kp="3" kv=".2" gear="1 .5 -.3 .2 .1 .3"/><position site="e" refsite="a" kp="1" kv=".1" gear=".2 .4 .3 .1 0 .2"/>
    <position site="b" refsite="anchor" kp="2" kv=".1" gear=".3 0 1 0 .1 0"/>
    <general site="e" gear=".2 0 .1 0 .02 .01" gainprm="1" biastype="affine" biasprm="0 -1 -.2"/>
    <position cranksite="b" slidersite="d" cranklength=".6" kp="2" kv=".1" gear=".7"/>
    <position cranksite="c" slidersite="anchor" cranklength=".2" kp="1" kv=".1"/>
    <general site="c" refsite="b" gear="0 1 .3 0 0 0" gaintype="affine" gainprm=".1 .3 .2" biastype="affine" biasprm=".1 -.1 -.1"/></actuator>"#;

#[test]
fn actuators_on_sites_and_balls_agree_with_dual_numbers() {
    for integrator in ["Euler", "implicitfast", "implicit", "RK4"] {
        let mjcf = format!(
            r#"<mujoco><compiler angle="degree"/><option timestep=".001" integrator="{integrator}"/>{LEVERS}</mujoco>"#
        );
        assert_exact_along(integrator, &mjcf, 45, 15);
    }
}
