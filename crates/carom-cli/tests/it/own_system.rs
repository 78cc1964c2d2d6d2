//! A system of one's own, outside of the engine: a driven point on a spring with a damper. Everything that is written against
//! [`Dynamics`] runs on it: rollouts and their gradients, losses against recordings, identification, recordings for the viewer.

use std::fmt::Write as _;
use std::ops::AddAssign;

use carom::cotangent::ModelBar;
use carom::model::Model;
use carom::parameters::Parameters;
use carom::report::StepReport;
use carom::rollout::{
    Adjoint, Controls, Course, Loss, Nothing, Rollout, RolloutBar, gradient, rollout,
};
use carom::system::{Linear, NoDerivative, Passing, Seen, Shape, StepBar};
use carom::{Data, Dynamics, Error, ErrorKind, Input, State};
use carom_optimise::{Bounds, Limits};
use carom_tasks::loss;
use carom_tasks::problem::{Family, Fit, Problem, Settings};
use carom_tasks::recording::{self, Mapping, Recordings};
use carom_viewer::{Recording, Start};

/// Length of its steps (s).
const STEP: f64 = 0.01;

/// v⁺ = v + h·(u − k·q − c·v), q⁺ = q + h·v⁺ for a unit mass; its sensor reads the force of the spring, −k·q.
#[derive(Clone, Copy, Debug)]
struct Spring {
    stiffness: f64,
    damping: f64,
}

/// Cotangents of stiffness and damping.
#[derive(Clone, Debug, Default)]
struct SpringBar([f64; 2]);

impl AddAssign<&SpringBar> for SpringBar {
    fn add_assign(&mut self, other: &SpringBar) {
        self.0[0] += other.0[0];
        self.0[1] += other.0[1];
    }
}

impl Dynamics for Spring {
    type Work = [f64; 1];
    type Reverse = SpringBar;
    type Bar = SpringBar;
    type Trace = ();

    fn shape(&self) -> Shape {
        Shape {
            nq: 1,
            nv: 1,
            na: 0,
            nu: 1,
            sensors: 1,
        }
    }

    fn parameters(&self) -> usize {
        2
    }

    fn reference(&self) -> State {
        State {
            time: 0.0,
            qpos: vec![0.0],
            qvel: vec![0.0],
            act: Vec::new(),
            mocap_position: Vec::new(),
            mocap_quat: Vec::new(),
            history: Vec::new(),
            warmstart: Vec::new(),
        }
    }

    fn input(&self) -> Input {
        Input {
            ctrl: vec![0.0],
            force: Vec::new(),
            body_force: Vec::new(),
            equality_active: Vec::new(),
            timestep: STEP,
        }
    }

    fn work(&self) -> [f64; 1] {
        [0.0]
    }

    fn step(&self, state: &mut State, input: &Input, work: &mut [f64; 1]) -> StepReport {
        let (q, v, h) = (state.qpos[0], state.qvel[0], input.timestep);
        work[0] = -self.stiffness * q;
        state.qvel[0] = v + h * (input.ctrl[0] + work[0] - self.damping * v);
        state.qpos[0] = q + h * state.qvel[0];
        state.time += h;
        StepReport::default()
    }

    fn sensors<'w>(&self, work: &'w [f64; 1]) -> &'w [f64] {
        work
    }

    fn reverse(&self) -> SpringBar {
        SpringBar::default()
    }

    fn backward(
        &self,
        seen: Seen<'_>,
        passing: Passing<'_>,
        bar: &mut StepBar,
        reverse: &mut SpringBar,
    ) -> Result<(), NoDerivative> {
        let (q, v, h) = (seen.state.qpos[0], seen.state.qvel[0], seen.input.timestep);
        let mut force = [0.0];
        passing.loss.by_sensors(seen.step, &mut force);
        let velocity_bar = passing.next.qvel[0] + h * passing.next.qpos[0];
        let spring_bar = force[0] + h * velocity_bar;
        bar.state.set_zero();
        bar.state.qpos[0] = passing.next.qpos[0] - self.stiffness * spring_bar;
        bar.state.qvel[0] = velocity_bar * (1.0 - h * self.damping);
        bar.input.ctrl[0] += h * velocity_bar;
        reverse.0[0] -= q * spring_bar;
        reverse.0[1] -= v * h * velocity_bar;
        Ok(())
    }

    fn take_bar(&self, reverse: &mut SpringBar, _: f64) -> SpringBar {
        std::mem::take(reverse)
    }
}

/// Springs by stiffness and damping.
struct Springs;

impl Family for Springs {
    type System = Spring;

    fn at(&self, theta: &[f64]) -> Result<Spring, Error> {
        if theta[0] < 0.0 {
            return Err(Error::new(ErrorKind::Value, "a spring pulls back"));
        }
        Ok(Spring {
            stiffness: theta[0],
            damping: theta[1],
        })
    }

    fn backward(&self, _: &[f64], bar: &SpringBar) -> Result<Vec<f64>, Error> {
        Ok(bar.0.to_vec())
    }
}

