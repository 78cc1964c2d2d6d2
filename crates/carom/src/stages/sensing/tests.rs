use crate::data::Data;
use crate::dual::{Dual, LANES};
use crate::dynamics;
use crate::integrate::integrate_positions;
use crate::math::{Quat, Spatial, Vec3};
use crate::model::Model;
use crate::state::{Input, State};
use crate::testing::{Random, model_from_mjcf};

fn sense(model: &Model, state: &State, input: &Input) -> Data {
    let mut data = Data::new(model);
    dynamics::forward_and_sense(model, state, input, &mut data);
    data
}

fn values<'a>(model: &Model, data: &'a Data, name: &str) -> &'a [f64] {
    let sensors = &model.structure.sensors;
    let names = &model.structure.names.sensors;
    let sensor = names.iter().position(|other| other == name).unwrap();
    &data.sensing.values[sensors.address[sensor]..][..sensors.dimension[sensor]]
}

fn vector(model: &Model, data: &Data, name: &str) -> Vec3 {
    let values = values(model, data, name);
    Vec3([values[0], values[1], values[2]])
}

const ROBOT: &str = r#"<mujoco><option gravity="0.3 -0.2 -9.8" magnetic=".1 .2 .3"/><worldbody>
  <site name="world" euler="10 20 30"/>
  <camera name="eye" pos="0 0 3" resolution="200 100" fovy="90"/>
  <body name="base" pos="0 0 1"> <freejoint/> <geom size=".1 .2 .3" type="box"/> <site name="base" pos=".1 .2 .3"/>
    <body name="arm" pos=".5 0 0"> <joint name="hinge" axis="1 1 0" range="-20 30" margin=".1"/>
      <geom size=".1" pos=".3 0 0"/> <site name="tip" pos=".1 -.2 .2" euler="3 4 5"/> </body> </body>
</worldbody>
<sensor>
  <accelerometer name="static" site="world"/> <accelerometer name="acceleration" site="base"/>
  <velocimeter name="velocity" site="tip"/> <gyro name="gyro" site="tip"/> <magnetometer name="compass" site="tip"/>
  <framepos name="position" objtype="site" objname="tip"/>
  <framequat name="quat" objtype="site" objname="tip" reftype="site" refname="base"/>
  <framezaxis name="axis" objtype="site" objname="tip" reftype="site" refname="base"/>
  <framepos name="seen" objtype="site" objname="tip" reftype="site" refname="base"/>
  <framelinvel name="seen_velocity" objtype="site" objname="tip" reftype="site" refname="base"/>
  <framelinvel name="world_velocity" objtype="site" objname="tip"/>
  <frameangvel name="world_spin" objtype="site" objname="tip"/>
  <framelinacc name="world_acceleration" objtype="site" objname="tip"/>
  <subtreecom name="com" body="base"/> <subtreelinvel name="com_velocity" body="base"/>
  <subtreeangmom name="momentum" body="base"/> <subtreeangmom name="world_momentum" body="world"/>
  <force name="force" site="base"/> <torque name="torque" site="base"/>
  <camprojection name="pixel" site="world" camera="eye"/>
  <jointlimitpos name="limit" joint="hinge"/> <jointlimitvel name="limit_velocity" joint="hinge"/>
  <clock name="clock" cutoff="2"/> <user name="user" dim="2"/>
  <e_potential name="potential"/> <e_kinetic name="kinetic"/>
</sensor></mujoco>"#;

fn random_state(model: &Model, seed: u64) -> State {
    let mut random = Random::new(seed);
    let mut state = State::reference(model);
    integrate_positions(
        model,
        &mut state.qpos,
        &random.vector(model.counts().nv),
        1.0,
    );
    state.qvel = random.vector(model.counts().nv);
    state
}

#[test]
fn what_stands_still_feels_gravity_and_what_falls_does_not() {
    let model = model_from_mjcf(ROBOT);
    let mut state = random_state(&model, 14);
    state.qvel.fill(0.0);
    let data = sense(&model, &state, &Input::zeros(&model));
    let rotation = &data.kinematics.site_rotation[0];
    let expected = rotation.transpose_mul_vec(-model.option.gravity[0]);
    assert!((vector(&model, &data, "static") - expected).norm() < 1e-14);
    assert!(vector(&model, &data, "acceleration").norm() < 1e-12);
    // Nothing holds a falling body.
    assert!(vector(&model, &data, "force").norm() < 1e-12);
    assert!(vector(&model, &data, "torque").norm() < 1e-12);
}

