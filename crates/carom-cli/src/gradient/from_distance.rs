//! `--cfd`: contacts from distance, from a list of keys and values.

use carom::Model;
use carom::model::{ActsIn, ContactsFromDistance};
use carom_spec::Diagnostic;

use crate::command_line::Argument;
use crate::failure::{Failure, VALUE};

/// The keys of the list.
const KEYS: [&str; 9] = [
    "d_c",
    "d_0",
    "w_c",
    "m_c",
    "p_c",
    "sharpness",
    "geoms",
    "pairs",
    "in",
];

/// The model with contacts from distance as a list says: `w_c=0.2,d_0=0.1,pairs=white:black`.
pub(super) fn apply(model: Model, list: &str) -> Result<Model, Failure> {
    let list = Argument::new("--cfd", list);
    let distant = parse(&model, list)?;
    model
        .with_contacts_from_distance(distant)
        .map_err(|error| refused(list, &error))
}

fn parse(model: &Model, list: Argument<'_>) -> Result<ContactsFromDistance, Failure> {
    let mut distant = ContactsFromDistance::default();
    for item in list
        .split(',')
        .into_iter()
        .filter(|item| !item.text().is_empty())
    {
        let (key, value) = item
            .split_once('=')
            .ok_or_else(|| item.unfit("a key without a value", "write KEY=VALUE, as in w_c=0.1"))?;
        match key.text() {
            "geoms" => {
                let geoms = value.split('+');
                check_geoms(model, &geoms)?;
                let names: Vec<&str> = geoms.iter().map(|geom| geom.text()).collect();
                let chosen = distant.of_geoms(model, &names);
                distant = chosen.map_err(|error| refused(value, &error))?;
            }
            "pairs" => {
                let mut pairs = Vec::new();
                for both in value.split('+') {
                    let (first, second) = both.split_once(':').ok_or_else(|| {
                        both.unfit("a pair is two geoms", "write them as in white:black")
                    })?;
                    check_geoms(model, &[first, second])?;
                    pairs.push([first.text(), second.text()]);
                }
                let chosen = distant.of_pairs(model, &pairs);
                distant = chosen.map_err(|error| refused(value, &error))?;
            }
            "in" => {
                distant.acts_in = match value.text() {
                    "gradients" => ActsIn::Gradients,
                    "motions" => ActsIn::Motions,
                    _ => return Err(value.unknown("choice", ["gradients", "motions"])),
                }
            }
            _ => {
                let number = number(&mut distant, key.text());
                *number.ok_or_else(|| key.unknown("key", KEYS))? = value.number()?;
                distant.check().map_err(|error| refused(value, &error))?;
            }
        }
    }
    Ok(distant)
}

/// Refuses names that no geom has.
fn check_geoms(model: &Model, geoms: &[Argument<'_>]) -> Result<(), Failure> {
    let names = &model.structure.names.geoms;
    let unknown = |geom: &&Argument<'_>| {
        let text = geom.text();
        text.is_empty() || !names.iter().any(|name| name == text)
    };
    match geoms.iter().find(unknown) {
        Some(geom) => Err(geom.unknown("geom", names.iter().map(String::as_str))),
        None => Ok(()),
    }
}

fn refused(argument: Argument<'_>, error: &carom::Error) -> Failure {
    argument.refuse(Diagnostic::error(VALUE, format!("--cfd: {error}")))
}

fn number<'a>(distant: &'a mut ContactsFromDistance, key: &str) -> Option<&'a mut f64> {
    Some(match key {
        "d_c" => &mut distant.far_impedance,
        "d_0" => &mut distant.near_impedance,
        "w_c" => &mut distant.width,
        "m_c" => &mut distant.midpoint,
        "p_c" => &mut distant.power,
        "sharpness" => &mut distant.sharpness,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command_line::marked;
    use carom::model::Attracting;

    fn read(model: &Model, list: &str) -> Result<ContactsFromDistance, Failure> {
        parse(model, Argument::new("--cfd", list))
    }

    fn model() -> Model {
        let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
        let read = carom_spec::read_file(&root.join("../../models/billiard.xml"), &[]);
        carom::compile::compile(&read.spec).0.unwrap()
    }

    #[test]
    fn lists_of_keys_are_read() {
        let model = model();
        assert_eq!(read(&model, "").unwrap(), ContactsFromDistance::default());
        let found = read(&model, "w_c=0.2,d_0=0.1,p_c=4,sharpness=50,in=motions").unwrap();
        let numbers = [
            found.width,
            found.near_impedance,
            found.power,
            found.sharpness,
        ];
        assert_eq!(numbers, [0.2, 0.1, 4.0, 50.0]);
        assert_eq!(found.acts_in, ActsIn::Motions);
        let found = read(&model, "pairs=cue_ball:red_ball+yellow_ball:cue_ball").unwrap();
        assert!(matches!(found.attracting, Attracting::Pairs(pairs) if pairs.len() == 2));
        let found = read(&model, "geoms=cue_ball").unwrap();
        assert!(matches!(found.attracting, Attracting::Geoms(geoms) if geoms.len() == 1));
    }

    #[test]
    fn mistakes_are_answered_with_what_would_be_right() {
        let model = model();
        for (list, part, word) in [
            ("w_c", "w_c", "KEY=VALUE"),
            ("d_0=0.1,w_x=1", "w_x", "did you mean 'w_c'"),
            ("w_c=wide", "wide", "not a number"),
            ("w_c=1e999", "1e999", "too large"),
            ("w_c=-1", "-1", "must be positive"),
            ("pairs=cue_ball", "cue_ball", "a pair is two geoms"),
            (
                "pairs=cue_ball:red_bal",
                "red_bal",
                "did you mean 'red_ball'",
            ),
            ("geoms=cue", "cue", "cue_ball"),
            ("in=both", "both", "motions"),
        ] {
            let failure = read(&model, list).unwrap_err();
            assert_eq!(marked(&failure), part);
            let shown = failure.rendered();
            assert!(shown.contains(word), "{list}: {shown}");
        }
    }
}
