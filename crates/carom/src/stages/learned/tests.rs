//! Learned terms against dual numbers, against what they promise, and against forces that are given in other ways.

mod contact;

use carom_spec::model_spec::{ActivationKind, FormKind, LearnedTermSpec, TermMode};

use crate::cotangent::Cotangents;
use crate::data::Data;
use crate::dual::{Dual, LANES};
use crate::dynamics;
use crate::integrate::{self, Retraced};
use crate::inverse;
use crate::linearize::{self, Linearization};
use crate::math::{Spatial, Vec3};
use crate::model::{Integrator, Model};
use crate::parameters::Parameters;
use crate::scalar::Scalar;
use crate::stages::collision::Collision;
use crate::stages::learned;
use crate::state::{Input, State};
use crate::testing::stage_check::{Point, check, random_point, zeros};
use crate::testing::{Random, learned_term, model_with_terms, references, step_check};

/// A free base with an arm that turns and a rod that slides, moved by actuators of several kinds.
pub(crate) const ARM: &str = r#"<mujoco><option timestep=".004"/><worldbody>
  <body name="base"><freejoint/><geom size=".2 .1 .3" type="box" pos=".05 .02 0"/>
    <body name="arm" pos=".3 0 .1" euler="20 30 40"><joint name="turn" axis=".6 .8 0" damping=".1"/>
      <geom size=".05 .2" type="capsule" pos=".1 0 .1"/>
      <body name="rod" pos="0 .2 .3"><joint name="lift" type="slide" axis="0 .6 .8" stiffness="3"/>
        <geom size=".08" pos=".02 .1 0"/></body></body></body></worldbody>
  <actuator><motor name="drive" joint="turn" gear="2" forcerange="-.6 .6"/>
    <position name="hold" joint="lift" kp="5" kv=".4"/>
    <general name="lag" joint="turn" dyntype="filter" dynprm=".1" gainprm=".7"/></actuator></mujoco>"#;

fn mlp(hidden: &[usize], activation: ActivationKind) -> FormKind {
    FormKind::Mlp {
        hidden: hidden.to_vec(),
        activation,
    }
}

fn polynomial(degree: usize, is_quotient: bool) -> FormKind {
    FormKind::Polynomial {
        degree,
        constant: true,
        is_quotient,
    }
}

/// Terms that read every input and act on every target, with every form.
pub(crate) fn terms() -> Vec<LearnedTermSpec> {
    let tanh = ActivationKind::Tanh;
    let own = ["position", "sin_position", "cos_position", "velocity"];
    let mut drag = learned_term(
        "drag",
        &["body.*.force", "body.*.torque"],
        &["linear_velocity", "angular_velocity"],
        mlp(&[4], tanh),
    );
    drag.form.dissipative = references(&["linear_velocity", "angular_velocity"]);
    drag.scales = vec![[0.0, 2.0]; 6];
    let around = [
        "world_linear_velocity",
        "world_angular_velocity",
        "position",
        "up",
        "rotation",
    ];
    let around = [
        &around[..],
        &["time", "actuator.drive.force", "joint.turn.velocity"],
    ]
    .concat();
    let mut lazy = learned_term(
        "lazy",
        &["actuator.drive.force"],
        &[
            "control",
            "length",
            "velocity",
            "joint.turn.bias_force",
            "joint.lift.passive_force",
        ],
        mlp(&[3], ActivationKind::Softplus),
    );
    lazy.mode = TermMode::Multiply;
    lazy.form.bound = Some(0.8);
    let mut motor = learned_term(
        "motor",
        &["actuator.hold.force"],
        &["length", "velocity", "control"],
        polynomial(2, false),
    );
    motor.mode = TermMode::Replace;
    let mut rough = learned_term(
        "rough",
        &["actuator.lag.force"],
        &["velocity", "activation"],
        polynomial(2, true),
    );
    rough.form.odd = references(&["velocity"]);
    let mut whole = learned_term(
        "whole",
        &["joint.*.force"],
        &["joint.*.position", "velocity"],
        mlp(&[5], ActivationKind::Elu),
    );
    whole.is_shared = false;
    vec![
        learned_term("spring", &["joint.turn.force"], &own, mlp(&[4, 3], tanh)),
        learned_term(
            "load",
            &["joint.*.force"],
            &["velocity", "bias_force", "passive_force", "actuator_force"],
            mlp(&[3], ActivationKind::Silu),
        ),
        drag,
        learned_term(
            "wind",
            &["body.arm.world_force", "body.arm.world_torque.z"],
            &around,
            polynomial(1, false),
        ),
        lazy,
        motor,
        rough,
        whole,
        learned_term(
            "gear",
            &["joint.lift.force"],
            &["velocity", "actuator_force"],
            FormKind::Friction,
        ),
        learned_term(
            "water",
            &["body.rod.force"],
            &["linear_velocity"],
            FormKind::Drag,
        ),
        learned_term(
            "cog",
            &["joint.turn.force"],
            &["position"],
            FormKind::Table { counts: vec![6] },
        ),
    ]
}