#[test]
fn velocities_and_accelerations_are_derivatives_of_positions() {
    let mut model = model_from_mjcf(ROBOT);
    // Limits make accelerations jump.
    model.settings.disable.limit = true;
    let state = random_state(&model, 15);
    let input = Input::zeros(&model);
    let data = sense(&model, &state, &input);
    let h = 1e-5;
    let moved = |h: f64| {
        let mut moved = state.clone();
        for (v, a) in moved.qvel.iter_mut().zip(&data.solve.qacc) {
            *v += a * h;
        }
        let mean: Vec<f64> = moved
            .qvel
            .iter()
            .zip(&state.qvel)
            .map(|(a, b)| 0.5 * (a + b))
            .collect();
        integrate_positions(&model, &mut moved.qpos, &mean, h);
        sense(&model, &moved, &input)
    };
    let (plus, minus) = (moved(h), moved(-h));
    let rate =
        |name: &str| (vector(&model, &plus, name) - vector(&model, &minus, name)) * (0.5 / h);
    let gravity = model.option.gravity[0];
    let pairs = [
        ("position", "world_velocity", Vec3::ZERO),
        ("seen", "seen_velocity", Vec3::ZERO),
        ("com", "com_velocity", Vec3::ZERO),
        ("world_velocity", "world_acceleration", -gravity),
    ];
    for (position, velocity, offset) in pairs {
        let error = rate(position) + offset - vector(&model, &data, velocity);
        assert!(error.norm() < 1e-8, "{velocity}: {error:?}");
    }
    // Local readings are the world's, turned.
    let rotation = &data.kinematics.site_rotation[2];
    let turned = rotation.mul_vec(vector(&model, &data, "velocity"));
    assert!((turned - vector(&model, &data, "world_velocity")).norm() < 1e-14);
    let turned = rotation.mul_vec(vector(&model, &data, "gyro"));
    assert!((turned - vector(&model, &data, "world_spin")).norm() < 1e-14);
    let compass = rotation.mul_vec(vector(&model, &data, "compass"));
    assert!((compass - Vec3([0.1, 0.2, 0.3])).norm() < 1e-15);
}

#[test]
fn relative_orientation_turns_axes() {
    let model = model_from_mjcf(ROBOT);
    let data = sense(&model, &random_state(&model, 16), &Input::zeros(&model));
    let quat = values(&model, &data, "quat");
    let quat = Quat([quat[0], quat[1], quat[2], quat[3]]);
    let axis = vector(&model, &data, "axis");
    assert!((quat.rotate(Vec3::Z) - axis).norm() < 1e-14);
}

#[test]
fn momentum_is_the_sum_over_bodies() {
    let model = model_from_mjcf(ROBOT);
    let data = sense(&model, &random_state(&model, 17), &Input::zeros(&model));
    let center = vector(&model, &data, "com");
    let mut momentum = Vec3::ZERO;
    for body in 1..3 {
        let kinematics = &data.kinematics;
        let root = kinematics.subtree_com[1];
        let position = kinematics.inertial_position[body];
        let motion = data.velocity.body[body].shift_motion(position - root);
        let axes = &kinematics.inertial_rotation[body];
        let spin = axes.transpose_mul_vec(motion.angular());
        let own = axes.mul_vec(spin.component_mul(model.bodies.inertia[body]));
        let carried = (position - center).cross(motion.linear() * model.bodies.mass[body]);
        momentum += own + carried;
    }
    assert!((vector(&model, &data, "momentum") - momentum).norm() < 1e-12);
    assert!((vector(&model, &data, "world_momentum") - momentum).norm() < 1e-12);
}

#[test]
fn simple_readings() {
    let model = model_from_mjcf(ROBOT);
    let mut state = State::reference(&model);
    state.time = 3.0;
    state.qpos[7] = 0.5;
    state.qvel[6] = 2.0;
    let data = sense(&model, &state, &Input::zeros(&model));
    assert_eq!(values(&model, &data, "clock"), [2.0], "cut off");
    assert_eq!(values(&model, &data, "user"), [0.0, 0.0]);
    let limit = 30.0_f64.to_radians() - 0.5 - 0.1;
    assert!((values(&model, &data, "limit")[0] - limit).abs() < 1e-15);
    assert_eq!(values(&model, &data, "limit_velocity"), [-2.0]);
    // The world's origin is straight below the camera.
    assert_eq!(values(&model, &data, "pixel"), [100.0, 50.0]);
    assert!(values(&model, &data, "kinetic")[0] > 0.0);
    assert_eq!(
        values(&model, &data, "potential")[0],
        data.sensing.energy[0][0]
    );
}

