//! Steps read backwards with room for a few states only.
//!
//! The others are simulated again from the nearest one before them, by the schedule that repeats the fewest steps
//! [Griewank 2000]: with room for c states and every step simulated at most t times, C(c + t, c) steps can be reversed.

use crate::error::Error;
use std::ops::Range;

/// States that are stored in any case: the first, and those before and after the step at hand.
pub(crate) const RESERVE: usize = 3;

/// Steps that can be simulated again from stored states.
pub(crate) trait Reversible {
    /// Number of states that are stored.
    fn stored(&self) -> usize;
    /// Simulates steps from the last stored state on, storing the states after them or not.
    fn simulate(&mut self, steps: Range<usize>, store: bool) -> Result<(), Error>;
    /// Stores the state that the simulation is at.
    fn store(&mut self);
    /// Forgets all stored states but the first ones.
    fn forget(&mut self, states: usize);
    /// Reads steps backwards whose states are stored from `first` on.
    fn reverse_stored(&mut self, first: usize, steps: Range<usize>) -> Result<(), Error>;
}

/// Reverses steps, the first of which begins at the one stored state, with room for so many states in all, [`RESERVE`] at
/// least.
pub(crate) fn reverse(
    what: &mut impl Reversible,
    steps: Range<usize>,
    states: usize,
) -> Result<(), Error> {
    reverse_within(what, steps, states.saturating_sub(RESERVE))
}

/// Reverses steps, the first of which begins at the last stored state. `room` states may be stored besides the reserve; in
/// the end those are stored that were.
fn reverse_within(
    what: &mut impl Reversible,
    steps: Range<usize>,
    room: usize,
) -> Result<(), Error> {
    let first = what.stored() - 1;
    // Of the reserve, the states before and after the step at hand are free here.
    if steps.len() < room + RESERVE {
        what.simulate(steps.clone(), true)?;
        what.reverse_stored(first, steps)?;
    } else if room == 0 {
        for step in steps.clone().rev() {
            what.simulate(steps.start..step, false)?;
            what.store();
            what.simulate(step..step + 1, true)?;
            what.reverse_stored(first + 1, step..step + 1)?;
            what.forget(first + 1);
        }
    } else {
        let middle = steps.start + first_part(steps.len(), room);
        what.simulate(steps.start..middle, false)?;
        what.store();
        reverse_within(what, middle..steps.end, room - 1)?;
        what.forget(first + 1);
        reverse_within(what, steps.start..middle, room)?;
    }
    what.forget(first + 1);
    Ok(())
}

/// How many of `steps` steps lie before the next state to store when `room` states can be: as many as can be reversed
/// with one repeat less, C(room + t − 1, room).
fn first_part(steps: usize, room: usize) -> usize {
    let (mut repeats, mut before, mut reach) = (0, 1, 1);
    while reach < steps {
        repeats += 1;
        before = reach;
        reach = reach.saturating_mul(room + repeats) / repeats;
    }
    before
}