fn model_under(integrator: Integrator) -> Model {
    let mut model = model_with_terms(ARM, terms());
    model.settings.integrator = integrator;
    model
}

const INTEGRATORS: [Integrator; 4] = [
    Integrator::Euler,
    Integrator::Implicit,
    Integrator::ImplicitFast,
    Integrator::RungeKutta4,
];

fn sources<T: Scalar>(point: &Point<T>) -> learned::Sources<'_, T> {
    learned::Sources {
        state: &point.state,
        input: Some(&point.input),
        kinematics: &point.data.kinematics,
        transmission: &point.data.transmission,
        velocity: &point.data.velocity,
        passive: &point.data.passive,
        bias: &point.data.bias,
        actuation: Some(&point.data.actuation),
    }
}

/// Terms for any mechanism that moves: drag on its bodies, and a force that looks at where they are.
pub(crate) fn everywhere() -> Vec<LearnedTermSpec> {
    let velocities = ["linear_velocity", "angular_velocity"];
    let tanh = ActivationKind::Tanh;
    let targets = ["body.*.force", "body.*.torque"];
    let mut drag = learned_term("drag", &targets, &velocities, mlp(&[3], tanh));
    drag.form.dissipative = references(&velocities);
    let inputs = ["position", "up", "world_linear_velocity", "time"];
    let wind = learned_term(
        "wind",
        &["body.*.world_force"],
        &inputs,
        polynomial(2, false),
    );
    vec![drag, wind]
}

/// Models with terms at several states.
fn points() -> Vec<(String, Point)> {
    let point = |seed| {
        let point = random_point(model_under(Integrator::Euler), seed);
        (format!("seed {seed}"), point)
    };
    (0..6).map(point).collect()
}

/// Both parts of the stage.
fn evaluate<T: Scalar>(point: &mut Point<T>) {
    let mut out = std::mem::take(&mut point.data.learned);
    let mut contacts = Collision::default();
    learned::forward_contacts(&point.model, sources(point), &mut contacts, &mut out);
    learned::forward_actuators(&point.model, sources(point), &mut out);
    learned::forward(&point.model, sources(point), &mut out);
    point.data.learned = out;
}

crate::testing::stage_check::check_stage!(
    learned,
    &["soft"],
    points(),
    |point| evaluate(point),
    |point, bar| {
        crate::stages::learned::backward(point.at(), bar);
        crate::stages::learned::backward_actuators(point.at(), bar);
        crate::stages::learned::backward_contacts(point.at(), bar);
    }
);

/// The stages that read and change what terms do.
#[test]
fn neighbours_are_adjoint_with_terms() {
    for seed in 0..4 {
        let point = random_point(model_under(Integrator::Euler), seed);
        check::<crate::stages::actuation::tests::Checked>(&point);
        check::<crate::stages::acceleration::tests::Checked>(&point);
    }
}

#[test]
fn the_adjoint_of_a_step_is_that_of_dual_numbers() {
    for integrator in INTEGRATORS {
        for seed in 0..3 {
            step_check::check(&random_point(model_under(integrator), seed));
        }
    }
}