#[test]
fn a_tower_carries_the_weight_above_less_what_a_string_holds() {
    let text = r#"<mujoco><worldbody> <site name="hook" pos="0 0 5"/>
      <body pos="0 0 1"> <geom size=".1" mass="2"/> <site name="foot"/>
        <body pos="0 0 1"> <joint name="lift" type="slide" axis="0 0 1"/> <geom size=".1" mass="3"/>
          <site name="top"/> </body> </body>
    </worldbody>
    <tendon> <spatial name="string" stiffness="7" springlength="1"> <site site="hook"/> <site site="top"/> </spatial>
    </tendon> <actuator> <motor joint="lift"/> </actuator>
    <sensor> <force name="foot" site="foot"/> <force name="top" site="top"/> </sensor></mujoco>"#;
    let model = model_from_mjcf(text);
    let state = State::reference(&model);
    let mut input = Input::zeros(&model);
    // The string is stretched by 2; the motor holds the rest of the upper mass's weight.
    let (weight, tension) = (9.81 * 3.0, 14.0);
    input.ctrl[0] = weight - tension;
    let data = sense(&model, &state, &input);
    assert!(data.solve.qacc[0].abs() < 1e-13);
    assert!((vector(&model, &data, "top")[2] - (weight - tension)).abs() < 1e-12);
    assert!((vector(&model, &data, "foot")[2] - (5.0 * 9.81 - tension)).abs() < 1e-12);
    // A push on the lower body goes straight into its support.
    input.body_force[1] = Spatial([0.0, 0.0, 0.0, 1.0, 0.0, -2.0]);
    let pushed = sense(&model, &state, &input);
    let difference = vector(&model, &pushed, "foot") - vector(&model, &data, "foot");
    assert!((difference - Vec3([-1.0, 0.0, 2.0])).norm() < 1e-12);
}

/// Wrapping, muscles, springs, dampers, medium, gravity compensation, servos and sensors in one mechanism.
const EVERYTHING: &str = r#"<mujoco>
<option density="1.2" viscosity=".1" wind=".3 .2 .1" timestep=".01"> <flag contact="disable"/> </option><worldbody>
  <site name="anchor" pos="-0.5 0.1 0.3"/> <geom name="ball" type="sphere" size=".15" pos="0 0 1"/>
  <site name="side" pos="0 0.3 1.2"/>
  <body name="upper" pos="0 0 1" gravcomp=".5">
    <joint name="a" axis="0 1 0" stiffness="3 1 2" damping=".2 .1"/>
    <geom type="capsule" fromto="0 0 0 .5 0 0" size=".05" fluidshape="ellipsoid"/> <site name="first" pos=".3 .05 .1"/>
    <body name="lower" pos=".5 0 0"> <joint name="b" type="ball" stiffness=".5" damping=".1"/>
      <geom size=".1" pos=".2 .1 .05"/> <geom name="drum" type="cylinder" size=".1 .3" euler="80 10 0" mass=".1"/>
      <site name="second" pos=".3 -.05 .1"/> </body> </body>
  <body name="free" pos="0 1 1"> <freejoint/> <geom size=".1 .2 .3" type="box"/> <site name="third" pos=".3 .1 0.1"/>
  </body> </worldbody>
<tendon>
  <spatial name="muscle"> <site site="anchor"/> <geom geom="ball" sidesite="side"/> <site site="first"/>
    <geom geom="drum"/> <site site="second"/> </spatial>
  <spatial name="spring" stiffness="5 2" damping=".4" springlength=".2 .3"> <site site="second"/> <site site="third"/>
  </spatial> </tendon>
<actuator>
  <muscle tendon="muscle" lengthrange=".5 2" force="20" tausmooth=".5"/>
  <position joint="a" kp="3" kv=".2"/> <position site="second" refsite="third" gear="0 0 0 .1 .2 .3" kp="2"/>
  <general joint="a" dyntype="filterexact" dynprm=".2" actearly="true"/>
  <general cranksite="second" slidersite="anchor" cranklength="3"/> </actuator>
