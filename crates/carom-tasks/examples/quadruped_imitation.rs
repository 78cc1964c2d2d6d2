//! Experiment: a network in place of the quadratic program of a gait controller [Heiden 2021, §IV-D], then tuned through the engine.
//!
//! A quadruped trots by convex model-predictive control: a quadratic program finds the forces at its feet. With 10,000 of its answers to
//! random commands a network learns them (41 numbers in, two hidden layers of 192 ELU, 12 forces out). The network then walks by itself
//! and labels its own mistakes by the program once (aggregation of data [Ross 2011]). Last, its weights are tuned through the
//! simulation: the loss is the error of the speeds over a short walk, and its gradient goes back through steps of the engine, torques
//! of the joints, the network and what it observes.
//!
//! Claims: the network is ten times as fast as the program; from 19 of 20 random starts it walks ten metres and does not fall; its
//! gradients are those of differences; tuned, it keeps to commands better than the program does. Commands of tests are drawn
//! apart from those of training.
//!
//! `cargo run --release -p carom-tasks --example quadruped_imitation` prints a table and writes
//! `target/experiments/quadruped_imitation/`; with `-- --quick` for a smaller network, fewer steps and shorter walks. `-- --laikago` takes
//! the robot of the paper from `CAROM_SHARED` instead of `models/quadruped.xml`.
#![allow(
    clippy::print_stdout,
    reason = "the figures are what the experiment is for"
)]

#[path = "../../carom/examples/common/mod.rs"]
mod common;

use std::error::Error;
use std::time::Instant;

use carom::cotangent::StateBar;
use carom::parameters::Parameters;
use carom::rollout::Nothing;
use carom::system::{Passing, Seen, StepBar};
use carom::varied::{self, Varied};
use carom::{
    Data, Dynamics, Input, Model, Scalar, State, compile, forward_frames, integrate_positions,
};
use carom_form::{Activation, Bars, Core, Form, Mlp, Numbers};
use carom_optimise::random::Random;
use carom_plot::{Chart, Page, Scale, Series};
use carom_tasks::legged::{
    Command, Controller, Description, FORCES, ForcePolicy, Gait, LEGS, Motion, Mpc, OBSERVED,
    Robot, torque_driven,
};

/// Steps of the simulation between two of the controller.
const HOLD: usize = 2;
/// Time step (s).
const STEP: f64 = 0.002;
/// Largest speeds that are commanded: ahead, aside (m/s), turning (rad/s).
const SPEEDS: [f64; 3] = [0.6, 0.2, 0.8];
/// Steps of the controller for which a command holds: a second.
const PER_COMMAND: usize = 250;
/// Length by which errors of turning are added to those of speed (m): half a trunk.
const ARM: f64 = 0.2;
/// How many times as fast as the program the network must be.
const FASTER: f64 = 10.0;
/// Part of the starts from which it must walk all the way.
const WALKS: f64 = 0.95;
/// What equal tracking means: the network's error over the program's.
const EQUAL: f64 = 1.1;
/// How far gradients may be from differences. Contacts that begin or end within a difference leave this much.
const GRADIENT: f64 = 1e-3;

/// How much is done.
struct Extent {
    hidden: usize,
    /// Steps of the controller that are learned from, before and after aggregation.
    steps: [usize; 2],
    epochs: usize,
    starts: usize,
    /// Metres to walk, and in how many steps of the controller at most: at half the speed that is commanded.
    distance: f64,
    limit: usize,
    /// Walks of which tracking errors are measured.
    walks: usize,
    /// Iterations of tuning, and walks of each.
    tuning: [usize; 2],
}

const FULL: Extent = Extent {
    hidden: 192,
    steps: [10_000, 5_000],
    epochs: 30,
    starts: 20,
    distance: 10.0,
    limit: 10_000,
    walks: 20,
    tuning: [100, 8],
};
const QUICK: Extent = Extent {
    hidden: 64,
    steps: [1500, 750],
    epochs: 30,
    starts: 4,
    distance: 1.5,
    limit: 1500,
    walks: 4,
    tuning: [25, 4],
};

/// Steps of the controller over which weights are tuned: two thirds of a cycle of the gait.
const HORIZON: usize = 75;

/// A robot, its model and its controller.
struct Scene {
    model: Model,
    controller: Controller,
    /// Of the whole robot (N).
    weight: f64,
}

