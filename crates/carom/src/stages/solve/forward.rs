use super::hessian::Rows;
use super::law::{Law, MAX_ROWS, Phase};
use super::problem::{Island, Problem};
use super::start::Criteria;
use super::{Iterate, Solve, SolveReport, SolveStatus, Work, conjugate_gradient, newton, noslip};
use crate::model::{Model, SolverKind};
use crate::scalar::Scalar;
use crate::stages::acceleration::Acceleration;
use crate::stages::constraint::Constraint;
use crate::stages::inertia::{self, Inertia};

/// Solves for the constrained acceleration, starting near `warmstart`.
pub fn forward<T: Scalar>(
    model: &Model<T>,
    inertia: &Inertia<T>,
    acceleration: &Acceleration<T>,
    constraint: &Constraint<T>,
    warmstart: &[T],
    out: &mut Solve<T>,
) {
    let smooth = (inertia, acceleration);
    solve_from(model, smooth, constraint, Start::Near(warmstart), out);
    if model.settings.noslip_iterations > 0 {
        let sources = noslip::Sources {
            model,
            inertia,
            acceleration,
            constraint,
        };
        noslip::forward(&sources, out);
    }
}

/// Everything that [`forward`] leaves behind at a solution that it found before, without a search.
pub fn at_solution(
    model: &Model,
    inertia: &Inertia,
    acceleration: &Acceleration,
    constraint: &Constraint,
    solution: &[f64],
    out: &mut Solve,
) {
    let smooth = (inertia, acceleration);
    solve_from(model, smooth, constraint, Start::At(solution), out);
}

/// As [`forward`], with every block on a given piece of its law, also beyond the piece's end: a smooth function of everything.
/// The factors of H are those of the solution. False where there is none.
pub(crate) fn forward_on<T: Scalar>(
    model: &Model<T>,
    (inertia, acceleration): (&Inertia<T>, &Acceleration<T>),
    constraint: &Constraint<T>,
    (phases, start): (&[Phase], &[T]),
    out: &mut Solve<T>,
) -> bool {
    let start = Start::On(phases, start);
    solve_from(model, (inertia, acceleration), constraint, start, out);
    matches!(
        out.report.status,
        SolveStatus::Converged | SolveStatus::Exhausted
    )
}