<sensor>
  <accelerometer site="second"/> <force site="second"/> <torque site="first"/> <gyro site="second"/>
  <framequat objtype="site" objname="second" reftype="site" refname="third"/> <subtreeangmom body="upper"/>
  <framelinvel objtype="site" objname="second" reftype="site" refname="third"/> <tendonvel tendon="muscle"/>
</sensor></mujoco>"#;

#[test]
fn duals_carry_derivatives_through_all_stages() {
    let model = model_from_mjcf(EVERYTHING);
    let n = model.counts();
    let mut random = Random::new(18);
    for _ in 0..10 {
        let mut state = random_state(&model, random.bits());
        state.act = random.vector(n.na).iter().map(|a| 0.5 + 0.4 * a).collect();
        let mut input = Input::zeros(&model);
        input.ctrl = random.vector(n.nu).iter().map(|u| 0.5 + 0.4 * u).collect();
        let [dq, dv] = [random.vector(n.nv), random.vector(n.nv)];
        let [da, du] = [random.vector(n.na), random.vector(n.nu)];

        let moved = |h: f64| {
            let (mut state, mut input) = (state.clone(), input.clone());
            integrate_positions(&model, &mut state.qpos, &dq, h);
            let shift = |values: &mut [f64], rates: &[f64]| {
                values
                    .iter_mut()
                    .zip(rates)
                    .for_each(|(value, rate)| *value += h * rate);
            };
            shift(&mut state.qvel, &dv);
            shift(&mut state.act, &da);
            shift(&mut input.ctrl, &du);
            sense(&model, &state, &input)
        };
        let dual_model = model.map(Dual::<LANES>::constant);
        let constants = |values: &[f64]| values.iter().map(|&x| Dual::constant(x)).collect();
        let along = |values: &[f64], rates: &[f64]| {
            let pairs = values.iter().zip(rates);
            pairs
                .map(|(&value, &rate)| Dual::moving(value, rate))
                .collect()
        };
        let mut dual_state = State::reference(&dual_model);
        dual_state.qpos = constants(&state.qpos);
        let dual_direction: Vec<Dual<LANES>> = constants(&dq);
        let step = Dual::moving(0.0, 1.0);
        integrate_positions(&dual_model, &mut dual_state.qpos, &dual_direction, step);
        dual_state.qvel = along(&state.qvel, &dv);
        dual_state.act = along(&state.act, &da);
        let mut dual_input = Input::zeros(&dual_model);
        dual_input.ctrl = along(&input.ctrl, &du);
        let mut dual = Data::new(&dual_model);
        dynamics::forward_and_sense(&dual_model, &dual_state, &dual_input, &mut dual);

        let h = 1e-6;
        let (plus, minus) = (moved(h), moved(-h));
        let compare = |name: &str, dual: &[Dual<LANES>], plus: &[f64], minus: &[f64]| {
            for (index, dual) in dual.iter().enumerate() {
                let slope = (plus[index] - minus[index]) / (2.0 * h);
                let error = (dual.tangent[0] - slope).abs();
                assert!(
                    error < 1e-6 * slope.abs().max(10.0),
                    "{name} {index}: {dual:?} {slope}"
                );
            }
        };
        compare(
            "length",
            &dual.tendon.length,
            &plus.tendon.length,
            &minus.tendon.length,
        );
        compare(
            "jacobian",
            &dual.tendon.jacobian,
            &plus.tendon.jacobian,
            &minus.tendon.jacobian,
        );
        let moments = [&plus, &minus].map(|data| &data.transmission.moment[..]);
        compare("moment", &dual.transmission.moment, moments[0], moments[1]);
        compare(
            "passive",
            &dual.passive.total,
            &plus.passive.total,
            &minus.passive.total,
        );
        compare(
            "actuation",
            &dual.actuation.force,
            &plus.actuation.force,
            &minus.actuation.force,
        );
        let rates = [&plus, &minus].map(|data| &data.actuation.activation_dot[..]);
        compare(
            "activation",
            &dual.actuation.activation_dot,
            rates[0],
            rates[1],
        );
        compare(
            "sensors",
            &dual.sensing.values,
            &plus.sensing.values,
            &minus.sensing.values,
        );
    }
}

