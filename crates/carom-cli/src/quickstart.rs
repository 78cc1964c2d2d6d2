//! `carom quickstart`: the main job from end to end, on an example that carom makes itself.
//!
//! A cube with hidden friction, side and contacts is tossed three times; noise is added; `carom identify` finds the hidden
//! numbers from the recordings, and a fourth toss, kept back, is predicted. All files stay in a folder, to go on with.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use carom::parameters::Parameters;
use carom::{Data, Input, Model, State};
use carom_optimise::random::Random;
use carom_tasks::identify::{FREE_STARTS, Free, Inspection, Settings, Task};
use carom_tasks::npz::{self, Array};
use carom_tasks::recording::{self, Mapping, Recordings};
use serde_json::json;

use crate::evaluate::figure;
use crate::failure::{COMPUTATION, CONTENT, Failure, WRITE, finish};
use crate::identify::{self, Watcher, report};
use crate::load::{self, Loaded};
use crate::{browser, interrupt, output, stdio, values};

/// The model, as everybody has it.
const MODEL: &str = include_str!("../../../models/cube.xml");
/// What the arrays of the recordings are.
const MAPPING: &str = include_str!("quickstart.toml");
/// What is hidden, and found.
const FREE: [&str; 4] = [
    "geom.*.friction[0] tied",
    "geom.cube.size tied",
    "geom.*.solref[0] tied",
    "geom.*.solref[1] tied",
];
/// Least and greatest hidden value of each.
const HIDDEN: [[f64; 2]; 4] = [[0.18, 0.42], [0.046, 0.054], [0.014, 0.03], [0.5, 1.0]];
/// With which probability each interval holds its hidden value, so that all do together almost always.
const CONFIDENCE: f64 = 0.995;
/// Tosses for the fit, and one that is kept back.
const TOSSES: usize = 4;
/// Frames of a toss, and steps from a frame to the next.
const FRAMES: usize = 80;
const STEPS: usize = 5;
/// Frames of a segment: long enough for an impact, short enough for a loss with one minimum.
const SEGMENT: usize = 10;
/// Noise of positions (m), rotations (rad), velocities (m/s) and angular velocities (rad/s), as the mapping states it.
const NOISE: [f64; 4] = [0.0005, 0.005, 0.02, 0.05];

/// Shows the main job on an example: recordings of a cube with hidden friction, side and contacts, from which they are found.
///
/// Three tosses are simulated with hidden parameters and noise; the parameters are identified from them and a fourth toss is
/// predicted. The report opens in the browser. All files are kept, so that you can go on from them.
#[derive(clap::Args, Debug)]
#[command(
    after_help = "Examples:\n  carom quickstart\n  carom quickstart --seed 7 --no-browser --out /tmp/quickstart"
)]
pub(crate) struct Args {
    /// Which hidden parameters, tosses and noise.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Folder for model, recordings, calibrated model and report.
    #[arg(long, default_value = "carom-quickstart")]
    out: PathBuf,
    /// Do not open the report.
    #[arg(long)]
    no_browser: bool,
    /// Threads; all cores if not given. The numbers do not depend on it.
    #[arg(long, value_name = "N", value_parser = values::threads, allow_negative_numbers = true)]
    threads: Option<usize>,
    /// Print the answer as JSON.
    #[arg(long)]
    json: bool,
}

/// Runs the command.
pub(crate) fn run(args: &Args) -> ExitCode {
    finish(args.json, answer(args))
}

fn answer(args: &Args) -> Result<ExitCode, Failure> {
    let place = Place::new(&args.out)?;
    place.write("cube.xml", MODEL.as_bytes())?;
    place.write("tosses.toml", MAPPING.as_bytes())?;
    let loaded = load::load(&place.path("cube.xml"), &[])?;
    let (hidden, truth) = hidden_model(&loaded.model, args.seed)?;
    if !args.json {
        crate::print(&format!(
            "a cube with hidden friction, side and contacts is tossed {} times; noise: {} mm, {} mrad",
            TOSSES - 1,
            1e3 * NOISE[0],
            1e3 * NOISE[1]
        ));
    }
    let mut random = Random::new(args.seed, 1);
    for (name, count) in [("tosses.npz", TOSSES - 1), ("kept_back.npz", 1)] {
        place.tosses(name, &hidden, count, &mut random)?;
    }
    let recordings = place.read(&loaded.model, "tosses.npz")?;
    let kept_back = place.read(&loaded.model, "kept_back.npz")?;
    let mut task = Task::new(&loaded.model, &recordings, settings(args)?)
        .map_err(|error| Failure::sentence(CONTENT, error.to_string()))?;
    let inspection = identify::prepare(&loaded, &mut task)?;
    identified(
        args,
        &place,
        (&loaded, inspection),
        &task,
        (&kept_back, truth),
    )
}

