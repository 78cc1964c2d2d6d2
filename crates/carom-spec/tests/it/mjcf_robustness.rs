//! Hostile and broken files: errors, never panics, hangs or unbounded memory.

use std::fmt::Write as _;
use std::path::Path;

use carom_spec::mjcf::{ReadSettings, codes, read};
use carom_spec::{Diagnostic, MemorySource, ModelSpec, SourceMap};

fn read_files(files: &MemorySource) -> (ModelSpec, Vec<Diagnostic>) {
    let mut sources = SourceMap::new();
    read(
        Path::new("main.xml"),
        files,
        &ReadSettings::default(),
        &mut sources,
    )
}

fn read_text(text: &str) -> (ModelSpec, Vec<Diagnostic>) {
    read_files(&MemorySource::new().with("main.xml", text))
}

fn has(diagnostics: &[Diagnostic], code: &str) -> bool {
    diagnostics
        .iter()
        .any(|one| one.code == code && one.is_error())
}

#[test]
fn deep_nesting_is_refused_or_read() {
    let nested = |depth: usize| {
        let (open, close) = ("<body>".repeat(depth), "</body>".repeat(depth));
        format!("<mujoco><worldbody>{open}<geom size='1'/>{close}</worldbody></mujoco>")
    };
    let (model, diagnostics) = read_text(&nested(400));
    assert!(diagnostics.is_empty());
    assert_eq!(model.bodies.len(), 401);
    let (_, diagnostics) = read_text(&nested(100_000));
    assert!(diagnostics.iter().any(Diagnostic::is_error));
}

#[test]
fn huge_replicas_are_refused() {
    let (_, diagnostics) = read_text(
        "<mujoco><worldbody><replicate count='2000000000'><geom size='1'/></replicate>\
         </worldbody></mujoco>",
    );
    assert!(has(&diagnostics, codes::TOO_LARGE));
    // Nested ones multiply.
    let open = "<replicate count='100'>".repeat(8);
    let close = "</replicate>".repeat(8);
    let (_, diagnostics) = read_text(&format!(
        "<mujoco><worldbody>{open}<geom size='1'/>{close}</worldbody></mujoco>"
    ));
    assert!(has(&diagnostics, codes::TOO_LARGE));
    // A sensor of nothing doubles with every replica.
    let (model, diagnostics) = read_text(
        "<mujoco><worldbody><replicate count='64'><geom size='1'/></replicate></worldbody>\
         <sensor><clock/></sensor></mujoco>",
    );
    assert!(has(&diagnostics, codes::TOO_LARGE));
    assert!(model.sensors.len() <= 500_000);
}

#[test]
fn includes_and_attachments_cannot_recurse() {
    let files = MemorySource::new()
        .with("main.xml", "<mujoco><include file='a.xml'/></mujoco>")
        .with("a.xml", "<x><include file='b.xml'/></x>")
        .with(
            "b.xml",
            "<x><include file='a.xml'/><include file='main.xml'/></x>",
        );
    let (_, diagnostics) = read_files(&files);
    assert_eq!(
        diagnostics
            .iter()
            .filter(|one| one.code == codes::INCLUDED_TWICE)
            .count(),
        2
    );

    let attach = |file: &str| {
        format!(
            "<mujoco><asset><model name='m' file='{file}'/></asset><worldbody>\
             <attach model='m' prefix='p'/><attach model='m' prefix='q'/><geom size='1'/>\
             </worldbody></mujoco>"
        )
    };
    let files = MemorySource::new()
        .with("main.xml", attach("a.xml"))
        .with("a.xml", attach("main.xml"));
    let (_, diagnostics) = read_files(&files);
    assert!(has(&diagnostics, codes::ATTACH));

    // A chain of files that each attach the next one twice.
    let mut files = MemorySource::new().with("main.xml", attach("0.xml"));
    for index in 0..40 {
        files = files.with(
            format!("{index}.xml"),
            attach(&format!("{}.xml", index + 1)),
        );
    }
    let (model, diagnostics) = read_files(&files);
    assert!(has(&diagnostics, codes::TOO_LARGE));
    assert!(model.bodies.len() < 1_000_000);
}

