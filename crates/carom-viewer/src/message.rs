//! What the page says to the server, read from JSON.

use carom::math::Vec3;
use serde_json::Value;

/// Longest message that is read (bytes).
pub(crate) const MAX_MESSAGE_BYTES: usize = 64 * 1024;

/// Most steps that one message can ask for.
const MAX_STEPS: u64 = 100_000;

/// A wish of the page. Every number is finite.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Message {
    Pause,
    Resume,
    /// Pause, and take so many steps.
    Step(u64),
    Reset,
    Keyframe(usize),
    /// Simulated seconds per second.
    Speed(f64),
    Control {
        index: usize,
        value: f64,
    },
    /// One coordinate of a hinge or slide.
    Qpos {
        index: usize,
        value: f64,
    },
    Drag {
        body: usize,
        /// In the frame of the body (m).
        point: Vec3,
        /// Where the point is pulled to, in the world (m).
        target: Vec3,
    },
    Release,
    /// The page has drawn this frame.
    Shown(u32),
}

impl Message {
    /// Reads a message, or says what is wrong with it.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        if text.len() > MAX_MESSAGE_BYTES {
            return Err(format!("a message of {} bytes is too long", text.len()));
        }
        let value: Value = serde_json::from_str(text).map_err(|_| "not JSON".to_owned())?;
        let kind = value.get("type").and_then(Value::as_str);
        let kind = kind.ok_or_else(|| "no \"type\"".to_owned())?;
        let fields = Fields(&value);
        Ok(match kind {
            "pause" => Self::Pause,
            "resume" => Self::Resume,
            "step" => Self::Step(fields.count_or("count", 1)?.min(MAX_STEPS)),
            "reset" => Self::Reset,
            "keyframe" => Self::Keyframe(fields.index("index")?),
            "speed" => Self::Speed(fields.number("value")?),
            "control" => Self::Control {
                index: fields.index("index")?,
                value: fields.number("value")?,
            },
            "qpos" => Self::Qpos {
                index: fields.index("index")?,
                value: fields.number("value")?,
            },
            "drag" => Self::Drag {
                body: fields.index("body")?,
                point: fields.vector("point")?,
                target: fields.vector("target")?,
            },
            "release" => Self::Release,
            "shown" => Self::Shown(
                u32::try_from(fields.count_or("frame", 0)?)
                    .map_err(|_| "\"frame\" is too large".to_owned())?,
            ),
            other => {
                let short: String = other.chars().take(40).collect();
                return Err(format!("unknown type \"{short}\""));
            }
        })
    }
}

struct Fields<'a>(&'a Value);

impl Fields<'_> {
    fn index(&self, key: &str) -> Result<usize, String> {
        let index = self.0.get(key).and_then(Value::as_u64);
        let index = index.and_then(|index| usize::try_from(index).ok());
        index.ok_or_else(|| format!("\"{key}\" must be a whole number, 0 or more"))
    }

    fn count_or(&self, key: &str, default: u64) -> Result<u64, String> {
        let Some(value) = self.0.get(key) else {
            return Ok(default);
        };
        let count = value.as_u64();
        count.ok_or_else(|| format!("\"{key}\" must be a whole number, 0 or more"))
    }

    fn number(&self, key: &str) -> Result<f64, String> {
        let number = self.0.get(key).and_then(finite);
        number.ok_or_else(|| format!("\"{key}\" must be a number"))
    }

    fn vector(&self, key: &str) -> Result<Vec3, String> {
        let list = self.0.get(key).and_then(Value::as_array);
        let list: Option<Vec<f64>> = list.and_then(|list| list.iter().map(finite).collect());
        let vector = list.and_then(|list| <[f64; 3]>::try_from(list).ok());
        let vector = vector.ok_or_else(|| format!("\"{key}\" must be three numbers"));
        Ok(Vec3(vector?))
    }
}

fn finite(value: &Value) -> Option<f64> {
    value.as_f64().filter(|number| number.is_finite())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_every_message() {
        let examples = [
            (r#"{"type":"pause"}"#, Message::Pause),
            (r#"{"type":"resume"}"#, Message::Resume),
            (r#"{"type":"step"}"#, Message::Step(1)),
            (r#"{"type":"step","count":5}"#, Message::Step(5)),
            (r#"{"type":"reset"}"#, Message::Reset),
            (r#"{"type":"keyframe","index":2}"#, Message::Keyframe(2)),
            (r#"{"type":"speed","value":0.5}"#, Message::Speed(0.5)),
            (
                r#"{"type":"control","index":1,"value":-2}"#,
                Message::Control {
                    index: 1,
                    value: -2.0,
                },
            ),
            (
                r#"{"type":"qpos","index":7,"value":1e-3}"#,
                Message::Qpos {
                    index: 7,
                    value: 1e-3,
                },
            ),
            (
                r#"{"type":"drag","body":3,"point":[0,0,0.1],"target":[1,2,3]}"#,
                Message::Drag {
                    body: 3,
                    point: Vec3([0.0, 0.0, 0.1]),
                    target: Vec3([1.0, 2.0, 3.0]),
                },
            ),
            (r#"{"type":"release"}"#, Message::Release),
            (r#"{"type":"shown","frame":9}"#, Message::Shown(9)),
        ];
        for (text, expected) in examples {
            assert_eq!(Message::parse(text), Ok(expected), "{text}");
        }
    }

    #[test]
    fn says_what_is_wrong() {
        let examples = [
            ("", "not JSON"),
            ("[1]", "no \"type\""),
            (r#"{"type":5}"#, "no \"type\""),
            (r#"{"type":"explode"}"#, "unknown type \"explode\""),
            (
                r#"{"type":"step","count":-1}"#,
                "\"count\" must be a whole number, 0 or more",
            ),
            (r#"{"type":"speed"}"#, "\"value\" must be a number"),
            (
                r#"{"type":"control","index":1,"value":"NaN"}"#,
                "\"value\" must be a number",
            ),
            // JSON has no such number, so the whole text is refused.
            (r#"{"type":"speed","value":1e999}"#, "not JSON"),
            (
                r#"{"type":"drag","body":0,"point":[1,2],"target":[1,2,3]}"#,
                "\"point\" must be three numbers",
            ),
            (
                r#"{"type":"shown","frame":99999999999}"#,
                "\"frame\" is too large",
            ),
        ];
        for (text, expected) in examples {
            assert_eq!(Message::parse(text), Err(expected.to_owned()), "{text}");
        }
        assert!(Message::parse(&" ".repeat(MAX_MESSAGE_BYTES + 1)).is_err());
    }
}
