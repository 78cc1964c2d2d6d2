//! `carom learn collision`: a map of collisions from a few recorded strikes.

use std::path::PathBuf;
use std::process::ExitCode;

use carom_spec::ModelSpec;
use carom_spec::mjcf::{AssetStorage, write_with};
use carom_spec::model_spec::TextSpec;
use carom_spec::span::Span;
use carom_tasks::collision_map::{
    self, CollisionMap, Learned, Score, StrikeMapping, THRESHOLDS, store,
};
use carom_tasks::evaluate::figure;
use serde_json::{Map, Value, json};

use crate::failure::{Failure, WRITE, finish};
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
    let bodies = collision_map::bodies(&loaded.model, &mapping, recorded.mass)?;
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
    let score = Score::of(&learned.map.predict(test), test, gyration);
    let file = weights_path
        .file_name()
        .unwrap_or_default()
        .to_string_lossy();
    let spec = hybrid(loaded.spec.clone(), &mapping, &learned.map, &file);
    let bytes = store::write(&mapping.scene.pair, &learned.map);
    write(&weights_path, &bytes)?;
    write(
        &args.out,
        write_with(&spec, AssetStorage::Inline).as_bytes(),
    )?;
    show(args, &learned, &score, seconds);
    Ok(ExitCode::SUCCESS)
}

/// The scene with the coefficients of friction that were found, and a note where the map is.
fn hybrid(
    mut spec: ModelSpec,
    mapping: &StrikeMapping,
    map: &CollisionMap,
    file: &str,
) -> ModelSpec {
    let coefficients = [
        (&mapping.scene.pair, map.contact.friction),
        (&mapping.scene.table, map.table.friction),
    ];
    for (name, coefficient) in coefficients {
        for pair in spec.pairs.iter_mut().filter(|pair| pair.name == *name) {
            pair.friction[0] = coefficient;
            pair.friction[1] = coefficient;
        }
    }
    spec.texts.push(TextSpec {
        name: format!("collision_map/{}", mapping.scene.pair),
        span: Span::default(),
        data: format!(
            "weights={file}; struck={}; striker={}",
            mapping.scene.struck, mapping.scene.striker
        ),
    });
    spec
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

fn show(args: &Args, learned: &Learned, score: &Score, seconds: f64) {
    let (contact, table) = (&learned.map.contact, &learned.map.table);
    let tested = score.relative.len();
    let mut left_out = learned.left_out.clone();
    left_out.sort_by(f64::total_cmp);
    let expected = left_out[left_out.len() / 2];
    if args.json {
        let rows = if tested == 0 {
            json!({})
        } else {
            json!({"physical": row(score), "best": row(score)})
        };
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
    if tested > 0 {
        let accuracy = (THRESHOLDS.iter())
            .map(|&threshold| format!("{:.2} at {threshold}", score.accuracy(threshold)));
        let accuracy: Vec<String> = accuracy.collect();
        crate::print(&format!(
            "{tested} other strikes: accuracy {}",
            accuracy.join(", ")
        ));
        crate::print(&format!(
            "median relative error {}, at rest {} m and {} rad off",
            figure(score.median()),
            figure(score.position),
            figure(score.yaw),
        ));
    }
    crate::print(&format!("wrote '{}' in {seconds:.1} s", args.out.display()));
}
