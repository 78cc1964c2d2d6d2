//! The table of supported MJCF in the book is what the code says.

use std::fmt::Write as _;

use carom::coverage;
use carom::model::GeomKind;
use carom::stages::collision;
use carom_spec::mjcf::{KnownElement, codes, known_elements};

use crate::models;

const PAGE: &str = "book/src/mjcf.md";
/// Writes the page instead of comparing it.
const WRITE: &str = "CAROM_WRITE_TABLES";

/// Shapes that move, two of each, so that all of them may touch each other.
const SHAPES: [&str; 6] = [
    r#"type="sphere" size="1""#,
    r#"type="capsule" size="1 1""#,
    r#"type="ellipsoid" size="1 1 1""#,
    r#"type="box" size="1 1 1""#,
    r#"type="cylinder" size="1 1""#,
    r#"type="mesh" mesh="m""#,
];

/// Every kind of geom, and sensors that are not evaluated.
fn probe() -> String {
    let body = |shape: &str| format!("<body><freejoint/><geom {shape}/></body>");
    let bodies: String = SHAPES.iter().map(|shape| body(shape).repeat(2)).collect();
    format!(
        r#"<mujoco><asset><mesh name="m" vertex="0 0 0 1 0 0 0 1 0 0 0 1"/><hfield name="h" nrow="2" ncol="2" size="1 1 1 1"/></asset>
          <worldbody><geom name="g" type="plane" size="1 1 1"/><geom type="hfield" hfield="h"/><site name="s"/>{bodies}</worldbody>
          <sensor><user name="user" dim="1"/>
            <insidesite name="insidesite enclosed" site="s" objtype="geom" objname="g" enclosed="true"/></sensor></mujoco>"#
    )
}

#[test]
fn the_table_of_supported_mjcf_is_what_the_code_says() {
    let path = models::root().join(PAGE);
    let page = page();
    if std::env::var_os(WRITE).is_some() {
        std::fs::write(&path, &page).unwrap();
    }
    let committed = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        committed == page,
        "{PAGE} is not what the code says; `cargo xtask book-tables` writes it"
    );
}

fn page() -> String {
    let mut page = String::from(
        "# Supported MJCF\n\n\
         This page is written by the code (`cargo xtask book-tables`) and compared with it in every test run.\n\n\
         carom reads the MJCF of MuJoCo 4.0.0. An element or attribute that is not in these tables is an error with file, line,\n\
         column and, where there is one, the nearest name. What is known and not supported is refused with a code; `--allow CODE`\n\
         of the command line, or `allow=[\"CODE\"]` of `carom.Model.load`, goes on without it and warns. Elements that only look\n\
         (`visual`, `texture`, `material`, `light`) are read, checked and kept; they change no number. `default` holds the elements\n\
         that it gives defaults for; `include` may stand anywhere.\n\n",
    );
    page.push_str("## What is refused\n\n| code | what |\n|---|---|\n");
    for (code, meaning) in codes::ALL.iter().filter(|(code, _)| *code >= "M200") {
        let _ = writeln!(page, "| {code} | {meaning} |");
    }
    page.push_str("\nM206 is a warning. The others are errors unless they are allowed.\n");
    page.push_str("\n## Contacts and sensors\n\n");
    page.push_str(&gaps());
    page.push_str("\n## Elements and attributes\n");
    let elements: Vec<KnownElement> = known_elements().collect();
    for section in elements.iter().filter(|element| is_section(element)) {
        let _ = write!(
            page,
            "\n### {}\n\n{}",
            section.tag,
            table(section, &elements)
        );
    }
    while page.ends_with("\n\n") {
        page.pop();
    }
    page
}

/// Elements that have a table of their own: those below the root, `default` aside, which repeats the others.
fn is_section(element: &KnownElement) -> bool {
    (element.parent == "mujoco" || element.parent.is_empty())
        && !matches!(element.tag, "default" | "worldbody")
}

/// A section and all that stands in it.
fn table(section: &KnownElement, elements: &[KnownElement]) -> String {
    let mut table = String::from("| element | attributes |\n|---|---|\n");
    let mut row = |path: &str, element: &KnownElement| {
        let text = match element.refusal {
            Some((code, _)) => format!("refused, {code}"),
            None => element.attributes.join(", "),
        };
        let _ = writeln!(table, "| `{path}` | {text} |");
    };
    row(section.tag, section);
    if section.parent.is_empty() {
        return table;
    }
    let from = elements.iter().position(|element| element == section);
    let rest = &elements[from.unwrap_or_default() + 1..];
    for element in rest.iter().take_while(|element| element.parent != "mujoco") {
        if element.parent == section.tag {
            row(element.tag, element);
        } else {
            row(&format!("{} / {}", element.parent, element.tag), element);
        }
    }
    if section.tag == "body" {
        table.push_str(
            "\n`worldbody`, `frame` and `replicate` hold what `body` holds, and bodies.\n",
        );
    }
    table
}

/// What loads and has no effect, in the words of the warnings.
fn gaps() -> String {
    let model = models::from_text(&probe());
    let mut kinds: Vec<GeomKind> = model.structure.geoms.kind.clone();
    kinds.dedup();
    let names: Vec<String> = kinds.iter().map(|kind| format!("{kind:?}")).collect();
    let mut text = String::new();
    if collision::unsupported_pairs(&model).is_empty() {
        let _ = writeln!(
            text,
            "Contacts are found between every two kinds of geoms that can touch: {}.\n\
             Planes and height fields do not touch each other.",
            names
                .join(", ")
                .to_lowercase()
                .replace("heightfield", "hfield")
        );
    }
    text.push_str("\nWhat loads and has no effect is said when the model is loaded:\n\n");
    for gap in coverage::gaps(&model) {
        let _ = writeln!(text, "- {gap}");
    }
    text
}
