//! Planning while the motion goes on.
//!
//! A thread plans for the state at the end of the steps that are being executed, as the model foresees it. At their end the new plan takes
//! over, or where it is not there yet the old one goes on, and the new one is followed from where it would be by then. What moves is
//! simulated no faster than the clock allows, times a speed.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use carom::{Dynamics, State};
use rayon::ThreadPool;

use super::disturbance::Disturbance;
use super::episode::{Episode, Progress, foresee, refine};
use super::method::{Planned, Planner, shifted};
use super::mpc::{Control, Outcome};

/// How planning kept up with the motion.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Timing {
    /// Time for a plan: what its executed steps take (s).
    pub period: f64,
    /// Plans that came.
    pub plans: usize,
    /// Plans that came after the motion needed them.
    pub missed: usize,
    /// Mean time from the question to the plan (s).
    pub latency: f64,
    /// The longest one (s).
    pub longest: f64,
    /// Simulated time over time of the clock.
    pub factor: f64,
}

/// What the thread is asked for.
struct Question {
    start: State,
    warm: Vec<f64>,
    /// Steps since the last question.
    shift: usize,
}

/// What it answers.
struct Answer {
    planned: Planned,
    warm: Vec<f64>,
    seconds: f64,
}

/// What a run in real time is made of.
#[derive(Debug)]
pub struct Live<'a, D: Dynamics> {
    /// What moves.
    pub plant: &'a D,
    /// What plans are made with.
    pub model: &'a D,
    /// What is to be done.
    pub task: &'a Control,
    /// What goes wrong; plans are late on their own here.
    pub disturbance: &'a Disturbance,
    /// Simulated seconds per second of the clock; without, the motion waits for every plan.
    pub speed: Option<f64>,
    /// Threads of planning.
    pub pool: &'a ThreadPool,
}

impl<D: Dynamics> Live<'_, D> {
    /// Controls to the end. `watch` is told of every plan that takes over, and says whether to go on.
    pub fn run(
        &self,
        planner: &mut dyn Planner<D>,
        watch: &mut dyn FnMut(&Progress<'_>) -> bool,
    ) -> (Outcome, Timing) {
        thread::scope(|scope| {
            let (ask, questions) = channel();
            let (reply, answers) = channel();
            scope.spawn(move || self.answer(planner, &questions, &reply));
            self.simulate(&ask, &answers, watch)
        })
    }

    /// Plans until nobody asks any more.
    fn answer(
        &self,
        planner: &mut dyn Planner<D>,
        questions: &Receiver<Question>,
        reply: &Sender<Answer>,
    ) {
        for Question { start, warm, shift } in questions {
            let clock = Instant::now();
            planner.shift(shift, self.task.ranges.len());
            let planned =
                (self.pool).install(|| refine(self.model, self.task, &start, &warm, &mut *planner));
            let seconds = clock.elapsed().as_secs_f64();
            let answer = Answer {
                planned,
                warm,
                seconds,
            };
            if reply.send(answer).is_err() {
                break;
            }
        }
    }

    fn simulate(
        &self,
        ask: &Sender<Question>,
        answers: &Receiver<Answer>,
        watch: &mut dyn FnMut(&Progress<'_>) -> bool,
    ) -> (Outcome, Timing) {
        let undelayed = Disturbance {
            is_delayed: false,
            ..self.disturbance.clone()
        };
        let mut episode = Episode::new(self.plant, self.task, &undelayed);
        let execute = self.task.execute;
        let mut timing = Timing {
            period: execute as f64 * self.plant.input().timestep,
            ..Timing::default()
        };
        let (clock, mut sum) = (Instant::now(), 0.0);
        // Steps since the question that is not answered yet, and since the one before.
        let (mut open, mut since) = (None, 0);
        let mut is_interrupted = false;
        while !episode.is_over() && !is_interrupted {
            if open.is_none() {
                let question = self.question(&episode, since);
                if ask.send(question).is_err() {
                    break;
                }
                (open, since) = (Some(0), 0);
            }
            let steps = episode.advance(execute);
            since += steps;
            let answer = self.wait(&clock, episode.done(), answers);
            let Some(late) = open else { continue };
            let Some(answer) = answer else {
                open = Some(late + steps);
                continue;
            };
            open = None;
            timing.plans += 1;
            timing.missed += usize::from(late > 0);
            timing.longest = timing.longest.max(answer.seconds);
            sum += answer.seconds;
            let nu = self.task.ranges.len();
            let planned = Planned {
                plan: shifted(&answer.planned.plan, late, nu),
                ..answer.planned
            };
            let otherwise = shifted(&answer.warm, late, nu);
            is_interrupted = !watch(&episode.take(planned, otherwise));
        }
        timing.latency = sum / timing.plans.max(1) as f64;
        let simulated = episode.state().time - self.task.start.time;
        timing.factor = simulated / clock.elapsed().as_secs_f64().max(f64::MIN_POSITIVE);
        (episode.outcome(is_interrupted), timing)
    }

    /// For the plan after the steps that are executed next.
    fn question(&self, episode: &Episode<'_, D>, shift: usize) -> Question {
        let execute = self.task.execute;
        let mut start = episode.state().clone();
        foresee(self.model, &mut start, episode.current(), execute);
        Question {
            start,
            warm: shifted(episode.current(), execute, self.task.ranges.len()),
            shift,
        }
    }

    /// Waits until the clock has come to where the motion is, and takes the answer that is there by then.
    fn wait(&self, clock: &Instant, done: usize, answers: &Receiver<Answer>) -> Option<Answer> {
        let Some(speed) = self.speed else {
            return answers.recv().ok();
        };
        let due = done as f64 * self.plant.input().timestep / speed;
        let left = due - clock.elapsed().as_secs_f64();
        if let Ok(left) = Duration::try_from_secs_f64(left) {
            thread::sleep(left);
        }
        answers.try_recv().ok()
    }
}
