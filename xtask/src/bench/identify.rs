//! Identification beside mujoco.sysid: the same model, recording, unknowns, bounds, start and loss, each on one thread.
//!
//! mujoco.sysid records a motion with the true parameters and noise, and says in which units it measures residuals; these become
//! the noise of carom's mapping, so that both make the same sum of squares least.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::figures::{Bar, Figures};
use super::{Server, Summary, unwritable};
use crate::Outcome;
use crate::command::{command, root};
use crate::python;

/// How many times as fast as mujoco.sysid.
const BAR: f64 = 5.0;
/// By which part the sum of squares may be above that of mujoco.sysid, and parameters may differ (%).
const SQUARES_BAR: f64 = 1e-3;
const VALUES_BAR: f64 = 0.1;
/// Steps of the recordings, and their noise relative to the deviation of each column.
const STEPS: usize = 1000;
const NOISE: f64 = 0.002;

/// A joint's number: joint, attribute, truth, start, bounds.
type Unknown = (String, &'static str, f64, f64, [f64; 2]);

struct Problem {
    name: &'static str,
    joints: Vec<String>,
    actuators: Vec<String>,
    unknown: Vec<Unknown>,
}

/// A driven pendulum: damping and armature.
fn pendulum() -> Problem {
    let unknown = |attribute, truth, start| -> Unknown {
        ("pivot".to_owned(), attribute, truth, start, [1e-4, 1.0])
    };
    Problem {
        name: "pendulum",
        joints: vec!["pivot".to_owned()],
        actuators: vec!["pivot_torque".to_owned()],
        unknown: vec![
            unknown("damping", 0.06, 0.02),
            unknown("armature", 0.02, 0.1),
        ],
    }
}

/// An arm with servos: damping, armature and dry friction of seven joints.
fn arm() -> Problem {
    let joint = |number: u32| -> [Unknown; 3] {
        let name = format!("joint{number}");
        let k = f64::from(number);
        // Shoulder and elbow, or wrist.
        let [damping, armature, friction] = if number <= 4 {
            [
                (1.6 + 0.2 * k, 1.0),
                (0.16 + 0.01 * k, 0.1),
                (0.4 + 0.05 * k, 0.2),
            ]
        } else {
            [
                (0.5 + 0.05 * k, 0.3),
                (0.03 + 0.003 * k, 0.02),
                (0.2 + 0.01 * k, 0.1),
            ]
        };
        [
            (name.clone(), "damping", damping.0, damping.1, [0.01, 10.0]),
            (
                name.clone(),
                "armature",
                armature.0,
                armature.1,
                [0.001, 1.0],
            ),
            (name, "frictionloss", friction.0, friction.1, [0.01, 5.0]),
        ]
    };
    Problem {
        name: "arm7",
        joints: (1..=7).map(|number| format!("joint{number}")).collect(),
        actuators: (1..=7).map(|number| format!("servo{number}")).collect(),
        unknown: (1..=7).flat_map(joint).collect(),
    }
}

/// Measures both problems; fails when a bar is missed.
pub(super) fn bench(mut carom: Server, rounds: usize) -> Outcome {
    let folder = super::folder()?;
    let mut figures = Figures::default();
    let measure = "identification beside mujoco.sysid";
    let peer = python::SYSID.with_module("mujoco.sysid");
    match peer.and_then(|python| Server::start(command(python).arg("xtask/bench/sysid_peer.py"))) {
        Err(why) => figures.not_measured(measure, &why),
        Ok(mut peer) => {
            Figures::head("one identification on one thread", "sysid µs");
            for problem in [pendulum(), arm()] {
                let mut servers = (&mut carom, &mut peer);
                compare(
                    &mut servers,
                    (&problem, &folder),
                    rounds.min(5),
                    &mut figures,
                )?;
            }
        }
    }
    figures.conclude(&folder.join("identify.json"))
}

fn compare(
    (carom, peer): &mut (&mut Server, &mut Server),
    (problem, folder): (&Problem, &Path),
    rounds: usize,
    figures: &mut Figures,
) -> Outcome {
    let theirs = problem.peers_request(folder);
    let first = peer.ask(&theirs)?;
    let ours = problem.own_request(folder, &numbers(&first, "units")?)?;
    let (mut own_times, mut peer_times) = (Vec::new(), Vec::new());
    let mut found = Vec::new();
    for round in 0..=rounds {
        let answers = [carom.ask(&ours)?, peer.ask(&theirs)?];
        // The first round warms up.
        if round > 0 {
            own_times.push(number(&answers[0], "microseconds")?);
            peer_times.push(number(&answers[1], "microseconds")?);
        }
        found = vec![
            numbers(&answers[0], "values")?,
            numbers(&answers[1], "values")?,
        ];
    }
    let (own_times, peer_times) = (Summary::of(own_times), Summary::of(peer_times));
    let name = problem.name;
    figures.compare(
        ("identification beside mujoco.sysid", name),
        &own_times,
        &peer_times,
        Bar::AtLeast(BAR),
    );
    // Its own judgement of both ends.
    let mut judged = theirs;
    judged["at"] = json!(found[0]);
    let judged = peer.ask(&judged)?;
    let squares = number(&judged, "squares_at")? / number(&judged, "squares")? - 1.0;
    figures.limit(
        ("sum of squares beyond that of mujoco.sysid", name),
        (100.0 * squares, "%"),
        100.0 * SQUARES_BAR,
    );
    let pairs = found[0].iter().zip(&found[1]);
    let apart = pairs.fold(0.0_f64, |most, (a, b)| most.max((a / b - 1.0).abs()));
    figures.limit(
        ("greatest difference of a parameter", name),
        (100.0 * apart, "%"),
        VALUES_BAR,
    );
    Ok(())
}

impl Problem {
    fn model(&self) -> PathBuf {
        root().join("models").join(self.name).with_extension("xml")
    }

    fn recording(&self, folder: &Path) -> PathBuf {
        folder.join(format!("identify_{}.npz", self.name))
    }

    fn peers_request(&self, folder: &Path) -> Value {
        let unknown = self.unknown.iter();
        let parameters: Vec<Value> = unknown
            .map(|(joint, attribute, truth, start, [low, high])| {
                json!([joint, attribute, truth, start, low, high])
            })
            .collect();
        json!({
            "model": self.model(), "recording": self.recording(folder), "steps": STEPS, "noise": NOISE,
            "parameters": parameters,
        })
    }

    /// The same question for carom, whose mapping and settings are written.
    fn own_request(&self, folder: &Path, units: &[f64]) -> Result<Value, String> {
        let mapping = folder.join(format!("identify_{}_mapping.toml", self.name));
        let settings = folder.join(format!("identify_{}_settings.toml", self.name));
        let write = |path: &Path, text: Result<String, std::fmt::Error>| {
            let text = text.map_err(|error| error.to_string())?;
            std::fs::write(path, text).map_err(|error| unwritable(path, &error))
        };
        write(&mapping, self.mapping(units))?;
        write(&settings, self.settings())?;
        Ok(json!({
            "model": self.model(), "steps": 1, "measure": "identify", "recording": self.recording(folder),
            "mapping": mapping, "settings": settings,
        }))
    }

    fn mapping(&self, units: &[f64]) -> Result<String, std::fmt::Error> {
        let mut text = String::from("[time]\ndt = \"dt\"\n");
        let (positions, velocities) = units.split_at(self.joints.len().min(units.len()));
        for (k, ((joint, position), velocity)) in
            (self.joints.iter().zip(positions).zip(velocities)).enumerate()
        {
            writeln!(
                text,
                "[[joint]]\nname = \"{joint}\"\nposition = \"q[{k}]\"\nvelocity = \"qd[{k}]\""
            )?;
            writeln!(text, "noise = {position}\nvelocity_noise = {velocity}")?;
        }
        for (k, actuator) in self.actuators.iter().enumerate() {
            writeln!(
                text,
                "[[actuator]]\nname = \"{actuator}\"\ncontrol = \"u[{k}]\""
            )?;
        }
        Ok(text)
    }

    fn settings(&self) -> Result<String, std::fmt::Error> {
        let mut text = String::new();
        for (joint, attribute, _, start, [low, high]) in &self.unknown {
            // Damping has coefficients of higher powers, too.
            let component = if *attribute == "damping" { "[0]" } else { "" };
            writeln!(
                text,
                "[[parameter]]\nselect = \"joint.{joint}.{attribute}{component}\""
            )?;
            writeln!(text, "start = {start}\nbounds = [{low}, {high}]")?;
        }
        // As the peer: one search, from the start.
        writeln!(text, "[optimiser]\nkind = \"lm\"")?;
        Ok(text)
    }
}

fn number(answer: &Value, name: &str) -> Result<f64, String> {
    let number = answer[name].as_f64();
    number.ok_or_else(|| format!("the answer {answer} has no {name}"))
}

fn numbers(answer: &Value, name: &str) -> Result<Vec<f64>, String> {
    let list = answer[name].as_array().into_iter().flatten();
    let list: Option<Vec<f64>> = list.map(Value::as_f64).collect();
    let list = list.filter(|list| !list.is_empty());
    list.ok_or_else(|| format!("the answer {answer} has no {name}"))
}