const HELD: &str = r#"<mujoco><option tolerance="0" iterations="200" ls_tolerance="1e-12"/><worldbody> <site name="hook"/>
  <body name="arm" pos="0 0 1"> <joint name="hinge" axis="1 1 0" range="-30 30"/> <geom size=".1" pos=".2 .1 0"/>
    <site name="hand" pos=".3 .1 .2" euler="10 20 30"/> </body>
  <body name="box" pos="1 0 1"> <freejoint/> <geom size=".1 .2 .3" type="box"/> <site name="box" pos=".1 .2 .3"/> </body>
  <body name="load" pos="2 0 1"> <freejoint/> <geom size=".3 .2 .1" type="box"/> <site name="load"/> </body>
</worldbody>
<equality> <weld site1="box" site2="hand" torquescale="2.5"/> <connect body1="load" body2="box" anchor=".1 .2 .3"/>
  <tendon tendon1="first" tendon2="second" polycoef=".1 .5 .2 0 0"/> </equality>
<tendon>
  <spatial name="first" limited="true" range=".1 .5" frictionloss=".5"> <site site="hook"/> <site site="load"/> </spatial>
  <spatial name="second" limited="true" range="2 5" stiffness="2" damping="3"> <site site="hand"/>
    <site site="load"/> <pulley divisor="2"/> <site site="hook"/> <site site="box"/> </spatial> </tendon>
<sensor>
  <force name="box_force" site="box"/> <torque name="box_torque" site="box"/>
  <force name="load_force" site="load"/> <torque name="load_torque" site="load"/>
  <force name="hand_force" site="hand"/> <jointlimitfrc name="limit_force" joint="hinge"/>
  <jointlimitpos name="limit" joint="hinge"/> <tendonlimitfrc name="string_force" tendon="first"/>
</sensor></mujoco>"#;

#[test]
fn nothing_passes_through_a_free_joint_whatever_holds_the_body() {
    let model = model_from_mjcf(HELD);
    let mut strongest = 0.0_f64;
    for seed in 20..30 {
        let data = sense(&model, &random_state(&model, seed), &Input::zeros(&model));
        strongest = strongest.max(
            data.solve
                .force
                .iter()
                .fold(0.0, |most, f| most.max(f.abs())),
        );
        for name in ["box_force", "box_torque", "load_force", "load_torque"] {
            let reading = vector(&model, &data, name);
            assert!(reading.norm() < 1e-11 * strongest, "{name}: {reading:?}");
        }
        // The hinge does transmit forces.
        assert!(vector(&model, &data, "hand_force").norm() > 1.0);
    }
    assert!(strongest > 100.0, "the constraints are at work");
}

#[test]
fn a_limit_reports_its_force_only_when_it_acts() {
    let model = model_from_mjcf(HELD);
    let mut state = State::reference(&model);
    let reading = |state: &State, name: &str| {
        values(&model, &sense(&model, state, &Input::zeros(&model)), name)[0]
    };
    assert_eq!(reading(&state, "limit_force"), 0.0);
    assert_eq!(reading(&state, "limit"), 0.0);
    state.qpos[0] = 0.6;
    assert!((reading(&state, "limit") - (30.0_f64.to_radians() - 0.6)).abs() < 1e-15);
    assert!(reading(&state, "limit_force") > 1.0);
    assert!(reading(&state, "string_force") > 1.0);
}

/// Sensors of every kind that passes its cotangents on, among contacts, connections, limits and tendons.
const SENSED: &str = r#"<mujoco><option magnetic=".1 .2 .3"><flag energy="enable"/></option><worldbody>
  <geom type="plane" size="5 5 1"/> <site name="world" pos="1 .2 3" euler="10 20 30"/>
  <camera name="eye" pos="0 -3 1" euler="80 10 5" fovy="50" resolution="64 48"/>
  <camera name="lens" pos="0 -3 2" euler="70 10 5" focal=".02 .025" sensorsize=".03 .02" resolution="64 48"/>
  <body name="base" pos="0 0 .2"> <freejoint/> <geom name="box" type="box" size=".3 .4 .5" pos=".05 0 0"/>
    <site name="base" pos=".1 .2 .3" euler="10 20 30"/> <site name="skin" type="box" size=".4 .5 .6"/>
    <body name="arm" pos=".5 0 .5"> <joint name="hinge" axis="0 1 1" range="-5 5" margin="3" stiffness="2 .3 .1" springref="20"/>
      <geom name="arm" size=".1" pos=".1 .05 0"/> <site name="arm" pos=".2 .1 .1" euler="40 0 10"/>
      <body name="hand" pos=".5 0 0"> <joint name="ball" type="ball" stiffness="1 .2 .3"/>
        <geom name="hand" type="capsule" size=".1 .2" pos=".1 .2 0"/> <site name="hand" pos=".1 .1 .3" euler="-20 30 0"/>
      </body> </body> </body>
  <body name="other" pos="0 3 1"> <joint name="slide" type="slide" axis="0 1 1"/> <joint name="turn" axis="1 1 0"/>
    <geom size=".2" pos=".1 .2 .1"/> <site name="other" pos=".1 0 .2"/> </body>