fn compiled(text: &str) -> Model {
    let files = carom_spec::MemorySource::new().with("model.xml", text);
    let settings = carom_spec::mjcf::ReadSettings::default();
    let read = carom_spec::read::read("model.xml".as_ref(), &files, &settings);
    carom::compile::compile(&read.spec).0.unwrap()
}

/// What draws it, and says what its recordings mean. By itself it is the same point on a spring.
fn model() -> Model {
    compiled(
        r#"<mujoco><option timestep="0.01" gravity="0 0 0"><flag eulerdamp="disable"/></option><worldbody>
      <body><joint name="x" type="slide" axis="1 0 0" stiffness="20" damping="0.5"/><geom size="0.1" mass="1"/></body>
      </worldbody><actuator><motor name="push" joint="x"/></actuator></mujoco>"#,
    )
}

const TRUTH: Spring = Spring {
    stiffness: 20.0,
    damping: 0.5,
};

fn start(system: &Spring) -> State {
    let mut start = system.reference();
    (start.qpos[0], start.qvel[0]) = (0.4, -0.2);
    start
}

/// A force for every step.
fn pushes(steps: usize) -> Controls {
    Controls::PerStep((0..steps).map(|step| (0.05 * step as f64).sin()).collect())
}

/// Weighs the last state and all sensors.
fn weighed(trajectory: &Rollout) -> RolloutBar {
    let mut bar = RolloutBar::zeros(trajectory);
    let steps = trajectory.steps();
    bar.qpos_mut(steps)[0] = 1.0;
    bar.qvel_mut(steps)[0] = -0.3;
    for step in 0..steps {
        bar.sensors_mut(step)[0] = 0.01 * step as f64;
    }
    bar
}

fn weighed_value(trajectory: &Rollout) -> f64 {
    let steps = trajectory.steps();
    let sensors: f64 = (0..steps)
        .map(|step| 0.01 * step as f64 * trajectory.sensors(step)[0])
        .sum();
    trajectory.qpos(steps)[0] - 0.3 * trajectory.qvel(steps)[0] + sensors
}

#[test]
fn rollouts_of_an_own_system_have_the_gradient_of_differences() {
    const STEPS: usize = 60;
    let controls = pushes(STEPS);
    let value = |system: &Spring, start: &State| {
        weighed_value(&rollout(
            system,
            start,
            &controls,
            STEPS,
            &mut system.work(),
        ))
    };
    let from = start(&TRUTH);
    let trajectory = rollout(&TRUTH, &from, &controls, STEPS, &mut TRUTH.work());
    let mut loss = weighed(&trajectory);
    let found = trajectory.backward(&TRUTH, &controls, &mut loss).unwrap();
    let close = |what: &str, found: f64, low: f64, high: f64, h: f64| {
        let expected = (high - low) / (2.0 * h);
        let error = (found - expected).abs();
        assert!(
            error < 1e-7 * (1.0 + expected.abs()),
            "{what}: {found} {expected}"
        );
    };
    let h = 1e-5;
    for (index, found) in found.model.0.into_iter().enumerate() {
        let moved = |change: f64| {
            let mut system = TRUTH;
            *[&mut system.stiffness, &mut system.damping][index] += change;
            value(&system, &from)
        };
        close("own number", found, moved(-h), moved(h), h);
    }
    let moved = |change: f64| {
        let mut from = from.clone();
        from.qpos[0] += change;
        value(&TRUTH, &from)
    };
    close("start", found.start.qpos[0], moved(-h), moved(h), h);
    // States that are simulated again give the same bits.
    let few = Adjoint::Checkpointed { bytes: 100 };
    let (end, again) = gradient(&TRUTH, &from, &controls, STEPS, few, &mut loss).unwrap();
    assert_eq!(end, trajectory.end);
    assert_eq!(
        again.model.0.map(f64::to_bits),
        found.model.0.map(f64::to_bits)
    );
    assert_eq!(again.controls, found.controls);
}

#[test]
fn a_linear_map_follows_from_the_adjoint() {
    let (state, mut input) = (start(&TRUTH), TRUTH.input());
    input.ctrl[0] = 0.7;
    let seen = Seen {
        step: 0,
        state: &state,
        input: &input,
        warmstart: &[],
    };
    let mut linear = Linear::default();
    TRUTH
        .linearize(seen, &mut linear, &mut TRUTH.reverse())
        .unwrap();
    let (h, k, c) = (STEP, TRUTH.stiffness, TRUTH.damping);
    let expected = [1.0 - h * h * k, h * (1.0 - h * c), -h * k, 1.0 - h * c];
    for (found, expected) in linear.a.iter().zip(expected) {
        assert!((found - expected).abs() < 1e-15, "{:?}", linear.a);
    }
    assert_eq!(linear.b, [h * h, h]);
}