fn identified(
    args: &Args,
    place: &Place<'_>,
    prepared: (&Loaded, Inspection),
    task: &Task<'_>,
    (kept_back, truth): (&Recordings, Vec<f64>),
) -> Result<ExitCode, Failure> {
    let mut found = identify::find(prepared, task, Some(kept_back), None, Watcher::new(None))?;
    let inside = report::within(&found, &truth);
    found.truth = Some(truth.clone());
    place.write("report.html", report::html(&found).as_bytes())?;
    if let Some(text) = &found.description {
        place.write("calibrated.xml", text.as_bytes())?;
    }
    let all = truth.len();
    if args.json {
        let mut document = identify::as_json(&found);
        document["hidden"] = json!(truth);
        document["within"] = json!(inside);
        document["report"] = json!(place.path("report.html").display().to_string());
        crate::print(&document.to_string());
    } else {
        crate::print(&identify::as_text(&found));
        let names = found.identified.estimates.iter().map(|one| &one.name);
        let listed: Vec<String> = (names.zip(&truth))
            .map(|(name, truth)| format!("{name} = {}", figure(*truth)))
            .collect();
        crate::print(&format!("\nhidden were: {}", listed.join(", ")));
        crate::print(&format!("{inside} of {all} lie within their intervals"));
        crate::print(&format!("report: {}", place.path("report.html").display()));
        crate::print(&again(&args.out));
    }
    if found.solution.is_stopped {
        return Ok(interrupt::exit_code());
    }
    if !args.no_browser && !args.json {
        open(&place.path("report.html"));
    }
    Ok(ExitCode::from(u8::from(inside < all)))
}

/// The same by hand.
fn again(folder: &Path) -> String {
    let folder = folder.display();
    let free: Vec<String> = FREE.iter().map(|name| format!("\"{name}\"")).collect();
    format!(
        "by hand:\n  carom identify {folder}/cube.xml {folder}/tosses.npz --mapping {folder}/tosses.toml --free-starts --segments {SEGMENT} \\\n    --free {} --validate {folder}/kept_back.npz --report report.html",
        free.join(" --free ")
    )
}

fn open(page: &Path) {
    let url = match page.canonicalize() {
        Ok(path) => format!("file://{}", path.display()),
        Err(_) => return,
    };
    if let Err(cause) = browser::open(&url) {
        stdio::warn(&format!(
            "note: no browser was opened ({cause}); open the report yourself\n"
        ));
    }
}

fn settings(args: &Args) -> Result<Settings, Failure> {
    let mut settings = Settings {
        confidence: CONFIDENCE,
        threads: args.threads,
        ..Settings::default()
    };
    settings.problem.starts = FREE_STARTS;
    settings.set_segments(SEGMENT);
    for name in FREE {
        let selection = name
            .parse()
            .map_err(|error: carom::parameters::ParameterError| {
                Failure::sentence(CONTENT, error.to_string())
            })?;
        settings.free.push(Free::new(selection));
    }
    Ok(settings)
}

/// The cube as it is in truth, and the numbers that make it so.
fn hidden_model(model: &Model, seed: u64) -> Result<(Model, Vec<f64>), Failure> {
    let mut random = Random::new(seed, 0);
    let truth: Vec<f64> = (HIDDEN.iter())
        .map(|[low, high]| low + (high - low) * random.uniform())
        .collect();
    let wrong = |error: carom::parameters::ParameterError| {
        Failure::sentence(COMPUTATION, error.to_string())
    };
    let parameters = Parameters::select(model, &FREE).map_err(wrong)?;
    let hidden = parameters.apply(&truth).map_err(wrong)?;
    Ok((hidden, truth))
}

