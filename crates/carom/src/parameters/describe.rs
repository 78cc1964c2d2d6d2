//! Parameters as a table.

use std::fmt::Write;

use super::{Parameters, Transform};

impl Parameters {
    /// A table of all parameters for people: name, value and unit, θ and how it is transformed, how many numbers of the
    /// model follow it; then what patterns passed over.
    pub fn describe(&self, theta: &[f64]) -> String {
        let mut rows =
            vec![["parameter", "value", "unit", "θ", "transform", "numbers"].map(String::from)];
        for ((entry, value), theta) in self.entries.iter().zip(self.values(theta)).zip(theta) {
            let transform = match (entry.transform, entry.scale) {
                (Transform::Identity, 1.0) => "–".to_owned(),
                (transform, 1.0) => transform.name(),
                (transform, scale) => format!("{} × {scale}", transform.name()),
            };
            let numbers = match (entry.targets.len(), entry.direct) {
                (0, _) => "inertia".to_owned(),
                (count, true) => count.to_string(),
                (count, false) => format!("{count} and what follows"),
            };
            rows.push([
                entry.name.clone(),
                format!("{value:.6}"),
                entry.unit.to_owned(),
                format!("{theta:.6}"),
                transform,
                numbers,
            ]);
        }
        let mut text = table(&rows);
        for (name, why) in &self.skipped {
            // Writing to a string does not fail.
            let _ = writeln!(text, "left out {name}: it {why}");
        }
        text
    }
}

/// Columns as wide as their widest entry.
fn table(rows: &[[String; 6]]) -> String {
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max();
    let widths: [usize; 6] = std::array::from_fn(|column| width(column).unwrap_or(0));
    let mut text = String::new();
    for row in rows {
        let mut line = String::new();
        for (entry, width) in row.iter().zip(widths) {
            let padding = width - entry.chars().count() + 2;
            line.push_str(entry);
            line.extend(std::iter::repeat_n(' ', padding));
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}
