//! Developer commands: `cargo xtask test` is the one test command, the others are its parts or its tools.
#![allow(
    clippy::print_stdout,
    reason = "a command-line program reports on standard output"
)]

mod bench;
mod book;
mod command;
mod compare;
mod licences;
mod package;
mod page;
mod python;
mod quickstart;
mod reference;
mod tally;
mod test;
mod tidy;
mod wheel;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// Developer commands of carom.
#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Run every check that must pass before a change lands
    Test {
        /// Run only the named steps (repeatable)
        #[arg(long, value_name = "STEP")]
        only: Vec<String>,
        /// Run tests in their long form: soaks, all seeds, a hundred thousand random scenes. Once before a release
        #[arg(long)]
        long: bool,
    },
    /// Build the Python package as a wheel into target/wheels, and try it in a fresh environment
    Wheel,
    /// Check what the compiler cannot: paths in documents, citations, glossary, stage folders, and numbers that may only fall
    Tidy {
        /// Write the numbers that may only fall as they are now to xtask/limits.txt
        #[arg(long)]
        record: bool,
    },
    /// Compare what another carom program prints and records with what this one does: simulations to the bit, derivatives to rounding
    Compare(compare::Asked),
    /// Build the book with mdBook, into target/book/
    Book,
    /// Write the tables of the book that the code knows
    BookTables,
    /// Record reference files with MuJoCo, or compare the stored ones with it
    Reference {
        /// Folder that holds manifest.json, or models (.xml, .urdf) that are all recorded
        #[arg(default_value = "tests/reference")]
        directory: PathBuf,
        /// Only these models
        names: Vec<String>,
        /// Compute again and compare, write nothing
        #[arg(long)]
        check: bool,
    },
    /// Run `carom quickstart` for many seeds: hidden numbers must lie within their intervals for 19 of 20
    Quickstart {
        /// How many seeds
        #[arg(long, default_value_t = 20)]
        seeds: u64,
        /// The first of them
        #[arg(long, default_value_t = 1)]
        first: u64,
    },
    /// Watch the viewer's memory while five pages are connected, one of which hardly reads
    SoakViewer {
        /// How long
        #[arg(long, default_value_t = 10.0)]
        minutes: f64,
    },
    /// Measure carom beside a peer, both asked in turns
    Bench {
        /// The engine to compare with
        #[arg(long, value_enum, default_value = "mujoco")]
        peer: bench::Peer,
        /// What to measure: smooth if neither this nor the first name says
        #[arg(long, value_enum)]
        set: Option<bench::Set>,
        /// Timed batches per model
        #[arg(long, default_value_t = 40)]
        rounds: usize,
        /// Leave out what takes minutes: gradients beside MJX, which has to compile them
        #[arg(long)]
        quick: bool,
        #[command(flatten)]
        asked: bench::Asked,
        /// A set (smooth, contacts, growth, gradients, time, python, compile), then models instead of its own
        names: Vec<PathBuf>,
    },
}

/// What a command reports when it fails: a sentence for the user.
type Outcome = Result<(), String>;

fn main() -> ExitCode {
    let outcome = match Arguments::parse().command {
        Command::Test { only, long } => test::run(&test::Plan { only, long }),
        Command::Wheel => wheel::make(),
        Command::Tidy { record } => tidy::run(record),
        Command::Compare(asked) => compare::compare(&asked),
        Command::Book => book::build(),
        Command::BookTables => book::tables(),
        Command::Reference {
            directory,
            names,
            check,
        } => reference::run(&directory, &names, check),
        Command::Quickstart { seeds, first } => quickstart::check(first, seeds),
        Command::SoakViewer { minutes } => soak_viewer(minutes),
        Command::Bench {
            peer,
            set,
            rounds,
            quick,
            asked,
            names,
        } => match asked.against {
            Some(_) => bench::against(&asked, rounds),
            None => bench::bench(&bench::Plan {
                peer,
                set,
                rounds,
                quick,
                names,
            }),
        },
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("error: {message}");
            ExitCode::FAILURE
        }
    }
}

/// The viewer's soak test for longer than the test command has patience.
fn soak_viewer(minutes: f64) -> Outcome {
    let arguments = [
        "test",
        "-p",
        "carom-viewer",
        "--test",
        "soak",
        "--",
        "--nocapture",
    ];
    let mut test = command::cargo(&arguments);
    test.env("CAROM_SOAK_SECONDS", (60.0 * minutes).to_string());
    command::run(&mut test)
}
