//! Files of networks: safetensors, which numpy, PyTorch and JAX read too.
//!
//! A file is the length of a header (eight bytes, little endian), the header in JSON, and numbers. The metadata have `format`
//! and `card`, what the network is in JSON. Tensors are `weights` (single precision, all in a row), `mesh`, `object`, `edge`
//! and `face` (mean and scale of every feature) and `outputs` (sizes of what is said). Checkpoints have those of the
//! search too.

use carom::{Error, ErrorKind};
use serde_json::{Map, Value, json};

use crate::learned::Learned;
use crate::network::{Adam, Layout, Net, NetShape};
use crate::scene::{Normalizer, Setting};
use crate::training::{Recipe, State};

/// What files of networks say they are.
const FORMAT: &str = "carom graph network 1";

/// A header that is longer is none.
const MAX_HEADER: usize = 1 << 20;

/// More weights than this are no network that anyone has trained.
const MAX_WEIGHTS: usize = 1 << 28;

/// Names of the scales of each kind of row.
const KINDS: [&str; 4] = ["mesh", "object", "edge", "face"];

/// What is known of a network beside its numbers.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Card {
    /// How it was made.
    pub recipe: Recipe,
    /// Steps that were taken.
    pub steps: u64,
    /// What it was trained on.
    pub data: String,
    /// How many motions, and frames of them.
    pub motions: [usize; 2],
    /// Mean error on held-out motions: position (m), angle (rad), and equation (1).
    pub held_out: [f64; 3],
    /// Lowest and highest friction of the bodies.
    pub friction: [f64; 2],
    /// Lowest and highest mass (kg).
    pub mass: [f64; 2],
    /// Lowest and highest half size (m).
    pub half_size: [f64; 2],
    /// The model file of the scene (MJCF), as text; none if nobody said which.
    #[serde(default)]
    pub scene: Option<String>,
}

/// Whether a file says that it is a network.
pub fn is_network(bytes: &[u8]) -> bool {
    header(bytes).is_ok_and(|(header, _)| format_of(&header) == Some(FORMAT))
}

/// A network as the bytes of a file.
pub fn write(learned: &Learned<f32>, card: &Card) -> Vec<u8> {
    let mut file = Writer::default();
    file.learned(learned);
    file.bytes(json!({"format": FORMAT, "card": to_json(card)}))
}

/// A network from the bytes of a file.
///
/// # Errors
/// With what is wrong, when they are not those of a network.
pub fn read(bytes: &[u8]) -> Result<(Learned<f32>, Card), Error> {
    let file = Reader::new(bytes)?;
    let card: Card = file.card()?;
    Ok((file.learned(&card.recipe)?, card))
}

/// What a training needs to go on, as the bytes of a file.
pub fn write_checkpoint(state: &State, recipe: &Recipe) -> Vec<u8> {
    let mut file = Writer::default();
    file.learned(&state.learned);
    for (name, values) in [
        ("adam.first", &state.adam.first),
        ("adam.second", &state.adam.second),
        ("adam.mean", &state.adam.mean),
        ("best", &state.best),
    ] {
        file.single(name, values);
    }
    // Infinite before the first validation, which JSON has no word for.
    let best = state.best_error.to_bits();
    let card = json!({
        "recipe": to_json(recipe), "steps": state.adam.steps, "best_error": best,
        "since_best": state.since_best,
    });
    file.bytes(json!({"format": FORMAT, "checkpoint": card.to_string()}))
}

/// What a training needs to go on.
///
/// # Errors
/// When the bytes are not a checkpoint, or one of another recipe.
pub fn read_checkpoint(bytes: &[u8], recipe: &Recipe) -> Result<State, Error> {
    let file = Reader::new(bytes)?;
    let no = |why: &str| Error::new(ErrorKind::Checkpoint, why);
    let text = file.metadata("checkpoint");
    let text = text.ok_or_else(|| no("it is a network, not a checkpoint of a training"))?;
    let card: Value =
        serde_json::from_str(text).map_err(|_| no("its description is not in JSON"))?;
    let known: Recipe = serde_json::from_value(card["recipe"].clone())
        .map_err(|_| no("it has no recipe that this version knows"))?;
    if known != *recipe {
        return Err(no("it belongs to another recipe")
            .remedy("give the recipe that it was begun with, or remove it"));
    }
    let number = |name: &str| {
        card[name]
            .as_u64()
            .ok_or_else(|| no("its description lacks numbers"))
    };
    let learned = file.learned(recipe)?;
    let count = learned.net.layout.count;
    Ok(State {
        adam: Adam {
            steps: number("steps")?,
            first: file.single("adam.first", count)?,
            second: file.single("adam.second", count)?,
            mean: file.single("adam.mean", count)?,
        },
        best: file.single("best", count)?,
        best_error: f64::from_bits(number("best_error")?),
        since_best: number("since_best")?,
        learned,
    })
}