/// Recordings of the true spring, made by the system itself.
fn recordings(name: &str, model: &Model) -> Recordings {
    const FRAMES: usize = 120;
    let controls = pushes(FRAMES);
    let course = Course {
        controls: &controls,
        steps: FRAMES,
        timestep: None,
        stops: true,
    };
    let trajectory = TRUTH.rollout(&start(&TRUTH), &course, &mut TRUTH.work());
    let mut table = "t,x,v,u\n".to_owned();
    let mut push = [0.0];
    for frame in 0..=FRAMES {
        controls.write(frame, &mut push);
        let (x, v) = (trajectory.qpos(frame)[0], trajectory.qvel(frame)[0]);
        writeln!(table, "{},{x},{v},{}", frame as f64 * STEP, push[0]).unwrap();
    }
    let path = std::env::temp_dir().join(format!("carom_{name}_{}.csv", std::process::id()));
    std::fs::write(&path, table).unwrap();
    let mapping = Mapping::parse(
        "time.column = 't'\n[[joint]]\nname = 'x'\nposition = 'x'\nvelocity = 'v'\n[[actuator]]\nname = 'push'\ncontrol = 'u'\n",
        "spring.toml",
    )
    .unwrap();
    let recordings = recording::load(model, &mapping, std::slice::from_ref(&path)).unwrap();
    std::fs::remove_file(path).unwrap();
    recordings
}

#[test]
fn the_numbers_of_an_own_system_are_identified() {
    let model = model();
    let recordings = recordings("own_system", &model);
    let guess = [8.0, 1.5];
    let fit = Fit::new(Springs, &guess, &model, &recordings, loss::Loss::default()).unwrap();
    let bounds = Bounds::new(vec![0.0, 0.0], vec![100.0, 10.0]).unwrap();
    let found = fit.search(&guess, bounds, &Limits::default()).unwrap();
    assert!((found.theta[0] - 20.0).abs() < 1e-4, "{found:?}");
    assert!((found.theta[1] - 0.5).abs() < 1e-5, "{found:?}");
}

/// The family of a model's parameters has the gradient of the problem that knows them by name.
#[test]
fn models_are_a_family_like_any_other() {
    let model = model();
    let recordings = recordings("own_family", &model);
    let names = ["joint.x.stiffness[0]", "joint.x.damping[0]"];
    let parameters = Parameters::select(&model, &names).unwrap();
    let theta = [12.0, 0.9];
    let problem = Problem::new(&recordings, parameters.clone(), Settings::default()).unwrap();
    let expected = problem.gradient(&theta).unwrap();
    let fit = Fit::new(
        parameters,
        &theta,
        &model,
        &recordings,
        loss::Loss::default(),
    )
    .unwrap();
    let (value, gradient) = fit.gradient(&theta).unwrap();
    assert_eq!(value.to_bits(), expected.value.to_bits());
    assert_eq!(gradient, expected.gradient);
}

#[test]
fn an_own_system_is_drawn_by_a_model() {
    let model = model();
    let from = Start {
        state: start(&TRUTH),
        ctrl: vec![0.2],
    };
    let (film, failure) =
        Recording::follow("spring", &model, &TRUTH, &from, 1.0, |_| true).unwrap();
    assert_eq!(failure, None);
    // Frames come every 1/60 s or, as here, at every second step or so.
    assert!(film.frames() > 40, "{}", film.frames());
    assert!((film.duration() - 1.0).abs() < 1e-9, "{}", film.duration());
    let other = compiled("<mujoco/>");
    let refused = Recording::follow("spring", &other, &TRUTH, &from, 1.0, |_| true);
    assert!(refused.unwrap_err().to_string().contains("cannot be drawn"));
}

/// A model and the adjoint of its own step agree through the trait.
#[test]
fn a_model_steps_through_the_trait() {
    let model = model();
    let mut state = model.reference();
    state.qpos[0] = 0.3;
    let (mut input, before) = (model.input(), state.clone());
    input.timestep = 0.5 * STEP;
    let mut data: Data = model.work();
    let report = Dynamics::step(&model, &mut state, &input, &mut data);
    assert_eq!(report.not_finite, None);
    assert!((state.time - 0.5 * STEP).abs() < 1e-15);
    let seen = Seen {
        step: 0,
        state: &before,
        input: &input,
        warmstart: &state.warmstart,
    };
    let (mut bar, mut reverse) = (StepBar::zeros(&before, &input), model.reverse());
    let mut next = carom::cotangent::StateBar::like(&state);
    next.qvel[0] = 1.0;
    let passing = Passing {
        next: &next,
        loss: &mut Nothing as &mut dyn Loss,
        observer: &mut (),
    };
    model
        .backward(seen, passing, &mut bar, &mut reverse)
        .unwrap();
    let own: ModelBar = model.take_bar(&mut reverse, 0.0);
    // v⁺ = v − h·k·q.
    assert!((bar.state.qpos[0] + 0.5 * STEP * 20.0).abs() < 1e-12);
    assert!((own.joints.stiffness[0] + 0.5 * STEP * 0.3).abs() < 1e-12);
    assert!((bar.input.timestep + 20.0 * 0.3).abs() < 1e-12);
}
