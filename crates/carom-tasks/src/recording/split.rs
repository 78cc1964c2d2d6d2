//! From rows of a file to trajectories: where they begin, and when their frames are.

use std::ops::Range;

use super::bind::Binder;
use super::mapping::NumberOrName;
use super::table::Table;
use carom::Error;

/// Times closer than this are one frame (s), where arrays have time stamps of their own.
const SAME_TIME: f64 = 1e-6;

/// Converted numbers of every row.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Series {
    /// What it is, for messages.
    pub(super) what: String,
    pub(super) width: usize,
    pub(super) values: Vec<f64>,
    pub(super) rows_per_trajectory: Option<usize>,
    /// Array of its time stamps, if it has its own.
    pub(super) clock: Option<String>,
}

impl Series {
    pub(super) fn rows(&self) -> usize {
        self.values.len() / self.width.max(1)
    }
}

/// A trajectory as rows of a file.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Piece {
    pub(super) file: String,
    /// Times of its frames (s), the first one 0.
    pub(super) times: Vec<f64>,
    /// For each series, its row at each frame, if it has one there.
    pub(super) rows: Vec<Vec<Option<usize>>>,
    /// For each control, the row that holds from each frame on.
    pub(super) control_rows: Vec<Vec<usize>>,
}

/// The trajectories of a file.
pub(super) fn split(
    binder: &Binder<'_>,
    table: &Table,
    frames: usize,
    series: &[Series],
    controls: &[(usize, Series)],
) -> Result<Vec<Piece>, Error> {
    let all = series
        .iter()
        .chain(controls.iter().map(|(_, series)| series));
    if let Some(empty) = all.clone().find(|series| series.values.is_empty()) {
        return Err(table.error(&format!("{} is empty: there are no frames", empty.what)));
    }
    if all.clone().any(|series| series.clock.is_some()) {
        return by_clocks(binder, table, series, controls);
    }
    let splitter = Splitter {
        binder,
        table,
        frames,
    };
    splitter.by_rows(series, controls)
}

struct Splitter<'a> {
    binder: &'a Binder<'a>,
    table: &'a Table,
    frames: usize,
}