impl Scene {
    fn new(laikago: bool) -> Result<Self, Box<dyn Error>> {
        let (path, description) = if laikago {
            let legs = ["FR", "FL", "RR", "RL"].map(|leg| {
                let joints = [
                    "hip_motor_2_chassis",
                    "upper_leg_2_hip_motor",
                    "lower_leg_2_upper_leg",
                ];
                let joints = joints.map(|joint| format!("{leg}_{joint}_joint"));
                (format!("toe{leg}"), joints)
            });
            let path = carom_testing::shared("models/tds_laikago/laikago_toes_zup.urdf");
            let description = Description {
                trunk: "chassis".to_owned(),
                legs,
                stand: [0.0, 0.0, -0.5].repeat(LEGS),
            };
            (path.ok_or("the URDF is not there")?, description)
        } else {
            let legs = ["front_right", "front_left", "rear_right", "rear_left"].map(|leg| {
                let part = |name: &str| format!("{leg}_{name}");
                (part("foot"), ["abduction", "thigh", "knee"].map(part))
            });
            let description = Description {
                trunk: "trunk".to_owned(),
                legs,
                stand: [0.0, 0.75, -1.5].repeat(LEGS),
            };
            (common::root().join("models/quadruped.xml"), description)
        };
        let mut spec = torque_driven(carom_spec::read_file(&path, &[]).spec, &description);
        spec.option.timestep = STEP;
        let (model, problems) = compile::compile(&spec);
        let model = model.ok_or_else(|| format!("{problems:?}"))?;
        let robot = Robot::new(&model, &description)?;
        let weight = robot.body.mass * robot.body.gravity.norm();
        Ok(Self {
            controller: Controller::new(robot, Gait::trot(0.25, 0.2)),
            model,
            weight,
        })
    }

    /// A start within the gait: any heading and time, joints, tilt and speeds somewhat off.
    fn start(&self, random: &mut Random) -> State {
        let robot = &self.controller.robot;
        let mut state = robot.standing(&self.model);
        state.time = random.uniform() * self.controller.gait.cycle();
        let mut off = vec![0.0; self.model.counts().nv];
        let mut draw = |size: f64| size * (2.0 * random.uniform() - 1.0);
        let base = robot.base_dof();
        off[base + 2] = 0.01;
        off[base + 3] = draw(0.05);
        off[base + 4] = draw(0.05);
        for dof in robot.joint_dofs() {
            off[dof] = draw(0.1);
        }
        integrate_positions(&self.model, &mut state.qpos, &off, 1.0);
        let mut turn = vec![0.0; self.model.counts().nv];
        turn[base + 5] = draw(3.0);
        integrate_positions(&self.model, &mut state.qpos, &turn, 1.0);
        for k in 0..2 {
            state.qvel[base + k] = draw(0.3);
        }
        state
    }

    fn has_fallen(&self, state: &State, motion: &Motion) -> bool {
        let finite = state.qpos.iter().chain(&state.qvel).all(|x| x.is_finite());
        let tilted = motion.tilt.iter().any(|tilt| tilt.abs() > 0.8);
        let robot = &self.controller.robot;
        !finite || tilted || robot.pose(state).0[2] < 0.5 * robot.height
    }
}

fn draw_command(random: &mut Random) -> Command {
    let [forward, sideways, turn] = SPEEDS.map(|speed| speed * (2.0 * random.uniform() - 1.0));
    Command {
        forward,
        sideways,
        turn,
    }
}

/// The network, with forces in weights of the robot.
#[derive(Clone)]
struct Network {
    form: Form,
    weights: Vec<f64>,
    constants: Vec<f64>,
    unit: f64,
    room: Vec<f64>,
}

impl Network {
    fn new(hidden: usize, unit: f64, samples: &Samples, seed: u64) -> Self {
        let widths = [hidden, hidden];
        let core = Mlp::new(OBSERVED, &widths, FORCES, Activation::Elu);
        let form = Form::new(Core::Mlp(core));
        let mut random = Random::new(seed, 0);
        let mut constants = form.plain_constants();
        let count = samples.observed.len() as f64;
        for (input, pair) in constants.as_chunks_mut::<2>().0.iter_mut().enumerate() {
            let values = || samples.observed.iter().map(|observed| observed[input]);
            let mean = values().sum::<f64>() / count;
            let variance = values().map(|x| (x - mean) * (x - mean)).sum::<f64>() / count;
            // What never changes, such as friction, is nothing to scale by.
            let scale = if variance < 1e-12 {
                1.0
            } else {
                variance.sqrt()
            };
            *pair = [mean, scale];
        }
        Self {
            weights: form.initial(|| random.normal()),
            room: vec![0.0; form.room()],
            constants,
            form,
            unit,
        }
    }

