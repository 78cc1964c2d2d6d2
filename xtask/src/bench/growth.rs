//! How the time of a step grows with the number of free boxes.
//!
//! The boxes lie in a bin without lid, five layers of them whatever their number, so that each has about as many
//! neighbours. The exponent is the slope of the logarithm of the time over that of the number, by least squares.

use std::fmt::Write as _;
use std::path::Path;

use serde_json::json;

use super::plot::{self, Series};
use super::{Engines, Outcome, Ratios, root, target_folder};

/// Largest exponent allowed.
const EXPONENT_BAR: f64 = 1.3;
/// Boxes along a side of the bin, and layers.
const BINS: [[usize; 2]; 7] = [[2, 3], [3, 3], [4, 4], [5, 5], [7, 5], [10, 5], [14, 5]];
/// Half the side of a box (m).
const HALF: f64 = 0.05;

/// Measures bins of growing size, writes a plot, and fails when the time grows too fast.
pub(super) fn bench(engines: &mut Engines, rounds: usize) -> Outcome {
    let folder = target_folder().join("bench");
    let fail = |error: std::io::Error| format!("cannot write to {}: {error}", folder.display());
    std::fs::create_dir_all(&folder).map_err(fail)?;
    let mut ratios = Ratios::new();
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    for [side, layers] in BINS {
        let count = side * side * layers;
        let file = folder.join(format!("boxes{count}.xml"));
        std::fs::write(&file, bin_of_boxes(side, layers)).map_err(fail)?;
        let request = json!({ "model": file, "steps": 20_000 / count, "settle": 500 });
        let comparison = engines.compare(&request, rounds)?;
        ratios.add(&format!("{count} boxes"), &comparison);
        ours.push([count as f64, comparison.ours.minimum]);
        theirs.push([count as f64, comparison.theirs.minimum]);
    }
    let (exponent, peer_exponent) = (slope(&ours), slope(&theirs));
    println!("time ∝ n^{exponent:.2} (bar {EXPONENT_BAR}), peer n^{peer_exponent:.2}");
    let series = [
        Series {
            name: format!("carom, n^{exponent:.2}"),
            points: ours,
        },
        Series {
            name: format!("MuJoCo, n^{peer_exponent:.2}"),
            points: theirs,
        },
    ];
    let picture = plot::log_log("CPU time per step", "free boxes", "µs per step", &series);
    let file = folder.join("growth.svg");
    std::fs::write(&file, picture).map_err(fail)?;
    println!("plot: {}", relative(&file).display());
    if exponent > EXPONENT_BAR {
        return Err("the time of a step grows too fast".to_owned());
    }
    Ok(())
}

fn relative(file: &Path) -> &Path {
    file.strip_prefix(root()).unwrap_or(file)
}

/// Slope of the line through the logarithms.
fn slope(points: &[[f64; 2]]) -> f64 {
    let count = points.len() as f64;
    let logarithms = points.iter().map(|point| point.map(f64::ln));
    let mean = |axis: usize| logarithms.clone().map(|point| point[axis]).sum::<f64>() / count;
    let (mean_x, mean_y) = (mean(0), mean(1));
    let mixed: f64 = logarithms
        .clone()
        .map(|[x, y]| (x - mean_x) * (y - mean_y))
        .sum();
    let squares: f64 = logarithms.map(|[x, _]| (x - mean_x).powi(2)).sum();
    mixed / squares
}

/// A bin of `side`² boxes a layer, of slightly different sizes and headings.
fn bin_of_boxes(side: usize, layers: usize) -> String {
    let pitch = 2.6 * HALF;
    let wall = 0.5 * side as f64 * pitch + HALF;
    let height = pitch * layers as f64;
    let mut bodies = String::new();
    // Additive recurrences with irrational steps: evenly spread, and the same everywhere.
    let spread = |index: usize, step: f64| (index as f64 * step).fract();
    for index in 0..side * side * layers {
        let (layer, place) = (index / (side * side), index % (side * side));
        let along = |step: usize| (step as f64 - 0.5 * (side - 1) as f64) * pitch;
        let size = [0.618_034, 0.414_214, 0.732_051]
            .map(|step| format!("{:.5}", HALF * (0.8 + 0.25 * spread(index, step))));
        let _ = writeln!(
            bodies,
            r#"    <body pos="{:.5} {:.5} {:.5}" euler="0 0 {:.4}"><freejoint/><geom type="box" size="{}" density="500"/></body>"#,
            along(place / side),
            along(place % side),
            pitch * (layer as f64 + 0.5),
            60.0 * spread(index, 0.302_776) - 30.0,
            size.join(" ")
        );
    }
    format!(
        r#"<mujoco model="boxes">
  <option timestep="0.002"/>
  <size memory="1G"/>
  <worldbody>
    <geom type="plane" size="5 5 0.1"/>
    <geom type="box" pos="{wall:.4} 0 {height:.4}" size="0.02 {wall:.4} {height:.4}"/>
    <geom type="box" pos="-{wall:.4} 0 {height:.4}" size="0.02 {wall:.4} {height:.4}"/>
    <geom type="box" pos="0 {wall:.4} {height:.4}" size="{wall:.4} 0.02 {height:.4}"/>
    <geom type="box" pos="0 -{wall:.4} {height:.4}" size="{wall:.4} 0.02 {height:.4}"/>
{bodies}  </worldbody>
</mujoco>
"#
    )
}
