//! The `carom` command.
//!
//! Exit codes: 0 success, 1 the answer is no (a model is invalid, parity fails), 2 the question could not be asked
//! (bad flags, missing files).

mod bench;
mod check;
mod evaluate;
mod gradient;
mod load;
mod naming;
mod output;
mod parity;
mod sim;

use std::io::Write;
use std::process::ExitCode;

use carom_tasks::npz;
use clap::Parser;

/// Differentiable rigid-body simulation: load, check and simulate MJCF and URDF models.
#[derive(Parser, Debug)]
#[command(name = "carom", version, about, long_about = None)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(clap::Subcommand, Debug)]
enum Command {
    Sim(sim::Args),
    Check(check::Args),
    Gradient(gradient::Args),
    Evaluate(evaluate::Args),
    Parity(parity::Args),
    Bench(bench::Args),
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    match cli.command {
        Command::Sim(args) => sim::run(&args),
        Command::Check(args) => check::run(&args),
        Command::Gradient(args) => gradient::run(&args),
        Command::Evaluate(args) => evaluate::run(&args),
        Command::Parity(args) => parity::run(&args),
        Command::Bench(args) => bench::run(&args),
    }
}

/// Prints a line; a closed pipe (`carom … | head`) ends the output, not the program with a panic.
fn print(line: &str) {
    let _ = writeln!(std::io::stdout().lock(), "{line}");
}
