//! Bags of ROS 2 in the MCAP container: records of known messages become arrays, each with its own time stamps.
//!
//! An MCAP file is a row of records, an opcode and a length each; chunks hold further records, mostly compressed. Only schemas,
//! channels, messages and chunks matter here. Time stamps are those of the messages' headers, or of the log where a message has none.
//!
//! | message | arrays of topic `/t` |
//! |---|---|
//! | `JointState` | `/t.position.NAME`, `/t.velocity.NAME`, `/t.effort.NAME` for every joint |
//! | `PoseStamped` | `/t.position`, `/t.orientation` (x y z w) |
//! | `TransformStamped`, `TFMessage` | `/t.CHILD.position`, `/t.CHILD.orientation` |
//! | `Odometry` | as poses, and `/t.linear`, `/t.angular` (both in the body's axes) |
//! | `Imu` | `/t.orientation`, `/t.angular`, `/t.acceleration` |
//! | `Float64`, `Float64MultiArray` | `/t.data` |

use std::collections::BTreeMap;
use std::io::Read;
use std::path::Path;

use super::cdr::{Cdr, CdrError};
use super::table::{Array, Table};
use crate::error;
use crate::npz::budget_of;
use carom::Error;

const MAGIC: &[u8] = b"\x89MCAP0\r\n";
/// Chunks that are larger when unpacked are not read: a guard against files that expand without end.
const MAX_CHUNK: u64 = 256 << 20;

/// What is known of a topic.
struct Topic {
    name: String,
    schema: u16,
    encoding: String,
}

/// Values of an array, with times (ns).
#[derive(Default)]
struct Column {
    times: Vec<i64>,
    width: usize,
    values: Vec<f64>,
}

/// Everything that was read so far.
#[derive(Default)]
struct Bag {
    schemas: BTreeMap<u16, String>,
    topics: BTreeMap<u16, Topic>,
    columns: BTreeMap<String, Column>,
    /// Kinds of messages that are not read, and how many there were.
    others: BTreeMap<String, usize>,
    /// How many bytes may still be unpacked.
    budget: u64,
}

/// Reads a bag.
pub(super) fn read(path: &Path) -> Result<Table, Error> {
    let file = path.display().to_string();
    let bytes = super::read_bytes(path)?;
    let fail = |message: String| error::in_recording(&file, message);
    let Some(records) = bytes.strip_prefix(MAGIC) else {
        return Err(fail(
            "not an MCAP file; a ROS 2 bag in .db3 can be converted by 'ros2 bag convert'"
                .to_owned(),
        ));
    };
    let mut bag = Bag {
        budget: budget_of(bytes.len() as u64),
        ..Bag::default()
    };
    bag.records(records, true).map_err(fail)?;
    if bag.columns.is_empty() {
        let others: Vec<String> = bag
            .others
            .iter()
            .map(|(kind, count)| format!("{count} × {kind}"))
            .collect();
        let there = if others.is_empty() {
            "no messages".to_owned()
        } else {
            others.join(", ")
        };
        return Err(fail(format!(
            "it has {there}; read are JointState, PoseStamped, TransformStamped, TFMessage, Odometry, Imu, Float64 and Float64MultiArray in CDR"
        )));
    }
    Ok(bag.table(file))
}

/// A slice that is read from the front.
struct Bytes<'a>(&'a [u8]);

impl<'a> Bytes<'a> {
    fn take(&mut self, count: u64) -> Result<&'a [u8], String> {
        let count = usize::try_from(count).unwrap_or(usize::MAX);
        let (front, rest) = self
            .0
            .split_at_checked(count)
            .ok_or_else(|| "the file is cut off or damaged".to_owned())?;
        self.0 = rest;
        Ok(front)
    }

    fn number(&mut self, width: u64) -> Result<u64, String> {
        let bytes = self.take(width)?;
        Ok(bytes
            .iter()
            .rev()
            .fold(0, |number, &byte| number << 8 | u64::from(byte)))
    }

    fn id(&mut self) -> Result<u16, String> {
        Ok(u16::try_from(self.number(2)?).unwrap_or(0))
    }

    fn text(&mut self) -> Result<String, String> {
        let length = self.number(4)?;
        Ok(String::from_utf8_lossy(self.take(length)?).into_owned())
    }
}