    fn numbers(&self) -> Numbers<'_, f64> {
        Numbers {
            weights: &self.weights,
            constants: &self.constants,
        }
    }
}

impl ForcePolicy for Network {
    fn forces(&mut self, observed: &[f64; OBSERVED], forces: &mut [f64; FORCES]) {
        let numbers = Numbers {
            weights: &self.weights,
            constants: &self.constants,
        };
        self.form.value(observed, numbers, forces, &mut self.room);
        for force in forces {
            *force *= self.unit;
        }
    }
}

/// Adam, for weights.
struct Adam {
    mean: Vec<f64>,
    square: Vec<f64>,
    step: i32,
}

impl Adam {
    fn new(size: usize) -> Self {
        Self {
            mean: vec![0.0; size],
            square: vec![0.0; size],
            step: 0,
        }
    }

    fn advance(&mut self, weights: &mut [f64], gradient: &[f64], rate: f64) {
        self.step += 1;
        let (first, second) = (
            1.0 - 0.9_f64.powi(self.step),
            1.0 - 0.999_f64.powi(self.step),
        );
        let moments = self.mean.iter_mut().zip(&mut self.square);
        for ((weight, slope), (mean, square)) in weights.iter_mut().zip(gradient).zip(moments) {
            *mean += 0.1 * (slope - *mean);
            *square += 0.001 * (slope * slope - *square);
            *weight -= rate * (*mean / first) / ((*square / second).sqrt() + 1e-10);
        }
    }
}

/// Answers of the program.
#[derive(Default)]
struct Samples {
    observed: Vec<[f64; OBSERVED]>,
    forces: Vec<[f64; FORCES]>,
}

/// Gathers answers of the program along walks of a policy, or of the program's own.
fn gather(
    scene: &Scene,
    mut walker: Option<&mut Network>,
    steps: usize,
    seed: u64,
    samples: &mut Samples,
) {
    let (model, controller) = (&scene.model, &scene.controller);
    let mut random = Random::new(seed, 1);
    let mut teacher = Mpc::new(&controller.robot);
    let (mut data, mut input) = (Data::new(model), Input::zeros(model));
    let (mut state, mut command) = (scene.start(&mut random), Command::default());
    for step in 0..steps {
        if step % (4 * PER_COMMAND) == 0 {
            state = scene.start(&mut random);
        }
        if step % PER_COMMAND == 0 {
            command = draw_command(&mut random);
        }
        if step % PER_COMMAND == PER_COMMAND / 2 {
            // A push, so that there is something to recover from.
            for k in 0..2 {
                state.qvel[controller.robot.base_dof() + k] += 0.15 * random.normal();
            }
        }
        forward_frames(model, &state, &mut data);
        let motion = controller.robot.motion(model, &state, &data.kinematics);
        let observed = motion.observed(controller, state.time, command);
        let mut forces = [0.0; FORCES];
        teacher.forces(&observed, &mut forces);
        samples.observed.push(observed);
        samples
            .forces
            .push(forces.map(|force| force / scene.weight));
        if let Some(network) = &mut walker {
            network.forces(&observed, &mut forces);
        }
        apply(scene, &motion, state.time, command, &forces, &mut input);
        for _ in 0..HOLD {
            carom::step(model, &mut state, &input, &mut data);
        }
        if scene.has_fallen(&state, &motion) {
            state = scene.start(&mut random);
        }
    }
}

fn apply(
    scene: &Scene,
    motion: &Motion,
    time: f64,
    command: Command,
    forces: &[f64; FORCES],
    input: &mut Input,
) {
    let torques = scene.controller.torques(motion, time, command, forces);
    for (dof, torque) in scene.controller.robot.joint_dofs().zip(torques) {
        input.force[dof] = torque;
    }
}

