//! `carom completions`: scripts that let shells complete commands and flags.

use std::process::ExitCode;

use clap::CommandFactory;
use serde_json::json;

use crate::stdio;

/// Prints a script that completes commands and flags of carom in a shell
///
/// Install it once and open a new shell:
///
///   bash        carom completions bash > ~/.local/share/bash-completion/completions/carom
///   zsh         carom completions zsh > DIR/_carom, where DIR is a folder of $fpath; then run compinit
///   fish        carom completions fish > ~/.config/fish/completions/carom.fish
///   powershell  carom completions powershell >> $PROFILE
///   elvish      carom completions elvish >> ~/.config/elvish/rc.elv
#[derive(clap::Args, Debug)]
#[command(
    verbatim_doc_comment,
    after_help = "Examples:\n  carom completions bash > ~/.local/share/bash-completion/completions/carom\n  source <(carom completions zsh)"
)]
pub(crate) struct Args {
    /// The shell.
    #[arg(value_enum)]
    shell: clap_complete::Shell,
    /// Print `{"shell": …, "script": …}`.
    #[arg(long)]
    json: bool,
}

/// Runs the command.
pub(crate) fn run(args: &Args) -> ExitCode {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut crate::Cli::command(), "carom", &mut script);
    let script = String::from_utf8_lossy(&script);
    if args.json {
        let document = json!({ "shell": args.shell.to_string(), "script": script });
        stdio::print(&document.to_string());
    } else {
        stdio::print(script.trim_end());
    }
    ExitCode::SUCCESS
}