impl Splitter<'_> {
    fn by_rows(
        &self,
        series: &[Series],
        controls: &[(usize, Series)],
    ) -> Result<Vec<Piece>, Error> {
        let first = &series[0];
        let rows = first.rows();
        if let Some(other) = series.iter().find(|other| other.rows() != rows) {
            return Err(self.table.error(&format!(
                "{} has {} rows, but {} has {rows}; all arrays need one row a frame (or time stamps of their own: time = …)",
                other.what,
                other.rows(),
                first.what
            )));
        }
        let splits = |other: &&Series| other.rows_per_trajectory != first.rows_per_trajectory;
        if let Some(other) = series.iter().find(splits) {
            let frames = |series: &Series| match series.rows_per_trajectory {
                Some(frames) => format!("{frames} frames a trajectory"),
                None => "no axis of trajectories".to_owned(),
            };
            return Err(self.table.error(&format!(
                "{} has {}, but {} has {}; all arrays need the same",
                other.what,
                frames(other),
                first.what,
                frames(first)
            )));
        }
        let ranges = self.ranges(rows, first.rows_per_trajectory)?;
        let ranges = self.kept(ranges)?;
        let stamps = self.stamps(rows)?;
        let mut pieces = Vec::new();
        for (index, range) in ranges {
            let control_rows = self.control_rows(controls, first, rows, index, &range)?;
            for part in self.without_gaps(range.clone(), stamps.as_deref()) {
                let times = self.times(&part, stamps.as_deref())?;
                if times.len()
                    < self
                        .binder
                        .mapping
                        .trajectories
                        .min_frames
                        .unwrap_or(2)
                        .max(2)
                {
                    continue;
                }
                let shift = part.start - range.start;
                pieces.push(Piece {
                    file: self.table.file.clone(),
                    rows: vec![part.clone().map(Some).collect(); series.len()],
                    control_rows: (control_rows.iter())
                        .map(|rows| rows[shift..][..times.len()].to_vec())
                        .collect(),
                    times,
                });
            }
        }
        Ok(pieces)
    }

    /// First and last rows of trajectories.
    fn ranges(
        &self,
        rows: usize,
        per_trajectory: Option<usize>,
    ) -> Result<Vec<Range<usize>>, Error> {
        let how = &self.binder.mapping.trajectories;
        if let Some(count) = per_trajectory.filter(|&count| count > 0) {
            return Ok((0..rows / count)
                .map(|k| k * count..(k + 1) * count)
                .collect());
        }
        let mut starts = vec![0];
        if let Some(name) = &how.offsets {
            starts = self.offsets(name, rows)?;
        }
        for name in &how.columns {
            let Some(column) = self.table.arrays.get(name) else {
                return Err(self.table.error(&format!(
                    "[trajectories] columns: there is no '{name}' (it has {})",
                    self.table.names()
                )));
            };
            let values = &column.values;
            let change = |&row: &usize| values.get(row - 1) != values.get(row);
            starts.extend((1..rows).filter(change));
        }
        starts.sort_unstable();
        starts.dedup();
        starts.push(rows);
        Ok(starts.windows(2).map(|pair| pair[0]..pair[1]).collect())
    }

    #[allow(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "checked to be whole numbers within the rows"
    )]
    fn offsets(&self, name: &str, rows: usize) -> Result<Vec<usize>, Error> {
        let what = "[trajectories] offsets";
        let block = self.table.block(&[name.to_owned()], 1, what)?;
        let mut starts = Vec::new();
        for (index, &offset) in block.values.iter().enumerate() {
            let before = starts.last().copied();
            let is_row = offset >= 0.0 && offset <= rows as f64 && offset.fract() == 0.0;
            if !is_row || before.is_some_and(|before| offset as usize <= before) {
                return Err(self.table.error(&format!(
                    "{what}: '{name}' must rise from 0 to the number of rows ({rows}), but its entry {index} is {offset}"
                )));
            }
            starts.push(offset as usize);
        }
        if starts.first() != Some(&0) || starts.last().is_some_and(|&last| last < rows) {
            return Err(self.table.error(&format!(
                "{what}: '{name}' must begin with 0 and end with the number of rows ({rows}); it goes from {:?} to {:?}",
                block.values.first().copied().unwrap_or(f64::NAN),
                block.values.last().copied().unwrap_or(f64::NAN)
            )));
        }
        starts.pop();
        Ok(starts)
    }

    /// Trajectories with their numbers, without those that are left out.
    fn kept(&self, ranges: Vec<Range<usize>>) -> Result<Vec<(usize, Range<usize>)>, Error> {
        let Some(name) = &self.binder.mapping.trajectories.keep else {
            return Ok(ranges.into_iter().enumerate().collect());
        };
        let block = self
            .table
            .block(std::slice::from_ref(name), 1, "[trajectories] keep")?;
        if block.values.len() != ranges.len() {
            return Err(self.table.error(&format!(
                "[trajectories] keep: '{name}' has {} numbers, but there are {} trajectories",
                block.values.len(),
                ranges.len()
            )));
        }
        let all = ranges.into_iter().enumerate();
        Ok(all
            .filter(|(index, _)| block.values[*index] != 0.0)
            .collect())
    }

    /// Time stamps (s) of all rows, if there are any.
    fn stamps(&self, rows: usize) -> Result<Option<Vec<f64>>, Error> {
        let time = &self.binder.mapping.time;
        let given = [
            time.dt.is_some(),
            time.rate.is_some(),
            time.column.is_some(),
        ];
        if given.iter().filter(|&&is_given| is_given).count() != 1 {
            return Err(self.binder.error(
                "[time] needs exactly one of 'column' (time stamps), 'dt' (seconds between frames) and 'rate' (frames per second)",
            ));
        }
        let Some(name) = &time.column else {
            return Ok(None);
        };
        let block = self
            .table
            .block(std::slice::from_ref(name), self.frames, "[time] column")?;
        if block.values.len() != rows {
            return Err(self.table.error(&format!(
                "[time] column: '{name}' has {} rows, but there are {rows} frames",
                block.values.len()
            )));
        }
        super::pose::check_values(self.table, &block, false, "[time] column")?;
        let factor = time.factor.unwrap_or(1.0);
        Ok(Some(
            block.values.iter().map(|stamp| stamp * factor).collect(),
        ))
    }

    /// Cuts at long gaps.
    fn without_gaps(&self, range: Range<usize>, stamps: Option<&[f64]>) -> Vec<Range<usize>> {
        let longest = self.binder.mapping.trajectories.max_gap;
        let (Some(longest), Some(stamps)) = (longest, stamps) else {
            return vec![range];
        };
        let mut starts = vec![range.start];
        starts.extend(
            (range.start + 1..range.end).filter(|&row| stamps[row] - stamps[row - 1] > longest),
        );
        starts.push(range.end);
        starts.windows(2).map(|pair| pair[0]..pair[1]).collect()
    }

    /// Times of the frames of a trajectory.
    fn times(&self, range: &Range<usize>, stamps: Option<&[f64]>) -> Result<Vec<f64>, Error> {
        let time = &self.binder.mapping.time;
        let Some(stamps) = stamps else {
            let dt = self.time_between_frames()?;
            return Ok((0..range.len()).map(|frame| frame as f64 * dt).collect());
        };
        let name = time.column.as_deref().unwrap_or_default();
        let factor = time.factor.unwrap_or(1.0);
        let rows: Vec<usize> = range.clone().collect();
        check_rising(self.table, name, &rows, stamps, factor)?;
        let start = stamps[range.start];
        Ok(stamps[range.clone()]
            .iter()
            .map(|stamp| stamp - start)
            .collect())
    }

    fn time_between_frames(&self) -> Result<f64, Error> {
        let time = &self.binder.mapping.time;
        let factor = time.factor.unwrap_or(1.0);
        let dt = match (&time.dt, &time.rate) {
            (Some(dt), _) => self.number(dt, "[time] dt")? * factor,
            (_, Some(rate)) => 1.0 / self.number(rate, "[time] rate")?,
            _ => f64::NAN,
        };
        if dt > 0.0 && dt.is_finite() {
            return Ok(dt);
        }
        Err(self.table.error(&format!(
            "[time]: frames are {dt} s apart; that must be a number above 0"
        )))
    }

    fn number(&self, given: &NumberOrName, what: &str) -> Result<f64, Error> {
        match given {
            NumberOrName::Number(number) => Ok(*number),
            NumberOrName::Name(name) => {
                let values = self
                    .table
                    .block(std::slice::from_ref(name), 1, what)?
                    .values;
                match values.first() {
                    Some(first) if first.is_nan() => Err(self.table.error(&format!(
                        "{what}: '{name}' is NaN; give the number in the mapping instead"
                    ))),
                    Some(&first) if values.iter().all(|&other| other == first) => Ok(first),
                    _ => Err(self.table.error(&format!(
                        "{what}: '{name}' should be one number, it has {} (time stamps go into 'column')",
                        values.len()
                    ))),
                }
            }
        }
    }

    /// Rows of controls of a trajectory; there may be one fewer than frames, and the last one is held.
    fn control_rows(
        &self,
        controls: &[(usize, Series)],
        first: &Series,
        rows: usize,
        index: usize,
        range: &Range<usize>,
    ) -> Result<Vec<Vec<usize>>, Error> {
        let mut all = Vec::new();
        for (_, series) in controls {
            let (start, count) = match (series.rows_per_trajectory, first.rows_per_trajectory) {
                (Some(own), Some(frames)) if own == frames || own + 1 == frames => {
                    (index * own, own)
                }
                _ if series.rows() == rows => (range.start, range.len()),
                _ if series.rows() + 1 == rows && range.len() == rows => (0, rows - 1),
                _ => {
                    return Err(self.table.error(&format!(
                        "{} has {} rows, but there are {rows} frames; controls need one row a frame, or one fewer",
                        series.what,
                        series.rows()
                    )));
                }
            };
            let row = |frame: usize| start + frame.min(count - 1);
            all.push((0..range.len()).map(row).collect());
        }
        Ok(all)
    }
}

