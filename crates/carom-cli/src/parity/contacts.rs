//! Contacts at each snapshot, by the rules of the model's class.
//!
//! The order of contacts depends on the broad phase: they are matched by their geoms and positions. Where closed-form
//! or smooth convex colliders decide (`exact`, `ccd`), every contact has its counterpart. Where the choice of contact
//! points is part of the algorithm (`loose`), each pair of geoms has as many contacts give or take one, or the same
//! deepest contact, and the deepest ones agree.

use std::collections::BTreeMap;

use carom::math::{Mat3, Vec3};
use carom::stages::collision::Contact;

use super::compare::Comparison;
use super::reference::{Class, Reference};
use super::snapshots::Checker;
use carom_report::naming::pair_name;

const STAGE: &str = "collision";
/// Allowed error of numbers that are copied or mixed from the model.
const PARAMETER_TOLERANCE: f64 = 1e-12;
/// How many pairs of geoms a message names.
const NAMED_PAIRS: usize = 4;

/// Allowed errors of contacts.
struct Tolerances {
    distance: f64,
    position: f64,
    frame: f64,
}

impl Tolerances {
    fn of(class: Class) -> Self {
        let (distance, position, frame) = match class {
            Class::Exact => (1e-11, 1e-11, 1e-11),
            Class::Ccd => (1e-8, 1e-5, 1e-4),
            // Points of the same surface may be chosen elsewhere on it.
            Class::Loose => (1e-6, f64::INFINITY, 1e-3),
        };
        Self {
            distance,
            position,
            frame,
        }
    }
}

/// The contacts of a snapshot.
pub(super) fn recorded(reference: &Reference, snapshot: usize) -> Result<Vec<Contact>, String> {
    let get = |name: &str| reference.numbers(&format!("s{snapshot}/con/{name}"));
    let geoms = get("geom").as_chunks::<2>().0;
    let count = geoms.len();
    let lengths = [
        ("dist", 1),
        ("pos", 3),
        ("frame", 9),
        ("dim", 1),
        ("includemargin", 1),
        ("friction", 5),
        ("solref", 2),
        ("solreffriction", 2),
        ("solimp", 5),
        ("exclude", 1),
    ];
    if let Some((name, _)) = lengths
        .iter()
        .find(|(name, width)| get(name).len() != count * width)
    {
        return Err(format!(
            "s{snapshot}/con/{name} of the reference does not fit its {count} contacts"
        ));
    }
    let row = |name: &str, width: usize, index: usize| &get(name)[index * width..][..width];
    let array = |name: &str, index: usize| row(name, 1, index)[0];
    Ok(geoms
        .iter()
        .enumerate()
        .map(|(index, geoms)| Contact {
            feature: None,
            geoms: geoms.map(to_index),
            distance: array("dist", index),
            position: Vec3(fixed(row("pos", 3, index))),
            frame: Mat3(fixed(row("frame", 9, index))),
            dimension: u8::try_from(to_index(array("dim", index))).unwrap_or(0),
            include_margin: array("includemargin", index),
            friction: fixed(row("friction", 5, index)),
            solref: fixed(row("solref", 2, index)),
            solreffriction: fixed(row("solreffriction", 2, index)),
            solimp: fixed(row("solimp", 5, index)),
            adhesion: 0.0,
            surface_velocity: [0.0; 3],
            law: None,
            pair: None,
            excluded: array("exclude", index) != 0.0,
        })
        .collect())
}

fn fixed<const N: usize>(numbers: &[f64]) -> [f64; N] {
    std::array::from_fn(|index| numbers[index])
}

#[allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "indices are stored as small non-negative numbers"
)]
pub(super) fn to_index(number: f64) -> usize {
    number as usize
}

/// For each recorded contact the most similar one of ours between the same geoms.
pub(super) fn match_contacts(recorded: &[Contact], ours: &[Contact]) -> Vec<Option<usize>> {
    let mut free = vec![true; ours.len()];
    recorded
        .iter()
        .map(|theirs| {
            let candidates = ours.iter().enumerate();
            let nearest = candidates
                .filter(|(index, ours)| free[*index] && ours.geoms == theirs.geoms)
                .min_by(|(_, a), (_, b)| difference(a, theirs).total_cmp(&difference(b, theirs)))
                .map(|(index, _)| index);
            if let Some(index) = nearest {
                free[index] = false;
            }
            nearest
        })
        .collect()
}

/// How far two contacts of one pair of geoms are from being the same.
fn difference(a: &Contact, b: &Contact) -> f64 {
    let normal = (a.frame.row(0) - b.frame.row(0)).norm();
    a.position.distance(b.position) + (a.distance - b.distance).abs() + 0.1 * normal
}

