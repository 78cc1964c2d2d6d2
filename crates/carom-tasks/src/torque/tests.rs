//! The regressor is the engine's inverse dynamics, its derivatives are right, and base parameters are as many as mechanics says.

use carom::Model;
use carom::parameters::Parameters;
use carom_spec::mjcf::ReadSettings;
use carom_spec::read::read;
use carom_spec::source::MemorySource;

use super::{Base, Measured, Regressor};
use crate::npz::Array;
use crate::recording::table::Table;
use crate::recording::{self, Mapping, Recordings};

const FRAMES: usize = 800;
const RATE: f64 = 200.0;

fn model(text: &str) -> Model {
    let source = MemorySource::new().with("arm.xml", text);
    let read = read("arm.xml".as_ref(), &source, &ReadSettings::default());
    carom::load::compiled(read).unwrap().model
}

/// Two links in a vertical plane unless axes say otherwise.
fn arm(first_axis: &str) -> Model {
    model(&format!(
        "<mujoco><compiler angle='radian'/><worldbody>
          <body><joint name='a' axis='{first_axis}' damping='0.2' armature='0.01'/>
            <inertial pos='0.2 0.01 -0.02' mass='2' fullinertia='0.02 0.03 0.025 0.001 0.002 -0.001'/>
            <body pos='0.4 0 0'><joint name='b' axis='0 1 0' frictionloss='0.3' stiffness='0.5'/>
              <inertial pos='0.15 0 0.03' mass='1' fullinertia='0.01 0.012 0.008 0.0005 0 0.001'/></body></body>
        </worldbody><actuator>
          <general name='m' joint='a' gear='3' gainprm='1.2' biastype='affine' biasprm='0.1 0 0' nsample='8' interp='linear' delay='0.006'/>
          <motor name='n' joint='b'/></actuator></mujoco>"
    ))
}

fn moved(model: &Model) -> Recordings {
    let time = |frame: usize| frame as f64 / RATE;
    let angles = |frame: usize| {
        [
            (3.1 * time(frame)).sin() + 0.3 * (7.0 * time(frame)).cos(),
            0.8 * (4.3 * time(frame)).sin(),
        ]
    };
    let torques = |frame: usize| {
        [
            2.0 * (5.0 * time(frame)).cos(),
            (2.0 * time(frame)).sin() + 0.1,
        ]
    };
    let rows = |of: &dyn Fn(usize) -> [f64; 2]| {
        Array::numbers(&[FRAMES, 2], (0..FRAMES).flat_map(of).collect())
    };
    let arrays = [("q", rows(&angles)), ("tau", rows(&torques))]
        .map(|(name, array)| (name.to_owned(), array));
    let table = Table::from_arrays("run".to_owned(), arrays, false);
    let mapping = Mapping::parse(
        &format!(
            "[time]\nrate = {RATE}\n[torque]\n[[joint]]\nname = 'a'\nposition = 'q[0]'\n[[joint]]\nname = 'b'\nposition = 'q[1]'\n\
             [[actuator]]\nname = 'm'\ncontrol = 'tau[0]'\n[[actuator]]\nname = 'n'\ncontrol = 'tau[1]'\n"
        ),
        "arm.toml",
    );
    recording::from_tables(model, &mapping.unwrap(), [Ok(table)]).unwrap()
}

fn regressor(model: &Model, free: &[&str]) -> (Regressor, Parameters) {
    let measured = Measured::new(model, &moved(model)).unwrap().unwrap();
    let parameters = Parameters::select(model, free).unwrap();
    (Regressor::new(measured, &parameters).unwrap(), parameters)
}

const FREE: [&str; 8] = [
    "body.*.pseudo_inertia",
    "joint.a.armature log",
    "joint.a.damping[0]",
    "joint.b.frictionloss log",
    "actuator.m.gainprm[0] log",
    "actuator.m.biasprm[0]",
    "actuator.m.delay",
    "actuator.n.gainprm[0]",
];

