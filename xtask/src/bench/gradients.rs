//! What gradients and Jacobians cost, beside the steps they belong to and beside what peers take for them.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::figures::{Bar, Figures};
use super::{Answer, Engines, Server, Summary, label, root, shared};
use crate::Outcome;
use crate::command::command;
use crate::python;

/// A backward pass may take so many times as long as the forward one.
const BACKWARD_BAR: f64 = 3.0;
/// How many times as fast as centred finite differences A and B must be, and how many steps they may cost.
const DIFFERENCES_BAR: f64 = 20.0;
const STEPS_BAR: f64 = 4.0;
/// Time that derivatives of the acceleration may take beside Pinocchio's.
const PINOCCHIO_BAR: f64 = 1.5;
/// How many times as fast as MJX gradients of trajectories must be.
const MJX_BAR: f64 = 50.0;
/// Time from the model file of a humanoid to the first gradient (ms).
const FIRST_GRADIENT_BAR: f64 = 50.0;
/// Steps and bytes of the trajectory that must fit, and the time it may take relative to unlimited memory.
const LONG_STEPS: usize = 10_000;
const LONG_BYTES: usize = 64 << 20;
const LONG_BAR: f64 = 2.2;

/// Boxes of the tower.
const TOWER_LEVELS: usize = 10;

/// Measures all of it; fails when a bar is missed. MJX, which compiles for minutes, is left out if `quick`.
pub(super) fn bench(engines: &mut Engines, rounds: usize, quick: bool) -> Outcome {
    let folder = super::folder()?;
    let mut figures = Figures::default();
    backward(engines, rounds, &mut figures)?;
    jacobians(engines, rounds, &folder, &mut figures)?;
    accelerations(engines, rounds, &mut figures)?;
    if quick {
        println!("\ngradients beside MJX: left out, as --quick asks");
    } else {
        beside_mjx(engines, rounds.min(5), &mut figures)?;
    }
    first_gradient(engines, rounds, &mut figures)?;
    memory(engines, rounds.min(3), &mut figures)?;
    figures.conclude(&folder.join("gradients.json"))
}

/// Backward passes over whole trajectories, by all numbers of the model, beside the forward pass.
fn backward(engines: &mut Engines, rounds: usize, figures: &mut Figures) -> Outcome {
    Figures::head("backward pass beside forward pass, a step", "forward µs");
    let models = ["humanoid", "quadruped", "hand", "cube"].map(shipped);
    let real = [
        "mj_humanoid/humanoid.xml",
        "menagerie_go1/scene.xml",
        "menagerie_shadow_hand/scene_right.xml",
    ];
    for model in models.into_iter().chain(present(&real)) {
        let forward = json!({ "model": model, "steps": 500 });
        let backward = json!({ "model": model, "steps": 500, "measure": "backward" });
        let [forward, backward] = engines.carom_in_turns([&forward, &backward], rounds)?;
        let names = ("backward pass", &*label(&model));
        figures.compare(names, &backward, &forward, Bar::AtMost(BACKWARD_BAR));
    }
    Ok(())
}

/// A and B from a state, forward pass included, beside finite differences; and from the results of a step, beside the step.
fn jacobians(
    engines: &mut Engines,
    rounds: usize,
    folder: &Path,
    figures: &mut Figures,
) -> Outcome {
    let tower = folder.join("tower.xml");
    std::fs::write(&tower, tower_of_boxes(TOWER_LEVELS))
        .map_err(|error| super::unwritable(&tower, &error))?;
    let mut scenes = vec![
        (shipped("humanoid"), 200),
        (shipped("hand"), 200),
        (shipped("quadruped"), 200),
        (tower, 50),
    ];
    let real = [
        ("mj_humanoid/humanoid.xml", 200),
        ("menagerie_shadow_hand/scene_right.xml", 250),
        ("menagerie_fourier_n1/scene.xml", 250),
    ];
    for (file, settle) in real {
        scenes.extend(present(&[file]).map(|path| (path, settle)));
    }
    let mut of_steps = Vec::new();
    Figures::head(
        "A and B of a step beside MuJoCo's mjd_transitionFD, centred",
        "MuJoCo µs",
    );
    for (model, settle) in scenes {
        let name = label(&model);
        let step = json!({ "model": model, "steps": 20, "settle": settle });
        let [mut jacobian, mut after_step] = [step.clone(), step.clone()];
        jacobian["measure"] = json!("linearize");
        after_step["measure"] = json!("linearize after step");
        let mut servers = [&mut engines.carom, &mut engines.peer];
        let requests = [(0, &step), (0, &after_step), (0, &jacobian), (1, &jacobian)];
        let [step, after_step, ours, theirs] = in_turns(&mut servers, requests, rounds)?.0;
        let bar = Bar::AtLeast(DIFFERENCES_BAR);
        figures.compare(("A and B beside differences", &name), &ours, &theirs, bar);
        of_steps.push((name, after_step, step));
    }
    Figures::head(
        "A and B from the results of a step, beside the step",
        "step µs",
    );
    for (name, ours, step) in of_steps {
        let bar = Bar::AtMost(STEPS_BAR);
        figures.compare(("A and B beside a step", &name), &ours, &step, bar);
    }
    Ok(())
}

