//! Licences of everything we link: `cargo deny` where it is installed, otherwise a check of our own against the same list.

use std::fs;

use crate::Outcome;
use crate::command::{cargo, has_cargo_subcommand, output, root, run};

/// Every dependency's licence must be on the list in `deny.toml`.
pub(crate) fn check() -> Outcome {
    if has_cargo_subcommand("deny") {
        return run(&mut cargo(&[
            "deny", "check", "licenses", "bans", "sources",
        ]));
    }
    println!("cargo-deny is not installed: checking licences against deny.toml without it");
    let settings = fs::read_to_string(root().join("deny.toml"))
        .map_err(|error| format!("cannot read deny.toml: {error}"))?;
    let allowed = allow_list(&settings).ok_or("deny.toml has no list `allow`")?;
    let tree = output(&mut cargo(&[
        "tree",
        "--workspace",
        "--locked",
        "--prefix",
        "none",
        "--edges",
        "all",
        "--format",
        "{p}|{l}",
    ]))?;
    let mut refused: Vec<&str> = tree
        .lines()
        .map(|line| line.trim_end_matches(" (*)"))
        .filter(|line| {
            line.split_once('|')
                .is_some_and(|(_, licence)| !permits(licence, &allowed))
        })
        .collect();
    refused.sort_unstable();
    refused.dedup();
    if refused.is_empty() {
        Ok(())
    } else {
        Err(format!(
            "not allowed by deny.toml:\n  {}",
            refused.join("\n  ")
        ))
    }
}

/// The strings of the first `allow = [...]`.
fn allow_list(settings: &str) -> Option<Vec<&str>> {
    let (_, rest) = settings.split_once("allow = [")?;
    let (list, _) = rest.split_once(']')?;
    Some(list.split('"').skip(1).step_by(2).collect())
}

/// Whether a licence expression can be met by allowed licences alone.
///
/// `OR` needs one side, `AND` both, and `AND` binds closer. The old style `MIT/Apache-2.0` means `OR`.
fn permits(expression: &str, allowed: &[&str]) -> bool {
    let spaced = expression
        .replace('/', " OR ")
        .replace('(', " ( ")
        .replace(')', " ) ");
    let tokens: Vec<&str> = spaced.split_whitespace().collect();
    let mut position = 0;
    any_of(&tokens, &mut position, allowed) && position == tokens.len()
}

fn any_of(tokens: &[&str], position: &mut usize, allowed: &[&str]) -> bool {
    let mut met = all_of(tokens, position, allowed);
    while tokens.get(*position) == Some(&"OR") {
        *position += 1;
        met |= all_of(tokens, position, allowed);
    }
    met
}

fn all_of(tokens: &[&str], position: &mut usize, allowed: &[&str]) -> bool {
    let mut met = single(tokens, position, allowed);
    while tokens.get(*position) == Some(&"AND") {
        *position += 1;
        met &= single(tokens, position, allowed);
    }
    met
}

fn single(tokens: &[&str], position: &mut usize, allowed: &[&str]) -> bool {
    let Some(&token) = tokens.get(*position) else {
        return false;
    };
    *position += 1;
    if token == "(" {
        let met = any_of(tokens, position, allowed);
        *position += 1;
        return met;
    }
    let mut name = token.to_owned();
    if tokens.get(*position) == Some(&"WITH") {
        if let Some(exception) = tokens.get(*position + 1) {
            name = format!("{token} WITH {exception}");
        }
        *position += 2;
    }
    allowed.contains(&name.as_str())
}

#[cfg(test)]
mod tests {
    use super::{allow_list, permits};

    const ALLOWED: [&str; 3] = ["MIT", "Apache-2.0", "Unicode-3.0"];

    #[test]
    fn alternatives_need_one_allowed_licence() {
        assert!(permits("MIT OR GPL-3.0", &ALLOWED));
        assert!(permits("GPL-3.0/MIT", &ALLOWED));
        assert!(!permits("GPL-3.0 OR LGPL-2.1", &ALLOWED));
    }

    #[test]
    fn conjunctions_need_every_licence() {
        assert!(permits("(MIT OR GPL-3.0) AND Unicode-3.0", &ALLOWED));
        assert!(!permits("MIT AND GPL-3.0", &ALLOWED));
    }

    #[test]
    fn an_exception_is_part_of_the_name() {
        assert!(!permits("Apache-2.0 WITH LLVM-exception", &ALLOWED));
        assert!(permits("Apache-2.0 WITH LLVM-exception OR MIT", &ALLOWED));
    }

    #[test]
    fn a_package_without_a_licence_is_refused() {
        assert!(!permits("", &ALLOWED));
    }

    #[test]
    fn the_list_is_read_from_the_settings() {
        let settings = "[licenses]\nallow = [\n  \"MIT\", # note\n  \"Zlib\",\n]\n";
        assert_eq!(allow_list(settings), Some(vec!["MIT", "Zlib"]));
    }
}