/// Learns the samples; gives the root mean square error of each epoch, in weights of the robot.
fn learn(
    network: &mut Network,
    samples: &Samples,
    epochs: usize,
    rate: f64,
    seed: u64,
) -> Vec<f64> {
    const BATCH: usize = 32;
    let mut random = Random::new(seed, 2);
    let mut adam = Adam::new(network.weights.len());
    let mut gradient = vec![0.0; network.weights.len()];
    let (mut inputs, mut constants) = ([0.0; OBSERVED], vec![0.0; network.constants.len()]);
    let mut room = vec![0.0; network.form.room()];
    let mut curve = Vec::new();
    let count = samples.observed.len();
    let total = (epochs * count.div_ceil(BATCH)) as f64;
    for _ in 0..epochs {
        let order = random.shuffled(count);
        let mut sum = 0.0;
        for batch in order.chunks(BATCH) {
            gradient.fill(0.0);
            for &sample in batch {
                let (observed, wanted) = (&samples.observed[sample], &samples.forces[sample]);
                let mut forces = [0.0; FORCES];
                network
                    .form
                    .value(observed, network.numbers(), &mut forces, &mut room);
                for (leg, (found, wanted)) in forces
                    .chunks_exact_mut(3)
                    .zip(wanted.chunks_exact(3))
                    .enumerate()
                {
                    let stands = observed[9 + leg];
                    for (found, wanted) in found.iter_mut().zip(wanted) {
                        // Forces of swinging legs do not act: nothing is to be learned of them.
                        *found = stands * (*found - wanted) / batch.len() as f64;
                        sum += (*found * batch.len() as f64).powi(2);
                    }
                }
                let mut bars = Bars {
                    inputs: &mut inputs,
                    weights: &mut gradient,
                    constants: &mut constants,
                };
                network
                    .form
                    .vjp(observed, network.numbers(), &forces, &mut bars, &mut room);
            }
            let done = f64::from(adam.step) / total;
            let falling = 0.5 * (1.0 + (std::f64::consts::PI * done).cos());
            adam.advance(&mut network.weights, &gradient, rate * falling.max(0.01));
        }
        curve.push((sum / (count * FORCES) as f64).sqrt());
    }
    curve
}

/// How walks went.
#[derive(Clone, Copy, Debug)]
struct Tracking {
    /// Root mean square errors of speed (m/s), of turning (rad/s) and of both, with [`ARM`].
    speed: f64,
    turning: f64,
    both: f64,
    /// Walks that ended with a fall.
    falls: usize,
}

/// Walks of four seconds with commands that change every second.
fn track(scene: &Scene, policy: &mut dyn ForcePolicy, walks: usize, seed: u64) -> Tracking {
    let (mut speed, mut turning, mut count, mut falls) = (0.0, 0.0, 0.0, 0);
    for walk in 0..walks {
        let mut random = Random::new(seed, walk as u64);
        let start = scene.start(&mut random);
        let commands: Vec<Command> = (0..4).map(|_| draw_command(&mut random)).collect();
        let steps = 4 * PER_COMMAND;
        let mut visit = |step: usize, motion: &Motion, command: Command| {
            // Half a second to come from the start into the gait.
            if step as f64 * STEP * HOLD as f64 > 0.5 {
                let off = [
                    motion.linear[0] - command.forward,
                    motion.linear[1] - command.sideways,
                ];
                speed += off[0] * off[0] + off[1] * off[1];
                turning += (motion.angular[2] - command.turn).powi(2);
                count += 1.0;
            }
            true
        };
        let of_step = |step: usize| commands[(4 * step / steps).min(3)];
        falls += usize::from(!walk_along(
            scene,
            policy,
            start,
            (steps, &of_step),
            &mut visit,
        ));
    }
    let (speed, turning) = (speed / count, turning / count);
    Tracking {
        speed: speed.sqrt(),
        turning: turning.sqrt(),
        both: (speed + ARM * ARM * turning).sqrt(),
        falls,
    }
}

/// Walks until `visit` has seen enough; false if the robot fell.
fn walk_along(
    scene: &Scene,
    policy: &mut dyn ForcePolicy,
    mut state: State,
    (steps, command): (usize, &dyn Fn(usize) -> Command),
    visit: &mut dyn FnMut(usize, &Motion, Command) -> bool,
) -> bool {
    let (model, controller) = (&scene.model, &scene.controller);
    let (mut data, mut input) = (Data::new(model), Input::zeros(model));
    for step in 0..steps {
        forward_frames(model, &state, &mut data);
        let motion = controller.robot.motion(model, &state, &data.kinematics);
        if scene.has_fallen(&state, &motion) {
            return false;
        }
        let command = command(step);
        if !visit(step, &motion, command) {
            return true;
        }
        let observed = motion.observed(controller, state.time, command);
        let mut forces = [0.0; FORCES];
        policy.forces(&observed, &mut forces);
        apply(scene, &motion, state.time, command, &forces, &mut input);
        for _ in 0..HOLD {
            carom::step(model, &mut state, &input, &mut data);
        }
    }
    true
}

