//! What an estimate is worth: information, errors, intervals, profiles.

pub mod distribution;
mod information;
mod profile;
mod words;

pub use information::{Direction, Information, InformationError, Interval, estimated_noise};
pub use profile::{Profile, ProfileError, ProfileLimit, ProfilePoint, ProfileSettings, rise_of};
