//! What identifications and evaluations found, as text, as JSON and as pages: what the command prints and writes, for any caller.
//!
//! ```no_run
//! # use carom_tasks::{identify::Outcome, recording::Recordings};
//! # fn show(outcome: &Outcome, recordings: &Recordings) -> std::io::Result<()> {
//! println!("{}", carom_report::identification_text(outcome));
//! std::fs::write("report.html", carom_report::identification_page(outcome, recordings))?;
//! # Ok(())
//! # }
//! ```

mod checks_output;
mod dependence_output;
mod diff_output;
mod evaluation_output;
pub mod naming;
mod page;
mod summary_output;
#[cfg(test)]
mod tests;

pub use diff_output::{diff_json, diff_text};
pub use evaluation_output::evaluation_json;
pub use page::{holds, identification_page, within};
pub use summary_output::{
    about_floor, identification_json, identification_text, remarks, summary, verdict_sentence,
};
