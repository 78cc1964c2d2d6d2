//! Hostile and damaged files give errors, quickly and without much memory.

use std::fmt::Write as _;
use std::time::{Duration, Instant};

use carom_spec::mjcf::ReadSettings;
use carom_spec::read::{ReadModel, read};
use carom_spec::{Diagnostic, MemorySource};

fn load(files: &MemorySource) -> ReadModel {
    let start = Instant::now();
    let model = read("main.xml".as_ref(), files, &ReadSettings::default());
    assert!(start.elapsed() < Duration::from_mins(2));
    model
}

fn main_file(bytes: impl Into<Vec<u8>>) -> MemorySource {
    MemorySource::new().with("main.xml", bytes)
}

fn errors(model: &ReadModel) -> Vec<&str> {
    let errors = model.diagnostics.iter().filter(|one| one.is_error());
    errors
        .map(|one: &Diagnostic| one.message.as_str())
        .collect()
}

/// The first error of a file must contain the words.
#[track_caller]
fn expect(files: &MemorySource, words: &str) {
    let model = load(files);
    let errors = errors(&model);
    assert!(
        errors.first().is_some_and(|first| first.contains(words)),
        "{words}: {errors:?}"
    );
}

const BALL: &str = "<mujoco>\n<worldbody>\n<body name=\"é\"><freejoint/><geom size=\"0.1\"/></body>\n\
                    </worldbody>\n</mujoco>\n";

#[test]
fn files_that_include_themselves() {
    let include = |name: &str| format!("<mujoco><include file=\"{name}\"/></mujoco>");
    expect(&main_file(include("main.xml")), "already included");
    let files = main_file(include("a.xml"))
        .with("a.xml", include("b.xml"))
        .with("b.xml", include("a.xml"));
    expect(&files, "already included");
    // Each file includes the next one twice: without the rule, 2⁴⁰ readings.
    let mut files = main_file(include("0.xml"));
    for index in 0..40 {
        let next = format!("<include file=\"{}.xml\"/>", index + 1);
        files = files.with(
            format!("{index}.xml"),
            format!("<mujoco>{next}{next}</mujoco>"),
        );
    }
    expect(
        &files.with("40.xml", "<mujoco><option/></mujoco>"),
        "already included",
    );
}

#[test]
fn models_that_attach_themselves() {
    let text = r#"<mujoco><asset><model name="m" file="main.xml"/></asset><worldbody>
        <body name="b"><attach model="m" body="b" prefix="p"/></body></worldbody></mujoco>"#;
    assert!(!errors(&load(&main_file(text))).is_empty());
    let cross = |other: &str| {
        format!(
            "<mujoco><asset><model name=\"m\" file=\"{other}\"/></asset><worldbody><body name=\"b\">\
             <attach model=\"m\" body=\"b\" prefix=\"p\"/></body></worldbody></mujoco>"
        )
    };
    assert!(
        !errors(&load(
            &main_file(cross("a.xml")).with("a.xml", cross("main.xml"))
        ))
        .is_empty()
    );
}

#[test]
fn nested_replicas_are_bounded() {
    let mut text = "<mujoco><worldbody>".to_owned();
    text.push_str(&"<replicate count=\"1000\">".repeat(6));
    text.push_str("<geom size=\"1\"/>");
    text.push_str(&"</replicate>".repeat(6));
    text.push_str("</worldbody></mujoco>");
    assert!(!errors(&load(&main_file(text))).is_empty());
    let huge = "<mujoco><worldbody><replicate count=\"2000000000\"><geom size=\"1\"/></replicate>\
                </worldbody></mujoco>";
    assert!(!errors(&load(&main_file(huge))).is_empty());
}

#[test]
fn billion_laughs() {
    let mut text = "<!DOCTYPE mujoco [<!ENTITY a0 \"lol\">".to_owned();
    for level in 1..30 {
        let previous = format!("&a{};", level - 1).repeat(10);
        write!(text, "<!ENTITY a{level} \"{previous}\">").unwrap();
    }
    text.push_str("]><mujoco model=\"&a29;\"/>");
    expect(&main_file(text), "is not expanded");
}

#[test]
fn deep_nesting() {
    let deep = format!("<mujoco><worldbody>{}", "<body>".repeat(100_000));
    expect(&main_file(deep), "nested more than 500 deep");
    let frames = "<frame>".repeat(490) + "<geom size=\"1\"/>" + &"</frame>".repeat(490);
    assert!(
        errors(&load(&main_file(format!(
            "<mujoco><worldbody>{frames}</worldbody></mujoco>"
        ))))
        .is_empty()
    );
    let bodies = "<body>".repeat(490) + "<geom size=\"1\"/>" + &"</body>".repeat(490);
    let model = load(&main_file(format!(
        "<mujoco><worldbody>{bodies}</worldbody></mujoco>"
    )));
    assert_eq!(model.spec.bodies.len(), 491);
    let defaults = "<default class=\"c\">".repeat(490) + &"</default>".repeat(490);
    load(&main_file(format!("<mujoco>{defaults}</mujoco>")));
}

