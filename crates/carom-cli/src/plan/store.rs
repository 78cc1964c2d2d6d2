//! Checkpoints of runs: written after every plan, as a whole, and read again by who resumes.

use std::path::Path;

use carom_optimise::checkpoint;

use super::{Args, Saved};
use crate::failure::{CONTENT, Failure, READ, WRITE};

/// What a run depends on, so that another one is not resumed: the command, and what is in its files.
pub(super) fn question(args: &Args) -> Result<String, Failure> {
    let Args {
        method,
        variant,
        seed,
        disturb,
        ..
    } = args;
    let mut text = format!("{method:?} {variant:?} {seed} {disturb:?}");
    if args.checkpoint.is_none() {
        return Ok(text);
    }
    for path in [Some(&args.task), args.start.as_ref()]
        .into_iter()
        .flatten()
    {
        let bytes = std::fs::read(path).map_err(|cause| {
            Failure::sentence(READ, format!("cannot read '{}': {cause}", path.display()))
        })?;
        text += "\n";
        text += &String::from_utf8_lossy(&bytes);
    }
    Ok(text)
}

/// The run to go on from, if there is one.
pub(super) fn read(args: &Args, question: &str) -> Result<Option<Saved>, Failure> {
    let Some(path) = args.checkpoint.as_ref().filter(|path| path.exists()) else {
        return Ok(None);
    };
    let place = path.display();
    if !args.resume {
        let message = format!("the checkpoint '{place}' exists and would be overwritten");
        return Err(Failure::sentence(WRITE, message)
            .help("go on from it with --resume, or remove it to start anew"));
    }
    let bytes = std::fs::read(path).map_err(|cause| {
        Failure::sentence(
            READ,
            format!("cannot read the checkpoint '{place}': {cause}"),
        )
    })?;
    let saved: Saved = checkpoint::decode(&bytes)
        .map_err(|cause| Failure::sentence(CONTENT, format!("'{place}': {cause}")))?;
    if saved.question != question {
        let message = format!("the checkpoint '{place}' is of another run");
        return Err(Failure::sentence(CONTENT, message).help(
            "resume with the task, start, method, seed and disturbances it was made with, or start anew",
        ));
    }
    Ok(Some(saved))
}

/// Stores a run, as a whole or not at all.
pub(super) fn write(path: &Path, saved: &Saved) -> Result<(), Failure> {
    let why = |cause: &dyn std::fmt::Display| {
        let place = path.display();
        Failure::sentence(
            WRITE,
            format!("the checkpoint '{place}' cannot be written: {cause}"),
        )
    };
    let bytes = checkpoint::encode(saved).map_err(|cause| why(&cause))?;
    checkpoint::write_file(path, &bytes).map_err(|cause| why(&cause))
}