impl Bag {
    /// Reads records; those of a chunk have no chunks among them.
    fn records(&mut self, bytes: &[u8], has_chunks: bool) -> Result<(), String> {
        let mut rest = Bytes(bytes);
        while !rest.0.is_empty() && !rest.0.starts_with(MAGIC) {
            let opcode = rest.number(1)?;
            let length = rest.number(8)?;
            let content = Bytes(rest.take(length)?);
            match opcode {
                3 => self.schema(content)?,
                4 => self.channel(content)?,
                5 => self.message(content)?,
                6 if has_chunks => self.chunk(content)?,
                6 => return Err("a chunk is within a chunk".to_owned()),
                _ => {}
            }
        }
        Ok(())
    }

    fn schema(&mut self, mut content: Bytes<'_>) -> Result<(), String> {
        let (id, name) = (content.id()?, content.text()?);
        self.schemas.insert(id, name);
        Ok(())
    }

    fn channel(&mut self, mut content: Bytes<'_>) -> Result<(), String> {
        let (id, schema) = (content.id()?, content.id()?);
        let (name, encoding) = (content.text()?, content.text()?);
        self.topics.insert(
            id,
            Topic {
                name,
                schema,
                encoding,
            },
        );
        Ok(())
    }

    fn chunk(&mut self, mut content: Bytes<'_>) -> Result<(), String> {
        content.take(16)?;
        let size = content.number(8)?;
        content.take(4)?;
        let compression = content.text()?;
        let length = content.number(8)?;
        let packed = content.take(length)?;
        let budget = self.budget.checked_sub(size).filter(|_| size <= MAX_CHUNK);
        self.budget = budget.ok_or_else(|| {
            format!("a chunk says it has {size} bytes; that is more than is read beside the size of the file")
        })?;
        let mut unpacked = Vec::new();
        let outcome = match compression.as_str() {
            "" => return self.records(packed, false),
            "zstd" => ruzstd::decoding::StreamingDecoder::new(packed)
                .map_err(|cause| cause.to_string())
                .and_then(|decoder| read_all(decoder, size, &mut unpacked)),
            "lz4" => {
                let decoder = lz4_flex::frame::FrameDecoder::new(packed);
                read_all(decoder, size, &mut unpacked)
            }
            other => Err(format!(
                "'{other}' is unknown; unpack it by 'mcap decompress'"
            )),
        };
        outcome.map_err(|cause| format!("a chunk cannot be unpacked: {cause}"))?;
        self.records(&unpacked, false)
    }

    fn message(&mut self, mut content: Bytes<'_>) -> Result<(), String> {
        let id = content.id()?;
        content.take(4)?;
        let log_time = content.number(8)?;
        content.take(8)?;
        let Some(topic) = self.topics.get(&id) else {
            return Err(format!(
                "a message belongs to channel {id}, which is not described"
            ));
        };
        let schema = self.schemas.get(&topic.schema).cloned().unwrap_or_default();
        let kind = schema.rsplit('/').next().unwrap_or_default().to_owned();
        let (name, encoding) = (topic.name.clone(), topic.encoding.clone());
        if encoding != "cdr" {
            *self
                .others
                .entry(format!("{schema} ({encoding})"))
                .or_default() += 1;
            return Ok(());
        }
        let log_time = i64::try_from(log_time).unwrap_or(0);
        let known = self
            .decode(&kind, &name, log_time, content.0)
            .map_err(|cause| format!("a message of '{name}' ({schema}) cannot be read: {cause}"))?;
        if !known {
            *self.others.entry(schema).or_default() += 1;
        }
        Ok(())
    }