/// From how many random starts the robot walks so far, without a fall and at not less than half the speed.
fn distances(scene: &Scene, policy: &mut dyn ForcePolicy, extent: &Extent, seed: u64) -> usize {
    let straight = Command {
        forward: 0.5,
        ..Command::default()
    };
    let arrives = |start: usize| {
        let state = scene.start(&mut Random::new(seed, start as u64));
        let period = STEP * HOLD as f64;
        let mut covered = 0.0;
        let mut visit = |_: usize, motion: &Motion, _: Command| {
            covered += motion.linear[0] * period;
            covered < extent.distance
        };
        let steps = (
            extent.limit,
            &(|_: usize| straight) as &dyn Fn(usize) -> Command,
        );
        walk_along(scene, policy, state, steps, &mut visit) && covered >= extent.distance
    };
    (0..extent.starts)
        .map(arrives)
        .filter(|&arrived| arrived)
        .count()
}

/// Median times of the program and of the network on the same observations, asked in turns (µs).
fn latencies(scene: &Scene, network: &mut Network, samples: &Samples) -> [f64; 2] {
    let mut program = Mpc::new(&scene.controller.robot);
    let mut times = [Vec::new(), Vec::new()];
    let mut forces = [0.0; FORCES];
    for observed in samples.observed.iter().rev().take(1000) {
        let policies: [&mut dyn ForcePolicy; 2] = [&mut program, network];
        for (times, policy) in times.iter_mut().zip(policies) {
            let begin = Instant::now();
            policy.forces(observed, &mut forces);
            times.push(begin.elapsed().as_secs_f64() * 1e6);
        }
    }
    times.map(common::median)
}

/// The loss of a moment: errors of speeds, and a little of what makes a walk rough.
fn moment<T: Scalar>(motion: &Motion<T>, command: Command) -> T {
    let ahead = motion.linear[0] - command.forward;
    let aside = motion.linear[1] - command.sideways;
    let turning = motion.angular[2] - command.turn;
    let rough = motion.linear[2] * motion.linear[2] * 0.1
        + motion.tilt[0] * motion.tilt[0] * 0.1
        + motion.tilt[1] * motion.tilt[1] * 0.1;
    ahead * ahead + aside * aside + turning * turning * (ARM * ARM) + rough
}

/// Walks through which gradients go.
struct Tuner<'a> {
    scene: &'a Scene,
    varied: Model<Varied>,
    wide: Data<Varied>,
    data: Data,
}

/// What was on a step of the controller.
struct Moment {
    observed: [f64; OBSERVED],
    /// States before the steps of the simulation, and what their solver found.
    steps: Vec<(State, Vec<f64>)>,
    input: Input,
}

impl<'a> Tuner<'a> {
    fn new(scene: &'a Scene) -> Result<Self, Box<dyn Error>> {
        let none = Parameters::select(&scene.model, &[] as &[&str])?;
        let varied = varied::model(&none, &[])?;
        Ok(Self {
            wide: varied::data(&varied),
            data: Data::new(&scene.model),
            varied,
            scene,
        })
    }

    /// Mean loss of a walk, and its moments.
    fn walk(
        &mut self,
        network: &mut Network,
        start: &State,
        command: Command,
        steps: usize,
    ) -> (f64, Vec<Moment>) {
        let (model, controller) = (&self.scene.model, &self.scene.controller);
        let (mut state, mut input) = (start.clone(), Input::zeros(model));
        let (mut loss, mut moments) = (0.0, Vec::new());
        for _ in 0..steps {
            forward_frames(model, &state, &mut self.data);
            let motion = controller
                .robot
                .motion(model, &state, &self.data.kinematics);
            loss += moment(&motion, command) / steps as f64;
            let observed = motion.observed(controller, state.time, command);
            let mut forces = [0.0; FORCES];
            network.forces(&observed, &mut forces);
            apply(
                self.scene, &motion, state.time, command, &forces, &mut input,
            );
            let mut taken = Vec::new();
            for _ in 0..HOLD {
                let before = state.clone();
                carom::step(model, &mut state, &input, &mut self.data);
                taken.push((before, state.warmstart.clone()));
            }
            moments.push(Moment {
                observed,
                steps: taken,
                input: input.clone(),
            });
        }
        (loss, moments)
    }

