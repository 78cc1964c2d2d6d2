//! The way from a state to A and B: right-hand sides and their solution.

use std::ops::Range;

use super::forces::Context;
use super::forward_mode::ForwardMode;
use super::implicit::Implicit;
use super::rne::Motion;
use super::{Layout, Linearization, Rows, armature, coverage, rows, runge_kutta};
use crate::data::Data;
use crate::dynamics::At;
use crate::linalg::many;
use crate::model::{Integrator, Model};
use crate::stages::solve;
use crate::state::{Input, State};

/// Whether the formulas cover the step from this state; if not, [`step`] uses dual numbers. `data` holds the results
/// of [`dynamics::forward`](crate::dynamics::forward).
pub fn covers(model: &Model, data: &Data) -> bool {
    coverage::of_model(model) && coverage::of_state(model, data)
}

/// Writes A and B of the step from a state, for which `data` holds the results of
/// [`dynamics::forward`](crate::dynamics::forward) or of [`step`](crate::step) (except under RK4,
/// whose step leaves those of its last stage; any will do there).
///
/// Nothing is allocated after the first steps.
pub fn step(model: &Model, state: &State, input: &Input, data: &mut Data, out: &mut Linearization) {
    if !step_by_formulas(model, state, input, data, out) {
        let Linearization {
            forward,
            a,
            b,
            layout,
            ..
        } = out;
        let forward = forward.get_or_insert_with(|| Box::new(ForwardMode::new(model)));
        forward.linearize(state, input, layout, (a, b));
    }
}

/// As [`step`], by formulas alone; false where they do not cover the step. With the directions of [`Linearization::along`] this is the
/// way to their columns.
pub fn step_by_formulas(
    model: &Model,
    state: &State,
    input: &Input,
    data: &mut Data,
    out: &mut Linearization,
) -> bool {
    if model.settings.integrator == Integrator::RungeKutta4 {
        coverage::of_model(model) && runge_kutta::step(model, state, input, out)
    } else {
        covers(model, data) && by_formulas(model, state, input, data, out)
    }
}

/// The formulas; false where something cannot be factored.
fn by_formulas(
    model: &Model,
    state: &State,
    input: &Input,
    data: &mut Data,
    out: &mut Linearization,
) -> bool {
    let implicit = Implicit::is_needed(model, out.numbers.dampens);
    if implicit && !out.prepare_implicit(model, state, data) {
        return false;
    }
    if !out.differentiate_acceleration(model, state, input, data, implicit) {
        return false;
    }
    if implicit {
        out.advance_implicitly(At {
            model,
            state,
            input,
            data,
        });
    }
    out.write(model, state, data);
    true
}

impl Linearization {
    /// Leaves the derivatives of the acceleration in the rows, except for free trees if `implicit`; false where
    /// something cannot be found.
    pub(super) fn differentiate_acceleration(
        &mut self,
        model: &Model,
        state: &State,
        input: &Input,
        data: &mut Data,
        implicit: bool,
    ) -> bool {
        let factored = solve::factor_at_solution(
            model,
            &data.inertia,
            &data.acceleration,
            &data.constraint,
            &mut data.solve,
        );
        self.choose_acceleration(model, data, implicit);
        if !(factored && self.assemble(model, state, input, data)) {
            return false;
        }
        self.solve_acceleration(model, data, implicit);
        true
    }

    /// Free trees of implicit integrators are differentiated at the acceleration that advances them.
    fn choose_acceleration(&mut self, model: &Model, data: &Data, implicit: bool) {
        let work = &mut self.implicit;
        work.at.copy_from_slice(&data.solve.qacc);
        if !implicit {
            work.advancing.copy_from_slice(&data.solve.qacc);
            return;
        }
        for (tree, dofs) in model.structure.tree_dofs.iter().enumerate() {
            if data.solve.islands.of_tree(tree).is_none() {
                work.at[dofs.clone()].copy_from_slice(&work.advancing[dofs.clone()]);
            }
        }
        for dof in 0..work.at.len() {
            work.difference[dof] = work.at[dof] - work.advancing[dof];
        }
    }

    /// The right-hand sides; false where a collider does not find its points again.
    fn assemble(&mut self, model: &Model, state: &State, input: &Input, data: &Data) -> bool {
        let layout = &self.layout;
        self.rows.fill(0.0);
        let at = &self.implicit.at;
        let motion = Motion::of(state, data);
        self.tree
            .subtract(model, &motion, at, layout, &mut self.rows);
        (self.medium).add(model, data, &self.tree, layout, &mut self.rows);
        let context = Context {
            model,
            state,
            input,
            data,
            layout,
            turn_start: &self.tree.turn_start,
        };
        let mut rows = Rows {
            values: &mut self.rows,
            width: layout.width,
        };
        self.bends.find(&context);
        armature::subtract(&context, &self.bends, &self.tree, at, &mut rows);
        self.forces.add(&context, &self.bends, &mut rows);
        for index in 0..data.constraint.first_contact {
            if data.constraint.blocks[index].row_count > 1 {
                self.equalities.add(&context, &self.tree, index, &mut rows);
            } else {
                rows::add(&context, &self.bends, index, &mut rows);
            }
        }
        let open = &self.forces.open;
        (self.numbers).add(&context, &self.tree, (at, open), &mut rows);
        self.contacts.add(&context, &self.tree, &mut rows)
    }

