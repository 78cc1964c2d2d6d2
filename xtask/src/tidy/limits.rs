//! Numbers that may only fall: code of the engine, functions with too many arguments, names of fields in quotes.
//!
//! `xtask/limits.txt` has today's numbers, a line each: what is counted, where, how many. More than there fails; less is
//! said, and `cargo xtask tidy --record` writes it down, so that it cannot come back.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::{File, Repository};

/// Where the limits are, from the root.
pub(super) const FILE: &str = "xtask/limits.txt";

const HEAD: &str = "\
# Numbers that may only fall: what is counted, where, how many. `cargo xtask tidy --record` writes this file.
# code: lines of the engine that are neither blank nor comment nor test.
# arguments: functions with more than seven, members of tuples counted one by one.
# names: fields of the model that are named in quotes, a family and a field, where the compiler cannot see a mistake.
";

/// Most arguments of a function, members of tuples counted one by one.
const MOST_ARGUMENTS: u64 = 7;

/// The engine.
const ENGINE: &str = "crates/carom/src/";

/// Families of the model's numbers, and of what they are derived from.
const FAMILIES: [&str; 17] = [
    "option",
    "qpos",
    "bodies",
    "joints",
    "dofs",
    "geoms",
    "sites",
    "cameras",
    "meshes",
    "height_fields",
    "pairs",
    "laws",
    "equalities",
    "tendons",
    "actuators",
    "sensors",
    "sources",
];

/// What is counted now, by its line without the number.
type Counts = BTreeMap<String, u64>;

/// Everything that is counted.
fn count(repository: &Repository) -> Result<Counts, Vec<String>> {
    let mut counts = Counts::new();
    let mut problems = Vec::new();
    let mut engine = 0;
    for file in repository
        .with_extension("rs")
        .filter(|file| is_shipped(file))
    {
        let code = without_tests(&file.text);
        if file.path.starts_with(ENGINE) {
            engine += code.lines().filter(|line| is_code(line)).count() as u64;
        }
        let names = quoted_pairs(&code);
        if names > 0 {
            counts.insert(format!("names {}", file.path), names);
        }
        match syn::parse_file(&file.text) {
            Ok(parsed) => arguments(&parsed.items, &mut |name, number| {
                let most = counts
                    .entry(format!("arguments {}:{name}", file.path))
                    .or_default();
                *most = number.max(*most);
            }),
            Err(error) => problems.push(format!("{}: cannot be read: {error}", file.path)),
        }
    }
    counts.insert(format!("code {ENGINE}"), engine);
    counts.retain(|what, number| !what.starts_with("arguments") || *number > MOST_ARGUMENTS);
    if problems.is_empty() {
        Ok(counts)
    } else {
        Err(problems)
    }
}

/// Nothing that is counted is more than it was.
pub(super) fn only_fall(repository: &Repository) -> Vec<String> {
    let limits = match limits(repository) {
        Ok(limits) => limits,
        Err(problem) => return vec![problem],
    };
    let counts = match count(repository) {
        Ok(counts) => counts,
        Err(problems) => return problems,
    };
    let risen = counts.iter().filter_map(|(what, number)| {
        let limit = limits.get(what).copied().unwrap_or(0);
        (*number > limit).then(|| format!("{what}: {number}, and was {limit}; it may only fall"))
    });
    risen.collect()
}

/// What to say of numbers that fell, and of those that bars are about.
pub(super) fn summary(repository: &Repository) -> Vec<String> {
    let (Ok(limits), Ok(counts)) = (limits(repository), count(repository)) else {
        return Vec::new();
    };
    let number = |counts: &Counts, kind: &str| -> (usize, u64) {
        let of_kind = counts.iter().filter(|(what, _)| what.starts_with(kind));
        of_kind.fold((0, 0), |(places, sum), (_, number)| {
            (places + 1, sum + number)
        })
    };
    let mut lines = vec![
        format!(
            "engine: {} lines of code (limit {})",
            number(&counts, "code ").1,
            number(&limits, "code ").1
        ),
        format!(
            "functions with more than {MOST_ARGUMENTS} arguments: {} (limit {})",
            number(&counts, "arguments ").0,
            number(&limits, "arguments ").0
        ),
        format!(
            "fields named in quotes: {} (limit {})",
            number(&counts, "names ").1,
            number(&limits, "names ").1
        ),
    ];
    if limits != counts {
        lines.push("some fell: `cargo xtask tidy --record` keeps them there".to_owned());
    }
    lines
}

/// The text of the limits as they are now.
pub(super) fn recorded(repository: &Repository) -> Result<String, String> {
    let counts = count(repository).map_err(|problems| problems.join("\n"))?;
    let mut text = HEAD.to_owned();
    for (what, number) in counts {
        let _ = writeln!(text, "{what} {number}"); // a String takes all
    }
    Ok(text)
}

fn limits(repository: &Repository) -> Result<Counts, String> {
    let text = repository.text(FILE).unwrap_or_default();
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    lines
        .map(|line| {
            let wrong = || format!("{FILE}: `{line}` is not what is counted, where and how many");
            let (what, number) = line.rsplit_once(' ').ok_or_else(wrong)?;
            Ok((what.to_owned(), number.parse().map_err(|_| wrong())?))
        })
        .collect()
}