/// Where the solver starts.
#[derive(Clone, Copy)]
enum Start<'a, T> {
    /// At what may be near the solution.
    Near(&'a [T]),
    /// At the solution.
    At(&'a [T]),
    /// On given pieces of the laws, at what may be near the solution.
    On(&'a [Phase], &'a [T]),
}

fn solve_from<T: Scalar>(
    model: &Model<T>,
    (inertia, acceleration): (&Inertia<T>, &Acceleration<T>),
    constraint: &Constraint<T>,
    start: Start<'_, T>,
    out: &mut Solve<T>,
) {
    // Without constraints the smooth acceleration is the solution.
    out.qacc.copy_from_slice(&acceleration.smooth);
    out.force_constraint.fill(T::ZERO);
    out.report = SolveReport::default();
    resize(constraint, out);
    let together = model.settings.disable.island;
    let (blocks, columns) = (&constraint.blocks, &constraint.columns);
    out.islands
        .find(&model.structure, blocks, columns, together);
    if constraint.blocks.is_empty() {
        return;
    }
    // Choose the layout of H for every island, and read what the laws need.
    if let Start::On(phases, _) = start {
        out.phase.copy_from_slice(phases);
    }
    let Solve {
        islands,
        hessian,
        phase,
        report,
        work,
        ..
    } = out;
    work.iterate.resize(constraint.rows.len(), islands.count());
    hessian.prepare(&model.structure, Rows { blocks, columns }, islands);
    work.read_rows(constraint);
    let (problem, iterate, warmstart_room) =
        work.problem(model, (inertia, acceleration), constraint);
    let warmstart = match start {
        Start::Near(_) if model.settings.disable.warmstart => None,
        Start::Near(start) | Start::At(start) | Start::On(_, start) => {
            Some(plain(start, warmstart_room))
        }
    };
    let criteria = criteria(model);
    // Islands share no dofs: solve them one by one.
    for index in 0..islands.count() {
        let island = Island::new(&problem, islands, index);
        match (start, warmstart) {
            // Nothing to search: only forces, phases and gradient are made again.
            (Start::At(_), Some(solution)) => {
                iterate.place(&island, solution, phase);
                iterate.update_gradient(&island);
                continue;
            }
            (Start::On(..), Some(start)) => {
                newton::settle_on(&island, start, iterate, phase, hessian).add_to(report);
                continue;
            }
            _ => {}
        }
        let progress = iterate.start(&island, warmstart, criteria.tolerance, phase);
        let progress = match model.settings.solver {
            SolverKind::ConjugateGradient => {
                conjugate_gradient::minimize(&island, &criteria, iterate, phase, progress)
            }
            SolverKind::Newton | SolverKind::ProjectedGaussSeidel => {
                newton::minimize(&island, &criteria, iterate, phase, hessian, progress)
            }
        };
        progress.add_to(report);
        if T::HAS_DERIVATIVES {
            // Compute it as the backward pass will, from the acceleration alone: the same bits, the same side of a kink.
            iterate.refresh(&island, phase);
            iterate.update_gradient(&island);
            hessian.invalidate(index);
            let factored = hessian.factor(&island, &iterate.residual, phase);
            iterate.factor_is_current[index] = factored.is_ok();
        }
    }
    write_solution(model, out);
    if T::HAS_DERIVATIVES {
        let pieces = match start {
            Start::On(..) => Pieces::Given,
            _ => Pieces::Found,
        };
        correct(model, (inertia, acceleration), constraint, pieces, out);
    }
}

/// Makes sure that the factors of H are those of the solution, as the backward pass needs them; false where H has none.
///
/// The last iteration of the solver often leaves them so, and then this costs nothing.
pub fn factor_at_solution<T: Scalar>(
    model: &Model<T>,
    inertia: &Inertia<T>,
    acceleration: &Acceleration<T>,
    constraint: &Constraint<T>,
    out: &mut Solve<T>,
) -> bool {
    let Solve {
        islands,
        hessian,
        phase,
        work,
        ..
    } = out;
    let (problem, iterate, _) = work.problem(model, (inertia, acceleration), constraint);
    let mut complete = true;
    for index in 0..islands.count() {
        // Only islands whose last iteration changed a phase, or lies on a curved cone.
        if !iterate.factor_is_current[index] {
            let island = Island::new(&problem, islands, index);
            hessian.invalidate(index);
            let factored = hessian.factor(&island, &iterate.residual, phase).is_ok();
            iterate.factor_is_current[index] = factored;
            complete &= factored;
        }
    }
    complete
}

/// Room for the rows; phases of a block that was there before are kept, which costs nothing when wrong.
fn resize<T: Scalar>(constraint: &Constraint<T>, out: &mut Solve<T>) {
    let rows = constraint.rows.len();
    out.residual.resize(rows, T::ZERO);
    out.force.resize(rows, T::ZERO);
    out.phase.resize(constraint.blocks.len(), Phase::OFF);
}

fn criteria<T: Scalar>(model: &Model<T>) -> Criteria {
    Criteria {
        tolerance: model.option.tolerance[0].value(),
        line_tolerance: model.option.ls_tolerance[0].value(),
        iterations: model.settings.iterations,
        line_iterations: model.settings.ls_iterations,
    }
}

/// Makes the solvers iterate as far as rounding allows: for gradients, and to compare with other programs.
pub fn tighten<T: Scalar>(model: &mut Model<T>) {
    model.option.tolerance[0] = T::ZERO;
    model.option.ls_tolerance[0] = T::from(1e-12);
    model.option.ccd_tolerance[0] = T::from(1e-14);
    let settings = &mut model.settings;
    settings.solver = SolverKind::Newton;
    settings.iterations = 200;
    settings.ls_iterations = 200;
    settings.noslip_iterations = 0;
    settings.ccd_iterations = 2000;
}

/// Plain numbers as they are, or the values of others copied to `room`.
pub(super) fn plain<'a, T: Scalar>(numbers: &'a [T], room: &'a mut Vec<f64>) -> &'a [f64] {
    if let Some(numbers) = T::as_plain(numbers) {
        return numbers;
    }
    room.clear();
    room.extend(numbers.iter().map(|number| number.value()));
    room
}

impl Work {
    /// The problem over plain numbers, the iterate that goes with it, and room for a start.
    fn problem<'a, T: Scalar>(
        &'a mut self,
        model: &'a Model<T>,
        (inertia, acceleration): (&'a Inertia<T>, &'a Acceleration<T>),
        constraint: &'a Constraint<T>,
    ) -> (Problem<'a>, &'a mut Iterate, &'a mut Vec<f64>) {
        let problem = Problem {
            structure: &model.structure,
            blocks: &constraint.blocks,
            columns: &constraint.columns,
            jacobian: plain(&constraint.jacobian, &mut self.jacobian),
            weight: &self.weight,
            friction: &self.friction,
            reference: &self.reference,
            inertia: plain(&inertia.matrix, &mut self.inertia),
            inertia_factor: plain(&inertia.factor, &mut self.inertia_factor),
            inertia_diagonal_inverse: plain(
                &inertia.diagonal_inverse,
                &mut self.inertia_diagonal_inverse,
            ),
            force_smooth: plain(&acceleration.force_smooth, &mut self.force_smooth),
            smooth: plain(&acceleration.smooth, &mut self.smooth),
        };
        (problem, &mut self.iterate, &mut self.warmstart)
    }

    /// Copies what the laws need of each row.
    fn read_rows<T: Scalar>(&mut self, constraint: &Constraint<T>) {
        self.weight.clear();
        self.friction.clear();
        self.reference.clear();
        for row in &constraint.rows {
            self.weight.push(row.weight.value());
            self.friction.push(row.friction.value());
            self.reference.push(row.reference_acceleration.value());
        }
    }
}

