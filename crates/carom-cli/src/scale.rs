//! `carom scale`: thousands of runs by a recipe, as shards that learners read.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

use carom_report::coverage_page;
use carom_tasks::scale::manifest::Manifest;
use carom_tasks::scale::{Maker, make};
use serde_json::json;

use crate::failure::{Failure, finish};
use crate::{interrupt, output, progress, values};

/// Makes many runs of a kind by a recipe, and stores them as shards.
///
/// Number, sizes, masses and friction of bodies, numbers of the model and initial states are drawn from ranges; the engine runs
/// them on all cores. The bits do not depend on the number of threads. Ctrl-C and kill lose nothing: the same command goes on.
/// docs/scale.md has all of it.
#[derive(clap::Args, Debug)]
#[command(
    after_help = "Examples:\n  carom scale --recipe datasets/two_cubes_recipe.toml --out shards\n  carom scale --recipe R.toml --out shards --threads 1 --report coverage.html --json"
)]
pub(crate) struct Args {
    /// What runs are made of (TOML).
    #[arg(long)]
    recipe: PathBuf,
    /// Folder of the shards; it is made if it is not there.
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
    /// Write a page about the impacts that the runs cover: faces, speeds, angles.
    #[arg(long, value_name = "PAGE.html")]
    report: Option<PathBuf>,
    /// Threads; all cores if not given. The bits do not depend on it.
    #[arg(long, alias = "workers", value_name = "N", value_parser = values::threads, allow_negative_numbers = true)]
    threads: Option<usize>,
    /// Print what was made as JSON.
    #[arg(long)]
    json: bool,
}

/// Runs the command.
pub(crate) fn run(args: &Args) -> ExitCode {
    finish(args.json, answer(args))
}

fn answer(args: &Args) -> Result<ExitCode, Failure> {
    if let Some(path) = &args.report {
        output::check_target(path)?;
    }
    let maker = Maker::read(&args.recipe)?;
    interrupt::watch();
    let bar = progress::bar(maker.recipe().runs, "runs");
    let begin = Instant::now();
    let told = |manifest: &Manifest| bar.set_position(manifest.present() as u64);
    let found = std::sync::atomic::AtomicUsize::new(usize::MAX);
    let hear = |manifest: &Manifest| {
        use std::sync::atomic::Ordering;
        // What was there before is heard first.
        let _ = found.compare_exchange(
            usize::MAX,
            manifest.present(),
            Ordering::Relaxed,
            Ordering::Relaxed,
        );
        told(manifest);
    };
    let work = || make(&maker, &args.out, interrupt::flag(), &hear);
    let manifest = match args.threads {
        None => work(),
        Some(threads) => {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
            let pool = pool.map_err(|cause| {
                Failure::sentence(
                    crate::failure::READ,
                    format!("cannot start threads: {cause}"),
                )
            })?;
            pool.install(work)
        }
    }?;
    bar.finish_and_clear();
    let seconds = begin.elapsed().as_secs_f64();
    let (runs, wanted) = (manifest.present(), manifest.runs);
    let before = found.into_inner();
    let made = runs - before.min(runs);
    if args.json {
        let document = json!({
            "runs": runs, "asked_for": wanted, "made": made, "seconds": seconds,
            "runs_per_second": made as f64 / seconds, "shards": manifest.shards.len(),
        });
        crate::print(&document.to_string());
    } else {
        crate::print(&format!(
            "{runs} of {wanted} runs in '{}'; {made} made in {seconds:.1} s, {:.1} a second",
            args.out.display(),
            made as f64 / seconds
        ));
    }
    if let Some(path) = &args.report {
        let page = coverage_page(&args.out, &manifest)?;
        output::write_whole(path, |out| std::io::Write::write_all(out, page.as_bytes()))?;
    }
    if runs < wanted && interrupt::asked() {
        return Ok(interrupt::exit_code());
    }
    Ok(ExitCode::SUCCESS)
}
