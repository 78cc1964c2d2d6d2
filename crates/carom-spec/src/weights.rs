//! Files of weights of learned terms: safetensors, which numpy, PyTorch and JAX read too.
//!
//! A file is the length of a header (eight bytes, little endian), the header in JSON, and numbers of double precision. A term
//! `drag` has the tensors `drag.weights` and, where they are known, `drag.scales` and `drag.range` (two numbers an input). The
//! metadata say which description they belong to: `drag.fingerprint`, in hexadecimal digits.

use serde_json::{Map, Value, json};

/// A header that is longer is none.
const MAX_HEADER: usize = 1 << 20;

/// What a file has of one term.
#[derive(Clone, Debug, PartialEq)]
pub struct TermWeights {
    /// The term.
    pub name: String,
    /// Which description of it; see [`fingerprint`](crate::mjcf::learned_term::fingerprint).
    pub fingerprint: u64,
    /// Weights.
    pub weights: Vec<f64>,
    /// Centre and scale of each number that goes in; empty where they go in as they are.
    pub scales: Vec<[f64; 2]>,
    /// Lowest and highest value of each number that went in while it was trained; empty where nobody noted them.
    pub range: Vec<[f64; 2]>,
}

/// The bytes of a file.
pub fn write(terms: &[TermWeights]) -> Vec<u8> {
    let mut header = Map::new();
    let mut metadata = Map::new();
    metadata.insert("format".to_owned(), json!("carom learned terms 1"));
    let mut numbers: Vec<f64> = Vec::new();
    for term in terms {
        let key = format!("{}.fingerprint", term.name);
        metadata.insert(key, json!(format!("{:016x}", term.fingerprint)));
        let mut put = |what: &str, shape: Value, values: &[f64]| {
            let start = 8 * numbers.len();
            numbers.extend_from_slice(values);
            let offsets = [start, 8 * numbers.len()];
            let entry = json!({"dtype": "F64", "shape": shape, "data_offsets": offsets});
            header.insert(format!("{}.{what}", term.name), entry);
        };
        put("weights", json!([term.weights.len()]), &term.weights);
        for (what, pairs) in [("scales", &term.scales), ("range", &term.range)] {
            if !pairs.is_empty() {
                put(what, json!([pairs.len(), 2]), pairs.as_flattened());
            }
        }
    }
    header.insert("__metadata__".to_owned(), Value::Object(metadata));
    let mut text = Value::Object(header).to_string().into_bytes();
    // The numbers begin at a multiple of eight bytes.
    text.resize(text.len().next_multiple_of(8), b' ');
    let mut bytes = (text.len() as u64).to_le_bytes().to_vec();
    bytes.extend(text);
    bytes.extend(numbers.iter().flat_map(|number| number.to_le_bytes()));
    bytes
}

/// What a file has of all terms, in the order of their names.
///
/// # Errors
///
/// With a sentence about what is wrong with it.
pub fn read(bytes: &[u8]) -> Result<Vec<TermWeights>, String> {
    let no = |why: &str| Err(format!("it is not a file of weights: {why}"));
    let Some((length, rest)) = bytes.split_first_chunk::<8>() else {
        return no("it ends before its header");
    };
    let length = usize::try_from(u64::from_le_bytes(*length)).unwrap_or(usize::MAX);
    if length > MAX_HEADER || length > rest.len() {
        return no("it ends before its header");
    }
    let (header, data) = rest.split_at(length);
    let header: Map<String, Value> = match serde_json::from_slice(header) {
        Ok(Value::Object(header)) => header,
        _ => return no("its header is not in JSON"),
    };
    let metadata = header.get("__metadata__").and_then(Value::as_object);
    let mut terms = Vec::new();
    for key in header.keys() {
        let Some(name) = key.strip_suffix(".weights") else {
            continue;
        };
        let fingerprint = metadata
            .and_then(|all| all.get(&format!("{name}.fingerprint"))?.as_str())
            .and_then(|digits| u64::from_str_radix(digits, 16).ok());
        let Some(fingerprint) = fingerprint else {
            return Err(format!("it does not say what term '{name}' is"));
        };
        let weights = tensor(&header, key, data)?;
        terms.push(TermWeights {
            name: name.to_owned(),
            fingerprint,
            weights,
            scales: pairs(&header, &format!("{name}.scales"), data)?,
            range: pairs(&header, &format!("{name}.range"), data)?,
        });
    }
    Ok(terms)
}