/// The folder of all files.
struct Place<'a>(&'a Path);

impl<'a> Place<'a> {
    fn new(folder: &'a Path) -> Result<Self, Failure> {
        std::fs::create_dir_all(folder).map_err(|cause| {
            let folder = folder.display();
            Failure::sentence(WRITE, format!("cannot make the folder '{folder}': {cause}"))
        })?;
        Ok(Self(folder))
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    fn write(&self, name: &str, bytes: &[u8]) -> Result<(), Failure> {
        output::write_whole(&self.path(name), |out| out.write_all(bytes))?;
        Ok(())
    }

    fn read(&self, model: &Model, name: &str) -> Result<Recordings, Failure> {
        let wrong =
            |error: recording::RecordingError| Failure::sentence(CONTENT, error.to_string());
        let mapping = Mapping::parse(MAPPING, "tosses.toml").map_err(wrong)?;
        recording::load(model, &mapping, &[self.path(name)]).map_err(wrong)
    }

    /// Tosses the hidden cube and writes what a camera would see.
    fn tosses(
        &self,
        name: &str,
        hidden: &Model,
        count: usize,
        random: &mut Random,
    ) -> Result<(), Failure> {
        let mut rows = Vec::new();
        for _ in 0..count {
            let mut state = thrown(hidden, random);
            let input = Input::zeros(hidden);
            let mut data = Data::new(hidden);
            for frame in 0..FRAMES {
                if frame > 0 {
                    for _ in 0..STEPS {
                        carom::step(hidden, &mut state, &input, &mut data);
                    }
                }
                rows.extend(seen(&state, random));
            }
        }
        let offsets = (0..=count).map(|toss| (toss * FRAMES) as f64).collect();
        let arrays = [
            ("state", Array::numbers(&[count * FRAMES, 13], rows)),
            ("offsets", Array::numbers(&[count + 1], offsets)),
            (
                "dt",
                Array::numbers(&[], vec![hidden.option.timestep[0] * STEPS as f64]),
            ),
        ];
        let arrays: Vec<(&str, &Array)> =
            arrays.iter().map(|(name, array)| (*name, array)).collect();
        output::write_whole(&self.path(name), |out| npz::write(out, &arrays))?;
        Ok(())
    }
}

/// A cube just let go: low, with some speed along the floor and a little spin.
fn thrown(model: &Model, random: &mut Random) -> State {
    let mut state = State::reference(model);
    let mut between = |low: f64, high: f64| low + (high - low) * random.uniform();
    let (tilt, turn) = (between(-0.25, 0.25), between(-0.25, 0.25));
    state.qpos[..3].copy_from_slice(&[
        between(-0.4, -0.2),
        between(-0.1, 0.1),
        between(0.08, 0.12),
    ]);
    let length = (1.0 + tilt * tilt + turn * turn).sqrt();
    state.qpos[3..7].copy_from_slice(&[1.0 / length, tilt / length, turn / length, 0.0]);
    state.qvel[..3].copy_from_slice(&[between(0.7, 1.3), between(-0.3, 0.3), between(-0.6, 0.0)]);
    state.qvel[3..6].copy_from_slice(&[between(-1.0, 1.0), between(-1.0, 1.0), between(-1.0, 1.0)]);
    state
}

/// Position, quaternion, velocity and angular velocity with noise.
fn seen(state: &State, random: &mut Random) -> Vec<f64> {
    let [position, rotation, linear, angular] = NOISE;
    let mut row: Vec<f64> = (state.qpos[..3].iter())
        .map(|x| x + position * random.normal())
        .collect();
    let turn = [0; 3].map(|_| rotation * random.normal());
    let quat = carom::math::Quat([state.qpos[3], state.qpos[4], state.qpos[5], state.qpos[6]]);
    let small = carom::math::Quat([1.0, 0.5 * turn[0], 0.5 * turn[1], 0.5 * turn[2]]).normalized();
    row.extend(quat.mul(small).normalized().0);
    row.extend(state.qvel[..3].iter().map(|v| v + linear * random.normal()));
    row.extend(
        state.qvel[3..6]
            .iter()
            .map(|v| v + angular * random.normal()),
    );
    row
}
