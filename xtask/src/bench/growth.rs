//! How the time of a step grows with the number of free boxes.
//!
//! The boxes lie in a bin without lid, at most five layers of them, so that each has about as many neighbours whatever
//! their number. *Stacked* boxes stand in columns that do not touch each other; *tumbled* ones have fallen in any
//! orientation and lean on each other, so that all are solved for together. The exponent is the slope of the logarithm
//! of the time over that of the number, by least squares.

use std::fmt::Write as _;
use std::path::Path;

use carom_plot::{Chart, Scale, Series};
use serde_json::json;

use super::{Engines, Outcome, Ratios, relative, unwritable};

/// Largest exponent allowed.
const EXPONENT_BAR: f64 = 1.3;
/// Boxes along a side of the bin, and layers.
const BINS: [[usize; 2]; 7] = [[2, 3], [3, 3], [4, 4], [5, 5], [7, 5], [10, 5], [14, 5]];
/// Tumbled boxes from this number on are not given to the peer, which takes about a second a step for a thousand.
const PEER_LIMIT: usize = 200;
/// Half the side of a box (m).
const HALF: f64 = 0.05;

/// How the boxes lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Order {
    Stacked,
    Tumbled,
}

/// Measures bins of growing size, writes a plot, and fails when the time grows too fast.
pub(super) fn bench(engines: &mut Engines, rounds: usize) -> Outcome {
    let folder = super::folder()?;
    let mut series = Vec::new();
    let mut worst: f64 = 0.0;
    for order in [Order::Stacked, Order::Tumbled] {
        let name = format!("{order:?}").to_lowercase();
        println!("{name} boxes");
        let (ours, theirs) = measure(engines, order, rounds, &folder)?;
        let (exponent, peer_exponent) = (slope(&ours), slope(&theirs));
        println!("time ∝ n^{exponent:.2} (bar {EXPONENT_BAR}), peer n^{peer_exponent:.2}");
        worst = worst.max(exponent);
        for (engine, exponent, points) in
            [("carom", exponent, ours), ("MuJoCo", peer_exponent, theirs)]
        {
            let name = format!("{engine}, {name}: n^{exponent:.2}");
            series.push(Series::marked(name, points));
        }
    }
    let picture = Chart {
        title: "CPU time per step",
        x: ("free boxes", Scale::Logarithmic),
        y: ("µs per step", Scale::Logarithmic),
        series: &series,
    };
    let file = folder.join("growth.svg");
    std::fs::write(&file, picture.svg()).map_err(|error| unwritable(&file, &error))?;
    println!("plot: {}", relative(&file).display());
    if worst > EXPONENT_BAR {
        return Err("the time of a step grows too fast".to_owned());
    }
    Ok(())
}

/// Number of boxes and time of a step (µs), one pair a bin.
type Curve = Vec<[f64; 2]>;

/// The curves of carom and of the peer.
fn measure(
    engines: &mut Engines,
    order: Order,
    rounds: usize,
    folder: &Path,
) -> Result<(Curve, Curve), String> {
    let mut ratios = Ratios::new();
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    for [side, layers] in BINS {
        let count = side * side * layers;
        let name = format!("{count} {order:?} boxes").to_lowercase();
        let file = folder.join(name.replace(' ', "_") + ".xml");
        std::fs::write(&file, bin_of_boxes(side, layers, order))
            .map_err(|error| unwritable(&file, &error))?;
        let request = json!({ "model": file, "steps": (5000 / count).max(20), "settle": 400 });
        if order == Order::Tumbled && count > PEER_LIMIT {
            let time = engines.carom_alone(&request, rounds)?;
            println!("{name:<34} {:>10.3} {:>10.3}", time.minimum, time.median);
            ours.push([count as f64, time.minimum]);
        } else {
            let comparison = engines.compare(&request, rounds)?;
            ratios.add(&name, &comparison);
            ours.push([count as f64, comparison.ours.minimum]);
            theirs.push([count as f64, comparison.theirs.minimum]);
        }
    }
    Ok((ours, theirs))
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

/// A bin of `side`² boxes a layer, of slightly different sizes and orientations.
fn bin_of_boxes(side: usize, layers: usize, order: Order) -> String {
    // Tumbled boxes need room to turn before they fall.
    let pitch = HALF * if order == Order::Stacked { 2.6 } else { 2.9 };
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
        let turn = |step: f64, range: f64| range * (spread(index, step) - 0.5);
        let turns = match order {
            Order::Stacked => [0.0, 0.0, turn(0.302_776, 60.0)],
            Order::Tumbled => [0.302_776, 0.236_068, 0.645_751].map(|step| turn(step, 360.0)),
        }
        .map(|degrees| format!("{degrees:.4}"));
        let _ = writeln!(
            bodies,
            r#"    <body pos="{:.5} {:.5} {:.5}" euler="{}"><freejoint/><geom type="box" size="{}" density="500"/></body>"#,
            along(place / side),
            along(place % side),
            pitch * (layer as f64 + 0.5),
            turns.join(" "),
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