/// Whether a file is part of what users get: no tests, examples or fuzz targets.
fn is_shipped(file: &File) -> bool {
    let path = &file.path;
    let source = path.starts_with("xtask/src/")
        || path.starts_with("crates/")
            && path.split('/').nth(2) == Some("src")
            && !path.starts_with("crates/carom-testing/");
    let is_test = path.contains("/tests/")
        || path.contains("/testing/")
        || path.ends_with("/tests.rs")
        || path.ends_with("/testing.rs");
    source && !is_test
}

/// The text up to the tests at its end.
fn without_tests(text: &str) -> String {
    let lines: Vec<&str> = text.lines().collect();
    let tests = lines.windows(2).position(|pair| {
        pair[0] == "#[cfg(test)]" && pair[1].starts_with("mod ") && pair[1].ends_with('{')
    });
    lines[..tests.unwrap_or(lines.len())].join("\n")
}

fn is_code(line: &str) -> bool {
    let line = line.trim();
    !line.is_empty() && !line.starts_with("//")
}

/// Calls `found` with the name of every function outside of tests and the number of its arguments.
fn arguments(items: &[syn::Item], found: &mut dyn FnMut(String, u64)) {
    for item in items {
        match item {
            syn::Item::Fn(function) => report(&function.sig, "", found),
            syn::Item::Impl(block) => {
                let owner = type_name(&block.self_ty);
                for item in &block.items {
                    if let syn::ImplItem::Fn(function) = item {
                        report(&function.sig, &owner, found);
                    }
                }
            }
            syn::Item::Trait(block) => {
                for item in &block.items {
                    if let syn::TraitItem::Fn(function) = item {
                        report(&function.sig, &block.ident.to_string(), found);
                    }
                }
            }
            syn::Item::Mod(module) if !is_for_tests(&module.attrs) => {
                if let Some((_, items)) = &module.content {
                    arguments(items, found);
                }
            }
            _ => {}
        }
    }
}

fn report(signature: &syn::Signature, owner: &str, found: &mut dyn FnMut(String, u64)) {
    let number = signature.inputs.iter().map(|argument| match argument {
        syn::FnArg::Receiver(_) => 1,
        syn::FnArg::Typed(typed) => members(&typed.ty),
    });
    let name = signature.ident.to_string();
    let name = if owner.is_empty() {
        name
    } else {
        format!("{owner}::{name}")
    };
    found(name, number.sum());
}

/// How many arguments a type stands for: a tuple for as many as it has members.
fn members(of: &syn::Type) -> u64 {
    match of {
        syn::Type::Tuple(tuple) => tuple.elems.iter().map(members).sum::<u64>().max(1),
        syn::Type::Reference(reference) => members(&reference.elem),
        syn::Type::Paren(inner) => members(&inner.elem),
        syn::Type::Group(inner) => members(&inner.elem),
        _ => 1,
    }
}

fn type_name(of: &syn::Type) -> String {
    match of {
        syn::Type::Path(path) => {
            let last = path.path.segments.last();
            last.map_or_else(String::new, |segment| segment.ident.to_string())
        }
        syn::Type::Reference(reference) => type_name(&reference.elem),
        _ => String::new(),
    }
}

fn is_for_tests(attributes: &[syn::Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        attribute.path().is_ident("cfg")
            && attribute
                .parse_args::<syn::Ident>()
                .is_ok_and(|word| word == "test")
    })
}

/// How often a family and a field stand beside each other in quotes: `("dofs", "damping")`.
fn quoted_pairs(code: &str) -> u64 {
    let lines = code.lines().filter(|line| is_code(line));
    let dense: String = lines.flat_map(str::split_whitespace).collect();
    let count = |family: &&str| dense.matches(&format!("(\"{family}\",\"")).count() as u64;
    FAMILIES.iter().map(count).sum()
}

#[cfg(test)]
mod tests {
    use super::{FILE, Repository, only_fall, recorded};

    fn repository(limits: &str, code: &str) -> Repository {
        Repository::of(&[
            (FILE, limits),
            ("crates/carom/src/a.rs", code),
            (
                "crates/carom/tests/it/b.rs",
                "fn many(a: (u8, u8, u8, u8, u8, u8, u8, u8)) {}",
            ),
        ])
    }

    #[test]
    fn numbers_are_recorded_and_may_only_fall() {
        let code = "\
//! Words.
struct A;

impl A {
    // A comment.
    fn few(&self, a: u8, b: &mut (u8, u8), (c, d): (u8, (u8, u8))) {}
    fn many(&self, a: u8, b: &mut (u8, u8), (c, d): (u8, (u8, u8, u8))) {}
    fn name() -> bool { matches!((\"dofs\", \"damping\"), (\"dofs\", _)) }
}
#[cfg(test)]
mod tests {
    fn more(a: (u8, u8, u8, u8, u8, u8, u8, u8, u8)) {}
}
";
        let text = recorded(&repository("", code)).unwrap();
        let numbers: Vec<&str> = text.lines().filter(|line| !line.starts_with('#')).collect();
        assert_eq!(
            numbers,
            [
                "arguments crates/carom/src/a.rs:A::many 8",
                "code crates/carom/src/ 6",
                "names crates/carom/src/a.rs 1",
            ]
        );
        assert_eq!(only_fall(&repository(&text, code)), [""; 0]);
        // Less is fine, more is not.
        assert_eq!(only_fall(&repository(&text, "")), [""; 0]);
        let longer = code.replace("few(&self, ", "few(&self, z: [u8; 2], ");
        assert_eq!(
            only_fall(&repository(&text, &longer)),
            ["arguments crates/carom/src/a.rs:A::few: 8, and was 0; it may only fall"]
        );
    }
}