/// Derivatives of the acceleration by configuration, velocity and force, without constraints.
fn accelerations(engines: &mut Engines, rounds: usize, figures: &mut Figures) -> Outcome {
    let measure = "derivatives of the acceleration beside Pinocchio";
    let mut peer = match start_peer("pinocchio", "xtask/bench/pinocchio_peer.py") {
        Ok(peer) => peer,
        Err(why) => {
            figures.not_measured(measure, &why);
            return Ok(());
        }
    };
    Figures::head(
        "derivatives of the acceleration without contacts, beside Pinocchio's computeABADerivatives",
        "Pinocchio µs",
    );
    let models = ["humanoid", "arm7"].map(shipped);
    let real = ["mj_humanoid/humanoid.xml", "menagerie_panda/panda.xml"];
    for model in models.into_iter().chain(present(&real)) {
        let ours = json!({ "model": model, "steps": 200, "measure": "acceleration", "disable": ["constraint"] });
        let theirs = json!({ "model": model, "steps": 200 });
        let mut servers = [&mut engines.carom, &mut peer];
        let [ours, theirs] = in_turns(&mut servers, [(0, &ours), (1, &theirs)], rounds)?.0;
        let names = (measure, &*label(&model));
        figures.compare(names, &ours, &theirs, Bar::AtMost(PINOCCHIO_BAR));
    }
    Ok(())
}

/// Gradients of trajectories beside those of MJX on the CPU.
fn beside_mjx(engines: &mut Engines, rounds: usize, figures: &mut Figures) -> Outcome {
    let measure = "gradient of a trajectory beside MJX";
    let mut peer = match start_peer("mujoco.mjx", "xtask/bench/mjx_peer.py") {
        Ok(peer) => peer,
        Err(why) => {
            figures.not_measured(measure, &why);
            return Ok(());
        }
    };
    Figures::head(
        "gradient of a trajectory, a step, beside MJX on the CPU (which compiles for minutes now)",
        "MJX µs",
    );
    let cube = json!({
        "model": real_or_shipped("diffmjx_cube/cube.xml", "cube"), "steps": 1000, "timestep": 0.001,
        "qpos": { "2": 0.2 }, "qvel": { "1": -0.1, "2": -2.0 },
    });
    // The limits that are usual with MJX, in the precision that suits it best.
    let humanoid = json!({
        "model": real_or_shipped("mj_humanoid/humanoid.xml", "humanoid"), "steps": 50, "settle": 200,
        "iterations": 4, "line_search": 8, "precision": 32,
    });
    for (name, theirs) in [
        ("cube toss, 1000 steps of 1 ms", cube),
        ("humanoid, 50 steps", humanoid),
    ] {
        let mut ours = theirs.clone();
        ours["measure"] = json!("gradient");
        let mut servers = [&mut engines.carom, &mut peer];
        let (times, compilation) = in_turns(&mut servers, [(0, &ours), (1, &theirs)], rounds)?;
        let [ours, theirs] = times;
        figures.compare((measure, name), &ours, &theirs, Bar::AtLeast(MJX_BAR));
        figures.remark("MJX's compilation, CPU seconds", compilation);
    }
    Ok(())
}