impl Iterate {
    fn resize(&mut self, rows: usize, islands: usize) {
        self.residual.resize(rows, 0.0);
        self.force.resize(rows, 0.0);
        self.rate.resize(rows, 0.0);
        self.factor_is_current.clear();
        self.factor_is_current.resize(islands, false);
    }
}

/// Copies the solution of all islands to the results.
fn write_solution<T: Scalar>(model: &Model<T>, out: &mut Solve<T>) {
    let iterate = &out.work.iterate;
    for island in 0..out.islands.count() {
        for dof in out.islands.dof_ranges(&model.structure, island).flatten() {
            out.qacc[dof] = T::from(iterate.acceleration[dof]);
            out.force_constraint[dof] = T::from(iterate.force_constraint[dof]);
        }
    }
    for (residual, &value) in out.residual.iter_mut().zip(&iterate.residual) {
        *residual = T::from(value);
    }
    for (force, &value) in out.force.iter_mut().zip(&iterate.force) {
        *force = T::from(value);
    }
}

/// The tangents of one Newton step from the solution of the values: a ← a − H⁻¹·(M·a − τ − Jᵀ·f).
///
/// They are the exact derivative of the solution: a itself has no tangent, and H is the derivative of the bracket with
/// respect to a. The values stay: the backward pass differentiates there, too.
fn correct<T: Scalar>(
    model: &Model<T>,
    (inertia, acceleration): (&Inertia<T>, &Acceleration<T>),
    constraint: &Constraint<T>,
    pieces: Pieces,
    out: &mut Solve<T>,
) {
    respond(constraint, pieces, out);
    let [gradient, local] = &mut out.correction;
    gradient.resize(model.counts().nv, T::ZERO);
    // Tangents of the gradient at fixed a …
    inertia::mul(model, inertia, &out.qacc, gradient);
    for (dof, gradient) in gradient.iter_mut().enumerate() {
        *gradient -= acceleration.force_smooth[dof] + out.force_constraint[dof];
    }
    for island in 0..out.islands.count() {
        // … and H⁻¹ times them, island by island.
        local.clear();
        let dofs = out.islands.dof_ranges(&model.structure, island).flatten();
        local.extend(dofs.clone().map(|dof| gradient[dof]));
        out.hessian
            .solve_in_place(&model.structure, &out.islands, island, local);
        for (dof, &step) in dofs.zip(local.iter()) {
            let value = out.qacc[dof].value();
            out.qacc[dof] = (-step).with_value(value);
        }
    }
    respond(constraint, pieces, out);
}

/// On which pieces of their laws constraints are differentiated.
#[derive(Clone, Copy)]
enum Pieces {
    /// Where their residuals are.
    Found,
    /// Those in [`Solve::phase`].
    Given,
}

/// Tangents of residuals, forces and generalised forces from those of the acceleration, at the values of the solution.
fn respond<T: Scalar>(constraint: &Constraint<T>, pieces: Pieces, out: &mut Solve<T>) {
    out.force_constraint.fill(T::ZERO);
    let (mut weight, mut friction) = ([T::ZERO; MAX_ROWS], [T::ZERO; MAX_ROWS]);
    for (block, &phase) in constraint.blocks.iter().zip(&out.phase) {
        let count = block.row_count;
        for (index, row) in constraint.block_rows(block).iter().enumerate() {
            (weight[index], friction[index]) = (row.weight, row.friction);
            // y = J·a − â.
            let jacobian = constraint.jacobian_row(block, index);
            let sum = jacobian.dot_from(-row.reference_acceleration, &out.qacc);
            let row = block.row + index;
            out.residual[row] = sum.with_value(out.work.iterate.residual[row]);
        }
        let law = Law {
            kind: block.kind,
            weight: &weight[..count],
            friction: &friction[..count],
        };
        let rows = block.rows();
        let (residual, force) = (&out.residual[rows.clone()], &mut out.force[rows.clone()]);
        // f(y), on the piece where y is or on the given one.
        match pieces {
            Pieces::Found => {
                law.respond(residual, force);
            }
            Pieces::Given => {
                law.force_in(phase, residual, force);
                let values = &out.work.iterate.force[rows.clone()];
                for (force, &value) in force.iter_mut().zip(values) {
                    *force = force.with_value(value);
                }
            }
        }
        // Jᵀ·f.
        for (index, &force) in out.force[rows].iter().enumerate() {
            (constraint.jacobian_row(block, index)).push(force, &mut out.force_constraint);
        }
    }
}