/// Files whose size is no problem, but whose reading could take quadratic time or memory.
#[test]
fn large_files_are_read_or_refused_in_bounded_time() {
    let many =
        |count: usize, text: &dyn Fn(usize) -> String| -> String { (0..count).map(text).collect() };
    let world = |content: &str| format!("<mujoco><worldbody>{content}</worldbody></mujoco>");
    let refused = [
        world(&"<geom/>".repeat(600_000)),
        world(&many(60_000, &|i| {
            format!("<replicate count='1'><body name='b{i}'/></replicate>")
        })),
        world(&format!(
            "<body name='a'/>{}",
            many(60_000, &|i| format!("<attach body='a' prefix='{i}_'/>"))
        )),
        world(&format!(
            "<replicate count='9' sep='{}'><site name='s'/></replicate>",
            "x".repeat(2000)
        )),
        format!(
            "<mujoco><default>{}</default></mujoco>",
            many(20_000, &|i| format!("<default class='c{i}'/>"))
        ),
        world(&many(50_000, &|i| {
            format!("<body name='b{i}'><camera target='c{i}'/></body>")
        })),
        world(&many(50_000, &|i| format!("<geom class='c{i}'/>"))),
    ];
    for text in refused {
        let (_, diagnostics) = read_text(&text);
        assert!(has(&diagnostics, codes::TOO_LARGE), "{}", &text[..80]);
    }
}

#[test]
fn many_problems_are_cut_off() {
    let mut text = String::from("<mujoco><worldbody>");
    for _ in 0..10_000 {
        text.push_str("<geom bad='1'/>");
    }
    text.push_str("</worldbody></mujoco>");
    let (_, diagnostics) = read_text(&text);
    assert!(diagnostics.len() < 1000);
    assert!(has(&diagnostics, codes::TOO_LARGE));
}

#[test]
fn strange_numbers_are_errors() {
    for value in [
        "nan", "inf", "1e999", "-inf", "0x10", "1,2,3", "١", "1 2 3 4", "--1", "1e",
    ] {
        let text =
            format!("<mujoco><worldbody><geom size='1' pos='{value} 0 0'/></worldbody></mujoco>");
        let (_, diagnostics) = read_text(&text);
        assert!(
            diagnostics.iter().any(Diagnostic::is_error),
            "{value} was accepted"
        );
    }
}

#[test]
fn missing_and_empty_files_are_errors() {
    let (_, diagnostics) = read_files(&MemorySource::new());
    assert!(has(&diagnostics, codes::INCLUDE));
    for text in [
        "",
        "   ",
        "\0\u{1}\u{2}",
        "<mujoco",
        "<robot/>",
        "<!-- -->",
        "\u{feff}",
    ] {
        let (_, diagnostics) = read_text(text);
        assert!(
            diagnostics.iter().any(Diagnostic::is_error),
            "{text:?} was accepted"
        );
    }
}

/// Cuts and swaps bytes of a model with many features; nothing may panic.
#[test]
fn damaged_files_do_not_panic() {
    let model = include_str!("markdown/attach.md");
    let mut state = 0x2545_f491_4f6c_dd1d_u64;
    let mut random = move |below: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        usize::try_from(state % below as u64).unwrap_or(0)
    };
    let blocks: Vec<&str> = model
        .split("```")
        .filter(|block| block.contains("<mujoco"))
        .collect();
    assert!(!blocks.is_empty());
    let mut seen = String::new();
    for round in 0..2000 {
        let mut bytes = blocks[round % blocks.len()]
            .trim_start_matches("xml")
            .as_bytes()
            .to_vec();
        for _ in 0..=random(4) {
            let at = random(bytes.len());
            match random(3) {
                0 => bytes[at] = b"<>\"'/= 0-9eax&;"[random(15)],
                1 => drop(bytes.drain(at..(at + random(20)).min(bytes.len()))),
                _ => {
                    let piece = bytes[at..(at + 30).min(bytes.len())].to_vec();
                    bytes.splice(at..at, piece);
                }
            }
            if bytes.is_empty() {
                bytes.push(b'<');
            }
        }
        let (_, diagnostics) = read_files(&MemorySource::new().with("main.xml", bytes));
        let _ = write!(seen, "{}", diagnostics.len());
    }
    assert!(seen.len() >= 2000);
}
