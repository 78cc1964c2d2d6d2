//! How long models load whose meshes have wide flat faces: the hulls of prisms, where every facet of a face is merged into one.

use std::fmt::Write as _;

use serde_json::json;

use super::{Engines, Outcome, Ratios, folder, unwritable};

/// Sides of the prisms.
const SIDES: [usize; 4] = [1000, 2000, 3500, 5000];
/// carom may take twice the time of the peer.
const BAR: f64 = 0.5;

/// Loads prisms of a growing number of sides; fails where carom takes more than twice as long as the peer.
pub(super) fn bench(engines: &mut Engines, rounds: usize) -> Outcome {
    let folder = folder()?;
    let mut ratios = Ratios::new();
    for sides in SIDES {
        let name = format!("prism_{sides}");
        for (ending, text) in [("obj", prism(sides)), ("xml", model(&name))] {
            let file = folder.join(format!("{name}.{ending}"));
            std::fs::write(&file, text).map_err(|error| unwritable(&file, &error))?;
        }
        let file = folder.join(format!("{name}.xml"));
        let request = json!({ "model": file, "steps": 1, "measure": "load" });
        ratios.add(&name, &engines.compare(&request, rounds)?);
    }
    ratios.judge(BAR, BAR)
}

/// A prism as a mesh file: corners of both ends, and fans of triangles over them and over the sides.
fn prism(sides: usize) -> String {
    let mut text = String::new();
    for end in [-0.5, 0.5] {
        for corner in 0..sides {
            let angle = std::f64::consts::TAU * corner as f64 / sides as f64;
            let (sin, cos) = angle.sin_cos();
            let _ = writeln!(text, "v {cos:.12} {sin:.12} {end}");
        }
    }
    for corner in 1..sides - 1 {
        let [a, b, c] = [1, corner + 1, corner + 2];
        let [d, e, f] = [a, b, c].map(|one| one + sides);
        let _ = writeln!(text, "f {a} {c} {b}\nf {d} {e} {f}");
    }
    for corner in 0..sides {
        let [a, b] = [corner + 1, (corner + 1) % sides + 1];
        let [c, d] = [a, b].map(|one| one + sides);
        let _ = writeln!(text, "f {a} {b} {d}\nf {a} {d} {c}");
    }
    text
}

fn model(name: &str) -> String {
    format!(
        r#"<mujoco model="{name}">
  <asset><mesh name="prism" file="{name}.obj"/></asset>
  <worldbody><body><freejoint/><geom type="mesh" mesh="prism"/></body></worldbody>
</mujoco>
"#
    )
}
