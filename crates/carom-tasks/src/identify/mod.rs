//! Identification: from a model and recordings to a calibrated model, with what the recordings tell and what they do not.
//!
//! A [`Task`] is asked in three steps. [`Task::inspect`] looks before: every parameter is changed once, and must show; the
//! information of the recordings must tell all combinations apart, or they are named. [`Task::solve`] makes the loss small
//! by one of the optimisers, with limits and checkpoints. [`Task::conclude`] looks after: errors, intervals, correlations.
//! [`calibrated`] is the description of the model with the numbers that were found. [`workflow::identify`] does all of it, and decides what
//! these steps leave open.
//!
//! ```
//! # let spec = carom_spec::read_file("../../models/pendulum.xml".as_ref(), &[]).spec;
//! # let model = carom::compile::compile(&spec).0.unwrap();
//! use carom_tasks::identify::{Free, Settings, Task, Unwatched};
//! # use carom_tasks::recording::{self, Mapping};
//! # let folder = std::env::temp_dir().join(format!("carom-identify-{}", std::process::id()));
//! # std::fs::create_dir_all(&folder)?;
//! # let path = folder.join("swing.csv");
//! # let mut text = String::from("t,angle\n");
//! # for k in 0..200 { let t = 0.01 * f64::from(k); text += &format!("{t},{}\n", 0.5 * (3.63 * t).cos() * (-0.02 * t).exp()); }
//! # std::fs::write(&path, text)?;
//! # let mapping = Mapping::parse("time.column = 't'\n[[joint]]\nname = 'pivot'\nposition = 'angle'\nnoise = 0.01\n", "swing.toml")?;
//!
//! let recordings = recording::load(&model, &mapping, &[path])?;
//! let settings = Settings {
//!     free: vec![Free::new("joint.pivot.damping[0] log".parse()?)],
//!     ..Settings::default()
//! };
//! let task = Task::new(&model, &recordings, settings)?;
//! assert_eq!(task.inspect()?.refusal(), None);
//! let solution = task.solve(None, None, &mut Unwatched)?;
//! let found = task.conclude(&solution)?;
//! println!("{:?}", found.estimates[0]);
//! # std::fs::remove_dir_all(&folder)?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod again;
mod begin;
mod bootstrap;
mod calibrated;
mod candidates;
mod conclude;
mod continuous;
mod cross_validation;
mod delays;
mod dependence;
mod excitation;
mod global;
mod growth;
mod inspect;
pub mod laws;
mod optimisers;
mod outcome;
mod polish;
mod preset;
mod profile;
mod recovery;
mod replay;
mod scatter;
mod secants;
mod settings;
mod solve;
mod start_noise;
mod synthetic;
mod task;
mod torques;
mod verdict;
pub mod workflow;

pub use bootstrap::Repetitions;
pub use calibrated::{Original, calibrated, calibrated_at};
pub use conclude::{Estimate, Identified};
pub use cross_validation::{CrossValidation, Fold, check_folds};
pub use dependence::{Dependence, Dependences, Driver, Finding};
pub use excitation::{Excitation, Told};
pub use inspect::{Inspection, Silent};
pub use optimisers::OptimiserKind;
pub use outcome::{Checks, InitialState, Outcome};
pub use preset::{PRESETS, preset};
pub use profile::{Held, ParameterProfile, ProfileEnd};
pub use recovery::{Recovered, Recovery};
pub use replay::Replay;
pub use secants::ErrorBasis;
pub use settings::{
    FREE_STARTS, Free, LOSSES, Prior, RESIDUALS, ResidualKind, Settings, in_continuous_time,
    loss_of, stepping_of,
};
pub use solve::{Solution, Unwatched, Watch};
pub use start_noise::StartNoise;
pub use task::Task;
pub use verdict::{Grade, Reason, Verdict, replay_objections};

use task::Marginal;

use carom::{Error, ErrorKind};

impl Task<'_> {
    /// Runs work on as many threads as are asked for.
    fn on_threads<T: Send>(
        &self,
        work: impl FnOnce() -> Result<T, Error> + Send,
    ) -> Result<T, Error> {
        let Some(threads) = self.settings.threads else {
            return work();
        };
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
        let pool = pool.map_err(|cause| {
            Error::new(ErrorKind::Settings, "cannot start threads").because(cause)
        })?;
        pool.install(work)
    }
}
