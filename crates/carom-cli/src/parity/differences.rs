//! Transition Jacobians: carom's derivatives, and its centred differences made as the reference made them.
//!
//! The state is [q, v, w] in the tangent space: positions are moved along the dofs, results are compared along them.
//! Controls stay within their ranges: at a bound the difference is one-sided.

use carom::linearize::{self, Linearization};
use carom::{Data, Input, Model, State};

use super::compare::{Comparison, Family, RowNames};
use super::reference::{Class, Reference};
use super::snapshots::Checker;

/// Size of the differences.
const DIFFERENCE_STEP: f64 = 1e-6;
/// Share of their size by which the differences to both sides of a kink disagree.
const MIN_KINK_SHARE: f64 = 0.1;

/// Compares `fd/A` and `fd/B` of a snapshot, where the reference has them. The model is run to convergence.
pub(crate) fn compare_differences(
    tight: &Model,
    reference: &Reference,
    rows: &RowNames<'_>,
    snapshot: usize,
    out: &mut Vec<Comparison>,
) -> Result<(), String> {
    let tolerance = match reference.class {
        Class::Exact => 1e-5,
        Class::Ccd => 1e-3,
        Class::Loose => return Ok(()),
    };
    let mut check = Checker {
        reference,
        rows,
        snapshot,
        out,
    };
    let (Some(by_state), Some(by_control)) = (check.theirs("fd/A"), check.theirs("fd/B")) else {
        return Ok(());
    };
    let (state, input) = reference.snapshot_state(tight, snapshot)?;
    let n = tight.counts();
    let size = 2 * n.nv + n.na;
    if by_state.is_empty() {
        return Ok(());
    }
    let mut data = Data::new(tight);
    carom::forward(tight, &state, &input, &mut data);
    let mut exact = Linearization::new(tight);
    linearize::step(tight, &state, &input, &mut data, &mut exact);
    let mut stepper = Stepper::new(tight, state, input);
    let columns = (0..size).map(|column| stepper.by_state(column));
    let ours = transposed(&columns.collect::<Vec<_>>(), size);
    let label = |row: usize| match row {
        row if row < n.nv => format!("position along {}", rows.row(Family::Dof, row)),
        row if row < 2 * n.nv => format!("velocity of {}", rows.row(Family::Dof, row - n.nv)),
        row => rows.row(Family::Activation, row - 2 * n.nv),
    };
    let stage = "differences";
    check.check_labelled(
        (stage, "fd/A"),
        tolerance,
        (size, &label),
        [&ours, &by_state],
    );
    let columns = (0..n.nu).map(|control| stepper.by_control(control));
    let ours = transposed(&columns.collect::<Vec<_>>(), size);
    check.check_labelled(
        (stage, "fd/B"),
        tolerance,
        (size, &label),
        [&ours, &by_control],
    );
    let stage = "linearize";
    for (name, ours, mut theirs, width) in [
        ("A", &exact.a, by_state, size),
        ("B", &exact.b, by_control, n.nu),
    ] {
        let kinks = (0..width)
            .filter(|&column| {
                let differ = differ([ours, &theirs], width, column, tolerance);
                let has_kink = differ && stepper.has_kink(name == "A", column);
                if has_kink {
                    for row in 0..size {
                        theirs[row * width + column] = ours[row * width + column];
                    }
                }
                has_kink
            })
            .count();
        let arrays = [&**ours, &*theirs];
        check.check_labelled((stage, name), tolerance, (size, &label), arrays);
        if let (Some(last), true) = (check.out.last_mut(), kinks > 0) {
            last.note = Some(format!(
                "{kinks} of {width} columns have a kink here and are not judged"
            ));
        }
    }
    Ok(())
}

/// Whether a column of two matrices differs by more than the tolerance.
fn differ([ours, theirs]: [&[f64]; 2], width: usize, column: usize, tolerance: f64) -> bool {
    let scale = theirs.iter().fold(1.0_f64, |most, x| most.max(x.abs()));
    let rows = ours.chunks_exact(width).zip(theirs.chunks_exact(width));
    let mut errors = rows.map(|(ours, theirs)| (ours[column] - theirs[column]).abs());
    errors.any(|error| error > tolerance * scale)
}