    /// Reads a message; false if its kind is not known.
    fn decode(
        &mut self,
        kind: &str,
        topic: &str,
        log_time: i64,
        bytes: &[u8],
    ) -> Result<bool, CdrError> {
        let mut cdr = Cdr::new(bytes)?;
        let or_log = |stamp: i64| if stamp == 0 { log_time } else { stamp };
        match kind {
            "JointState" => {
                let time = or_log(cdr.header()?.0);
                let count = cdr.length(4)?;
                let names = (0..count)
                    .map(|_| cdr.string())
                    .collect::<Result<Vec<_>, _>>()?;
                for part in ["position", "velocity", "effort"] {
                    for (name, value) in names.iter().zip(cdr.sequence()?) {
                        self.push(format!("{topic}.{part}.{name}"), time, &[value]);
                    }
                }
            }
            "PoseStamped" => {
                let time = or_log(cdr.header()?.0);
                self.pose(topic, time, &mut cdr)?;
            }
            "TransformStamped" => self.transform(topic, log_time, &mut cdr)?,
            "TFMessage" => {
                for _ in 0..cdr.length(60)? {
                    self.transform(topic, log_time, &mut cdr)?;
                }
            }
            "Odometry" => {
                let time = or_log(cdr.header()?.0);
                cdr.string()?;
                self.pose(topic, time, &mut cdr)?;
                cdr.numbers::<36>()?;
                self.push(format!("{topic}.linear"), time, &cdr.numbers::<3>()?);
                self.push(format!("{topic}.angular"), time, &cdr.numbers::<3>()?);
            }
            "Imu" => {
                let time = or_log(cdr.header()?.0);
                for (part, count) in [("orientation", 4), ("angular", 3), ("acceleration", 3)] {
                    let values = (0..count)
                        .map(|_| cdr.f64())
                        .collect::<Result<Vec<_>, _>>()?;
                    self.push(format!("{topic}.{part}"), time, &values);
                    cdr.numbers::<9>()?;
                }
            }
            "Float64" => self.push(format!("{topic}.data"), log_time, &[cdr.f64()?]),
            "Float64MultiArray" => {
                for _ in 0..cdr.length(12)? {
                    cdr.string()?;
                    cdr.u32()?;
                    cdr.u32()?;
                }
                cdr.u32()?;
                let values = cdr.sequence()?;
                self.push(format!("{topic}.data"), log_time, &values);
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn pose(&mut self, topic: &str, time: i64, cdr: &mut Cdr<'_>) -> Result<(), CdrError> {
        self.push(format!("{topic}.position"), time, &cdr.numbers::<3>()?);
        self.push(format!("{topic}.orientation"), time, &cdr.numbers::<4>()?);
        Ok(())
    }

    fn transform(&mut self, topic: &str, log_time: i64, cdr: &mut Cdr<'_>) -> Result<(), CdrError> {
        let (stamp, _) = cdr.header()?;
        let child = cdr.string()?;
        let time = if stamp == 0 { log_time } else { stamp };
        self.pose(&format!("{topic}.{child}"), time, cdr)
    }

    /// Appends a row; rows of another width than the first are left out, as they cannot be columns.
    fn push(&mut self, name: String, time: i64, values: &[f64]) {
        let column = self.columns.entry(name).or_default();
        if column.times.is_empty() {
            column.width = values.len();
        }
        if column.width == values.len() {
            column.times.push(time);
            column.values.extend(values);
        }
    }

    /// Arrays, and beside each `NAME.time` (s) since the first message.
    fn table(self, file: String) -> Table {
        let first = self
            .columns
            .values()
            .filter_map(|column| column.times.first());
        let first = first.min().copied().unwrap_or(0);
        let (mut arrays, mut clocks) = (BTreeMap::new(), BTreeMap::new());
        for (name, column) in self.columns {
            let since = |time: &i64| time.saturating_sub(first) as f64 * 1e-9;
            let seconds = column.times.iter().map(since);
            let array = |width, values| Array {
                width,
                values,
                ..Array::default()
            };
            let clock = format!("{name}.time");
            arrays.insert(clock.clone(), array(1, seconds.collect()));
            arrays.insert(name.clone(), array(column.width, column.values));
            clocks.insert(name, clock);
        }
        Table {
            file,
            arrays,
            others: Vec::new(),
            clocks,
            row_name: "message",
            lines: Vec::new(),
        }
    }
}

/// All that a reader gives, which are as many bytes as the chunk says.
fn read_all(reader: impl Read, size: u64, bytes: &mut Vec<u8>) -> Result<(), String> {
    let outcome = reader.take(size.saturating_add(1)).read_to_end(bytes);
    let found = outcome.map_err(|cause| cause.to_string())? as u64;
    if found != size {
        return Err(format!("it has not the {size} bytes that it says"));
    }
    Ok(())
}
