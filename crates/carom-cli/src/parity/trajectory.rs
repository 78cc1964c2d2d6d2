//! One step from every recorded state, and the open rollout.

use carom::History;
use carom::model::{Cone, Integrator};
use carom::{Data, Input, Model, State};

use super::compare::{Comparison, Family, Quantity, RowNames, compare};
use super::reference::{Class, Reference};

/// Which steps of the trajectory are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Steps {
    /// Only those without any constraint row in the reference.
    Unconstrained,
    /// All.
    All,
}

/// Allowed error of the velocity after one step.
fn one_step(model: &Model, class: Class) -> f64 {
    match (class, model.settings.cone) {
        (Class::Exact, Cone::Pyramidal) => 1e-11,
        (Class::Exact, Cone::Elliptic) => 1e-10,
        (Class::Ccd, _) => 1e-5,
        (Class::Loose, _) => 1e-3,
    }
}

/// The start shift behind the recorded sensitivities.
const INITIAL_SHIFT: f64 = 1e-10;

/// Allowed error of an open rollout before it is amplified: a few hundred roundings, and for the other classes as
/// much more as their steps may differ more.
fn rollout_base(class: Class) -> f64 {
    match class {
        Class::Exact => 1e-12,
        Class::Ccd => 1e-6,
        Class::Loose => 1e-4,
    }
}

/// Compares one step from every recorded state; reports the worst step of each quantity. The model is run to
/// convergence, as the reference was.
pub(crate) fn compare_steps(
    model: &Model,
    reference: &Reference,
    rows: &RowNames<'_>,
    steps: Steps,
    out: &mut Vec<Comparison>,
) -> Result<usize, String> {
    let constraint_rows = reference.numbers("traj/tight/nefc").to_vec();
    let (mut state, mut input) = reference.snapshot_state(model, 0)?;
    let mut data = Data::new(model);
    let mut worst = [const { None::<Comparison> }; 3];
    let mut compared = 0;
    for step in 0..constraint_rows.len() {
        if steps == Steps::Unconstrained && !is_unconstrained(&constraint_rows, step) {
            continue;
        }
        set_recorded_state(reference, step, &mut state, &mut input)?;
        carom::step(model, &mut state, &input, &mut data);
        compared += 1;
        let results = [
            ("qpos", Family::Qpos, &state.qpos),
            ("qvel", Family::Dof, &state.qvel),
            ("act", Family::Activation, &state.act),
        ];
        for ((name, family, ours), worst) in results.into_iter().zip(&mut worst) {
            let quantity = Quantity {
                stage: "step",
                name: format!("{name} after step {step}"),
                family,
                tolerance: one_step(model, reference.class),
            };
            let theirs = reference.row(&format!("traj/tight/{name}"), step + 1);
            let mut comparison = compare(quantity, rows, ours, theirs);
            if worst
                .as_ref()
                .is_none_or(|worst| comparison.error > worst.error)
            {
                let contacts = data.collision.contacts.len();
                comparison.note = step_note(model, reference, step, contacts);
                *worst = Some(comparison);
            }
        }
    }
    out.extend(worst.into_iter().flatten());
    Ok(compared)
}

/// What may explain a difference after a step.
fn step_note(model: &Model, reference: &Reference, step: usize, contacts: usize) -> Option<String> {
    let recorded = |name: &str| {
        let numbers = reference.numbers(&format!("traj/tight/{name}"));
        numbers.get(step).copied()
    };
    let mut notes = Vec::new();
    // Under RK4 the recorded contacts are those of the last stage.
    let single_stage = model.settings.integrator != Integrator::RungeKutta4;
    let theirs = recorded("ncon").filter(|&theirs| single_stage && theirs != contacts as f64);
    if let Some(theirs) = theirs {
        notes.push(format!("{contacts} contacts, MuJoCo {theirs}"));
    }
    if recorded("ambiguous") == Some(1.0) {
        notes.push("a shift of 1e-10 changes the rows of this step".to_owned());
    }
    (!notes.is_empty()).then(|| notes.join("; "))
}

