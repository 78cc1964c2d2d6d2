//! Gradients by the reverse pass, by dual numbers and by differences, on the three cases of `[Heiden 2021, Fig. 5]`; beside differences
//! in the wheel of Tiny Differentiable Simulator, which ships without its automatic derivatives.

use serde_json::{Value, json};

use super::figures::{Bar, Figures};
use super::{Server, Summary, folder};
use crate::Outcome;
use crate::command::{cargo, command, output, run, target_folder};
use crate::python;

/// The ways to a gradient, as the example names them.
const WAYS: [&str; 3] = ["reverse_us", "duals_us", "differences_us"];
/// The reverse pass is not to be slower than differences.
const BAR: f64 = 1.0;

/// Measures all of it in turns.
pub(super) fn bench(rounds: usize) -> Outcome {
    let example = ["--package", "carom-tasks", "--example", "gradient_timing"];
    run(cargo(&["build", "--release"]).args(example))?;
    let program = target_folder().join("release/examples/gradient_timing");
    let mut figures = Figures::default();
    let measure = "gradient beside Tiny Differentiable Simulator";
    let peer = python::TDS.with_module("pytinydiffsim");
    let peer =
        peer.and_then(|python| Server::start(command(python).arg("xtask/bench/tds_peer.py")));
    let mut peer = match peer {
        Ok(peer) => Some(peer),
        Err(why) => {
            figures.not_measured(measure, &why);
            None
        }
    };
    let mut cases: Vec<Times> = Vec::new();
    for _ in 0..rounds {
        let lines = output(command(&program).args(["--json"]))?;
        for (place, line) in lines.lines().enumerate() {
            let answer: Value = serde_json::from_str(line).map_err(|error| error.to_string())?;
            if cases.len() == place {
                cases.push(Times::new(&answer));
            }
            cases[place].add(&answer)?;
            if let (Some(peer), Some(request)) = (&mut peer, request(&answer)) {
                cases[place].peer.push(peer.time(&request)?.microseconds);
            }
        }
    }
    Figures::head(
        "gradient by the reverse pass, beside duals and differences in carom, and the wheel's",
        "other µs",
    );
    for case in cases {
        let [reverse, duals, differences] = case.ways.map(Summary::of);
        let names = |way: &str| format!("{}, {} numbers: {way}", case.name, case.numbers);
        let any = Bar::AtLeast(0.0);
        figures.compare(
            ("gradient beside duals", &names("duals")),
            &reverse,
            &duals,
            any,
        );
        let bar = Bar::AtLeast(BAR);
        figures.compare(
            ("gradient beside differences", &names("differences")),
            &reverse,
            &differences,
            bar,
        );
        if !case.peer.is_empty() {
            figures.compare(
                (measure, &names("the wheel")),
                &reverse,
                &Summary::of(case.peer),
                bar,
            );
        }
    }
    figures.conclude(&folder()?.join("neuralsim.json"))
}

/// Times of a case, way by way.
struct Times {
    name: String,
    numbers: u64,
    ways: [Vec<f64>; 3],
    peer: Vec<f64>,
}

impl Times {
    fn new(answer: &Value) -> Self {
        Self {
            name: answer["case"].as_str().unwrap_or_default().to_owned(),
            numbers: answer["numbers"].as_u64().unwrap_or_default(),
            ways: [Vec::new(), Vec::new(), Vec::new()],
            peer: Vec::new(),
        }
    }

    fn add(&mut self, answer: &Value) -> Outcome {
        for (times, way) in self.ways.iter_mut().zip(WAYS) {
            let time = answer[way].as_f64();
            times.push(time.ok_or_else(|| format!("unexpected answer {answer}"))?);
        }
        Ok(())
    }
}

/// The same motion for the wheel; none for cases that are no motion.
fn request(answer: &Value) -> Option<Value> {
    let angles = answer["angles"].as_array()?;
    Some(json!({
        "links": angles.len(), "steps": answer["steps"], "timestep": 0.001, "angles": angles,
        "ground": answer["ground"],
    }))
}
