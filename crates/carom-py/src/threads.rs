//! Work over threads while Python does other things, and Ctrl-C stops it.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::thread::{self, ThreadId};
use std::time::{Duration, Instant};

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use rayon::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};

/// How often Python is asked whether somebody wants to stop.
const INTERVAL: Duration = Duration::from_millis(50);

/// Steps between two looks at the clock.
const STEPS: u32 = 64;

/// Whether work is to go on.
pub(crate) struct Watch {
    stopped: AtomicBool,
    /// What Python raised.
    raised: Mutex<Option<PyErr>>,
    /// The thread that may ask Python.
    caller: ThreadId,
    calls: AtomicU32,
    asked: Mutex<Instant>,
}

impl Watch {
    fn new() -> Self {
        Self {
            stopped: AtomicBool::new(false),
            raised: Mutex::new(None),
            caller: thread::current().id(),
            calls: AtomicU32::new(0),
            asked: Mutex::new(Instant::now()),
        }
    }

    /// Whether to take another step. Python handles signals in the thread that called it, so that thread asks now and then
    /// where it works itself.
    pub(crate) fn goes_on(&self) -> bool {
        if self.calls.fetch_add(1, Ordering::Relaxed) % STEPS == STEPS - 1
            && thread::current().id() == self.caller
        {
            let mut asked = lock(&self.asked);
            if asked.elapsed() > INTERVAL {
                *asked = Instant::now();
                self.ask();
            }
        }
        !self.stopped.load(Ordering::Relaxed)
    }