#[test]
fn the_regressor_gives_the_residuals_of_the_engine_anywhere() {
    let model = arm("0 1 0");
    let (regressor, parameters) = regressor(&model, &FREE);
    let theta: Vec<f64> = (parameters.theta0().iter().enumerate())
        .map(|(k, theta)| theta + 1e-2 * (k as f64).sin())
        .collect();
    let there = parameters.apply(&theta).unwrap();
    let measured = Measured::new(&model, &moved(&model)).unwrap().unwrap();
    let direct = measured.residuals(&there, &measured.samples());
    for (linear, direct) in regressor
        .residuals(&parameters, &theta)
        .unwrap()
        .iter()
        .zip(&direct)
    {
        assert!((linear - direct).abs() < 1e-11, "{linear} for {direct}");
    }
}

#[test]
fn derivatives_are_those_of_differences() {
    let (regressor, parameters) = regressor(&arm("0 1 0"), &FREE);
    let mut theta = parameters.theta0().to_vec();
    // Away from the base, and off the frames between which a delay is read.
    theta
        .iter_mut()
        .enumerate()
        .for_each(|(k, theta)| *theta += 7e-3 * (1.0 + k as f64).cos());
    let delay = parameters.index("actuator.m.delay").unwrap();
    theta[delay] = 0.0077;
    let (_, jacobian) = regressor.linearize(&parameters, &theta).unwrap();
    let step = 1e-6;
    for k in 0..theta.len() {
        let at = |side: f64| {
            let mut theta = theta.clone();
            theta[k] += side * step;
            regressor.residuals(&parameters, &theta).unwrap()
        };
        let (high, low) = (at(1.0), at(-1.0));
        for row in 0..jacobian.rows() {
            let secant = (high[row] - low[row]) / (2.0 * step);
            let slope = jacobian[(row, k)];
            assert!(
                (secant - slope).abs() < 1e-6 * (1.0 + slope.abs()),
                "{k}: {slope} for {secant}"
            );
        }
    }
}

#[test]
fn base_parameters_are_as_many_as_mechanics_says() {
    // Two links in a vertical plane have a moment of inertia and two first moments each. About vertical axes, gravity tells nothing, and the first
    // moments of the first link are lost.
    for (axis, count) in [("0 1 0", 6), ("0 0 1", 4)] {
        let text = format!(
            "<mujoco><compiler angle='radian'/><worldbody><body><joint name='a' axis='{axis}'/>
              <inertial pos='0.2 0.01 -0.02' mass='2' fullinertia='0.02 0.03 0.025 0.001 0.002 -0.001'/>
              <body pos='0.4 0 0'><joint name='b' axis='{axis}'/>
              <inertial pos='0.15 0 0.03' mass='1' diaginertia='0.01 0.012 0.008'/></body></body></worldbody>
              <actuator><motor name='m' joint='a'/><motor name='n' joint='b'/></actuator></mujoco>"
        );
        let (regressor, _) = regressor(&model(&text), &["body.*.pseudo_inertia"]);
        assert_eq!(Base::new(&regressor).count, count, "axis {axis}");
    }
}

#[test]
fn joints_have_torques_where_motors_alone_act_on_them() {
    let measured = |model: &Model| Measured::new(model, &moved(model)).unwrap();
    let both = measured(&arm("0 1 0")).unwrap();
    let names: Vec<&str> = both.axes.iter().map(|axis| axis.name.as_str()).collect();
    assert_eq!((names, both.axes[0].motors[0].gear), (vec!["a", "b"], 3.0));
    // A servo on the second joint has a torque that nobody recorded.
    let text = "<mujoco><worldbody><body><joint name='a'/><geom size='0.1'/><body><joint name='b'/><geom size='0.1'/></body></body>
        </worldbody><actuator><motor name='m' joint='a'/><position name='n' joint='b' kp='9' timeconst='0.1'/></actuator></mujoco>";
    let one = measured(&model(text)).unwrap();
    assert_eq!(one.axes.len(), 1);
    assert!(one.axes[0].is_hinge && one.axes[0].name == "a");
}