/// Compares the contacts of one snapshot; says whether each has its counterpart.
pub(super) fn compare_contacts(
    recorded: &[Contact],
    ours: &[Contact],
    matches: &[Option<usize>],
    check: &mut Checker<'_>,
) -> bool {
    let pairs = group(recorded, ours);
    let same = matches.iter().all(Option::is_some) && ours.len() == recorded.len();
    match check.reference.class {
        Class::Exact | Class::Ccd => {
            let differing = pairs
                .iter()
                .filter(|(_, both)| both[0].len() != both[1].len());
            report_counts(differing, check);
            let matched: Vec<_> = recorded
                .iter()
                .zip(matches)
                .filter_map(|(theirs, index)| Some((&ours[(*index)?], theirs)))
                .collect();
            compare_geometry(&matched, check);
            compare_parameters(&matched, check);
        }
        Class::Loose => {
            let differing = pairs.iter().filter(|(_, both)| !agree_loosely(both));
            report_counts(differing, check);
            let deepest: Vec<_> = pairs.values().filter_map(deepest_of_both).collect();
            compare_geometry(&deepest, check);
            compare_parameters(&deepest, check);
        }
    }
    same
}

/// Contacts of one pair of geoms: ours and theirs.
type Both<'a> = [Vec<&'a Contact>; 2];

fn group<'a>(recorded: &'a [Contact], ours: &'a [Contact]) -> BTreeMap<[usize; 2], Both<'a>> {
    let mut pairs: BTreeMap<_, Both<'_>> = BTreeMap::new();
    for (side, contacts) in [ours, recorded].into_iter().enumerate() {
        for contact in contacts {
            pairs.entry(contact.geoms).or_default()[side].push(contact);
        }
    }
    pairs
}

/// "Per pair within one, or deepest contact equal". A pair that touches in one engine only must be about to part.
fn agree_loosely(both: &Both<'_>) -> bool {
    let tolerances = Tolerances::of(Class::Loose);
    let [ours, theirs] = both;
    if ours.is_empty() || theirs.is_empty() {
        let mut lone = ours.iter().chain(theirs);
        return ours.len() + theirs.len() <= 1
            && lone.all(|contact| contact.distance > contact.include_margin - tolerances.distance);
    }
    ours.len().abs_diff(theirs.len()) <= 1
        || deepest_of_both(both).is_some_and(|(a, b)| {
            (a.distance - b.distance).abs() <= tolerances.distance
                && frame_difference(a, b) <= tolerances.frame
        })
}

/// The deepest contacts; of several equally deep ones those whose frames agree best.
fn deepest_of_both<'a>([ours, theirs]: &Both<'a>) -> Option<(&'a Contact, &'a Contact)> {
    let deepest = |contacts: &[&'a Contact]| {
        let least = contacts
            .iter()
            .map(|contact| contact.distance)
            .fold(f64::INFINITY, f64::min);
        let bound = least + Tolerances::of(Class::Loose).distance;
        let ties = contacts.iter().copied();
        ties.filter(|contact| contact.distance <= bound)
            .collect::<Vec<_>>()
    };
    let (ours, theirs) = (deepest(ours), deepest(theirs));
    ours.iter()
        .flat_map(|a| theirs.iter().map(move |b| (*a, *b)))
        .min_by(|(a, b), (c, d)| frame_difference(a, b).total_cmp(&frame_difference(c, d)))
}

fn frame_difference(a: &Contact, b: &Contact) -> f64 {
    let pairs = a.frame.0.iter().zip(&b.frame.0);
    pairs.map(|(a, b)| (a - b).abs()).fold(0.0, f64::max)
}

/// Says which pairs of geoms have other numbers of contacts.
fn report_counts<'a>(
    differing: impl Iterator<Item = (&'a [usize; 2], &'a Both<'a>)>,
    check: &mut Checker<'_>,
) {
    let sentences: Vec<String> = differing
        .map(|(geoms, [ours, theirs])| {
            let pair = pair_name(check.rows.model, *geoms);
            format!("{pair}: {}, MuJoCo {}", ours.len(), theirs.len())
        })
        .collect();
    let count = sentences.len();
    let mut named = sentences;
    if count > NAMED_PAIRS {
        named.truncate(NAMED_PAIRS);
        named.push(format!("and {} more pairs", count - NAMED_PAIRS));
    }
    let note = named.join("; ");
    check.out.push(Comparison {
        stage: STAGE,
        quantity: format!("s{}/pairs with other contacts", check.snapshot),
        error: count as f64,
        tolerance: 0.0,
        worst: None,
        note: (!note.is_empty()).then_some(note),
        judged: true,
    });
}

fn compare_geometry(matched: &[(&Contact, &Contact)], check: &mut Checker<'_>) {
    let tolerances = Tolerances::of(check.reference.class);
    let mut field = |name: &str, tolerance: f64, get: &dyn Fn(&Contact) -> Vec<f64>| {
        compare_field(name, tolerance, matched, get, check);
    };
    field("con/dist", tolerances.distance, &|contact| {
        vec![contact.distance]
    });
    if tolerances.position.is_finite() {
        field("con/pos", tolerances.position, &|contact| {
            contact.position.0.to_vec()
        });
    }
    field("con/frame", tolerances.frame, &|contact| {
        contact.frame.0.to_vec()
    });
}