    /// Adds the gradient of the mean loss by the weights.
    fn gradient(
        &mut self,
        network: &mut Network,
        moments: &[Moment],
        command: Command,
        gradient: &mut [f64],
    ) -> Result<(), Box<dyn Error>> {
        let model = &self.scene.model;
        let mut reverse = model.reverse();
        let mut next = StateBar::like(&moments[0].steps[0].0);
        let mut bar = StepBar::zeros(&moments[0].steps[0].0, &moments[0].input);
        let mut constants = vec![0.0; network.constants.len()];
        let share = 1.0 / moments.len() as f64;
        for now in moments.iter().rev() {
            bar.input.set_zero();
            for (state, warmstart) in now.steps.iter().rev() {
                let seen = Seen {
                    step: 0,
                    state,
                    input: &now.input,
                    warmstart,
                };
                let passing = Passing {
                    next: &next,
                    loss: &mut Nothing,
                    observer: &mut (),
                };
                model.backward(seen, passing, &mut bar, &mut reverse)?;
                std::mem::swap(&mut next, &mut bar.state);
            }
            let controller = &self.scene.controller;
            let mut torques_bar = [0.0; FORCES];
            for (bar_of, dof) in torques_bar.iter_mut().zip(controller.robot.joint_dofs()) {
                *bar_of = bar.input.force[dof];
            }
            let state = &now.steps[0].0;
            forward_frames(model, state, &mut self.data);
            let motion = controller.robot.motion(model, state, &self.data.kinematics);
            // Torques are linear in the forces of standing legs.
            let mut forces_bar = [0.0; FORCES];
            for leg in 0..LEGS {
                if controller.gait.phase(leg, state.time).is_stance() {
                    let own = carom::math::Vec3(std::array::from_fn(|k| torques_bar[3 * leg + k]));
                    let pulled = motion.jacobians[leg].mul_vec(own);
                    for k in 0..3 {
                        forces_bar[3 * leg + k] = -pulled[k] * network.unit;
                    }
                }
            }
            let mut observed_bar = [0.0; OBSERVED];
            let mut bars = Bars {
                inputs: &mut observed_bar,
                weights: &mut *gradient,
                constants: &mut constants,
            };
            let numbers = Numbers {
                weights: &network.weights,
                constants: &network.constants,
            };
            network.form.vjp(
                &now.observed,
                numbers,
                &forces_bar,
                &mut bars,
                &mut network.room,
            );
            let bars = (&observed_bar, &torques_bar, share);
            self.through_observation(network, now, command, bars, &mut next);
        }
        Ok(())
    }

    /// Adds what the loss owes to a state by way of what is observed there, of torques at given forces, and of the moment's own loss.
    fn through_observation(
        &mut self,
        network: &mut Network,
        now: &Moment,
        command: Command,
        (observed_bar, torques_bar, share): (&[f64; OBSERVED], &[f64; FORCES], f64),
        next: &mut StateBar,
    ) {
        let controller = &self.scene.controller;
        let state = &now.steps[0].0;
        let mut forces = [0.0; FORCES];
        network.forces(&now.observed, &mut forces);
        let forces = forces.map(Varied::from);
        let nv = state.qvel.len();
        for first in (0..2 * nv).step_by(varied::LANES) {
            let mut wide = state.map(Varied::from);
            let mut tangent = vec![Varied::from(0.0); nv];
            for lane in 0..varied::LANES {
                match first + lane {
                    place if place < nv => tangent[place] = Varied::variable(0.0, lane),
                    place if place < 2 * nv => {
                        let value = state.qvel[place - nv];
                        wide.qvel[place - nv] = Varied::variable(value, lane);
                    }
                    _ => {}
                }
            }
            integrate_positions(&self.varied, &mut wide.qpos, &tangent, Varied::from(1.0));
            varied::kinematics(&self.varied, &wide, &mut self.wide);
            let motion = controller
                .robot
                .motion(&self.varied, &wide, &self.wide.kinematics);
            let observed = motion.observe(controller, state.time, command);
            let torques = controller.torques(&motion, state.time, command, &forces);
            let loss = moment(&motion, command);
            for lane in (0..varied::LANES).filter(|lane| first + lane < 2 * nv) {
                let pairs = observed.iter().zip(observed_bar);
                let mut sum: f64 = pairs.map(|(o, bar)| o.tangent[lane] * bar).sum();
                let pairs = torques.iter().zip(torques_bar);
                sum += pairs
                    .map(|(torque, bar)| torque.tangent[lane] * bar)
                    .sum::<f64>();
                sum += share * loss.tangent[lane];
                match first + lane {
                    place if place < nv => next.qpos[place] += sum,
                    place => next.qvel[place - nv] += sum,
                }
            }
        }
    }