</worldbody>
<tendon>
  <spatial name="string" range="0 .5" margin=".1" stiffness="10 5" damping="1 .2" springlength=".3" armature=".2" frictionloss=".1">
    <site site="world"/> <site site="hand"/> <pulley divisor="3"/> <site site="base"/> <site site="other"/> </spatial>
  <spatial name="rope"> <site site="other"/> <site site="hand"/> </spatial>
  <spatial name="cord"> <site site="other"/> <site site="arm"/> </spatial>
</tendon>
<equality>
  <weld body1="hand" body2="other" torquescale=".7"/> <connect body1="arm" body2="other" anchor=".1 .2 .3"/>
  <weld site1="base" site2="other"/> <tendon tendon1="rope" tendon2="cord" polycoef="0 1 .2 .1 .05"/>
</equality>
<actuator> <motor name="pull" tendon="string" gear="2"/> <position name="hold" joint="hinge" kp="3"/> <motor tendon="string"/> </actuator>
<sensor>
  <accelerometer site="hand"/> <velocimeter site="hand"/> <gyro site="arm"/> <force site="arm"/> <torque site="hand"/>
  <force site="other"/> <force site="base"/> <touch site="skin"/> <magnetometer site="hand" cutoff=".15"/>
  <camprojection site="hand" camera="eye"/> <camprojection site="arm" camera="lens"/>
  <jointpos joint="hinge"/> <jointvel joint="slide" cutoff=".1"/> <tendonpos tendon="string"/> <tendonvel tendon="string"/>
  <actuatorpos actuator="pull"/> <actuatorvel actuator="hold"/> <actuatorfrc actuator="hold"/>
  <jointactuatorfrc joint="hinge"/> <tendonactuatorfrc tendon="string"/>
  <ballquat joint="ball"/> <ballangvel joint="ball"/>
  <jointlimitpos joint="hinge"/> <jointlimitvel joint="hinge"/> <jointlimitfrc joint="hinge"/>
  <tendonlimitpos tendon="string"/> <tendonlimitvel tendon="string"/> <tendonlimitfrc tendon="string"/>
  <framepos objtype="site" objname="hand"/> <framepos objtype="geom" objname="hand" reftype="body" refname="base"/>
  <framequat objtype="camera" objname="eye" reftype="xbody" refname="arm"/>
  <framequat objtype="geom" objname="arm" reftype="site" refname="hand"/> <framequat objtype="body" objname="base"/>
  <framexaxis objtype="xbody" objname="hand"/> <frameyaxis objtype="site" objname="hand" reftype="geom" refname="arm"/>
  <framelinvel objtype="body" objname="hand" reftype="site" refname="arm"/> <framelinvel objtype="site" objname="hand"/>
  <frameangvel objtype="geom" objname="hand" reftype="body" refname="other"/>
  <framelinacc objtype="geom" objname="hand"/> <frameangacc objtype="xbody" objname="arm"/>
  <subtreecom body="arm"/> <subtreelinvel body="base"/> <subtreeangmom body="arm"/> <subtreeangmom body="world"/>
  <e_potential/> <e_kinetic/> <clock/>
  <contact geom1="box" num="3" data="found force torque dist pos normal tangent linvel angvel" reduce="mindist"/>
  <contact num="2" data="force torque linvel" reduce="maxforce" subtree1="arm"/> <contact num="2" data="pos normal"/>
  <contact data="force torque pos" reduce="netforce" body2="base"/> <contact data="torque" reduce="netforce"/>
</sensor></mujoco>"#;

