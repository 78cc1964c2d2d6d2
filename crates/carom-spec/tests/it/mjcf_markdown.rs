//! Tests written in Markdown: prose, model files, and what reading them gives.
//!
//! A test starts with a heading `## title`. Its blocks are
//!
//! - `xml`, or `xml name.xml`: a file; the first one is read,
//! - `diagnostics`: all diagnostics as `line:column code message`, further lines with `help: …`;
//!   without this block there must be none,
//! - `names`: a kind of element and the names in order, `-` for unnamed ones,
//! - `allow`: codes of unsupported features that are allowed.

use std::fmt::Write as _;
use std::path::Path;

use carom_spec::mjcf::{Allow, ReadSettings, read};
use carom_spec::{Diagnostic, MemorySource, ModelSpec, SourceMap};

/// One block of a test: its first line after the fence, and its text.
struct Block<'a> {
    kind: &'a str,
    text: String,
}

struct MarkdownTest<'a> {
    title: &'a str,
    blocks: Vec<Block<'a>>,
}

fn parse(text: &str) -> Vec<MarkdownTest<'_>> {
    let mut tests: Vec<MarkdownTest<'_>> = Vec::new();
    let mut inside = false;
    for line in text.lines() {
        if let Some(title) = line.strip_prefix("## ").filter(|_| !inside) {
            tests.push(MarkdownTest {
                title,
                blocks: Vec::new(),
            });
        } else if let Some(kind) = line.strip_prefix("```") {
            let test = tests.last_mut().expect("a heading comes first");
            if !inside {
                test.blocks.push(Block {
                    kind: kind.trim(),
                    text: String::new(),
                });
            }
            inside = !inside;
        } else if inside {
            let block = tests.last_mut().and_then(|test| test.blocks.last_mut());
            let block = block.expect("a fence was seen");
            block.text.push_str(line);
            block.text.push('\n');
        }
    }
    tests
}

fn shown_diagnostics(diagnostics: &[Diagnostic], sources: &SourceMap) -> String {
    let mut text = String::new();
    for one in diagnostics {
        let place = one.span.and_then(|span| {
            let position = sources.position(span)?;
            let file = sources.file(span.file)?.path().display().to_string();
            let file = if file == "main.xml" {
                String::new()
            } else {
                format!("{file}:")
            };
            Some(format!("{file}{}:{}", position.line, position.column))
        });
        let place = place.unwrap_or_else(|| "-".to_owned());
        let word = if one.is_error() { "" } else { "warning " };
        let _ = writeln!(text, "{place} {word}{} {}", one.code, one.message);
        if let Some(help) = &one.help {
            let _ = writeln!(text, "  help: {help}");
        }
    }
    text
}

fn names_of(model: &ModelSpec, kind: &str) -> Vec<String> {
    let bodies = &model.bodies;
    let owned = |name: &String| name.clone();
    match kind {
        "body" => bodies.iter().map(|body| owned(&body.name)).collect(),
        "joint" => bodies
            .iter()
            .flat_map(|b| &b.joints)
            .map(|one| owned(&one.name))
            .collect(),
        "geom" => bodies
            .iter()
            .flat_map(|b| &b.geoms)
            .map(|one| owned(&one.name))
            .collect(),
        "site" => bodies
            .iter()
            .flat_map(|b| &b.sites)
            .map(|one| owned(&one.name))
            .collect(),
        "tendon" => model.tendons.iter().map(|one| owned(&one.name)).collect(),
        "equality" => model
            .equalities
            .iter()
            .map(|one| owned(&one.name))
            .collect(),
        "actuator" => model.actuators.iter().map(|one| owned(&one.name)).collect(),
        "sensor" => model.sensors.iter().map(|one| owned(&one.name)).collect(),
        "mesh" => model.meshes.iter().map(|one| owned(&one.name)).collect(),
        "material" => model.materials.iter().map(|one| owned(&one.name)).collect(),
        "key" => model.keyframes.iter().map(|one| owned(&one.name)).collect(),
        other => panic!("names of '{other}' cannot be tested"),
    }
}

fn run(file: &str, test: &MarkdownTest<'_>) -> Option<String> {
    let block = |kind: &str| test.blocks.iter().find(|block| block.kind == kind);
    let mut files = MemorySource::new();
    for block in &test.blocks {
        if let Some(name) = block.kind.strip_prefix("xml") {
            let name = if name.is_empty() {
                "main.xml"
            } else {
                name.trim()
            };
            files = files.with(name, block.text.as_str());
        }
    }
    let allow = block("allow").map_or(Allow::Nothing, |block| {
        Allow::Codes(block.text.split_whitespace().map(str::to_owned).collect())
    });
    let mut sources = SourceMap::new();
    let settings = ReadSettings { allow };
    let (model, diagnostics) = read(Path::new("main.xml"), &files, &settings, &mut sources);
    let mut failure = String::new();
    let expected = block("diagnostics").map_or("", |block| block.text.as_str());
    let found = shown_diagnostics(&diagnostics, &sources);
    if expected != found {
        let _ = write!(failure, "expected diagnostics\n{expected}found\n{found}");
    }
    for line in block("names")
        .map_or("", |block| block.text.as_str())
        .lines()
    {
        let (kind, expected) = line.split_once(' ').unwrap_or((line, ""));
        let names = names_of(&model, kind);
        let shown: Vec<&str> = names
            .iter()
            .map(|name| if name.is_empty() { "-" } else { name })
            .collect();
        let found = shown.join(" ");
        if found != expected.trim() {
            let _ = writeln!(
                failure,
                "expected {kind} {expected}\nfound    {kind} {found}"
            );
        }
    }
    (!failure.is_empty()).then(|| format!("{file}: {}\n{failure}\n", test.title))
}

#[test]
fn markdown_tests_pass() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/markdown");
    let mut failures = String::new();
    let mut count = 0;
    let mut paths: Vec<_> = std::fs::read_dir(folder)
        .expect("folder")
        .flatten()
        .map(|entry| entry.path())
        .collect();
    paths.sort();
    for path in paths {
        let text = std::fs::read_to_string(&path).expect("markdown");
        let name = path
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        for test in parse(&text) {
            count += 1;
            failures.extend(run(&name, &test));
        }
    }
    assert!(failures.is_empty(), "{failures}");
    assert!(count >= 39, "only {count} tests were found");
}
