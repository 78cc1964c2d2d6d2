//! CPU time of an identification on one thread, from recordings in memory to what was found.

use std::path::Path;

use carom::Model;
use carom_tasks::identify::{Settings, Solution, Task, Unwatched};
use carom_tasks::recording::{self, Mapping, Recordings};
use cpu_time::ProcessTime;
use serde_json::Value;

/// What is asked, ready to be solved again and again.
pub(super) struct Question {
    recordings: Recordings,
    settings: Settings,
}

impl Question {
    /// `"recording"`, `"mapping"` and `"settings"`: paths, as those of `carom identify`.
    pub(super) fn from_request(request: &Value, model: &Model) -> Result<Self, String> {
        let path = |name: &str| {
            let path = request[name].as_str().map(Path::new);
            path.ok_or_else(|| format!("the request names no {name}"))
        };
        let mapping = Mapping::read(path("mapping")?).map_err(|error| error.to_string())?;
        let recordings = recording::load(model, &mapping, &[path("recording")?.to_owned()])
            .map_err(|error| error.to_string())?;
        let settings = Settings::read(path("settings")?).map_err(|error| error.to_string())?;
        Ok(Self {
            recordings,
            settings: Settings {
                threads: Some(1),
                ..settings
            },
        })
    }

    /// Microseconds of a search, and its end.
    pub(super) fn measure(&self, model: &Model) -> Result<(f64, Solution), String> {
        let begin = ProcessTime::now();
        let task = Task::new(model, &self.recordings, self.settings.clone())
            .map_err(|error| error.to_string())?;
        let solution = task.solve(None, None, &mut Unwatched);
        let microseconds = begin.elapsed().as_secs_f64() * 1e6;
        Ok((microseconds, solution.map_err(|error| error.to_string())?))
    }
}