/// Refuses time stamps that do not rise.
fn check_rising(
    table: &Table,
    name: &str,
    rows: &[usize],
    stamps: &[f64],
    factor: f64,
) -> Result<(), Error> {
    for pair in rows.windows(2) {
        let (before, now) = (stamps[pair[0]], stamps[pair[1]]);
        if now > before {
            continue;
        }
        let (place, before, now) = (table.row(pair[1]), before / factor, now / factor);
        return Err(table.error(&if now == before {
            format!("time stamps '{name}', {place}: {now} repeats the one before; remove one of the two rows")
        } else {
            format!(
                "time stamps '{name}', {place}: {now} comes after {before}; sort the rows by time, or split trajectories by [trajectories] columns or offsets"
            )
        }));
    }
    Ok(())
}

/// Part of a time step within which controls may be off.
const NEAR_STEP: f64 = 0.25;

/// Times of frames, and those of controls between them that are not near one.
fn with_controls(times: &[f64], controls: &[Vec<f64>], near: f64) -> Vec<f64> {
    let [first, .., last] = times else {
        return times.to_vec();
    };
    let is_between = |time: &f64| {
        let after = times.partition_point(|other| other < time);
        let is_near = |other: Option<&f64>| other.is_some_and(|other| (other - time).abs() <= near);
        first < time && time < last && !is_near(times.get(after)) && !is_near(times.get(after - 1))
    };
    let mut between: Vec<f64> = controls
        .iter()
        .flatten()
        .copied()
        .filter(is_between)
        .collect();
    between.sort_by(f64::total_cmp);
    between.dedup_by(|next, kept| *next - *kept <= near);
    let mut all = [times, &between].concat();
    all.sort_by(f64::total_cmp);
    all
}

