//! Which impacts a set of runs covers: faces, speeds and angles.

use std::path::Path;

use carom_plot::{Chart, Page, Scale, Series};
use carom_tasks::Error;
use carom_tasks::scale::Impact;
use carom_tasks::scale::manifest::Manifest;
use carom_tasks::scale::shards;

/// Names of the faces of a body.
const FACES: [&str; 6] = ["−x", "+x", "−y", "+y", "−z", "+z"];
/// Below this angle to the normal (rad) a face is hit flat.
const FLAT: f64 = 0.087;
/// Cells of a histogram.
const CELLS: usize = 24;
/// Points of a picture: more only take room.
const MAX_DOTS: usize = 4000;

/// A page about the impacts of a folder of shards.
///
/// # Errors
/// When a shard cannot be read.
pub fn coverage_page(folder: &Path, manifest: &Manifest) -> Result<String, Error> {
    let mut impacts: Vec<Impact> = Vec::new();
    for entry in &manifest.shards {
        impacts.extend(shards::impacts(folder, entry)?);
    }
    let mut page = Page::new("Impacts that the runs cover").text(&format!(
        "{} runs of {} that were asked for, {} impacts of bodies on each other. Sparse places of the pictures are what \
         learners from these runs have not seen.",
        manifest.present(),
        manifest.runs,
        impacts.len()
    ));
    page = page
        .heading("Faces")
        .text("How often each face of the first body of an impact met each face of the second one. A face that never occurs is a zero.")
        .table(
            &["first \\ second", FACES[0], FACES[1], FACES[2], FACES[3], FACES[4], FACES[5]],
            &faces(&impacts),
        )
        .text(&kinds(&impacts));
    let dots = |place: &dyn Fn(&Impact) -> [f64; 2]| -> Vec<[f64; 2]> {
        let every = impacts.len().div_ceil(MAX_DOTS).max(1);
        impacts.iter().step_by(every).map(place).collect()
    };
    page = page.heading("Speeds and angles");
    for (title, place) in [("Speed of approach", 0), ("Sliding speed", 1)] {
        let speeds: Vec<f64> = impacts.iter().map(|impact| impact.speed[place]).collect();
        page = page.chart(&Chart {
            title,
            x: ("m/s", Scale::Linear),
            y: ("impacts", Scale::Linear),
            series: &[Series::marked("impacts", counts(&speeds))],
        });
    }
    let charts = [
        (
            "Angle of incidence over speed",
            ("speed of approach (m/s)", "angle to the normal (degrees)"),
            dots(&|i| [i.speed[0], i.speed[1].atan2(i.speed[0]).to_degrees()]),
        ),
        (
            "How flat faces meet",
            (
                "tilt of the first body (degrees)",
                "tilt of the second body (degrees)",
            ),
            dots(&|i| i.tilt.map(f64::to_degrees)),
        ),
    ];
    for (title, (x, y), points) in charts {
        page = page.chart(&Chart {
            title,
            x: (x, Scale::Linear),
            y: (y, Scale::Linear),
            series: &[Series::dots("impacts", points)],
        });
    }
    Ok(page.html())
}

fn faces(impacts: &[Impact]) -> Vec<Vec<String>> {
    let count = |first: usize, second: usize| {
        let met = impacts.iter().filter(|i| i.face == [first, second]);
        met.count().to_string()
    };
    (0..FACES.len())
        .map(|first| {
            let counts = (0..FACES.len()).map(|second| count(first, second));
            std::iter::once(FACES[first].to_owned())
                .chain(counts)
                .collect()
        })
        .collect()
}

fn kinds(impacts: &[Impact]) -> String {
    let of = |flat: [bool; 2]| {
        let met = impacts
            .iter()
            .filter(|i| i.tilt.map(|tilt| tilt < FLAT) == flat);
        100.0 * met.count() as f64 / impacts.len().max(1) as f64
    };
    format!(
        "Within 5 degrees, {:.0} % of the impacts are of face on face, {:.0} % of a face with an edge or corner, {:.0} % of edges or corners alone.",
        of([true, true]),
        of([true, false]) + of([false, true]),
        of([false, false])
    )
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "between 0 and the number of cells"
)]
fn counts(values: &[f64]) -> Vec<[f64; 2]> {
    let most = values.iter().copied().fold(f64::MIN_POSITIVE, f64::max);
    let mut counts = [0.0; CELLS];
    for value in values {
        let cell = (value.max(0.0) / most * CELLS as f64) as usize;
        counts[cell.min(CELLS - 1)] += 1.0;
    }
    let middle = |cell: usize| (cell as f64 + 0.5) * most / CELLS as f64;
    counts
        .iter()
        .enumerate()
        .map(|(cell, &count)| [middle(cell), count])
        .collect()
}