#[test]
fn long_lists() {
    let numbers = "1 ".repeat(3_000_000);
    let text = format!("<mujoco><asset><mesh name=\"m\" vertex=\"{numbers}\"/></asset></mujoco>");
    assert!(errors(&load(&main_file(text))).is_empty());
    let text = format!("<mujoco><option gravity=\"{numbers}\"/></mujoco>");
    expect(&main_file(text), "needs 3 values");
    let digits = "9".repeat(1_000_000);
    let text = format!("<mujoco><option timestep=\"{digits}\"/></mujoco>");
    assert_eq!(errors(&load(&main_file(text))).len(), 1);
}

#[test]
fn mesh_files_that_lie() {
    let model = |file: &str| {
        format!("<mujoco><asset><mesh name=\"m\" file=\"{file}\"/></asset><worldbody/></mujoco>")
    };
    let mut stl = vec![0; 80];
    stl.extend(20_000_000_u32.to_le_bytes());
    stl.extend([0; 200]);
    expect(
        &main_file(model("a.stl")).with("a.stl", stl),
        "claims 20000000 triangles",
    );
    let msh: Vec<u8> = [80_000_000_u32, 0, 0, 0]
        .iter()
        .flat_map(|n| n.to_le_bytes())
        .collect();
    expect(
        &main_file(model("a.msh")).with("a.msh", msh),
        "claims 80000000 vertices",
    );
    expect(&main_file(model("a.obj")), "cannot find file 'a.obj'");
    expect(
        &main_file(model("a.obj")).with("a.obj", "v 1 2 nan"),
        "line 1: 'nan' is not finite",
    );
    expect(
        &main_file(model("a.obj")).with("a.obj", ""),
        "file is empty",
    );
    expect(
        &main_file(model("a.stl")).with("a.stl", "solid x\nvertex 1"),
        "line 2",
    );
    let field =
        "<mujoco><asset><hfield name=\"h\" file=\"h.bin\" size=\"1 1 1 1\"/></asset></mujoco>";
    let header: Vec<u8> = [50_000_u32, 50_000]
        .iter()
        .flat_map(|n| n.to_le_bytes())
        .collect();
    expect(&main_file(field).with("h.bin", header), "claims 50000 rows");
    let flat = "<mujoco><asset><hfield name=\"h\" nrow=\"60000\" ncol=\"60000\" size=\"1 1 1 1\"/></asset></mujoco>";
    assert!(!errors(&load(&main_file(flat))).is_empty());
}

#[test]
fn files_that_are_not_models() {
    expect(&MemorySource::new(), "cannot find file 'main.xml'");
    expect(&main_file(""), "is empty");
    expect(&main_file(b"\x89PNG\r\n\x1a\n\0\0".to_vec()), "a PNG image");
    expect(&main_file((0..=255).collect::<Vec<u8>>()), "binary data");
    expect(&main_file("just some words"), "file has no element");
    expect(
        &main_file("<html><body/></html>"),
        "the root element is <html>",
    );
    expect(&main_file("{\"json\": true}"), "file has no element");
    let folder = carom_spec::read_file(env!("CARGO_MANIFEST_DIR").as_ref(), &[]);
    assert!(errors(&folder)[0].contains("is not a regular file"));
}

#[test]
fn line_ends_and_encodings_do_not_matter() {
    let plain = load(&main_file(BALL));
    assert_eq!(errors(&plain), Vec::<&str>::new());
    assert_eq!(plain.spec.bodies[1].name, "é");
    let utf_16 = |unit: fn(u16) -> [u8; 2], mark: u16| -> Vec<u8> {
        std::iter::once(mark)
            .chain(BALL.encode_utf16())
            .flat_map(unit)
            .collect()
    };
    let variants: [Vec<u8>; 6] = [
        BALL.replace('\n', "\r\n").into_bytes(),
        BALL.replace('\n', "\r").into_bytes(),
        format!("\u{feff}{BALL}").into_bytes(),
        utf_16(u16::to_le_bytes, 0xfeff),
        utf_16(u16::to_be_bytes, 0xfeff),
        BALL.chars()
            .map(|c| u8::try_from(u32::from(c)).unwrap())
            .collect(),
    ];
    for bytes in variants {
        let model = load(&main_file(bytes));
        assert_eq!(errors(&model), Vec::<&str>::new());
        assert_eq!(model.spec.bodies[1].name, "é");
        assert_eq!(model.spec.bodies[1].geoms.len(), 1);
    }
}

#[test]
fn lines_of_an_included_file_that_is_no_model_are_not_shown() {
    let secret = "root:x:0:0:secret:/root:/bin/sh\n";
    for text in [
        secret.to_owned(),
        format!("\n\n{secret}<mujoco/>"),
        format!("\u{feff}{secret}"),
    ] {
        let files = main_file("<mujoco><include file=\"passwd\"/></mujoco>".to_owned())
            .with("passwd", text);
        let model = load(&files);
        let shown = carom_spec::diagnostic::render_all(&model.diagnostics, &model.sources);
        assert!(shown.contains("'passwd' is not XML"), "{shown}");
        let json = carom_spec::diagnostic::to_json(&model.diagnostics, &model.sources);
        assert!(
            !shown.contains("secret") && !json.contains("secret"),
            "{shown}{json}"
        );
        // It points at the line that asked for the file.
        assert!(shown.contains("<include file="), "{shown}");
    }
}