/// The trajectories of a file whose arrays have time stamps of their own: frames are all times at which anything was recorded.
fn by_clocks(
    binder: &Binder<'_>,
    table: &Table,
    series: &[Series],
    controls: &[(usize, Series)],
) -> Result<Vec<Piece>, Error> {
    let how = &binder.mapping.trajectories;
    if how.axis || how.offsets.is_some() || !how.columns.is_empty() || how.keep.is_some() {
        return Err(binder.error(
            "arrays with time stamps of their own can be split by [trajectories] max_gap only, not by axis, offsets, columns or keep",
        ));
    }
    let factor = binder.mapping.time.factor.unwrap_or(1.0);
    let stamps_of = |series: &Series| -> Result<Vec<f64>, Error> {
        let clock = series
            .clock
            .as_ref()
            .or(binder.mapping.time.column.as_ref());
        let Some(name) = clock else {
            return Err(binder.error(&format!(
                "{} has no time stamps; give [time] column, or its own 'time'",
                series.what
            )));
        };
        let block = table.block(std::slice::from_ref(name), 1, "time")?;
        super::pose::check_values(table, &block, false, "time")?;
        if block.values.len() != series.rows() {
            return Err(table.error(&format!(
                "{} has {} rows, but its time stamps '{name}' have {}",
                series.what,
                series.rows(),
                block.values.len()
            )));
        }
        let stamps: Vec<f64> = block.values.iter().map(|stamp| stamp * factor).collect();
        check_rising(
            table,
            name,
            &(0..stamps.len()).collect::<Vec<_>>(),
            &stamps,
            factor,
        )?;
        Ok(stamps)
    };
    let stamps: Vec<Vec<f64>> = series.iter().map(stamps_of).collect::<Result<_, _>>()?;
    let control_stamps =
        (controls.iter().map(|(_, series)| stamps_of(series))).collect::<Result<Vec<_>, _>>()?;
    let mut times: Vec<f64> = stamps.iter().flatten().copied().collect();
    times.sort_by(f64::total_cmp);
    times.dedup_by(|next, kept| *next - *kept < SAME_TIME);
    let longest = how.max_gap.unwrap_or(f64::INFINITY);
    // Controls that come between frames begin to act there, and not at the next one; by less than a part of a step they may be off.
    let near = SAME_TIME.max(NEAR_STEP * binder.model.option.timestep[0]);
    let mut pieces = Vec::new();
    for times in times.chunk_by(|before, next| next - before <= longest) {
        if times.len() < how.min_frames.unwrap_or(2).max(2) {
            continue;
        }
        let times = with_controls(times, &control_stamps, near);
        let at = |stamps: &Vec<f64>| -> Vec<Option<usize>> {
            let row = |&time: &f64| {
                let row = stamps.partition_point(|&stamp| stamp < time);
                (row < stamps.len() && stamps[row] - time < SAME_TIME).then_some(row)
            };
            times.iter().map(row).collect()
        };
        let held = |stamps: &Vec<f64>| -> Vec<usize> {
            let row = |&time: &f64| stamps.partition_point(|&stamp| stamp <= time + near);
            times
                .iter()
                .map(|time| row(time).saturating_sub(1))
                .collect()
        };
        pieces.push(Piece {
            file: table.file.clone(),
            times: times.iter().map(|time| time - times[0]).collect(),
            rows: stamps.iter().map(at).collect(),
            control_rows: control_stamps.iter().map(held).collect(),
        });
    }
    Ok(pieces)
}
