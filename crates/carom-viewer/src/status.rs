//! What the server tells the page about itself.

use serde_json::json;

/// How it goes; sent to the page when it changes.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Status {
    pub(crate) paused: bool,
    /// Simulated seconds per second that are asked for.
    pub(crate) speed: f64,
    /// The same as reached.
    pub(crate) real_time_factor: f64,
    /// What became of the last wish, if there is something to say.
    pub(crate) message: Option<String>,
    /// Why the simulation has stopped.
    pub(crate) error: Option<String>,
    /// Frames and length (s) of a recording; none for a simulation.
    pub(crate) recording: Option<(usize, f64)>,
}

impl Status {
    pub(crate) fn to_json(&self) -> String {
        let mode = if self.recording.is_some() {
            "recording"
        } else {
            "live"
        };
        json!({
            "type": "status", "mode": mode,
            "paused": self.paused, "speed": self.speed, "real_time_factor": self.real_time_factor,
            "message": self.message, "error": self.error,
            "frames": self.recording.map(|(frames, _)| frames),
            "duration": self.recording.map(|(_, duration)| duration),
        })
        .to_string()
    }
}
