//! Motion in continuous time.

use carom::State;
use carom::flow::{
    Adjoint, Flow, FlowSettings, Method, Motion, Status, StepControl, Tolerance, Tolerances,
};
use carom::rollout::{NoGradient, StateRow};
use numpy::PyArrayDyn;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::arrays::{Numbers, give, pieces, zeros};
use crate::backward::{BarArrays, Bars, ByTheta, Found, Seeds, ThetaArrays, pass};
use crate::batch::{Models, Past, RecordArrays, Sets, StartArrays, Starts};
use crate::errors;
use crate::model::Model;
use crate::threads::{Watch, run};

/// Motions that were followed, and with what.
#[pyclass(frozen, module = "carom._core")]
pub(crate) struct Motions {
    flow: Flow,
    list: Vec<Motion>,
}

/// An event of a motion: when, what, whether it begins, the rate there, whether that is too small for a derivative, whether the
/// contact is held from there on.
type Event = (f64, String, bool, f64, bool, bool);

#[pymethods]
impl Motions {
    /// Whether each motion was followed to its end, and a sentence.
    #[getter]
    fn status(&self) -> Vec<(bool, String)> {
        let status = |motion: &Motion| (motion.status().is_done(), motion.status().to_string());
        self.list.iter().map(status).collect()
    }

    /// Steps taken, steps rejected and evaluations of the acceleration.
    #[getter]
    fn work(&self) -> Vec<(usize, usize, usize)> {
        let work = |motion: &Motion| (motion.steps(), motion.rejected(), motion.evaluations());
        self.list.iter().map(work).collect()
    }

    /// Contacts and limits that begin or cease to act in a motion.
    fn onsets(&self, model: &Bound<'_, Model>, motion: usize) -> PyResult<Vec<Event>> {
        let motion = self.list.get(motion);
        let motion = motion.ok_or_else(|| PyValueError::new_err("there is no such motion"))?;
        let model = &model.get().inner;
        let onsets = motion.onsets().iter().map(|onset| {
            let what = onset.switch.describe(model);
            let flags = (onset.grazes, onset.is_held);
            (onset.time, what, onset.begins, onset.rate, flags.0, flags.1)
        });
        Ok(onsets.collect())
    }
}

fn settings(options: &Bound<'_, PyDict>) -> PyResult<FlowSettings> {
    let get = |key: &str| -> PyResult<Bound<'_, PyAny>> {
        let value = options.get_item(key)?;
        value.ok_or_else(|| PyValueError::new_err(format!("{key} is missing")))
    };
    let word: String = get("method")?.extract()?;
    let method = Method::ALL.iter().find(|(name, _)| *name == word);
    let method = method.map(|&(_, method)| method).ok_or_else(|| {
        let known: Vec<_> = Method::ALL.iter().map(|(name, _)| *name).collect();
        let known = known.join(", ");
        PyValueError::new_err(format!("method '{word}' is not one of {known}"))
    })?;
    let tolerance = |key: &str| -> PyResult<Tolerance> {
        let [absolute, relative] = get(key)?.extract()?;
        Ok(Tolerance { absolute, relative })
    };
    let (way, number): (String, f64) = get("adjoint")?.extract()?;
    let adjoint = match way.as_str() {
        "stored" => Adjoint::Stored,
        #[allow(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a budget of bytes"
        )]
        "checkpointed" => Adjoint::Checkpointed {
            bytes: number as usize,
        },
        "continuous" => Adjoint::Continuous { tolerance: number },
        _ => Adjoint::Backsolve { tolerance: number },
    };
    Ok(FlowSettings {
        method,
        tolerances: Tolerances {
            position: tolerance("position")?,
            velocity: tolerance("velocity")?,
            activation: tolerance("activation")?,
        },
        control: StepControl::default(),
        longest_step: get("longest_step")?.extract()?,
        most_steps: get("most_steps")?.extract()?,
        adjoint,
    })
}

/// Length of the intervals of a motion (s), and their number.
#[derive(FromPyObject)]
pub(crate) struct Intervals(f64, usize);

/// Follows motions over equal intervals and returns the states at their ends; what was not reached is not a number.
#[pyfunction]
pub(crate) fn follow<'py>(
    py: Python<'py>,
    model: &Bound<'py, Model>,
    starts: StartArrays,
    controls: Numbers,
    intervals: Intervals,
    options: &Bound<'py, PyDict>,
    threads: Option<usize>,
) -> PyResult<(Bound<'py, PyArrayDyn<f64>>, Motions)> {
    let Intervals(interval, intervals) = intervals;
    let model = model.get();
    let flow = Flow::new(&model.inner, settings(options)?);
    let flow = flow.map_err(|error| errors::raised(&error))?;
    let starts = Starts::of(model, &starts)?;
    let batch = starts.len();
    let sets = Sets::new(model, &controls, batch, intervals)?;
    let layout = StateRow::new(&model.inner);
    let shape = [batch, intervals.saturating_add(1), layout.width()];
    let mut rows = zeros(&shape)?;
    let jobs = pieces(&mut rows, batch).into_iter().enumerate().collect();
    let work = |(): &mut (), (index, rows): (usize, &mut [f64]), watch: &Watch| {
        let start = starts.state(model, index);
        let goes_on = || watch.goes_on();
        let motion = flow.run_while(&start, &sets.of(index), interval, intervals, &goes_on);
        rows.fill(f64::NAN);
        // A motion that was stopped has its last state where it was, not at the end of an interval.
        let reached = motion.states().len() - usize::from(!motion.status().is_done());
        let states = motion.states()[..reached.max(1)].iter();
        for (state, row) in states.zip(rows.chunks_exact_mut(layout.width())) {
            layout.write(state, row);
        }
        motion
    };
    let list: Vec<Motion> = run(py, threads, jobs, || (), work)?;
    if let Some(place) = list.iter().position(is_not_finite) {
        let message = format!("trajectory {place}: {}", list[place].status());
        return Err(errors::not_finite(message));
    }
    Ok((give(py, rows, &shape)?, Motions { flow, list }))
}

/// Whether a motion ended where it began because of numbers that are not finite.
fn is_not_finite(motion: &Motion) -> bool {
    matches!(motion.status(), Status::NotFinite { .. }) && motion.steps() == 0
}

/// Derivatives of a loss from its derivatives by the states at the ends of intervals.
#[pyfunction]
pub(crate) fn backward_of_motions<'py>(
    py: Python<'py>,
    model: &Bound<'py, Model>,
    motions: &Bound<'py, Motions>,
    recorded: RecordArrays,
    bars: BarArrays,
    by: Option<ThetaArrays<'py>>,
    threads: Option<usize>,
) -> PyResult<Found<'py>> {
    let list = [model.clone()];
    let models = Models::new(&list, recorded.count())?;
    let recorded = Past::new(models.first(), &recorded)?;
    let bars = Bars::new(models.first(), &recorded, &bars)?;
    let by = ByTheta::of(by.as_ref(), models.first())?;
    let Motions { flow, list } = motions.get();
    let gradient = |index: usize, _: &State, loss: &mut Seeds<'_>, watch: &Watch| {
        if !watch.goes_on() {
            return Err(NoGradient::Stopped.at(0));
        }
        list[index].backward(flow, &recorded.sets.of(index), loss)
    };
    pass(
        py,
        &models,
        &recorded,
        &bars,
        by.as_ref(),
        threads,
        gradient,
    )
}