/// Ranges and distances to shapes of every kind.
const RANGED: &str = r#"<mujoco>
  <asset>
    <hfield name="hills" nrow="5" ncol="6" size="2 2 .4 .1"
      elevation="0 .2 .9 1 .3 .8 .1 .4 .7 0 .5 .6 .3 .2 .5 .9 .1 .6 .4 .7 .2 .8 .3 .5 .6 .1 .9 .4 .2 .7"/>
    <mesh name="gem" vertex="-.11 -.02 .01 .12 .01 -.02 .02 -.13 .03 -.01 .14 .02 .03 .01 -.12 .01 .02 .13
      .08 .07 .06 -.07 .08 -.05"/>
  </asset>
  <worldbody>
    <geom name="floor" type="plane" size="9 9 1" pos="0 0 -2"/> <geom name="hills" type="hfield" hfield="hills" pos="0 0 -1.5"/>
    <geom name="ball" size=".3" pos="2.5 0 .1"/> <geom name="bar" type="capsule" size=".2 .3" pos="2 1.5 .2" euler="10 20 0"/>
    <geom name="egg" type="ellipsoid" size=".2 .3 .4" pos="0 2.5 0" euler="5 15 0"/>
    <geom name="can" type="cylinder" size=".3 .2" pos="-2 1.5 0" euler="30 20 0"/>
    <geom name="block" type="box" size=".2 .3 .3" pos="-2.5 -.5 0" euler="20 10 40"/>
    <geom name="gem" type="mesh" mesh="gem" pos="0 -2 0" euler="15 25 35"/>
    <body name="probe"><freejoint/><geom name="probe" type="box" size=".1 .1 .1"/> <geom name="tip" size=".05" pos=".2 0 0"/>
      <site name="a" euler="0 90 0"/> <site name="b" euler="90 0 0"/> <site name="c" euler="180 0 0" pos=".1 .2 0"/>
      <camera name="eye" pos="0 .1 .2" euler="70 10 0" fovy="60" resolution="3 2"/>
      <camera name="lens" pos="0 .1 .2" euler="-70 10 0" focal=".02 .025" principal=".001 .002" sensorsize=".03 .02" resolution="2 2"/>
      <camera name="flat" pos="0 .1 .2" fovy=".5" resolution="2 1" projection="orthographic"/>
    </body>
  </worldbody>
  <sensor>
    <rangefinder site="a" data="dist dir origin point normal depth"/> <rangefinder site="b" data="dist point normal"/>
    <rangefinder site="c" data="dist normal" cutoff="1.5"/> <rangefinder camera="eye" data="dist point normal depth"/>
    <rangefinder camera="lens" data="dist dir origin depth"/> <rangefinder camera="flat" data="dist dir origin normal depth"/>
    <distance geom1="probe" geom2="floor" cutoff="9"/> <normal geom1="floor" geom2="tip" cutoff="9"/>
    <distance geom1="probe" geom2="ball" cutoff="9"/> <fromto geom1="ball" geom2="tip" cutoff="9"/>
    <fromto geom1="probe" geom2="bar" cutoff="9"/> <normal geom1="tip" geom2="bar" cutoff="9"/>
    <fromto geom1="probe" geom2="egg" cutoff="9"/> <normal geom1="tip" geom2="egg" cutoff="9"/>
    <fromto geom1="can" geom2="probe" cutoff="9"/> <fromto geom1="tip" geom2="can" cutoff="9"/>
    <fromto geom1="probe" geom2="block" cutoff="9"/> <fromto geom1="tip" geom2="block" cutoff="9"/>
    <fromto geom1="gem" geom2="probe" cutoff="9"/> <distance geom1="tip" geom2="gem" cutoff="9"/>
    <distance body1="probe" geom2="ball" cutoff="9"/> <distance geom1="probe" geom2="ball" cutoff=".1"/>
  </sensor></mujoco>"#;

crate::testing::stage_check::check_stage!(
    sensing,
    crate::testing::stage_check::points_and(&[SENSED, RANGED, crate::history::DELAYED]),
    |point| {
        let (stages, sensing) = point.data.split_sensing();
        super::forward(&point.model, &point.state, &point.input, &stages, sensing);
        let Data {
            kinematics,
            collision,
            sensing,
            ..
        } = &mut point.data;
        super::measure_distances(&point.model, kinematics, &mut collision.manifold, sensing);
        super::delay(&point.model, &point.state, sensing);
    },
    |point, bar| crate::stages::sensing::backward(point.at(), bar)
);
