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

/// Pools by process and number of threads.
type Pools = Mutex<BTreeMap<(u32, usize), Arc<ThreadPool>>>;

/// A pool with some threads, kept for the next time; 0 for as many as there are cores. A child process that was forked has
/// none of its parent's threads, so it gets pools of its own.
fn pool(threads: usize) -> Option<Arc<ThreadPool>> {
    static POOLS: OnceLock<Pools> = OnceLock::new();
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