/// Over many steps, by all weights at once: along random directions the gradient is the derivative by dual numbers.
#[test]
fn gradients_of_weights_over_a_motion_are_those_of_dual_numbers() {
    const STEPS: usize = 60;
    for integrator in INTEGRATORS {
        let model = model_under(integrator);
        let mut random = Random::new(3);
        let mut input = Input::zeros(&model);
        input.ctrl.fill_with(|| 0.5 * random.next());
        let mut state = State::reference(&model);
        state.qvel.fill_with(|| 0.3 * random.next());
        let weights = model.learned.weight.len();
        let direction = random.vector(weights);
        // Dual numbers.
        let mut varied = model.map(Dual::<LANES>::constant);
        for (weight, &rate) in varied.learned.weight.iter_mut().zip(&direction) {
            weight.tangent[0] = rate;
        }
        let mut moving = state.map(Dual::constant);
        let mut dual_input = Input::zeros(&varied);
        dual_input.ctrl = input.ctrl.iter().map(|&u| Dual::constant(u)).collect();
        let mut data = Data::new(&varied);
        for _ in 0..STEPS {
            integrate::step(&varied, &mut moving, &dual_input, &mut data);
        }
        let expected: f64 = moving.qvel.iter().map(|v| v.tangent[0]).sum();
        // The adjoint of the sum of all velocities at the end.
        let mut states = vec![state.clone()];
        let mut data = Data::new(&model);
        for _ in 0..STEPS {
            integrate::step(&model, &mut state, &input, &mut data);
            states.push(state.clone());
        }
        let mut bar = Cotangents::zeros(&model);
        let mut next = bar.state.clone();
        next.qvel.fill(1.0);
        let mut retraced = Retraced::new(&model);
        for step in (0..STEPS).rev() {
            let found = &states[step + 1].warmstart;
            assert!(retraced.retrace(&model, &states[step], &input, found));
            bar.data.start(retraced.data());
            bar.state.set_zero();
            retraced.backward(&model, &input, &next, &mut bar);
            next = bar.state.clone();
        }
        let found: f64 = (bar.model.learned.weight.iter().zip(&direction))
            .map(|(bar, rate)| bar * rate)
            .sum();
        let error = (found - expected).abs() / expected.abs();
        assert!(error < 1e-8, "{integrator:?}: {found} {expected}");
        assert!(
            bar.model
                .learned
                .weight
                .iter()
                .filter(|bar| **bar != 0.0)
                .count()
                > weights / 2
        );
    }
}

/// Where no law but actuators of their own is replaced, a motion has the same bits with and without terms.
#[test]
fn untrained_terms_change_no_bit() {
    let mut untrained = terms();
    untrained.retain(|term| term.mode != TermMode::Replace);
    let count = untrained.len();
    for integrator in INTEGRATORS {
        let motion = |terms: Vec<LearnedTermSpec>| {
            let is_empty = terms.is_empty();
            let mut model = model_with_terms(ARM, terms);
            let compiled = model.recipe().unwrap().given.model.learned.weight.clone();
            model.learned.weight = compiled;
            model.settings.integrator = integrator;
            assert_eq!(model.counts().nlearned, if is_empty { 0 } else { count });
            let mut state = State::reference(&model);
            state.qvel.fill(-0.2);
            let mut input = Input::zeros(&model);
            input.ctrl.fill(0.4);
            let mut data = Data::new(&model);
            let mut bits = Vec::new();
            for _ in 0..100 {
                integrate::step(&model, &mut state, &input, &mut data);
                let numbers = state.qpos.iter().chain(&state.qvel).chain(&state.act);
                bits.extend(numbers.map(|number| number.to_bits()));
            }
            bits
        };
        assert!(
            motion(Vec::new()) == motion(untrained.clone()),
            "{integrator:?}"
        );
    }
}

