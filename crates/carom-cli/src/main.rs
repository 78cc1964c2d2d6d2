//! The `carom` command.
//!
//! Exit codes: 0 success, 1 the answer is no (a model is invalid, parity fails), 2 the question could not be asked
//! (bad flags, missing files), 130 interrupted by Ctrl-C (what was done is kept).

mod bench;
mod browser;
mod check;
mod command_line;
mod completions;
mod diff;
mod discover;
mod evaluate;
mod failure;
mod gradient;
mod identify;
mod interrupt;
mod learn;
mod learn_collision;
mod learn_graph;
mod load;
mod map;
mod network;
mod output;
mod parity;
mod plan;
mod progress;
mod quickstart;
mod scale;
mod sim;
mod sites;
mod stdio;
mod usage;
mod values;
mod view;

use std::process::ExitCode;

use carom_tasks::npz;
use clap::Parser;
use stdio::print;

/// Differentiable rigid-body simulation: load, check and simulate MJCF and URDF models.
#[derive(Parser, Debug)]
#[command(
    name = "carom",
    version,
    after_help = "Examples:\n  carom quickstart\n  carom check robot.xml\n  carom sim robot.xml --seconds 10 --out run.npz\n  carom gradient robot.xml --loss qpos[0] --wrt qvel[0],body.*.mass\n\nExit codes: 0 success, 1 the answer is no, 2 the question could not be asked, 130 interrupted.\nEvery command has --help with examples, and --json for programs."
)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(clap::Subcommand, Debug)]
enum Command {
    Quickstart(quickstart::Args),
    Sim(sim::Args),
    Check(check::Args),
    Gradient(gradient::Args),
    Identify(Box<identify::Args>),
    Evaluate(evaluate::Args),
    Map(map::Args),
    Learn(learn::Args),
    Discover(discover::Args),
    Scale(scale::Args),
    Sites(sites::Args),
    Diff(diff::Args),
    Plan(plan::Args),
    Parity(parity::Args),
    Bench(bench::Args),
    View(view::Args),
    Completions(completions::Args),
}

fn main() -> ExitCode {
    let code = match Cli::try_parse().map(|cli| cli.command) {
        Ok(Command::Quickstart(args)) => quickstart::run(&args),
        Ok(Command::Sim(args)) => sim::run(&args),
        Ok(Command::Check(args)) => check::run(&args),
        Ok(Command::Gradient(args)) => gradient::run(&args),
        Ok(Command::Identify(args)) => identify::run(&args),
        Ok(Command::Evaluate(args)) => evaluate::run(&args),
        Ok(Command::Map(args)) => map::run(&args),
        Ok(Command::Learn(args)) => learn::run(&args),
        Ok(Command::Discover(args)) => discover::run(&args),
        Ok(Command::Scale(args)) => scale::run(&args),
        Ok(Command::Sites(args)) => sites::run(&args),
        Ok(Command::Diff(args)) => diff::run(&args),
        Ok(Command::Plan(args)) => plan::run(&args),
        Ok(Command::Parity(args)) => parity::run(&args),
        Ok(Command::Bench(args)) => bench::run(&args),
        Ok(Command::View(args)) => view::run(&args),
        Ok(Command::Completions(args)) => completions::run(&args),
        Err(error) => usage::answer(&error),
    };
    if stdio::is_lost() {
        return ExitCode::from(2);
    }
    code
}