    /// The derivatives of the acceleration; those of free trees come later under implicit integrators.
    fn solve_acceleration(&mut self, model: &Model, data: &Data, implicit: bool) {
        let (structure, islands) = (&*model.structure, &data.solve.islands);
        for island in 0..islands.count() {
            let ranges = islands.dof_ranges(structure, island);
            let (hessian, room) = (&data.solve.hessian, &mut self.room);
            // An island of all dofs lies there as it is.
            if islands.size(island) == self.layout.nv && is_in_order(ranges.clone()) {
                let place = (island, self.layout.width);
                hessian.solve_many(structure, islands, place, room, &mut self.rows);
                continue;
            }
            let width = self.gather(ranges.clone(), &ranges);
            let place = (island, width);
            let (hessian, room) = (&data.solve.hessian, &mut self.room);
            let size = islands.size(island) * width;
            hessian.solve_many(structure, islands, place, room, &mut self.island[..size]);
            self.scatter(ranges, width);
        }
        if implicit {
            return;
        }
        let (factor, inverse) = (&data.inertia.factor, &data.inertia.diagonal_inverse);
        for (tree, dofs) in structure.tree_dofs.iter().enumerate() {
            if islands.of_tree(tree).is_none() {
                let columns = std::iter::once(dofs.clone());
                self.solve_tree(model, dofs.clone(), &columns, (factor, inverse), false);
            }
        }
    }

    /// X ← M⁻¹·X for the rows of a tree, by a factor over the tree; of the extra rows if `extra`.
    ///
    /// `columns` are the dofs that these rows depend on.
    pub(super) fn solve_tree(
        &mut self,
        model: &Model,
        dofs: Range<usize>,
        columns: &(impl Iterator<Item = Range<usize>> + Clone),
        (factor, inverse): (&[f64], &[f64]),
        extra: bool,
    ) {
        let sparsity = &model.structure.inertia;
        let full = self.layout.width;
        if dofs.len() == self.layout.nv || !self.trees_are_separate {
            let rows = if extra {
                &mut self.extra
            } else {
                &mut self.rows
            };
            let rows = &mut rows[dofs.start * full..dofs.end * full];
            many::solve_trees(sparsity, factor, inverse, dofs, full, rows);
            return;
        }
        let ranges = std::iter::once(dofs.clone());
        if extra {
            std::mem::swap(&mut self.rows, &mut self.extra);
        }
        let width = self.gather(ranges.clone(), columns);
        let room = &mut self.island[..dofs.len() * width];
        many::solve_trees(sparsity, factor, inverse, dofs, width, room);
        self.scatter(ranges, width);
        if extra {
            std::mem::swap(&mut self.rows, &mut self.extra);
        }
    }

    /// Copies the rows of some trees and the columns of the dofs that they depend on; returns the number of columns.
    fn gather(
        &mut self,
        rows: impl Iterator<Item = Range<usize>>,
        columns: &(impl Iterator<Item = Range<usize>> + Clone),
    ) -> usize {
        let Layout { nv, width, .. } = self.layout;
        self.columns.clear();
        if self.trees_are_separate {
            for start in [0, nv] {
                let shifted = |dofs: Range<usize>| start + dofs.start..start + dofs.end;
                for range in columns.clone().map(shifted) {
                    match self.columns.last_mut() {
                        Some(last) if last.end == range.start => last.end = range.end,
                        _ => self.columns.push(range),
                    }
                }
            }
            self.columns.push(2 * nv..width);
        } else {
            self.columns.push(0..width);
        }
        let count: usize = self.columns.iter().map(ExactSizeIterator::len).sum();
        let targets = self.island.chunks_exact_mut(count.max(1));
        for (dof, mut target) in rows.flatten().zip(targets) {
            let row = &self.rows[dof * width..(dof + 1) * width];
            for range in &self.columns {
                let (part, rest) = target.split_at_mut(range.len());
                part.copy_from_slice(&row[range.clone()]);
                target = rest;
            }
        }
        count
    }

    /// Copies what [`Self::gather`] took back.
    fn scatter(&mut self, rows: impl Iterator<Item = Range<usize>>, count: usize) {
        let width = self.layout.width;
        let sources = self.island.chunks_exact(count.max(1));
        for (dof, mut source) in rows.flatten().zip(sources) {
            let row = &mut self.rows[dof * width..(dof + 1) * width];
            for range in &self.columns {
                let (part, rest) = source.split_at(range.len());
                row[range.clone()].copy_from_slice(part);
                source = rest;
            }
        }
    }
}

/// Whether each range begins where the one before ends.
fn is_in_order(ranges: impl Iterator<Item = Range<usize>>) -> bool {
    let mut end = 0;
    for range in ranges {
        if range.start != end {
            return false;
        }
        end = range.end;
    }
    true
}