    /// States within walks of the network, with commands.
    fn starts(
        &mut self,
        network: &mut Network,
        count: usize,
        random: &mut Random,
    ) -> Vec<(State, Command)> {
        let mut found = Vec::new();
        while found.len() < count {
            let (start, command) = (self.scene.start(random), draw_command(random));
            let into = 50 + random.below(150);
            let (_, moments) = self.walk(network, &start, command, into);
            if let Some((state, _)) = moments.last().and_then(|moment| moment.steps.first()) {
                let finite = state.qpos.iter().chain(&state.qvel).all(|x| x.is_finite());
                if finite {
                    // Half of the walks go on as they are, half of them are told something new.
                    let told = if random.uniform() < 0.5 {
                        command
                    } else {
                        draw_command(random)
                    };
                    found.push((state.clone(), told));
                }
            }
        }
        found
    }

    /// The largest error of slopes along random directions of the weights, as a part of the slope; the median of some walks.
    fn check(&mut self, network: &Network, seed: u64) -> Result<f64, Box<dyn Error>> {
        let mut random = Random::new(seed, 3);
        let mut errors = Vec::new();
        for (start, command) in self.starts(&mut network.clone(), 7, &mut random) {
            let steps = 10;
            let mut network = network.clone();
            let (_, moments) = self.walk(&mut network, &start, command, steps);
            let mut gradient = vec![0.0; network.weights.len()];
            self.gradient(&mut network, &moments, command, &mut gradient)?;
            // Along the gradient itself: a random direction has next to no slope among so many weights.
            let length = gradient.iter().map(|g| g * g).sum::<f64>().sqrt();
            let h = 1e-5;
            let mut ends = [0.0; 2];
            for (end, sign) in ends.iter_mut().zip([-1.0, 1.0]) {
                let mut moved = network.clone();
                let pairs = moved.weights.iter_mut().zip(&gradient);
                pairs.for_each(|(weight, g)| *weight += sign * h * g / length);
                *end = self.walk(&mut moved, &start, command, steps).0;
            }
            let slope = (ends[1] - ends[0]) / (2.0 * h);
            errors.push((slope - length).abs() / length);
        }
        let said: Vec<String> = errors.iter().map(|error| format!("{error:.1e}")).collect();
        println!(
            "gradients beside differences, walk by walk: {}",
            said.join(" ")
        );
        Ok(common::median(errors))
    }