fn compare_parameters(matched: &[(&Contact, &Contact)], check: &mut Checker<'_>) {
    let mut field = |name: &str, get: &dyn Fn(&Contact) -> Vec<f64>| {
        compare_field(name, PARAMETER_TOLERANCE, matched, get, check);
    };
    field("con/dim", &|contact| vec![f64::from(contact.dimension)]);
    field("con/includemargin", &|contact| vec![contact.include_margin]);
    field("con/friction", &|contact| contact.friction.to_vec());
    field("con/solref", &|contact| contact.solref.to_vec());
    field("con/solreffriction", &|contact| {
        contact.solreffriction.to_vec()
    });
    field("con/solimp", &|contact| contact.solimp.to_vec());
}

fn compare_field(
    name: &str,
    tolerance: f64,
    matched: &[(&Contact, &Contact)],
    get: &dyn Fn(&Contact) -> Vec<f64>,
    check: &mut Checker<'_>,
) {
    let ours: Vec<f64> = matched.iter().flat_map(|(ours, _)| get(ours)).collect();
    let theirs: Vec<f64> = matched.iter().flat_map(|(_, theirs)| get(theirs)).collect();
    let model = check.rows.model;
    let label = |index: usize| pair_name(model, matched[index].1.geoms);
    check.check_labelled(
        (STAGE, name),
        tolerance,
        (matched.len(), &label),
        [&ours, &theirs],
    );
}

#[cfg(test)]
mod tests {
    use super::{agree_loosely, deepest_of_both, group, match_contacts};
    use carom::math::{Mat3, Vec3};
    use carom::stages::collision::Contact;

    const ALONG_Z: [f64; 9] = [0.0, 0.0, 1.0, 0.0, 1.0, 0.0, -1.0, 0.0, 0.0];
    const ALONG_X: [f64; 9] = [1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0];

    fn contact(geoms: [usize; 2], x: f64, distance: f64, frame: [f64; 9]) -> Contact {
        Contact {
            feature: None,
            geoms,
            distance,
            position: Vec3([x, 0.0, 0.0]),
            frame: Mat3(frame),
            dimension: 3,
            include_margin: 0.0,
            friction: [1.0; 5],
            solref: [0.02, 1.0],
            solreffriction: [0.0; 2],
            solimp: [0.9, 0.95, 0.001, 0.5, 2.0],
            excluded: false,
            adhesion: 0.0,
            surface_velocity: [0.0; 3],
            law: None,
            pair: None,
        }
    }

    fn agree(ours: &[Contact], theirs: &[Contact]) -> bool {
        group(theirs, ours).values().all(agree_loosely)
    }

    #[test]
    fn contacts_are_matched_by_geoms_and_place() {
        let at = |geoms, x| contact(geoms, x, -0.1, ALONG_Z);
        let theirs = [at([0, 1], 0.0), at([0, 1], 1.0), at([0, 2], 0.0)];
        let ours = [at([0, 2], 0.0), at([0, 1], 1.001), at([0, 1], 0.001)];
        assert_eq!(match_contacts(&theirs, &ours), [Some(2), Some(1), Some(0)]);
        // The other order of geoms is another contact: its normal points the other way.
        assert_eq!(match_contacts(&theirs[..1], &[at([1, 0], 0.0)]), [None]);
    }

    #[test]
    fn loose_pairs_have_as_many_contacts_give_or_take_one() {
        let pair = |x, distance| contact([0, 1], x, distance, ALONG_Z);
        let theirs = [pair(0.0, -0.1), pair(1.0, -0.2), pair(2.0, -0.05)];
        assert!(agree(&[pair(0.5, -0.3), pair(1.5, -0.1)], &theirs));
        // Two less are too few, unless the deepest is the same.
        assert!(!agree(&[pair(0.5, -0.3)], &theirs));
        assert!(agree(&[pair(0.5, -0.2)], &theirs));
        assert!(!agree(&[contact([0, 1], 1.0, -0.2, ALONG_X)], &theirs));
    }

    #[test]
    fn a_pair_that_touches_in_one_engine_only_must_graze() {
        let grazing = contact([0, 1], 0.0, -1e-7, ALONG_Z);
        let deep = contact([0, 1], 0.0, -1e-3, ALONG_Z);
        assert!(agree(&[grazing], &[]));
        assert!(agree(&[], &[grazing]));
        assert!(!agree(&[deep], &[]));
        assert!(!agree(&[], &[grazing, grazing]));
    }

    #[test]
    fn of_equally_deep_contacts_the_most_similar_are_compared() {
        let ours = [contact([0, 1], 0.0, -0.1, ALONG_Z)];
        let theirs = [
            contact([0, 1], 0.0, -0.1, ALONG_X),
            contact([0, 1], 0.0, -0.1 + 1e-9, ALONG_Z),
        ];
        let pairs = group(&theirs, &ours);
        let (_, found) = deepest_of_both(&pairs[&[0, 1]]).unwrap();
        assert_eq!(found.frame.0, ALONG_Z);
    }
}