fn to_json(value: &impl serde::Serialize) -> Value {
    serde_json::to_value(value).unwrap_or_default()
}

#[derive(Default)]
struct Writer {
    header: Map<String, Value>,
    numbers: Vec<u8>,
}

impl Writer {
    fn learned(&mut self, learned: &Learned<f32>) {
        self.double("outputs", &learned.normalizer.outputs);
        for (name, scales) in KINDS.iter().zip(&learned.normalizer.features) {
            self.double(name, scales.as_flattened());
        }
        self.double(
            "setting",
            &[learned.setting.step, learned.setting.threshold],
        );
        self.single("weights", &learned.net.weights);
    }

    fn double(&mut self, name: &str, values: &[f64]) {
        let bytes = values.iter().flat_map(|value| value.to_le_bytes());
        self.put(name, "F64", values.len(), bytes);
    }

    fn single(&mut self, name: &str, values: &[f32]) {
        let bytes = values.iter().flat_map(|value| value.to_le_bytes());
        self.put(name, "F32", values.len(), bytes);
    }

    fn put(&mut self, name: &str, kind: &str, count: usize, bytes: impl Iterator<Item = u8>) {
        let start = self.numbers.len();
        self.numbers.extend(bytes);
        let offsets = [start, self.numbers.len()];
        let entry = json!({"dtype": kind, "shape": [count], "data_offsets": offsets});
        self.header.insert(name.to_owned(), entry);
    }

    fn bytes(mut self, metadata: Value) -> Vec<u8> {
        let mut texts = Map::new();
        if let Value::Object(entries) = metadata {
            for (name, value) in entries {
                // Metadata are texts.
                let text = match value {
                    Value::String(text) => text,
                    other => other.to_string(),
                };
                texts.insert(name, Value::String(text));
            }
        }
        self.header
            .insert("__metadata__".to_owned(), Value::Object(texts));
        let mut text = Value::Object(self.header).to_string().into_bytes();
        // The numbers begin at a multiple of eight bytes.
        text.resize(text.len().next_multiple_of(8), b' ');
        let mut bytes = (text.len() as u64).to_le_bytes().to_vec();
        bytes.extend(text);
        bytes.extend(self.numbers);
        bytes
    }
}

fn no(why: impl Into<String>) -> Error {
    Error::new(ErrorKind::Read, "it is not the file of a graph network")
        .because(Error::new(ErrorKind::Read, why))
        .remedy("make one with `carom learn graph`")
}

fn format_of(header: &Map<String, Value>) -> Option<&str> {
    header.get("__metadata__")?.get("format")?.as_str()
}

/// Header and numbers of a file.
fn header(bytes: &[u8]) -> Result<(Map<String, Value>, &[u8]), Error> {
    let Some((length, rest)) = bytes.split_first_chunk::<8>() else {
        return Err(no("it ends before its header"));
    };
    let length = usize::try_from(u64::from_le_bytes(*length)).unwrap_or(usize::MAX);
    if length > MAX_HEADER || length > rest.len() {
        return Err(no("it ends before its header"));
    }
    let (text, numbers) = rest.split_at(length);
    match serde_json::from_slice(text) {
        Ok(Value::Object(header)) => Ok((header, numbers)),
        _ => Err(no("its header is not in JSON")),
    }
}

struct Reader<'a> {
    header: Map<String, Value>,
    numbers: &'a [u8],
}