    /// Tunes the weights; gives the loss of each iteration.
    fn tune(
        &mut self,
        network: &mut Network,
        [iterations, walks]: [usize; 2],
        seed: u64,
    ) -> Result<Vec<f64>, Box<dyn Error>> {
        let mut random = Random::new(seed, 4);
        let mut adam = Adam::new(network.weights.len());
        let (mut curve, mut left_out) = (Vec::new(), 0);
        let mut gradient = vec![0.0; network.weights.len()];
        for iteration in 0..iterations {
            gradient.fill(0.0);
            let mut sum = 0.0;
            for (start, command) in self.starts(network, walks, &mut random) {
                let (loss, moments) = self.walk(network, &start, command, HORIZON);
                let mut own = vec![0.0; gradient.len()];
                // A walk that ends in a heap may have no gradient: it is left out, and counted.
                if self.gradient(network, &moments, command, &mut own).is_err() {
                    left_out += 1;
                    continue;
                }
                let length = own.iter().map(|g| g * g).sum::<f64>().sqrt();
                sum += loss / walks as f64;
                // A walk that stumbles has a gradient that would drown all others.
                if length.is_finite() && length > 0.0 {
                    let share = (1.0 / length).min(1.0) / walks as f64;
                    gradient
                        .iter_mut()
                        .zip(&own)
                        .for_each(|(all, own)| *all += share * own);
                }
            }
            curve.push(sum);
            let done = iteration as f64 / iterations as f64;
            let rate = 2e-4 * 0.5 * (1.0 + (std::f64::consts::PI * done).cos()).max(0.05);
            adam.advance(&mut network.weights, &gradient, rate);
        }
        println!("{left_out} of {} walks left out", iterations * walks);
        if 10 * left_out > iterations * walks {
            return Err("too many walks have no gradient".into());
        }
        Ok(curve)
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let extent = if common::is_quick() { QUICK } else { FULL };
    let laikago = std::env::args().any(|argument| argument == "--laikago");
    let scene = Scene::new(laikago)?;
    let mut samples = Samples::default();
    gather(&scene, None, extent.steps[0], 1, &mut samples);
    let mut network = Network::new(extent.hidden, scene.weight, &samples, 2);
    let mut curve = learn(&mut network, &samples, extent.epochs, 1e-3, 3);
    let mut program = Mpc::new(&scene.controller.robot);
    let of_program = track(&scene, &mut program, extent.walks, 100);
    let plain = track(&scene, &mut network, extent.walks, 100);
    gather(&scene, Some(&mut network), extent.steps[1], 4, &mut samples);
    curve.extend(learn(&mut network, &samples, extent.epochs / 2, 5e-4, 5));
    let aggregated = track(&scene, &mut network, extent.walks, 100);
    let [slow, fast] = latencies(&scene, &mut network, &samples);
    let arrived = distances(&scene, &mut network, &extent, 200);
    let program_arrived = distances(&scene, &mut program, &extent, 200);

    let mut tuner = Tuner::new(&scene)?;
    let gradient_error = tuner.check(&network, 6)?;
    let mut tuned = network.clone();
    let begin = Instant::now();
    let tuning = tuner.tune(&mut tuned, extent.tuning, 7)?;
    let seconds = begin.elapsed().as_secs_f64();
    let of_tuned = track(&scene, &mut tuned, extent.walks, 100);
    let tuned_arrived = distances(&scene, &mut tuned, &extent, 200);

    let head = [
        "controller",
        "speed m/s",
        "turn rad/s",
        "both m/s",
        "falls",
        "arrived",
        "µs",
    ];
    let row = |name: &str, tracking: &Tracking, arrived: Option<usize>, time: f64| {
        vec![
            name.to_owned(),
            format!("{:.4}", tracking.speed),
            format!("{:.4}", tracking.turning),
            format!("{:.4}", tracking.both),
            format!("{} of {}", tracking.falls, extent.walks),
            arrived.map_or_else(String::new, |count| format!("{count} of {}", extent.starts)),
            format!("{time:.1}"),
        ]
    };
    let rows = [
        row(
            "quadratic program",
            &of_program,
            Some(program_arrived),
            slow,
        ),
        row("network, its answers", &plain, None, fast),
        row(
            "network, with its own walks",
            &aggregated,
            Some(arrived),
            fast,
        ),
        row(
            "network, tuned through the engine",
            &of_tuned,
            Some(tuned_arrived),
            fast,
        ),
    ];
    common::print_table(&head, &rows, 1);
    println!(
        "error of forces {:.4} weights; network {:.1}× as fast; gradients {gradient_error:.1e} from differences; tuned in {seconds:.1} s",
        curve.last().unwrap_or(&f64::NAN),
        slow / fast,
    );
    let line = |name: &str, numbers: &[f64]| {
        let points = numbers.iter().enumerate();
        Series::line(name, points.map(|(k, &y)| [k as f64 + 1.0, y]).collect())
    };
    let page = Page::new("A network in place of a quadratic program")
        .text("A quadruped trots with random commands. Errors are root mean squares over walks of four seconds whose commands were not learned from.")
        .table(&head, &rows)
        .chart(&Chart {
            title: "Learning the answers of the program",
            x: ("epoch", Scale::Linear),
            y: ("error of forces, in weights", Scale::Logarithmic),
            series: &[line("error", &curve)],
        })
        .chart(&Chart {
            title: "Tuning through the engine",
            x: ("iteration", Scale::Linear),
            y: ("loss of walks", Scale::Logarithmic),
            series: &[line("loss", &tuning)],
        });
    let name = if laikago {
        "quadruped_imitation_laikago"
    } else {
        "quadruped_imitation"
    };
    common::save(&page, name)?;
    let enough = WALKS * extent.starts as f64;
    for (holds, claim) in [
        (
            slow >= FASTER * fast,
            "the network is not ten times as fast",
        ),
        (arrived as f64 >= enough, "the network falls"),
        (tuned_arrived as f64 >= enough, "the tuned network falls"),
        (
            aggregated.both <= EQUAL * of_program.both,
            "the network does not track as the program does",
        ),
        (
            gradient_error < GRADIENT,
            "gradients are not those of differences",
        ),
        (
            of_tuned.both < of_program.both,
            "tuning does not bring the error below the program's",
        ),
    ] {
        if !holds {
            return Err(claim.into());
        }
    }
    Ok(())
}
