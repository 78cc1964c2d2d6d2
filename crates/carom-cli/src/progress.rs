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