    /// Lets Python handle signals.
    fn ask(&self) {
        let asked: PyResult<()> = Python::attach(|py| {
            py.check_signals()?;
            Ok(())
        });
        if let Err(error) = asked {
            *lock(&self.raised) = Some(error);
            self.stopped.store(true, Ordering::Relaxed);
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Does all jobs over some threads, in any order, and returns their results in order. The interpreter is free meanwhile.
/// Each thread has a work area of its own.
pub(crate) fn run<J: Send, W, R: Send>(
    py: Python<'_>,
    threads: Option<usize>,
    jobs: Vec<J>,
    area: impl Fn() -> W + Sync,
    work: impl Fn(&mut W, J, &Watch) -> R + Sync,
) -> PyResult<Vec<R>> {
    let watch = Watch::new();
    let results = py.detach(|| {
        if threads == Some(1) || jobs.len() <= 1 {
            let mut area = area();
            let results = jobs.into_iter().map(|job| work(&mut area, job, &watch));
            return Some(results.collect());
        }
        let pool = pool(threads.unwrap_or(0))?;
        let (sender, receiver) = mpsc::channel();
        pool.in_place_scope(|scope| {
            let (watch, area, work) = (&watch, &area, &work);
            scope.spawn(move |_| {
                let jobs = jobs.into_par_iter();
                let results = jobs.map_init(area, |area, job| work(area, job, watch));
                // The receiver waits as long as this thread lives.
                let _ = sender.send(results.collect());
            });
            loop {
                match receiver.recv_timeout(INTERVAL) {
                    Ok(results) => break Some(results),
                    Err(RecvTimeoutError::Timeout) => watch.ask(),
                    Err(RecvTimeoutError::Disconnected) => break None,
                }
            }
        })
    });
    let raised = lock(&watch.raised).take();
    match (raised, results) {
        (Some(error), _) => Err(error),
        (None, Some(results)) => Ok(results),
        (None, None) => Err(PyRuntimeError::new_err("threads could not be started")),
    }
}

/// Does work that cannot be stopped in a thread of its own. The interpreter is free meanwhile; Ctrl-C raises at once, and
/// leaves the thread to its end.
pub(crate) fn abandonable<R: Send + 'static>(
    py: Python<'_>,
    work: impl FnOnce() -> R + Send + 'static,
) -> PyResult<R> {
    let failed = |_| PyRuntimeError::new_err("a thread could not be started");
    let (sender, receiver) = mpsc::channel();
    let thread = thread::Builder::new().name("carom".to_owned());
    // Nobody may be left who listens.
    let started = thread.spawn(move || drop(sender.send(work())));
    drop(started.map_err(failed)?);
    py.detach(move || {
        loop {
            match receiver.recv_timeout(INTERVAL) {
                Ok(result) => break Ok(result),
                Err(RecvTimeoutError::Timeout) => Python::attach(pending_signal)?,
                Err(RecvTimeoutError::Disconnected) => {
                    break Err(PyRuntimeError::new_err("the work ended without a result"));
                }
            }
        }
    })
}

/// What work sends to the thread that waits for it.
enum Sent<M, R> {
    Message(M),
    Done(R),
}

/// What came of a piece of work, and what Python raised meanwhile: the work was told to stop then, and may have kept what it had.
pub(crate) struct Attended<R> {
    pub(crate) result: R,
    pub(crate) raised: Option<PyErr>,
}

/// Does one piece of work over some threads. The interpreter is free meanwhile, and the caller's thread hears every message of the work.
/// Ctrl-C, or an exception of `hear`, sets the flag that the work is given.
pub(crate) fn attend<M: Send, R: Send>(
    py: Python<'_>,
    threads: Option<usize>,
    work: impl FnOnce(&AtomicBool, &(dyn Fn(M) + Sync)) -> R + Send,
    mut hear: impl FnMut(Python<'_>, M) -> PyResult<()> + Send,
) -> PyResult<Attended<R>> {
    let stop = AtomicBool::new(false);
    let mut raised = None;
    let result = py.detach(|| {
        let pool = pool(threads.unwrap_or(0))?;
        let (sender, receiver) = mpsc::channel();
        pool.in_place_scope(|scope| {
            let stop = &stop;
            scope.spawn(move |_| {
                // The receiver waits as long as this thread lives.
                let tell = |message: M| drop(sender.send(Sent::Message(message)));
                let done = work(stop, &tell);
                drop(sender.send(Sent::Done(done)));
            });
            let mut asked = Instant::now();
            loop {
                let sent = receiver.recv_timeout(INTERVAL);
                let message = match sent {
                    Ok(Sent::Done(result)) => break Some(result),
                    Ok(Sent::Message(message)) => Some(message),
                    Err(RecvTimeoutError::Timeout) => None,
                    Err(RecvTimeoutError::Disconnected) => break None,
                };
                if message.is_none() && asked.elapsed() < INTERVAL {
                    continue;
                }
                asked = Instant::now();
                let heard = Python::attach(|py| {
                    py.check_signals()?;
                    match message {
                        // Who has raised is not told more.
                        Some(message) if raised.is_none() => hear(py, message),
                        _ => Ok(()),
                    }
                });
                if let Err(error) = heard {
                    stop.store(true, Ordering::Relaxed);
                    raised.get_or_insert(error);
                }
            }
        })
    });
    match result {
        Some(result) => Ok(Attended { result, raised }),
        None => Err(PyRuntimeError::new_err("threads could not be started")),
    }
}

/// Pools by process and number of threads.
type Pools = Mutex<BTreeMap<(u32, usize), Arc<ThreadPool>>>;

/// A pool with some threads, kept for the next time: as many as are asked for and at most one a core, which 0 stands for.
/// More would compute the same bits later, and stay. A child process that was forked has none of its parent's threads, so it
/// gets pools of its own.
fn pool(threads: usize) -> Option<Arc<ThreadPool>> {
    static POOLS: OnceLock<Pools> = OnceLock::new();
    let cores = thread::available_parallelism().map_or(1, usize::from);
    let threads = if threads == 0 {
        cores
    } else {
        threads.min(cores)
    };
    let mut pools = lock(POOLS.get_or_init(Pools::default));
    let key = (std::process::id(), threads);
    if let Some(pool) = pools.get(&key) {
        return Some(Arc::clone(pool));
    }
    let builder = ThreadPoolBuilder::new().num_threads(threads);
    let pool = Arc::new(
        builder
            .thread_name(|index| format!("carom {index}"))
            .build()
            .ok()?,
    );
    pools.insert(key, Arc::clone(&pool));
    Some(pool)
}

/// What Python makes of a signal that has come, Ctrl-C for example.
fn pending_signal(py: Python<'_>) -> PyResult<()> {
    py.check_signals()
}
