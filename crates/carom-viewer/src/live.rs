//! A simulation in a thread of its own, at the pace of the clock.
//!
//! It advances simulated time with real time × speed. When it is too slow for that it does what it can, drops the rest and
//! says how fast it goes: work never piles up. Frames go out at most 60 times a second through a channel that holds the
//! newest one alone, and take at most a fifth of the time. Nobody watching, it sleeps.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TryRecvError, TrySendError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use axum::body::Bytes;
use carom::{Model, State};
use tokio::sync::watch;

use crate::message::Message;
use crate::simulation::Simulation;
use crate::status::Status;

/// Time between frames.
const TICK: Duration = Duration::from_micros(16_667);

/// Part of a tick in which steps are taken; the rest is for frames and messages.
const STEPPING: Duration = Duration::from_millis(13);

/// Time between measurements of the pace.
const MEASURED: Duration = Duration::from_millis(500);

/// Speeds that can be asked for.
const SPEEDS: [f64; 2] = [1e-3, 1e3];

/// Messages that wait for the simulation at most; then their senders wait.
const MAX_WAITING_MESSAGES: usize = 256;

/// Where a simulation begins, and where a reset leads.
#[derive(Clone, Debug, PartialEq)]
pub struct Start {
    /// State.
    pub state: State,
    /// Controls, nu.
    pub ctrl: Vec<f64>,
}

impl Start {
    /// The model's default state, without controls.
    pub fn reference(model: &Model) -> Self {
        Self {
            state: State::reference(model),
            ctrl: vec![0.0; model.counts().nu],
        }
    }

    /// A keyframe with its controls; none if there is no such one.
    pub fn keyframe(model: &Model, index: usize) -> Option<Self> {
        let nu = model.counts().nu;
        Some(Self {
            state: State::keyframe(model, index)?,
            ctrl: model.keyframes.ctrl[index * nu..][..nu].to_vec(),
        })
    }
}

enum Command {
    Message(Message),
    /// Somebody watches now.
    Wake,
    Stop,
}

/// A running simulation.
pub(crate) struct Live {
    commands: SyncSender<Command>,
    frames: watch::Receiver<Bytes>,
    status: watch::Receiver<Status>,
    watching: Arc<AtomicUsize>,
    thread: Option<JoinHandle<()>>,
}

impl Live {
    /// Starts the thread.
    pub(crate) fn start(model: Arc<Model>, start: Start, paused: bool) -> std::io::Result<Self> {
        let (commands, receiver) = std::sync::mpsc::sync_channel(MAX_WAITING_MESSAGES);
        let (frame_sender, frames) = watch::channel(Bytes::new());
        let status = Status {
            paused,
            speed: 1.0,
            ..Status::default()
        };
        let (status_sender, status) = watch::channel(status);
        let watching = Arc::new(AtomicUsize::new(0));
        let watched = Arc::clone(&watching);
        let thread = std::thread::Builder::new()
            .name("carom simulation".to_owned())
            .spawn(move || {
                Run {
                    simulation: Simulation::new(model, start),
                    commands: receiver,
                    frames: frame_sender,
                    status: status_sender,
                    watching: watched,
                    pace: Pace::new(),
                    steps: 0,
                    changed: true,
                }
                .until_stopped();
            })?;
        Ok(Self {
            commands,
            frames,
            status,
            watching,
            thread: Some(thread),
        })
    }

    pub(crate) fn frames(&self) -> watch::Receiver<Bytes> {
        self.frames.clone()
    }

    pub(crate) fn status(&self) -> watch::Receiver<Status> {
        self.status.clone()
    }

    /// Passes a message on; gives it back if too many wait already.
    pub(crate) fn offer(&self, message: Message) -> Result<(), Message> {
        match self.commands.try_send(Command::Message(message)) {
            Err(TrySendError::Full(Command::Message(message))) => Err(message),
            // A simulation that has ended has no use for messages.
            _ => Ok(()),
        }
    }

    /// Counts somebody who watches, as long as the result lives.
    pub(crate) fn watch(&self) -> Watching {
        self.watching.fetch_add(1, Ordering::SeqCst);
        // A full queue wakes it as well.
        let _ = self.commands.try_send(Command::Wake);
        Watching(Arc::clone(&self.watching))
    }
}

