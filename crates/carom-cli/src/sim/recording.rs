//! `--out`: what is recorded, as .npz or .csv.

use std::io::Write;
use std::path::Path;

use carom::{Input, Model, State};

use crate::command_line::Argument;
use crate::failure::{Failure, VALUE};
use crate::npz::{self, Array, Values};
use crate::output;

/// The extension of a path in small letters.
pub(crate) fn extension(path: &Path) -> Option<String> {
    Some(path.extension()?.to_str()?.to_ascii_lowercase())
}

/// Refuses an output file that could not be written at the end.
pub(super) fn check(out: &Path) -> Result<(), Failure> {
    if !matches!(extension(out).as_deref(), Some("npz" | "csv")) {
        let text = out.to_string_lossy();
        return Err(Argument::new("--out", &text).unfit(
            "the name of a recording says what it is",
            "must end in .npz or .csv",
        ));
    }
    output::check_target(out)?;
    Ok(())
}

/// States, controls and sensor values over time.
pub(super) struct Recording {
    rows: usize,
    columns: Vec<(&'static str, usize, Vec<f64>)>,
}

impl Recording {
    /// An empty recording that will have some rows.
    pub(super) fn new(model: &Model, rows: usize) -> Result<Self, Failure> {
        let n = model.counts();
        let columns = [
            ("time", 1),
            ("qpos", n.nq),
            ("qvel", n.nv),
            ("act", n.na),
            ("ctrl", n.nu),
            ("sensordata", n.nsensor_value),
        ];
        let width: usize = columns.iter().map(|(_, width)| width).sum();
        let bytes = rows as f64 * (8 * width) as f64;
        // What rests shrinks to little, and what is written must be read again.
        if bytes > npz::MAX_EXPANDED_BYTES as f64 {
            let most = npz::MAX_EXPANDED_BYTES as f64 / (1u64 << 30) as f64;
            let every = (bytes / npz::MAX_EXPANDED_BYTES as f64).ceil();
            return Err(Failure::sentence(
                VALUE,
                format!("--out: {rows} rows of {width} numbers are {:.1} GB; a recording has at most {most}", bytes / (1u64 << 30) as f64),
            )
            .help(format!("record fewer steps with --every {every:.0} times what it is now, or simulate a shorter time")));
        }
        Ok(Self {
            rows: 0,
            columns: columns
                .map(|(name, width)| (name, width, Vec::new()))
                .into(),
        })
    }

    /// How many states it has.
    pub(super) fn rows(&self) -> usize {
        self.rows
    }

    /// Adds a state and its controls; what its sensors read is to follow.
    pub(super) fn push_state(&mut self, state: &State, input: &Input) {
        let time = [state.time];
        let rows: [&[f64]; 5] = [&time, &state.qpos, &state.qvel, &state.act, &input.ctrl];
        for ((_, _, values), row) in self.columns.iter_mut().zip(rows) {
            values.extend_from_slice(row);
        }
        self.rows += 1;
    }

    /// Adds what the sensors read in the last state.
    pub(super) fn push_sensors(&mut self, sensors: &[f64]) {
        if let Some((_, _, values)) = self.columns.last_mut() {
            values.extend_from_slice(sensors);
        }
    }

    /// Writes it, whole or not at all.
    pub(super) fn write(self, model: &Model, model_path: &Path, out: &Path) -> Result<(), Failure> {
        if extension(out).as_deref() == Some("csv") {
            return Ok(output::write_whole(out, |file| self.write_csv(file))?);
        }
        let rows = self.rows;
        let mut arrays: Vec<(&str, Array)> = Vec::new();
        for (name, width, values) in self.columns {
            let shape = match name {
                "time" => vec![rows],
                _ => vec![rows, width],
            };
            arrays.push((name, Array::numbers(&shape, values)));
        }
        let strings = |list: &[String]| Array {
            shape: vec![list.len()],
            values: Values::Strings(list.to_vec()),
        };
        let names = &model.structure.names;
        arrays.push(("joint_names", strings(&names.joints)));
        arrays.push(("actuator_names", strings(&names.actuators)));
        arrays.push(("sensor_names", strings(&names.sensors)));
        arrays.push(("model", strings(&[model_path.display().to_string()])));
        let arrays: Vec<(&str, &Array)> =
            arrays.iter().map(|(name, array)| (*name, array)).collect();
        Ok(output::write_whole(out, |file| npz::write(file, &arrays))?)
    }

    fn write_csv(&self, out: &mut impl Write) -> std::io::Result<()> {
        let mut header = Vec::new();
        for (name, width, _) in &self.columns {
            if *name == "time" {
                header.push((*name).to_owned());
            } else {
                header.extend((0..*width).map(|index| format!("{name}[{index}]")));
            }
        }
        writeln!(out, "{}", header.join(","))?;
        for row in 0..self.rows {
            let cells = self
                .columns
                .iter()
                .flat_map(|(_, width, values)| &values[row * width..(row + 1) * width]);
            let cells: Vec<_> = cells.map(f64::to_string).collect();
            writeln!(out, "{}", cells.join(","))?;
        }
        Ok(())
    }
}
