//! `cargo xtask book` and `cargo xtask book-tables`: the book as pages, and the tables in it that the code writes.

use crate::Outcome;
use crate::command::{cargo, command, output, run};

/// Builds the book into `target/book/`, if mdBook is installed.
pub(crate) fn build() -> Outcome {
    let version = output(command("mdbook").arg("--version")).map_err(|error| {
        format!("{error}\nmdBook makes the pages; `cargo install mdbook --locked` installs it")
    })?;
    println!("{}", version.trim());
    run(command("mdbook").args(["build", "book"]))?;
    println!("open target/book/index.html");
    Ok(())
}

/// Writes the tables that the test of the same name compares.
pub(crate) fn tables() -> Outcome {
    let mut test = cargo(&["test", "--package", "carom", "--test", "it", "book::"]);
    run(test.env("CAROM_WRITE_TABLES", "1"))
}