/// A constant force in world axes is an applied force; in body axes, one that turns with the body.
#[test]
fn wrenches_are_forces_on_bodies() {
    let wrench = Spatial::new(Vec3([0.3, -0.2, 0.5]), Vec3([1.5, 0.7, -2.0]));
    for (force, torque) in [("force", "torque"), ("world_force", "world_torque")] {
        let targets = [format!("body.arm.{torque}"), format!("body.arm.{force}")];
        let targets: Vec<&str> = targets.iter().map(String::as_str).collect();
        let term = learned_term("push", &targets, &["up.x"], polynomial(1, false));
        let mut model = model_with_terms(ARM, vec![term]);
        // Six coefficients of the input, then six constants.
        model.learned.weight[..6].fill(0.0);
        model.learned.weight[6..].copy_from_slice(&wrench.0);
        let (mut state, mut input) = (State::reference(&model), Input::zeros(&model));
        state.qpos[3..7].copy_from_slice(&[0.8, 0.2, 0.4, -0.4]);
        let mut pushed = Data::new(&model);
        dynamics::forward(&model, &state, &input, &mut pushed);
        let plain = model_with_terms(ARM, Vec::new());
        let rotation = pushed.kinematics.body_rotation[2];
        input.body_force[2] = match force {
            "force" => wrench.into_world_axes(&rotation),
            _ => wrench,
        };
        let mut applied = Data::new(&plain);
        dynamics::forward(&plain, &state, &input, &mut applied);
        for (found, expected) in pushed.solve.qacc.iter().zip(&applied.solve.qacc) {
            let size = expected.abs().max(1.0);
            assert!(
                (found - expected).abs() < 1e-12 * size,
                "{found} {expected}"
            );
        }
    }
}

/// Whatever the weights are.
#[test]
fn dissipative_terms_take_out_energy() {
    let mut drag = terms().swap_remove(2);
    assert_eq!(drag.name, "drag");
    drag.seed = 5;
    let mut model = model_with_terms(ARM, vec![drag]);
    for seed in 0..20 {
        let mut random = Random::new(seed);
        let last = model.learned.weight.len() - 1;
        model.learned.weight.fill_with(|| 2.0 * random.next());
        model.learned.weight[last] = model.learned.weight[last].abs();
        let point = random_point(model.clone(), seed);
        let power: f64 = (point.data.learned.force.iter().zip(&point.state.qvel))
            .map(|(force, speed)| force * speed)
            .sum();
        assert!(power < 0.0, "{power}");
    }
}

#[test]
fn actuators_have_learned_forces_within_their_limits() {
    let state_of = |model: &Model| {
        let mut state = State::reference(model);
        (state.qpos[7], state.qvel[6], state.qvel[7], state.act[0]) = (0.3, 0.5, -0.4, 0.2);
        state
    };
    let forces = |model: &Model| {
        let mut input = Input::zeros(model);
        input.ctrl.copy_from_slice(&[0.2, 0.1, 0.3]);
        let mut data = Data::new(model);
        dynamics::forward(model, &state_of(model), &input, &mut data);
        data.actuation.actuator_force
    };
    let plain = forces(&model_with_terms(ARM, Vec::new()));
    let constant = |mode: TermMode, y: f64| {
        let mut term = learned_term(
            "one",
            &["actuator.drive.force"],
            &["control"],
            polynomial(1, false),
        );
        term.mode = mode;
        let mut model = model_with_terms(ARM, vec![term]);
        model.learned.weight.copy_from_slice(&[0.0, y]);
        forces(&model)
    };
    assert_eq!(constant(TermMode::Add, 0.1)[0], plain[0] + 0.1);
    assert_eq!(constant(TermMode::Multiply, 0.5)[0], plain[0] * 1.5);
    assert_eq!(constant(TermMode::Replace, -0.3)[0], -0.3);
    assert_eq!(constant(TermMode::Add, 7.0)[0], 0.6);
    assert_eq!(constant(TermMode::Replace, -7.0)[1..], plain[1..]);
}

