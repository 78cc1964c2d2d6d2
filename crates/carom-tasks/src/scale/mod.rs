//! Many runs of a kind: sampled by a recipe, simulated by the engine, stored as shards for learners.
//!
//! ```no_run
//! use std::sync::atomic::AtomicBool;
//! use carom_tasks::scale::{Maker, make};
//!
//! let maker = Maker::read("datasets/two_cubes_recipe.toml".as_ref())?;
//! let manifest = make(&maker, "runs".as_ref(), &AtomicBool::new(false), &|_| {})?;
//! assert_eq!(manifest.present(), maker.recipe().runs);
//! # Ok::<(), carom_tasks::Error>(())
//! ```

mod impacts;
mod make;
pub mod manifest;
pub mod recipe;
mod recorded;
mod scene;
pub mod shards;

pub use impacts::Impact;
pub use make::{Maker, enter, make, open};