/// Whether a step has no constraint rows. Under RK4 the recorded rows are those of the last stage; rows of the other
/// stages show up, nearly, in the steps before and after.
fn is_unconstrained(rows: &[f64], step: usize) -> bool {
    let from = step.saturating_sub(1);
    let to = (step + 2).min(rows.len());
    rows[from..to].iter().all(|&count| count == 0.0)
}

/// Compares the open rollout from the first state; only meaningful when all its steps can be simulated.
pub(crate) fn compare_rollout(
    model: &Model,
    reference: &Reference,
    rows: &RowNames<'_>,
    out: &mut Vec<Comparison>,
) -> Result<(), String> {
    let steps = reference.numbers("traj/tight/nefc").len();
    let (mut state, mut input) = reference.snapshot_state(model, 0)?;
    set_recorded_state(reference, 0, &mut state, &mut input)?;
    let mut data = Data::new(model);
    let strict = rollout_base(Class::Exact);
    let base = rollout_base(reference.class);
    // The worst step is the one that uses up most of its tolerance.
    let mut worst = [const { None::<Comparison> }; 2];
    for step in 0..steps {
        input.ctrl.copy_from_slice(reference.row("traj/ctrl", step));
        carom::step(model, &mut state, &input, &mut data);
        let results = [
            ("qpos", Family::Qpos, &state.qpos),
            ("qvel", Family::Dof, &state.qvel),
        ];
        for ((name, family, ours), worst) in results.into_iter().zip(&mut worst) {
            let sensitivity = reference
                .numbers(&format!("traj/tight/sens_{name}"))
                .get(step + 1)
                .copied();
            let quantity = Quantity {
                stage: "rollout",
                name: format!("{name} after {} steps", step + 1),
                family,
                tolerance: base * (1.0 + sensitivity.unwrap_or(0.0) / INITIAL_SHIFT),
            };
            let theirs = reference.row(&format!("traj/tight/{name}"), step + 1);
            let comparison = compare(quantity, rows, ours, theirs);
            let used = |comparison: &Comparison| comparison.error / comparison.tolerance;
            if worst
                .as_ref()
                .is_none_or(|worst| used(&comparison) > used(worst))
            {
                *worst = Some(comparison);
            }
        }
    }
    for comparison in worst.into_iter().flatten() {
        if base > strict {
            let exact = Comparison {
                quantity: format!("{}, as exact", comparison.quantity),
                tolerance: comparison.tolerance * strict / base,
                judged: false,
                ..comparison.clone()
            };
            out.push(exact);
        }
        out.push(comparison);
    }
    Ok(())
}

/// Past controls and sensor values before a step: references do not record them, but the states that led to them.
pub(super) fn histories_before(
    model: &Model,
    reference: &Reference,
    step: usize,
) -> Result<Vec<History>, String> {
    let (mut state, mut input) = (State::reference(model), Input::zeros(model));
    let mut data = Data::new(model);
    for earlier in 0..step {
        set_recorded_state(reference, earlier, &mut state, &mut input)?;
        carom::step(model, &mut state, &input, &mut data);
    }
    Ok(state.history)
}

fn set_recorded_state(
    reference: &Reference,
    step: usize,
    state: &mut State,
    input: &mut Input,
) -> Result<(), String> {
    let copy = |target: &mut [f64], key: &str| {
        let source = reference.row(key, step);
        if source.len() != target.len() {
            return Err(format!(
                "{key} has {} numbers a row, expected {}",
                source.len(),
                target.len()
            ));
        }
        target.copy_from_slice(source);
        Ok(())
    };
    copy(&mut state.qpos, "traj/tight/qpos")?;
    copy(&mut state.qvel, "traj/tight/qvel")?;
    copy(&mut state.act, "traj/tight/act")?;
    copy(&mut state.warmstart, "traj/tight/qacc_warmstart")?;
    copy(&mut input.ctrl, "traj/ctrl")?;
    state.time = reference
        .numbers("traj/tight/time")
        .get(step)
        .copied()
        .unwrap_or(0.0);
    Ok(())
}
