//! Developer commands: `cargo xtask test` is the one test command, the others are its parts or its tools.
#![allow(
    clippy::print_stdout,
    reason = "a command-line program reports on standard output"
)]

mod bench;
mod book;
mod command;
mod licences;
mod package;
mod python;
mod reference;
mod test;
mod tidy;

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
    },
    /// Check what the compiler cannot: paths in documents, citations, glossary, stage folders
    Tidy,
    /// Build the book with mdBook, into target/book/
    Book,
    /// Write the tables of the book that the code knows
    BookTables,
    /// Record reference files with MuJoCo, or compare the stored ones with it
    Reference {
        /// Folder that holds manifest.json
        #[arg(default_value = "tests/reference")]
        directory: PathBuf,
        /// Only these models of the manifest
        names: Vec<String>,
        /// Compute again and compare, write nothing
        #[arg(long)]
        check: bool,
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
        /// A set (smooth, contacts, growth, gradients, time, compile), then models instead of its own
        names: Vec<PathBuf>,
    },
}

/// What a command reports when it fails: a sentence for the user.
type Outcome = Result<(), String>;

fn main() -> ExitCode {
    let outcome = match Arguments::parse().command {
        Command::Test { only } => test::run(&only),
        Command::Tidy => tidy::run(),
        Command::Book => book::build(),
        Command::BookTables => book::tables(),
        Command::Reference {
            directory,
            names,
            check,
        } => reference::run(&directory, &names, check),
        Command::Bench {
            peer,
            set,
            rounds,
            quick,
            names,
        } => bench::bench(&bench::Plan {
            peer,
            set,
            rounds,
            quick,
            names,
        }),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("error: {message}");
            ExitCode::FAILURE
        }
    }
}