/// Rows from columns of `size` numbers.
fn transposed(columns: &[Vec<f64>], size: usize) -> Vec<f64> {
    let rows = 0..size;
    rows.flat_map(|row| columns.iter().map(move |column| column[row]))
        .collect()
}

/// Steps from states near a given one.
struct Stepper<'a> {
    model: &'a Model,
    state: State,
    input: Input,
    data: Data,
}

impl<'a> Stepper<'a> {
    fn new(model: &'a Model, state: State, input: Input) -> Self {
        Self {
            data: Data::new(model),
            model,
            state,
            input,
        }
    }

    /// The next state, from a changed state and input.
    fn step(&mut self, change: impl FnOnce(&mut State, &mut Input)) -> State {
        let (mut state, mut input) = (self.state.clone(), self.input.clone());
        change(&mut state, &mut input);
        carom::step(self.model, &mut state, &input, &mut self.data);
        state
    }

    /// The next state, from one that is moved along a column.
    fn moved(&mut self, column: usize, by: f64) -> State {
        let model = self.model;
        let nv = model.counts().nv;
        self.step(|state, _| match column {
            column if column < nv => {
                let mut direction = vec![0.0; nv];
                direction[column] = 1.0;
                carom::integrate_positions(model, &mut state.qpos, &direction, by);
            }
            column if column < 2 * nv => state.qvel[column - nv] += by,
            column => state.act[column - 2 * nv] += by,
        })
    }

    fn by_state(&mut self, column: usize) -> Vec<f64> {
        let [minus, plus] = [-DIFFERENCE_STEP, DIFFERENCE_STEP].map(|by| self.moved(column, by));
        quotient(self.model, &minus, &plus, 2.0 * DIFFERENCE_STEP)
    }

    /// Whether the differences to both sides disagree, so that there is no derivative to compare with.
    fn has_kink(&mut self, of_state: bool, column: usize) -> bool {
        let [minus, here, plus] = [-DIFFERENCE_STEP, 0.0, DIFFERENCE_STEP].map(|by| {
            if of_state {
                self.moved(column, by)
            } else {
                self.step(|_, input| input.ctrl[column] += by)
            }
        });
        let below = quotient(self.model, &minus, &here, DIFFERENCE_STEP);
        let above = quotient(self.model, &here, &plus, DIFFERENCE_STEP);
        let greatest = |numbers: &mut dyn Iterator<Item = f64>| {
            numbers.fold(0.0_f64, |most, number| most.max(number.abs()))
        };
        let gap = greatest(&mut below.iter().zip(&above).map(|(a, b)| a - b));
        let size = greatest(&mut below.iter().chain(&above).copied());
        gap > MIN_KINK_SHARE * size
    }

    fn by_control(&mut self, control: usize) -> Vec<f64> {
        let model = self.model;
        let value = self.input.ctrl[control];
        let [low, high] = control_range(model, control);
        let inside =
            |by: f64| (low..=high).contains(&value) && (low..=high).contains(&(value + by));
        let below = if inside(-DIFFERENCE_STEP) {
            -DIFFERENCE_STEP
        } else {
            0.0
        };
        let above = if inside(DIFFERENCE_STEP) {
            DIFFERENCE_STEP
        } else {
            0.0
        };
        let [minus, plus] =
            [below, above].map(|by| self.step(|_, input| input.ctrl[control] += by));
        quotient(model, &minus, &plus, (above - below).max(f64::MIN_POSITIVE))
    }
}

/// The range of a control; infinite where it is not limited.
fn control_range(model: &Model, control: usize) -> [f64; 2] {
    let unlimited = [f64::NEG_INFINITY, f64::INFINITY];
    model.control_range(control).unwrap_or(unlimited)
}

/// The difference of two states over a distance, in the tangent space.
fn quotient(model: &Model, from: &State, to: &State, distance: f64) -> Vec<f64> {
    let nv = model.counts().nv;
    let mut tangent = vec![0.0; nv];
    carom::difference(model, &from.qpos, &to.qpos, &mut tangent);
    let differ = |(a, b): (&f64, &f64)| b - a;
    tangent.extend(from.qvel.iter().zip(&to.qvel).map(differ));
    tangent.extend(from.act.iter().zip(&to.act).map(differ));
    tangent.iter().map(|number| number / distance).collect()
}
