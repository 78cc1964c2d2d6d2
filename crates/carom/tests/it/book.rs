//! The table of supported MJCF in the book is what the code says.

use std::fmt::Write as _;

use carom::coverage;
use carom::model::{GeomKind, Quantity};
use carom::quantity::{ElementKind, Role, Row};
use carom::stages::collision;
use carom_spec::mjcf::{KnownElement, codes, known_elements};

use crate::models;

const PAGE: &str = "book/src/mjcf.md";
const ATTRIBUTES: &str = "book/src/attributes.md";
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

/// Selectable attributes that are made of parts of quantities: their unit and what they are.
const COMPOSED: [(&str, &str, &str); 10] = [
    (
        "body.NAME.mass_only",
        "kg",
        "mass whose inertia stays as it is: ballast at the centre of mass",
    ),
    (
        "body.NAME.pseudo_inertia",
        "by component",
        "all ten inertial numbers of a body, always physical",
    ),
    (
        "actuator.NAME.kp",
        "N/m or N·m/rad",
        "gain of a position servo",
    ),
    (
        "actuator.NAME.kv",
        "N·s/m or N·m·s/rad",
        "damping of a position servo",
    ),
    (
        "actuator.NAME.dampratio",
        "1",
        "damping ratio of a position servo",
    ),
    ("equality.NAME.anchor", "m", "anchor of a connection"),
    (
        "equality.NAME.relpose",
        "m, m, m, 1",
        "relative pose of a weld",
    ),
    (
        "equality.NAME.polycoef",
        "m or rad",
        "polynomial that couples two joints or tendons",
    ),
    (
        "state.qpos",
        "m or rad",
        "configuration of the initial state",
    ),
    (
        "state.qvel",
        "m/s or rad/s",
        "velocity of the initial state",
    ),
];

#[test]
fn the_list_of_selectable_attributes_is_what_the_code_says() {
    let path = models::root().join(ATTRIBUTES);
    let page = attributes();
    if std::env::var_os(WRITE).is_some() {
        std::fs::write(&path, &page).unwrap();
    }
    let committed = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        committed == page,
        "{ATTRIBUTES} is not what the code says; `cargo xtask book-tables` writes it"
    );
}

fn attributes() -> String {
    let mut page = String::from(
        "# Selectable attributes\n\n\
         `carom identify robot.xml run.npz --free 'joint.elbow.damping[0] log'` selects the damping of a joint. This page lists\n\
         everything that can be selected, in `--free`, in `carom.Model.parameters` and in Rust. The code writes it\n\
         (`cargo xtask book-tables`) and compares it in every test run.\n\n\
         A selector is element, name and attribute. `*` stands for any letters of a name, `[0]` or `[1:3]` for components.\n\
         [Identify](identify.md#choose-parameters) has the modifiers `log`, `bounds(…)` and `tied`. What follows from other\n\
         numbers, such as the mass of a subtree, cannot be selected; the message says what to select instead.\n",
    );
    for &element in ElementKind::ALL {
        let rows = Quantity::ALL.iter().map(|quantity| quantity.row());
        let rows = rows.filter(|row| matches!(row.role, Role::Given | Role::Direct));
        let own = |row: &&Row| {
            row.attribute
                .is_some_and(|attribute| attribute.element == element)
        };
        let rows: Vec<&Row> = rows.filter(own).collect();
        if rows.is_empty() {
            continue;
        }
        let kind = element.name();
        let _ = write!(
            page,
            "\n## {kind}\n\n| selector | components | unit | what it is |\n|---|--:|---|---|\n"
        );
        for row in rows {
            let attribute = row.attribute.map_or("", |attribute| attribute.name);
            let name = match element {
                ElementKind::Option => format!("option.{attribute}"),
                _ => format!("{kind}.NAME.{attribute}"),
            };
            let about = row.about.trim().trim_end_matches('.').replace('|', "\\|");
            let _ = writeln!(
                page,
                "| `{name}` | {} | {} | {about} |",
                row.width, row.unit
            );
        }
    }
    page.push_str("\n## Made of several\n\n| selector | unit | what it is |\n|---|---|---|\n");
    for (name, unit, about) in COMPOSED {
        let _ = writeln!(page, "| `{name}` | {unit} | {about} |");
    }
    page
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