impl<'a> Reader<'a> {
    fn new(bytes: &'a [u8]) -> Result<Self, Error> {
        let (header, numbers) = header(bytes)?;
        if format_of(&header) != Some(FORMAT) {
            return Err(no(format!("its format is not '{FORMAT}'")));
        }
        Ok(Self { header, numbers })
    }

    fn metadata(&self, name: &str) -> Option<&str> {
        self.header.get("__metadata__")?.get(name)?.as_str()
    }

    fn card(&self) -> Result<Card, Error> {
        let Some(text) = self.metadata("card") else {
            return Err(no("it has no card: it is a checkpoint of a training"));
        };
        serde_json::from_str(text).map_err(|cause| no(format!("its card cannot be read: {cause}")))
    }

    /// The bytes of a tensor, each number of so many bytes.
    fn tensor(&self, name: &str, kind: &str, size: usize) -> Result<&'a [u8], Error> {
        let entry = self.header.get(name);
        let entry = entry.ok_or_else(|| no(format!("it has no tensor '{name}'")))?;
        let place = |index: usize| {
            let place = entry["data_offsets"][index].as_u64();
            place.and_then(|place| usize::try_from(place).ok())
        };
        let (Some(start), Some(end)) = (place(0), place(1)) else {
            return Err(no(format!("tensor '{name}' has no place")));
        };
        let bytes = self.numbers.get(start..end);
        let bytes =
            bytes.ok_or_else(|| no(format!("it ends before the end of tensor '{name}'")))?;
        if entry["dtype"] != kind || !bytes.len().is_multiple_of(size) {
            return Err(no(format!("tensor '{name}' is not of type {kind}")));
        }
        Ok(bytes)
    }

    fn double(&self, name: &str, count: usize) -> Result<Vec<f64>, Error> {
        let bytes = self.tensor(name, "F64", 8)?;
        let values = bytes.as_chunks::<8>().0.iter();
        checked(
            name,
            count,
            values.map(|bytes| f64::from_le_bytes(*bytes)).collect(),
        )
    }

    fn single(&self, name: &str, count: usize) -> Result<Vec<f32>, Error> {
        let bytes = self.tensor(name, "F32", 4)?;
        let values = bytes.as_chunks::<4>().0.iter();
        checked(
            name,
            count,
            values.map(|bytes| f32::from_le_bytes(*bytes)).collect(),
        )
    }

    fn learned(&self, recipe: &Recipe) -> Result<Learned<f32>, Error> {
        let (width, layers) = (recipe.width, recipe.layers);
        let size = width
            .checked_mul(width)
            .and_then(|size| size.checked_mul(20 * (layers + 1)));
        if width == 0 || size.is_none_or(|size| size > MAX_WEIGHTS) {
            return Err(no(format!(
                "a width of {width} and {layers} layers are no sizes of a network"
            )));
        }
        let mut normalizer = Normalizer::identity();
        for (name, scales) in KINDS.iter().zip(&mut normalizer.features) {
            let values = self.double(name, 2 * scales.len())?;
            scales.copy_from_slice(values.as_chunks::<2>().0);
        }
        normalizer
            .outputs
            .copy_from_slice(&self.double("outputs", 2)?);
        let shape = NetShape {
            width,
            layers,
            features: [0, 1, 2, 3].map(|kind| normalizer.features[kind].len()),
        };
        let layout = Layout::new(&shape);
        let setting = self.double("setting", 2)?;
        if !setting.iter().all(|&number| number > 0.0) {
            return Err(no("its time step and threshold must be positive"));
        }
        Ok(Learned {
            net: Net {
                weights: self.single("weights", layout.count)?,
                shape,
                layout,
            },
            normalizer,
            setting: Setting {
                step: setting[0],
                threshold: setting[1],
                witness: crate::scene::WitnessMode::default(),
            },
        })
    }
}

fn checked<T: Copy + Into<f64>>(name: &str, count: usize, values: Vec<T>) -> Result<Vec<T>, Error> {
    if values.len() != count {
        let found = values.len();
        return Err(no(format!(
            "tensor '{name}' has {found} numbers, not {count}"
        )));
    }
    if values.iter().any(|&value| !value.into().is_finite()) {
        return Err(no(format!(
            "tensor '{name}' has a number that is not finite"
        )));
    }
    Ok(values)
}
