//! The table agrees with itself and with the glossary.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use super::{Exchange, Family, Quantity, Role, Row};
use crate::testing::model_from_mjcf;

/// The row of the glossary.
fn glossary_row(row: &Row) -> String {
    let symbol = if row.symbol.is_empty() {
        "–"
    } else {
        row.symbol
    };
    let mujoco = row.mujoco_name();
    let mujoco = mujoco.map_or("–".to_owned(), |name| format!("`{name}`"));
    let shape = match (row.count, row.width) {
        ("one", width) => width.to_string(),
        (count, 1) => count.to_owned(),
        (count, width) => format!("{count} × {width}"),
    };
    let Row { name, unit, .. } = row;
    format!("| {symbol} | `{name}` | {mujoco} | {unit} | {shape} |")
}

#[test]
fn the_glossary_has_the_rows_of_the_table() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../GLOSSARY.md");
    let glossary = fs::read_to_string(path).unwrap();
    let known: BTreeSet<&str> = glossary.lines().collect();
    let rows = Quantity::ALL.iter().map(|quantity| quantity.row());
    let rows = rows.filter(|row| row.family != Family::Sources);
    let missing: Vec<String> = rows
        .map(glossary_row)
        .filter(|row| !known.contains(row.as_str()))
        .collect();
    assert!(
        missing.is_empty(),
        "GLOSSARY.md has no\n{}",
        missing.join("\n")
    );
}

#[test]
fn quantities_are_visited_in_their_order_and_shape() {
    let model = model_from_mjcf(
        "<mujoco><worldbody><body><joint/><geom size='0.1'/><site/></body></worldbody></mujoco>",
    );
    let mut expected = Vec::new();
    for &quantity in Quantity::ALL {
        let count = quantity.elements(model.counts()) * quantity.row().width;
        expected.extend(vec![quantity; count]);
    }
    let mut found = Vec::new();
    let given = &model.recipe().unwrap().given;
    given.for_each(|quantity, _, _, _| found.push(quantity));
    assert_eq!(found, expected);
}

#[test]
fn names_mean_one_quantity() {
    let rows = || Quantity::ALL.iter().map(|quantity| quantity.row());
    let names: BTreeSet<&str> = rows().map(|row| row.name).collect();
    assert_eq!(names.len(), Quantity::ALL.len());
    let theirs = || rows().filter_map(|row| row.mujoco.filter(|theirs| theirs.1 != Exchange::Name));
    let distinct: BTreeSet<&str> = theirs().map(|(name, _)| name).collect();
    assert_eq!(distinct.len(), theirs().count());
}

#[test]
fn what_may_be_free_has_an_attribute() {
    for quantity in Quantity::ALL {
        let row = quantity.row();
        assert!(!row.unit.is_empty() && !row.about.is_empty(), "{quantity}");
        // Laws of joints name their parameters themselves; their own tests select each of them.
        if row.role == Role::Direct && *quantity != Quantity::JointLawParameter {
            assert!(row.attribute.is_some(), "{quantity}");
        }
    }
}