/// The maps of a step are those of differences, whatever way they are found in.
#[test]
fn linear_maps_know_terms() {
    for integrator in INTEGRATORS {
        let model = model_under(integrator);
        let point = random_point(model.clone(), 4);
        let (state, input) = (&point.state, &point.input);
        let mut data = Data::new(&model);
        dynamics::forward(&model, state, input, &mut data);
        let mut map = Linearization::new(&model);
        linearize::step(&model, state, input, &mut data, &mut map);
        let (nv, size) = (model.counts().nv, map.size());
        let end = |state: &State, input: &Input| {
            let (mut state, mut data) = (state.clone(), Data::new(&model));
            integrate::step(&model, &mut state, input, &mut data);
            state
        };
        let h = 1e-6;
        for dof in 0..nv {
            let [ahead, behind] = [h, -h].map(|h| {
                let mut moved = state.clone();
                moved.qvel[dof] += h;
                end(&moved, input)
            });
            for row in 0..nv {
                let expected = (ahead.qvel[row] - behind.qvel[row]) / (2.0 * h);
                let found = map.a[(nv + row) * size + nv + dof];
                assert!(
                    (found - expected).abs() < 1e-6,
                    "{integrator:?} {found} {expected}"
                );
            }
        }
        for control in 0..model.counts().nu {
            let [ahead, behind] = [h, -h].map(|h| {
                let mut moved = input.clone();
                moved.ctrl[control] += h;
                end(state, &moved)
            });
            for row in 0..nv {
                let expected = (ahead.qvel[row] - behind.qvel[row]) / (2.0 * h);
                let found = map.b[(nv + row) * map.inputs() + control];
                assert!(
                    (found - expected).abs() < 1e-6,
                    "{integrator:?} {found} {expected}"
                );
            }
        }
    }
}

/// Inverse dynamics of terms that look at the state alone gives back what was applied.
#[test]
fn inverse_dynamics_counts_terms_as_passive() {
    let mut terms = terms();
    terms.retain(|term| matches!(term.name.as_str(), "spring" | "drag" | "water"));
    let model = model_with_terms(ARM, terms);
    let mut state = State::reference(&model);
    state.qvel.fill(0.3);
    let mut input = Input::zeros(&model);
    input.force.fill(0.7);
    let mut data = Data::new(&model);
    dynamics::forward(&model, &state, &input, &mut data);
    let (nv, acceleration) = (model.counts().nv, data.solve.qacc.clone());
    let actuation = data.actuation.force.clone();
    let mut force = vec![0.0; nv];
    inverse::forward(&model, &state, &acceleration, &mut data, &mut force);
    for dof in 0..nv {
        let expected = 0.7 + actuation[dof];
        assert!(
            (force[dof] - expected).abs() < 1e-10,
            "{} {expected}",
            force[dof]
        );
    }
}

#[test]
fn weights_are_parameters_by_name() {
    let model = model_with_terms(ARM, terms());
    let chosen = Parameters::select(&model, &["learned.drag.weights", "learned.gear.weights[0]"]);
    let chosen = chosen.unwrap();
    let term = &model.structure.learned.terms[2];
    assert_eq!(chosen.len(), term.weights.len() + 1);
    // The gain of a dissipative form has a bound, others have none.
    let bounds = chosen.bounds();
    assert_eq!(bounds[term.weights.len() - 1][0], 0.0);
    assert_eq!(bounds[0][0], f64::NEG_INFINITY);
    let mut theta = chosen.theta0().to_vec();
    theta[1] = 9.0;
    let changed = chosen.apply(&theta).unwrap();
    assert_eq!(changed.learned.weight[term.weights.start + 1], 9.0);
    let mut bar = Model::zeros(changed.structure.clone(), changed.settings);
    bar.learned.weight[term.weights.start + 1] = 2.0;
    let gradient = chosen.backward(&theta, &bar, None).unwrap();
    assert_eq!((gradient[0], gradient[1]), (0.0, 2.0));
    let refused = Parameters::select(&model, &["learned.drag.constants"]).unwrap_err();
    assert!(
        refused.to_string().contains("has no attribute"),
        "{refused}"
    );
}

#[test]
fn cotangents_start_at_zero() {
    let point = random_point(model_under(Integrator::Euler), 0);
    let bar = zeros(&point);
    bar.data
        .learned
        .for_each(|_, _, _, number| assert_eq!(number, 0.0));
}