/// From a model file to the first gradient.
fn first_gradient(engines: &mut Engines, rounds: usize, figures: &mut Figures) -> Outcome {
    let request = json!({ "model": shipped("humanoid"), "steps": 1, "measure": "first gradient" });
    let time = engines.carom_alone(&request, rounds)?.minimum / 1000.0;
    let names = ("from the file to the first gradient", "humanoid");
    figures.limit(names, (time, "ms"), FIRST_GRADIENT_BAR);
    Ok(())
}

/// Long trajectories within little memory.
fn memory(engines: &mut Engines, rounds: usize, figures: &mut Figures) -> Outcome {
    let model = shipped("humanoid");
    let request = |bytes: Option<usize>| json!({ "model": model, "steps": LONG_STEPS, "measure": "gradient", "bytes": bytes });
    // A hundredth of the budget as well: there states have to be simulated again.
    let requests = [None, Some(LONG_BYTES), Some(LONG_BYTES / 100)].map(request);
    let [stored, within, scarce] = engines.carom_in_turns(requests.each_ref(), rounds)?;
    Figures::head(
        &format!("gradient of {LONG_STEPS} steps of a humanoid within a memory budget, a step"),
        "unlimited µs",
    );
    let names = ("memory budget", "64 MB");
    figures.compare(names, &within, &stored, Bar::AtMost(LONG_BAR));
    let names = ("memory budget", "0.64 MB");
    figures.compare(names, &scarce, &stored, Bar::AtMost(LONG_BAR));
    Ok(())
}

/// A server that needs a Python module, or why it cannot be had.
pub(super) fn start_peer(module: &str, script: &str) -> Result<Server, String> {
    let python = python::PEERS.with_module(module)?;
    Server::start(command(python).arg(script))
}

fn shipped(name: &str) -> PathBuf {
    root().join("models").join(name).with_extension("xml")
}

/// Which of some shared models are there; says which are not.
fn present<'a>(files: &'a [&str]) -> impl Iterator<Item = PathBuf> + 'a {
    let paths = files.iter().map(|file| shared().join("models").join(file));
    paths.filter(|path| {
        let found = path.is_file();
        if !found {
            println!(
                "{:<34} skipped: {} is not there",
                label(path),
                path.display()
            );
        }
        found
    })
}

/// A shared model, or a shipped one that stands in for it.
pub(super) fn real_or_shipped(file: &str, name: &str) -> PathBuf {
    let real = shared().join("models").join(file);
    if real.is_file() { real } else { shipped(name) }
}

/// Times of some requests, asked in turns, each of a server by its index; and the longest compilation that an answer
/// mentioned.
pub(super) fn in_turns<const N: usize>(
    servers: &mut [&mut Server; 2],
    requests: [(usize, &Value); N],
    rounds: usize,
) -> Result<([Summary; N], f64), String> {
    let mut times: [Vec<f64>; N] = std::array::from_fn(|_| Vec::new());
    let mut compilation: f64 = 0.0;
    // The first round warms up.
    for round in 0..=rounds {
        for (times, (server, request)) in times.iter_mut().zip(requests) {
            let Answer {
                microseconds,
                compile_seconds,
                ..
            } = servers[server].time(request)?;
            compilation = compilation.max(compile_seconds);
            if round > 0 {
                times.push(microseconds);
            }
        }
    }
    Ok((times.map(Summary::of), compilation))
}

impl Engines {
    /// Times of some requests to carom, asked in turns.
    pub(super) fn carom_in_turns<const N: usize>(
        &mut self,
        requests: [&Value; N],
        rounds: usize,
    ) -> Result<[Summary; N], String> {
        let mut servers = [&mut self.carom, &mut self.peer];
        let requests = requests.map(|request| (0, request));
        Ok(in_turns(&mut servers, requests, rounds)?.0)
    }
}

/// Boxes on top of each other.
fn tower_of_boxes(levels: usize) -> String {
    let half = 0.05;
    let mut bodies = String::new();
    for level in 0..levels {
        let _ = writeln!(
            bodies,
            r#"    <body pos="0 0 {:.5}"><freejoint/><geom type="box" size="{half} {half} {half}" density="500"/></body>"#,
            half * (2 * level + 1) as f64
        );
    }
    format!(
        r#"<mujoco model="tower">
  <option timestep="0.002"/>
  <worldbody>
    <geom type="plane" size="5 5 0.1"/>
{bodies}  </worldbody>
</mujoco>
"#
    )
}
