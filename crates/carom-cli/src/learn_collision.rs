//! `carom learn collision`: a map of collisions from a few recorded strikes.

use std::path::PathBuf;
use std::process::ExitCode;

use carom::Model;
use carom_spec::ModelSpec;
use carom_spec::mjcf::{AssetStorage, write_with};
use carom_tasks::collision_map::{
    self, Engine, Laws, Learned, Prediction, Score, StrikeMapping, THRESHOLDS, store,
};
use carom_tasks::evaluate::figure;
use serde_json::{Map, Value, json};

use crate::failure::{CONTENT, Failure, WRITE, finish};
use crate::{load, output, stdio, values};

/// Learns what happens when a held body strikes another one, from a few recorded strikes.
///
/// The first strikes teach, the others test. The result is the scene with what was learned, and a file of weights beside it
/// with the map. The page on collision maps describes both.
#[derive(clap::Args, Debug)]
#[command(
    after_help = "Examples:\n  carom learn collision datasets/clash_square.xml strikes.npz --mapping datasets/clash_strikes.toml --out hybrid.xml\n  carom learn collision scene.xml strikes.npz --mapping strikes.toml --shots 10 --out hybrid.xml --json"
)]
pub(crate) struct Args {
    /// The scene (MJCF).
    scene: PathBuf,
    /// Recorded strikes (.npz).
    strikes: PathBuf,
    /// What the arrays of the recording are (TOML).
    #[arg(long)]
    mapping: PathBuf,
    /// So many strikes at the beginning teach; the others test.
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = values::count)]
    shots: usize,
    /// The scene with what was learned; the map goes to a file of the same name that ends with .safetensors.
    #[arg(long)]
    out: PathBuf,
    /// Go on although these unsupported features are in the file (diagnostic codes, or `all`).
    #[arg(long, value_name = "CODE,…", value_delimiter = ',', value_parser = values::feature)]
    allow: Vec<String>,
    /// Print everything as JSON.
    #[arg(long)]
    json: bool,
}

/// Runs the command.
pub(crate) fn run(args: &Args) -> ExitCode {
    finish(args.json, answer(args))
}

fn answer(args: &Args) -> Result<ExitCode, Failure> {
    let weights_path = args.out.with_extension("safetensors");
    for path in [&args.out, &weights_path] {
        output::check_target(path)?;
    }
    let loaded = load::load(&args.scene, &args.allow)?;
    stdio::warn(&loaded.warnings);
    let mapping = StrikeMapping::read(&args.mapping)?;
    let recorded = collision_map::read(&args.strikes, &mapping)?;
    let strikes = &recorded.strikes;
    let (scene, model) = weighed(loaded, &mapping, recorded.mass)?;
    let bodies = collision_map::bodies(&model, &mapping, None)?;
    let (shots, test) = strikes.split_at(args.shots.min(strikes.len()));
    if !args.json {
        let note = format!(
            "learning from {} of {} strikes\n",
            shots.len(),
            strikes.len()
        );
        stdio::warn(&note);
    }
    let began = std::time::Instant::now();
    let learned = collision_map::learn(bodies, shots)?;
    let seconds = began.elapsed().as_secs_f64();
    let gyration = learned.map.bodies.struck.gyration;
    let score = |found: &[Prediction]| Score::of(found, test, gyration);
    let mut rows = vec![("physical", score(&learned.map.predict(test)))];
    let file = weights_path
        .file_name()
        .unwrap_or_default()
        .to_string_lossy();
    let spec = store::scene(scene, &mapping, &learned.map, &file)?;
    let hybrid = compiled(&spec)?;
    let mut identified = spec.clone();
    identified.collision_maps.clear();
    let identified = compiled(&identified)?;
    for (name, model) in [
        ("default", &model),
        ("friction", &identified),
        ("hybrid", &hybrid),
    ] {
        let engine = Engine::new(model, &mapping, &learned.map)?;
        rows.push((name, score(&engine.predict(test))));
    }
    let bytes = store::write(&mapping.scene.pair, &learned.map);
    write(&weights_path, &bytes)?;
    write(
        &args.out,
        write_with(&spec, AssetStorage::Inline).as_bytes(),
    )?;
    show(args, &learned, &rows, seconds);
    Ok(ExitCode::SUCCESS)
}