impl Drop for Live {
    fn drop(&mut self) {
        // The thread takes what waits before it, so this does not block for long.
        let _ = self.commands.send(Command::Stop);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Somebody who watches.
pub(crate) struct Watching(Arc<AtomicUsize>);

impl Drop for Watching {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

/// Simulated against real time.
struct Pace {
    /// When this stretch of real time began, and how much has been simulated since (s).
    since: Instant,
    simulated: f64,
    /// When the measurement began, and how much has been simulated since (s).
    measured_since: Instant,
    measured: f64,
    next_frame: Instant,
}

impl Pace {
    fn new() -> Self {
        let now = Instant::now();
        Self {
            since: now,
            simulated: 0.0,
            measured_since: now,
            measured: 0.0,
            next_frame: now,
        }
    }

    /// Begins a new stretch of time.
    fn restart(&mut self) {
        self.since = Instant::now();
        self.simulated = 0.0;
    }

    /// Forgets what is missing, beyond what a tick can make up for.
    fn forgive(&mut self) {
        self.restart();
        self.since = self.since.checked_sub(TICK).unwrap_or(self.since);
    }

    /// Whether a further step ends before the clock.
    fn has_room(&self, step: f64, speed: f64) -> bool {
        self.simulated + step <= self.since.elapsed().as_secs_f64() * speed
    }

    fn advance(&mut self, step: f64) {
        self.simulated += step;
        self.measured += step;
    }

    /// Simulated seconds per second, when it is time to say so.
    fn measurement(&mut self) -> Option<f64> {
        let elapsed = self.measured_since.elapsed();
        (elapsed >= MEASURED).then(|| {
            let factor = self.measured / elapsed.as_secs_f64();
            self.measured_since = Instant::now();
            self.measured = 0.0;
            factor
        })
    }
}

/// What the thread works on.
struct Run {
    simulation: Simulation,
    commands: Receiver<Command>,
    frames: watch::Sender<Bytes>,
    status: watch::Sender<Status>,
    watching: Arc<AtomicUsize>,
    pace: Pace,
    /// Steps to take although paused.
    steps: u64,
    /// Whether something has changed since the last frame.
    changed: bool,
}

impl Run {
    fn until_stopped(mut self) {
        loop {
            if self.changed && Instant::now() >= self.pace.next_frame {
                self.publish();
            }
            let Ok(first) = self.wait() else { return };
            let mut next = first;
            while let Some(command) = next {
                match command {
                    Command::Stop => return,
                    Command::Wake => self.pace.restart(),
                    Command::Message(message) => self.obey(&message),
                }
                next = match self.commands.try_recv() {
                    Ok(command) => Some(command),
                    Err(TryRecvError::Empty) => None,
                    Err(TryRecvError::Disconnected) => return,
                };
            }
            self.advance();
        }
    }

    /// Waits for a command, at most until there is something to do; an error when all senders are gone.
    fn wait(&mut self) -> Result<Option<Command>, ()> {
        let runs = self.steps > 0 || !self.status.borrow().paused;
        let stopped = self.simulation.error().is_some();
        let is_watched = self.watching.load(Ordering::SeqCst) > 0;
        let is_idle = !is_watched || stopped || !runs;
        if is_idle && !self.changed {
            let command = self.commands.recv().map_err(|_| ())?;
            self.pace.restart();
            return Ok(Some(command));
        }
        let pause = if self.steps > 0 {
            Duration::ZERO
        } else {
            let now = Instant::now();
            let step = self.simulation.timestep();
            let speed = self.status.borrow().speed;
            if !is_idle && self.pace.has_room(step, speed) {
                Duration::ZERO
            } else {
                let frame = self.pace.next_frame.saturating_duration_since(now);
                if self.changed { frame } else { TICK }.min(TICK)
            }
        };
        match self.commands.recv_timeout(pause) {
            Ok(command) => Ok(Some(command)),
            Err(RecvTimeoutError::Timeout) => Ok(None),
            Err(RecvTimeoutError::Disconnected) => Err(()),
        }
    }

    fn obey(&mut self, message: &Message) {
        let mut refusal = None;
        match *message {
            Message::Pause => self.set(|status| status.paused = true),
            Message::Resume => {
                self.steps = 0;
                self.pace.restart();
                self.set(|status| status.paused = false);
            }
            Message::Step(count) => {
                self.steps = self.steps.saturating_add(count);
                self.set(|status| status.paused = true);
            }
            Message::Speed(speed) if speed > 0.0 => {
                self.pace.restart();
                let speed = speed.clamp(SPEEDS[0], SPEEDS[1]);
                self.set(|status| status.speed = speed);
            }
            Message::Speed(speed) => {
                refusal = Some(format!("a speed of {speed} is not positive; use pause"));
            }
            Message::Shown(_) => return,
            _ => {
                refusal = self.simulation.apply(message).err();
                if matches!(message, Message::Drag { .. }) && self.status.borrow().paused {
                    self.simulation.follow_hand();
                }
                self.changed = true;
            }
        }
        if matches!(message, Message::Reset | Message::Keyframe(_)) {
            self.steps = 0;
        }
        let error = self.simulation.error().map(str::to_owned);
        self.set(|status| {
            status.message = refusal;
            status.error = error;
        });
    }

    /// Takes the steps that are due, for at most a tick.
    fn advance(&mut self) {
        let (paused, speed) = {
            let status = self.status.borrow();
            (status.paused, status.speed)
        };
        let step = self.simulation.timestep();
        let begin = Instant::now();
        let is_watched = self.watching.load(Ordering::SeqCst) > 0;
        while self.simulation.error().is_none() {
            if paused && self.steps > 0 {
                self.steps -= 1;
            } else if paused || !is_watched || !self.pace.has_room(step, speed) {
                break;
            } else {
                self.pace.advance(step);
            }
            self.simulation.step();
            self.changed = true;
            if begin.elapsed() >= STEPPING {
                self.pace.forgive();
                break;
            }
        }
        if let Some(error) = self.simulation.error().map(str::to_owned) {
            self.steps = 0;
            self.set(|status| status.error = Some(error));
        }
        if let Some(factor) = self.pace.measurement() {
            let factor = if paused { 0.0 } else { factor };
            self.set(|status| status.real_time_factor = two_digits(factor));
        }
    }

    /// Sends the present frame, and decides when the next may come.
    fn publish(&mut self) {
        self.changed = false;
        let begin = Instant::now();
        if let Some(frame) = self.simulation.frame() {
            // Receivers come and go; the newest frame waits for them.
            self.frames.send_replace(Bytes::from(frame));
        }
        self.pace.next_frame = begin + TICK.max(begin.elapsed() * 5);
    }

    fn set(&self, change: impl FnOnce(&mut Status)) {
        self.status.send_if_modified(|status| {
            let before = status.clone();
            change(status);
            *status != before
        });
    }
}

/// A positive number to two digits: what a person reads, also of a very slow simulation. More would be news at every
/// measurement.
fn two_digits(number: f64) -> f64 {
    if number <= 0.0 {
        return 0.0;
    }
    let unit = 10_f64.powf(number.log10().floor() - 1.0);
    (number / unit).round() * unit
}

#[cfg(test)]
mod tests;