/// Two numbers for each input; none where the file has no such tensor.
fn pairs(header: &Map<String, Value>, name: &str, data: &[u8]) -> Result<Vec<[f64; 2]>, String> {
    if !header.contains_key(name) {
        return Ok(Vec::new());
    }
    let numbers = tensor(header, name, data)?;
    match numbers.as_chunks() {
        (pairs, []) => Ok(pairs.to_vec()),
        _ => Err(format!("'{name}' does not have two numbers an input")),
    }
}

/// The numbers of a tensor.
fn tensor(header: &Map<String, Value>, name: &str, data: &[u8]) -> Result<Vec<f64>, String> {
    let entry = header.get(name).and_then(Value::as_object);
    let entry = entry.ok_or_else(|| format!("'{name}' is not described"))?;
    if entry.get("dtype").and_then(Value::as_str) != Some("F64") {
        return Err(format!("'{name}' is not of double precision (F64)"));
    }
    let whole = |value: &Value| usize::try_from(value.as_u64()?).ok();
    let list = |key: &str| -> Option<Vec<usize>> {
        entry.get(key)?.as_array()?.iter().map(whole).collect()
    };
    let (shape, offsets) = (list("shape"), list("data_offsets"));
    let (Some(shape), Some([start, end])) = (&shape, offsets.as_deref()) else {
        return Err(format!("'{name}' has no shape or no place"));
    };
    let bytes = data.get(*start..*end);
    let bytes = bytes.ok_or_else(|| format!("the file ends before '{name}' does"))?;
    let (numbers, rest) = bytes.as_chunks::<8>();
    let count = shape
        .iter()
        .try_fold(1_usize, |all, &size| all.checked_mul(size));
    if count != Some(numbers.len()) || !rest.is_empty() {
        return Err(format!(
            "'{name}' has {} numbers, not those of its shape",
            numbers.len()
        ));
    }
    let numbers: Vec<f64> = (numbers.iter().copied().map(f64::from_le_bytes)).collect();
    match numbers.iter().position(|number| !number.is_finite()) {
        Some(index) => Err(format!("number {index} of '{name}' is {}", numbers[index])),
        None => Ok(numbers),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn terms() -> Vec<TermWeights> {
        let term = |name: &str, scales: &[[f64; 2]]| TermWeights {
            name: name.to_owned(),
            fingerprint: 0xAB,
            weights: vec![0.1, -2.5e-300, f64::MAX],
            scales: scales.to_vec(),
            range: (scales.iter())
                .map(|[low, size]| [*low, low + size])
                .collect(),
        };
        vec![term("a b", &[[0.5, 2.0], [0.0, 1e-9]]), term("drag", &[])]
    }

    #[test]
    fn what_is_written_is_read_to_the_bit() {
        assert_eq!(read(&write(&terms())).unwrap(), terms());
        assert_eq!(read(&write(&[])).unwrap(), []);
    }

    /// Files that are cut, or in which one byte is another, are read or refused, and never anything else.
    #[test]
    fn damaged_files_are_refused_with_a_sentence() {
        let whole = write(&terms());
        for length in 0..whole.len() {
            assert!(read(&whole[..length]).is_err(), "{length}");
        }
        for place in 0..whole.len() {
            for change in [1, 0x80, 0xFF] {
                let mut damaged = whole.clone();
                damaged[place] ^= change;
                if let Err(why) = read(&damaged) {
                    assert!(why.len() > 10, "{why}");
                }
            }
        }
        let mut infinite = terms();
        infinite[1].weights[1] = f64::NAN;
        let why = read(&write(&infinite)).unwrap_err();
        assert_eq!(why, "number 1 of 'drag.weights' is NaN");
    }
}