/// The model of a scene whose struck body has the mass that was recorded.
fn weighed(
    loaded: load::Loaded,
    mapping: &StrikeMapping,
    mass: Option<f64>,
) -> Result<(ModelSpec, Model), Failure> {
    let own = collision_map::bodies(&loaded.model, mapping, None)?;
    let mut spec = loaded.spec;
    if let Some(mass) = mass {
        store::weigh(&mut spec, &mapping.scene.struck, mass / own.struck.mass);
    }
    let model = compiled(&spec)?;
    Ok((spec, model))
}

fn compiled(spec: &ModelSpec) -> Result<Model, Failure> {
    let (model, diagnostics) = carom::compile::compile(spec);
    model.ok_or_else(|| {
        let errors = diagnostics
            .iter()
            .filter(|diagnostic| diagnostic.is_error());
        let said: Vec<String> = errors
            .map(|error| match &error.help {
                Some(help) => format!("{}; {help}", error.message),
                None => error.message.clone(),
            })
            .collect();
        Failure::sentence(CONTENT, said.join("; "))
    })
}

fn write(path: &std::path::Path, bytes: &[u8]) -> Result<(), Failure> {
    let whole = output::write_whole(path, |file| std::io::Write::write_all(file, bytes));
    whole.map_err(|cause| Failure::sentence(WRITE, cause.to_string()))
}

fn row(score: &Score) -> Value {
    let accuracy: Map<String, Value> = (THRESHOLDS.iter())
        .map(|&threshold| (threshold.to_string(), json!(score.accuracy(threshold))))
        .collect();
    json!({
        "accuracy": accuracy,
        "median": score.median(),
        "position": score.position,
        "yaw": score.yaw,
    })
}

fn show(args: &Args, learned: &Learned, scores: &[(&str, Score)], seconds: f64) {
    let Laws { contact, table } = &learned.map.laws;
    let tested = scores.first().map_or(0, |(_, score)| score.relative.len());
    let mut left_out = learned.left_out.clone();
    left_out.sort_by(f64::total_cmp);
    let expected = left_out[left_out.len() / 2];
    if args.json {
        let mut rows = Map::new();
        if tested > 0 {
            for (name, score) in scores {
                rows.insert((*name).to_owned(), row(score));
            }
            // The one with the lowest error at the shots when each of them is left out; there is no other that was fitted to them.
            rows.insert("best".to_owned(), row(&scores[0].1));
        }
        let document = json!({
            "rows": rows,
            "chosen": "physical",
            "tested": tested,
            "left_out": learned.left_out,
            "contact": {
                "stiffness": contact.stiffness.exp(),
                "power": contact.power,
                "dissipation": contact.dissipation.exp(),
                "friction": contact.friction,
                "slip": contact.slip.exp(),
                "arm_mass": contact.arm_mass.exp(),
                "arm_rate": contact.arm_rate.exp(),
                "arm_inertia": contact.arm_inertia.exp(),
            },
            "table": {
                "friction": table.friction,
                "stribeck": table.stribeck,
                "stribeck_speed": table.stribeck_speed,
                "ploughing": table.ploughing,
                "grain": table.grain,
                "lean": table.lean,
                "crown": table.crown,
            },
            "seconds": seconds,
            "model": args.out,
        });
        crate::print(&document.to_string());
        return;
    }
    crate::print(&format!(
        "contact: friction {}, arm {} kg; table: friction {}, {} more at rest, {} for each m/s",
        figure(contact.friction),
        figure(contact.arm_mass.exp()),
        figure(table.friction),
        figure(table.stribeck),
        figure(table.ploughing),
    ));
    crate::print(&format!(
        "shots left out in turn: median relative error {}",
        figure(expected)
    ));
    for (name, score) in scores.iter().filter(|_| tested > 0) {
        let accuracy = (THRESHOLDS.iter())
            .map(|&threshold| format!("{:.2} at {threshold}", score.accuracy(threshold)));
        let accuracy: Vec<String> = accuracy.collect();
        crate::print(&format!(
            "{name}: accuracy {}; median relative error {}, at rest {} m and {} rad off",
            accuracy.join(", "),
            figure(score.median()),
            figure(score.position),
            figure(score.yaw),
        ));
    }
    crate::print(&format!("wrote '{}' in {seconds:.1} s", args.out.display()));
}
