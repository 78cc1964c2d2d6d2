//! How far long work is, with rate and time left; on a terminal only.

use indicatif::{ProgressBar, ProgressStyle};

/// A bar for `count` things of a kind (`steps`), drawn on standard error if that is a terminal.
pub(crate) fn bar(count: usize, unit: &str) -> ProgressBar {
    let bar = ProgressBar::new(count as u64);
    let template = format!("{{bar:40}} {{pos}}/{{len}} {unit}, {{per_sec}}, {{eta}} left");
    if let Ok(style) = ProgressStyle::with_template(&template) {
        bar.set_style(style);
    }
    bar
}

/// For work of unknown length: what it is and how long it has taken.
pub(crate) fn spinner(what: &str) -> ProgressBar {
    let spinner = ProgressBar::new_spinner();
    if let Ok(style) = ProgressStyle::with_template("{spinner} {msg}, {elapsed}") {
        spinner.set_style(style);
    }
    spinner.set_message(what.to_owned());
    spinner.enable_steady_tick(std::time::Duration::from_millis(200));
    spinner
}
