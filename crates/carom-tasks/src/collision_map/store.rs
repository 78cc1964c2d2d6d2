//! Maps in files of weights.

use carom::{Error, ErrorKind};
use carom_spec::weights::{self, TermWeights};

use super::CollisionMap;
use super::motion::{Bodies, CONTACT_NUMBERS, ContactLaw};
use super::table::{TABLE_NUMBERS, TableLaw};

/// The bytes of a file of weights with the map of a contact pair.
pub fn write(pair: &str, map: &CollisionMap) -> Vec<u8> {
    let mut numbers = map.contact.numbers().to_vec();
    numbers.extend(map.table.numbers());
    weights::write(&[TermWeights {
        name: pair.to_owned(),
        fingerprint: fingerprint(&map.bodies),
        weights: numbers,
        scales: Vec::new(),
        range: Vec::new(),
    }])
}

/// The map of a contact pair from such a file, for these bodies.
///
/// # Errors
/// When it is no such file, has no map of the pair, or one that belongs to other bodies.
pub fn read(bytes: &[u8], pair: &str, bodies: Bodies) -> Result<CollisionMap, Error> {
    let wrong = |why: String| Error::new(ErrorKind::Description, why);
    let terms = weights::read(bytes).map_err(&wrong)?;
    let Some(term) = terms.iter().find(|term| term.name == pair) else {
        let names: Vec<&str> = terms.iter().map(|term| term.name.as_str()).collect();
        return Err(
            wrong(format!("there is no map of the pair '{pair}' in the file"))
                .remedy(format!("it has those of {}", names.join(", "))),
        );
    };
    let is_finite = term.weights.iter().all(|number| number.is_finite());
    if term.weights.len() != CONTACT_NUMBERS + TABLE_NUMBERS || !is_finite {
        let (found, count) = (term.weights.len(), CONTACT_NUMBERS + TABLE_NUMBERS);
        return Err(wrong(format!(
            "the map of '{pair}' has {found} numbers and should have {count} finite ones"
        )));
    }
    if term.fingerprint != fingerprint(&bodies) {
        let why = format!("the map of '{pair}' was learned with bodies of other shape or mass");
        return Err(wrong(why).remedy("learn one for this scene: carom learn collision"));
    }
    let (contact, table) = term.weights.split_at(CONTACT_NUMBERS);
    Ok(CollisionMap {
        bodies,
        contact: ContactLaw::of(contact),
        table: TableLaw::of(table),
    })
}

/// Shapes and mass as a number (FNV-1a), to a millionth of a metre and of a kilogram.
fn fingerprint(bodies: &Bodies) -> u64 {
    let mut hash = 0xcbf2_9ce4_8422_2325u64;
    let corners = [&bodies.struck.outline, bodies.striker()].map(|outline| &outline.corners);
    let lengths = corners.into_iter().flatten().flatten().copied();
    let numbers = lengths.chain([
        bodies.struck.mass,
        bodies.struck.gyration,
        bodies.struck.height,
    ]);
    for number in numbers {
        #[expect(
            clippy::cast_possible_truncation,
            reason = "lengths and masses are small"
        )]
        let rounded = (number * 1e6).round() as i64;
        for byte in rounded.to_le_bytes() {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }
    hash
}
