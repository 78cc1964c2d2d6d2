//! `--cfd`: contacts from distance, from a list of keys and values.

use carom::Model;
use carom::model::{ActsIn, ContactsFromDistance};

/// The model with contacts from distance as a list says: `w_c=0.2,d_0=0.1,pairs=white:black`.
pub(super) fn apply(model: Model, list: &str) -> Result<Model, String> {
    let distant = parse(&model, list).map_err(|problem| format!("--cfd: {problem}"))?;
    model
        .with_contacts_from_distance(distant)
        .map_err(|error| format!("--cfd: {error}"))
}

fn parse(model: &Model, list: &str) -> Result<ContactsFromDistance, String> {
    let mut distant = ContactsFromDistance::default();
    for item in list.split(',').filter(|item| !item.is_empty()) {
        let (key, value) = item
            .split_once('=')
            .ok_or_else(|| format!("'{item}': write KEY=VALUE, as in w_c=0.1"))?;
        match key {
            "geoms" => {
                let names: Vec<&str> = value.split('+').collect();
                let chosen = distant.of_geoms(model, &names);
                distant = chosen.map_err(|error| error.to_string())?;
            }
            "pairs" => {
                let pairs: Result<Vec<[&str; 2]>, String> = value.split('+').map(pair).collect();
                let chosen = distant.of_pairs(model, &pairs?);
                distant = chosen.map_err(|error| error.to_string())?;
            }
            "in" => {
                distant.acts_in = match value {
                    "gradients" => ActsIn::Gradients,
                    "motions" => ActsIn::Motions,
                    _ => return Err(format!("in={value}: choose gradients or motions")),
                }
            }
            _ => *number(&mut distant, key)? = parse_number(item, value)?,
        }
    }
    Ok(distant)
}

fn pair(text: &str) -> Result<[&str; 2], String> {
    let (first, second) = text
        .split_once(':')
        .ok_or_else(|| format!("'{text}': write two geoms, as in white:black"))?;
    Ok([first, second])
}

fn number<'a>(distant: &'a mut ContactsFromDistance, key: &str) -> Result<&'a mut f64, String> {
    Ok(match key {
        "d_c" => &mut distant.far_impedance,
        "d_0" => &mut distant.near_impedance,
        "w_c" => &mut distant.width,
        "m_c" => &mut distant.midpoint,
        "p_c" => &mut distant.power,
        "sharpness" => &mut distant.sharpness,
        _ => {
            return Err(format!(
                "there is no '{key}'; choose from d_c, d_0, w_c, m_c, p_c, sharpness, geoms, pairs, in"
            ));
        }
    })
}

fn parse_number(item: &str, value: &str) -> Result<f64, String> {
    value
        .parse()
        .map_err(|_| format!("'{item}': '{value}' is not a number"))
}

#[cfg(test)]
mod tests {
    use super::parse;
    use carom::Model;
    use carom::model::{ActsIn, Attracting, ContactsFromDistance};

    fn model() -> Model {
        let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
        let read = carom_spec::read_file(&root.join("../../models/billiard.xml"), &[]);
        carom::compile::compile(&read.spec).0.unwrap()
    }

    #[test]
    fn lists_of_keys_are_read() {
        let model = model();
        assert_eq!(parse(&model, "").unwrap(), ContactsFromDistance::default());
        let found = parse(&model, "w_c=0.2,d_0=0.1,p_c=4,sharpness=50,in=motions").unwrap();
        let numbers = [
            found.width,
            found.near_impedance,
            found.power,
            found.sharpness,
        ];
        assert_eq!(numbers, [0.2, 0.1, 4.0, 50.0]);
        assert_eq!(found.acts_in, ActsIn::Motions);
        let found = parse(&model, "pairs=cue_ball:red_ball+yellow_ball:cue_ball").unwrap();
        assert!(matches!(found.attracting, Attracting::Pairs(pairs) if pairs.len() == 2));
        let found = parse(&model, "geoms=cue_ball").unwrap();
        assert!(matches!(found.attracting, Attracting::Geoms(geoms) if geoms.len() == 1));
    }

    #[test]
    fn mistakes_are_answered_with_what_would_be_right() {
        let model = model();
        for (list, word) in [
            ("w_c", "KEY=VALUE"),
            ("width=1", "w_c"),
            ("w_c=wide", "not a number"),
            ("pairs=cue_ball", "two geoms"),
            ("geoms=cue", "cue_ball"),
            ("in=both", "motions"),
        ] {
            let problem = parse(&model, list).unwrap_err();
            assert!(problem.contains(word), "{list}: {problem}");
        }
    }
}
