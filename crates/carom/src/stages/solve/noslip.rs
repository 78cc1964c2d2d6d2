//! Friction without creep: sweeps over the frictional forces after the solver, as if they were not regularised.
//!
//! The regularisation R of the soft law lets contacts under constant load slide slowly. With all other forces held, each
//! frictional force in turn is set to what its row asks for exactly, within what the law allows:
//!
//!   t ← argmin ½·tᵀ·A·t + t·(r − A·t₀),   A = J·M⁻¹·Jᵀ,  r = J·a − â                   (1)
//!
//! with |t| ≤ loss for dry friction, |t(k)| ≤ μ(k)·2·mean of its two edges for the sides of a pyramid, and
//! Σ (t(k)/μ(k))² ≤ normal² for an elliptic cone, where λ ≥ 0 solves |(A + λ)⁻¹·b| = normal in scaled forces.   (2)
//!
//! Sweeps end when the cost improves by less than the tolerance. The result is no minimum of the soft problem any more:
//! it depends on the number of sweeps, and derivatives over dual numbers are those of exactly these sweeps.

use super::Solve;
use crate::math::MIN_LENGTH;
use crate::model::Model;
use crate::scalar::Scalar;
use crate::stages::acceleration::Acceleration;
use crate::stages::constraint::{Block, BlockKind, Constraint, Row};
use crate::stages::inertia::{self, Inertia};

/// Most frictional rows of a block.
const MOST: usize = 5;
/// Least diagonal entry of A in a cone.
const LEAST_DIAGONAL: f64 = 1e-10;
/// Accuracy of (2), and by how much a change may raise the cost.
const ACCURACY: f64 = 1e-10;
/// Newton iterations of (2).
const CONE_ITERATIONS: usize = 20;

/// Work area; lists keep their capacity.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Noslip<T: Scalar> {
    /// M⁻¹·jᵀ of each frictional row over the dofs of the island, row after row.
    response: Vec<T>,
    /// Greatest force along each frictional row of a pyramid: μ times the sum of its two edges.
    most: Vec<T>,
    /// Acceleration of the island's dofs.
    acceleration: Vec<T>,
    /// A vector over all dofs.
    full: Vec<T>,
}

/// What the sweeps read.
#[derive(Clone, Copy)]
pub(super) struct Sources<'a, T: Scalar> {
    pub(super) model: &'a Model<T>,
    pub(super) inertia: &'a Inertia<T>,
    pub(super) acceleration: &'a Acceleration<T>,
    pub(super) constraint: &'a Constraint<T>,
}

/// Sweeps over all islands, then maps the forces to accelerations.
pub(super) fn forward<T: Scalar>(sources: &Sources<'_, T>, out: &mut Solve<T>) {
    let mut work = std::mem::take(&mut out.noslip);
    work.full.resize(sources.model.counts().nv, T::ZERO);
    for island in 0..out.islands.count() {
        sweep_island(sources, island, &mut work, out);
    }
    out.noslip = work;
    finish(sources, out);
}

/// Whether a block has frictional forces, and in which of its rows they start.
fn first_frictional(block: &Block) -> Option<usize> {
    match block.kind {
        BlockKind::DofFriction | BlockKind::TendonFriction => Some(0),
        BlockKind::PyramidalContact | BlockKind::EllipticContact => Some(1),
        _ => None,
    }
}

fn sweep_island<T: Scalar>(
    sources: &Sources<'_, T>,
    island: usize,
    work: &mut Noslip<T>,
    out: &mut Solve<T>,
) {
    let scale = prepare(sources, island, work, out);
    let tolerance = sources.model.option.noslip_tolerance[0].value();
    let constraint = sources.constraint;
    let mut improvement = regularization_cost(constraint, island, work, out);
    for sweep in 1..=sources.model.settings.noslip_iterations {
        let mut cursor = 0;
        for &index in out.islands.blocks(island) {
            let block = &constraint.blocks[index];
            let Some(first) = first_frictional(block) else {
                continue;
            };
            let friction = Friction {
                constraint,
                block,
                local: out.islands.local(),
                first,
                cursor,
            };
            cursor += friction.count();
            improvement -= friction.renew(&mut out.force[block.rows()], work);
        }
        out.report.noslip_iterations = out.report.noslip_iterations.max(sweep);
        if improvement * scale < tolerance {
            break;
        }
        improvement = 0.0;
    }
}

/// Responses to all frictional forces and the acceleration; returns one over the trace of the island's inertia.
fn prepare<T: Scalar>(
    sources: &Sources<'_, T>,
    island: usize,
    work: &mut Noslip<T>,
    out: &Solve<T>,
) -> f64 {
    let &Sources {
        model,
        inertia,
        constraint,
        ..
    } = sources;
    let dofs = out.islands.dof_ranges(&model.structure, island).flatten();
    let Noslip {
        response,
        most,
        acceleration,
        full,
    } = work;
    response.clear();
    most.clear();
    for &index in out.islands.blocks(island) {
        let block = &constraint.blocks[index];
        let (columns, values) = (
            constraint.block_columns(block),
            constraint.block_jacobian(block),
        );
        let Some(first) = first_frictional(block) else {
            continue;
        };
        for row in first..block.row_count {
            full.fill(T::ZERO);
            for (&dof, &value) in columns.iter().zip(&values[row * columns.len()..]) {
                full[dof] = value;
            }
            inertia::solve(model, inertia, full);
            response.extend(dofs.clone().map(|dof| full[dof]));
            most.push(if block.kind == BlockKind::PyramidalContact {
                sum_of_edges(constraint, &out.residual, block, row)
                    * constraint.rows[block.row + row].friction
            } else {
                T::ZERO
            });
        }
    }
    // The solver's acceleration is that of its forces only as far as it has converged.
    full.copy_from_slice(&out.force_constraint);
    inertia::solve(model, inertia, full);
    acceleration.clear();
    let smooth = &sources.acceleration.smooth;
    acceleration.extend(dofs.clone().map(|dof| smooth[dof] + full[dof]));
    let diagonal = &model.structure.inertia.diagonal;
    let trace: f64 = dofs.map(|dof| inertia.matrix[diagonal[dof]].value()).sum();
    1.0 / trace
}

/// The sum of the forces of the two edges of a pyramid along one of its directions.
fn sum_of_edges<T: Scalar>(
    constraint: &Constraint<T>,
    residual: &[T],
    block: &Block,
    row: usize,
) -> T {
    let rows = &constraint.rows[block.rows()];
    let residual = &residual[block.rows()];
    let tilt = residual[row] * rows[row].friction;
    let edge = |y: T| rows[0].weight * (-y).max(T::ZERO);
    edge(residual[0] + tilt) + edge(residual[0] - tilt)
}

/// ½·fᵀ·R·f, which the sweeps no longer count.
fn regularization_cost<T: Scalar>(
    constraint: &Constraint<T>,
    island: usize,
    work: &Noslip<T>,
    out: &Solve<T>,
) -> f64 {
    let mut total = 0.0;
    let mut cursor = 0;
    for &index in out.islands.blocks(island) {
        let block = &constraint.blocks[index];
        let forces = &out.force[block.rows()];
        let rows = constraint.block_rows(block);
        if block.kind == BlockKind::PyramidalContact {
            // The edges of one direction are (most ± force)/2μ.
            for (row, force) in rows[1..].iter().zip(&forces[1..]) {
                let [most, force] = [work.most[cursor], *force].map(T::value);
                let twice = 2.0 * row.friction.value();
                let squares = 2.0 * (most * most + force * force) / (twice * twice);
                total += 0.5 * squares * row.regularization.value();
                cursor += 1;
            }
            continue;
        }
        cursor += first_frictional(block).map_or(0, |first| block.row_count - first);
        for (row, force) in rows.iter().zip(forces) {
            total += 0.5 * (*force * *force * row.regularization).value();
        }
    }
    total
}

/// The frictional rows of one block.
#[derive(Clone, Copy)]
struct Friction<'a, T: Scalar> {
    constraint: &'a Constraint<T>,
    block: &'a Block,
    /// Index of each dof within the island.
    local: &'a [usize],
    /// First frictional row of the block.
    first: usize,
    /// Where its frictional rows start among those of the island.
    cursor: usize,
}

impl<T: Scalar> Friction<'_, T> {
    fn count(&self) -> usize {
        self.block.row_count - self.first
    }

    fn row(&self, row: usize) -> &Row<T> {
        &self.constraint.rows[self.block.row + self.first + row]
    }

    /// M⁻¹·jᵀ of a frictional row.
    fn response<'w>(&self, row: usize, work: &'w Noslip<T>) -> &'w [T] {
        let size = work.acceleration.len();
        &work.response[(self.cursor + row) * size..][..size]
    }

    /// j·x of a frictional row.
    fn along(&self, row: usize, x: &[T]) -> T {
        let columns = self.constraint.block_columns(self.block);
        let values = self.constraint.block_jacobian(self.block);
        let values = &values[(self.first + row) * columns.len()..];
        let mut sum = T::ZERO;
        for (&dof, &value) in columns.iter().zip(values) {
            sum += value * x[self.local[dof]];
        }
        sum
    }

    /// r of (1).
    fn residual(&self, row: usize, work: &Noslip<T>) -> T {
        self.along(row, &work.acceleration) - self.row(row).reference_acceleration
    }

    /// Lets the acceleration follow a change of force.
    fn push(&self, row: usize, change: T, work: &mut Noslip<T>) {
        let size = work.acceleration.len();
        let response = &work.response[(self.cursor + row) * size..][..size];
        for (acceleration, &response) in work.acceleration.iter_mut().zip(response) {
            *acceleration += response * change;
        }
    }

    /// Renews the frictional forces of the block; returns by how much the cost changed.
    fn renew(&self, forces: &mut [T], work: &mut Noslip<T>) -> f64 {
        let Some((normal, sides)) = forces.split_first_mut() else {
            return 0.0;
        };
        match self.block.kind {
            BlockKind::EllipticContact => self.renew_cone(*normal, sides, work),
            BlockKind::PyramidalContact => {
                let sides = sides.iter_mut().enumerate();
                sides
                    .map(|(row, side)| {
                        self.renew_side(row, work.most[self.cursor + row], side, work)
                    })
                    .sum()
            }
            _ => self.renew_side(0, self.row(0).friction, normal, work),
        }
    }

    /// Renews a force between −most and most.
    fn renew_side(&self, row: usize, most: T, force: &mut T, work: &mut Noslip<T>) -> f64 {
        let residual = self.residual(row, work);
        let stiffness = self.along(row, self.response(row, work));
        let old = *force;
        *force = if stiffness.value() < MIN_LENGTH {
            T::ZERO
        } else {
            (old - residual / stiffness).clamp(-most, most)
        };
        let change = *force - old;
        self.push(row, change, work);
        (change * change * stiffness * 0.5 + change * residual).value()
    }

    /// Renews the forces within the section of an elliptic cone.
    fn renew_cone(&self, normal: T, forces: &mut [T], work: &mut Noslip<T>) -> f64 {
        let count = forces.len();
        let mut cone = Cone {
            count,
            matrix: [[T::ZERO; MOST]; MOST],
            linear: [T::ZERO; MOST],
            friction: [T::ONE; MOST],
        };
        let (mut old, mut residual) = ([T::ZERO; MOST], [T::ZERO; MOST]);
        old[..count].copy_from_slice(forces);
        for row in 0..count {
            residual[row] = self.residual(row, work);
            cone.linear[row] = residual[row];
            cone.friction[row] = self.row(row).friction;
            for other in 0..count {
                let mut entry = self.along(row, self.response(other, work));
                if row == other {
                    entry = entry.max(T::from(LEAST_DIAGONAL));
                }
                cone.matrix[row][other] = entry;
                cone.linear[row] -= entry * old[other];
            }
        }
        let renewed = if normal.value() < MIN_LENGTH {
            [T::ZERO; MOST]
        } else {
            cone.minimize(normal)
        };
        let mut cost = 0.0;
        for row in 0..count {
            let change = renewed[row] - old[row];
            let mut pull = residual[row];
            for other in 0..count {
                pull += cone.matrix[row][other] * (renewed[other] - old[other]) * 0.5;
            }
            cost += (change * pull).value();
        }
        // Rounding must not undo what was won.
        if cost > ACCURACY {
            return 0.0;
        }
        for row in 0..count {
            forces[row] = renewed[row];
            self.push(row, renewed[row] - old[row], work);
        }
        cost
    }
}

/// ½·tᵀ·A·t + b·t with Σ (t(k)/μ(k))² ≤ normal².
struct Cone<T: Scalar> {
    count: usize,
    matrix: [[T; MOST]; MOST],
    linear: [T; MOST],
    friction: [T; MOST],
}

impl<T: Scalar> Cone<T> {
    /// The minimum; zero where the matrix is close to singular. (2)
    fn minimize(&self, normal: T) -> [T; MOST] {
        let n = self.count;
        let mut multiplier = T::ZERO;
        let mut solution = [T::ZERO; MOST];
        for _ in 0..CONE_ITERATIONS {
            let Some(factor) = self.factor(multiplier) else {
                return [T::ZERO; MOST];
            };
            let scaled = std::array::from_fn(|row| -self.linear[row] * self.friction[row]);
            solution = solve(&factor, n, scaled);
            let excess = dot(&solution, &solution, n) - normal * normal;
            if excess.value() < ACCURACY {
                break;
            }
            let slope = dot(&solution, &solve(&factor, n, solution), n) * -2.0;
            let step = -excess / slope;
            if step.value() < ACCURACY {
                break;
            }
            multiplier += step;
        }
        if multiplier.value() != 0.0 {
            // On the boundary, exactly.
            let square = dot(&solution, &solution, n).max(T::from(MIN_LENGTH));
            let stretch = (normal * normal / square).sqrt();
            solution = solution.map(|entry| entry * stretch);
        }
        std::array::from_fn(|row| solution[row] * self.friction[row])
    }

    /// Cholesky factor of A + λ in scaled forces.
    fn factor(&self, multiplier: T) -> Option<[[T; MOST]; MOST]> {
        let mut factor = [[T::ZERO; MOST]; MOST];
        let mut determinant = 1.0;
        for row in 0..self.count {
            for column in 0..=row {
                let scale = self.friction[row] * self.friction[column];
                let mut entry = self.matrix[row][column] * scale;
                if row == column {
                    entry += multiplier;
                }
                for k in 0..column {
                    entry -= factor[row][k] * factor[column][k];
                }
                factor[row][column] = if row == column {
                    if entry.value() <= 0.0 || self.count > 3 && entry.value() < ACCURACY {
                        return None;
                    }
                    determinant *= entry.value();
                    entry.sqrt()
                } else {
                    entry / factor[column][column]
                };
            }
        }
        // Small systems are judged by their determinant, as in MuJoCo.
        (self.count > 3 || determinant >= ACCURACY).then_some(factor)
    }
}

/// L⁻ᵀ·L⁻¹·x.
fn solve<T: Scalar>(factor: &[[T; MOST]; MOST], n: usize, mut x: [T; MOST]) -> [T; MOST] {
    for row in 0..n {
        for k in 0..row {
            let below = factor[row][k] * x[k];
            x[row] -= below;
        }
        x[row] /= factor[row][row];
    }
    for row in (0..n).rev() {
        for k in row + 1..n {
            let above = factor[k][row] * x[k];
            x[row] -= above;
        }
        x[row] /= factor[row][row];
    }
    x
}

fn dot<T: Scalar>(a: &[T; MOST], b: &[T; MOST], n: usize) -> T {
    let mut sum = T::ZERO;
    for k in 0..n {
        sum += a[k] * b[k];
    }
    sum
}

/// Generalised forces, accelerations and residuals of the renewed forces.
fn finish<T: Scalar>(sources: &Sources<'_, T>, out: &mut Solve<T>) {
    let &Sources {
        model,
        inertia,
        acceleration,
        constraint,
    } = sources;
    out.force_constraint.fill(T::ZERO);
    for block in &constraint.blocks {
        let (columns, values) = (
            constraint.block_columns(block),
            constraint.block_jacobian(block),
        );
        for (row, &force) in out.force[block.rows()].iter().enumerate() {
            for (&dof, &value) in columns.iter().zip(&values[row * columns.len()..]) {
                out.force_constraint[dof] += value * force;
            }
        }
    }
    out.qacc.copy_from_slice(&out.force_constraint);
    inertia::solve(model, inertia, &mut out.qacc);
    for (qacc, &smooth) in out.qacc.iter_mut().zip(&acceleration.smooth) {
        *qacc += smooth;
    }
    for block in &constraint.blocks {
        let (columns, values) = (
            constraint.block_columns(block),
            constraint.block_jacobian(block),
        );
        for (index, row) in constraint.block_rows(block).iter().enumerate() {
            let mut sum = -row.reference_acceleration;
            for (&dof, &value) in columns.iter().zip(&values[index * columns.len()..]) {
                sum += value * out.qacc[dof];
            }
            out.residual[block.row + index] = sum;
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::data::Data;
    use crate::dual::Dual;
    use crate::dynamics;
    use crate::integrate::step;
    use crate::model::Model;
    use crate::state::{Input, State};
    use crate::testing::model_from_mjcf;

    /// Three balls in one body on a slope, steep enough to creep but not to slide, and a joint held by dry friction.
    fn slope(cone: &str, sweeps: usize) -> Model {
        model_from_mjcf(&format!(
            r#"<mujoco><option cone="{cone}" tolerance="0" iterations="200" ls_tolerance="1e-12" ls_iterations="200"
              noslip_iterations="{sweeps}" noslip_tolerance="0" gravity="2 .5 -9"/>
            <default><geom friction=".8"/></default><worldbody><geom type="plane" size="5 5 1"/>
            <body pos="0 0 .0995"><freejoint/><geom size=".1"/><geom size=".1" pos=".3 0 0"/>
              <geom size=".1" pos="0 .3 0"/>
              <body pos=".1 .1 .2"><joint axis="0 1 0" frictionloss="5"/><geom size=".05" pos="0 0 .1"/></body></body>
            </worldbody></mujoco>"#
        ))
    }

    fn creep(model: &Model) -> f64 {
        let (mut state, input, mut data) = (
            State::reference(model),
            Input::zeros(model),
            Data::new(model),
        );
        for _ in 0..300 {
            step(model, &mut state, &input, &mut data);
        }
        state.qvel[0].hypot(state.qvel[1])
    }

    #[test]
    fn contacts_under_load_do_not_creep() {
        for cone in ["pyramidal", "elliptic"] {
            let (soft, firm) = (creep(&slope(cone, 0)), creep(&slope(cone, 50)));
            assert!(soft > 1e-4, "{cone}: {soft}");
            assert!(firm < 1e-3 * soft, "{cone}: {soft} {firm}");
        }
    }

    #[test]
    fn forces_stay_within_their_cones_and_give_the_acceleration() {
        for cone in ["pyramidal", "elliptic"] {
            let model = slope(cone, 3);
            let (mut state, mut data) = (State::reference(&model), Data::new(&model));
            state.qvel[0] = 0.3;
            dynamics::forward(&model, &state, &Input::zeros(&model), &mut data);
            assert_eq!(data.solve.report.noslip_iterations, 3);
            for (index, contact) in data.collision.contacts.iter().enumerate() {
                let force = data.contact_force(index);
                let sides = [force.force[1], force.force[2], force.torque[0]];
                let parts = sides
                    .iter()
                    .zip(contact.friction)
                    .map(|(side, mu)| side / mu);
                let size = if cone == "elliptic" {
                    parts.map(|part| part * part).sum::<f64>().sqrt()
                } else {
                    parts.map(f64::abs).sum()
                };
                assert!(size <= force.force[0] * (1.0 + 1e-9), "{cone} {index}");
            }
            let mut momentum = vec![0.0; model.counts().nv];
            crate::stages::inertia::mul(&model, &data.inertia, &data.solve.qacc, &mut momentum);
            for (dof, momentum) in momentum.iter().enumerate() {
                let force = data.acceleration.force_smooth[dof] + data.solve.force_constraint[dof];
                assert!((momentum - force).abs() < 1e-9, "{cone} {dof}");
            }
        }
    }

    #[test]
    fn duals_carry_the_derivative_of_the_sweeps() {
        for cone in ["pyramidal", "elliptic"] {
            let model = slope(cone, 2);
            let run = |push: f64| {
                let (state, mut input) = (State::reference(&model), Input::zeros(&model));
                input.force[0] = push;
                let mut data = Data::new(&model);
                dynamics::forward(&model, &state, &input, &mut data);
                data.solve.qacc
            };
            let dual_model = model.map(Dual::<1>::constant);
            let state = State::reference(&dual_model);
            let mut input = Input::zeros(&dual_model);
            input.force[0].tangent[0] = 1.0;
            let mut data = Data::new(&dual_model);
            dynamics::forward(&dual_model, &state, &input, &mut data);
            let h = 1e-5;
            for (dof, (plus, minus)) in run(h).iter().zip(run(-h)).enumerate() {
                let slope = (plus - minus) / (2.0 * h);
                let found = data.solve.qacc[dof].tangent[0];
                assert!(
                    (found - slope).abs() < 1e-5 * slope.abs().max(1.0),
                    "{cone} {dof}: {found} {slope}"
                );
            }
        }
    }
}
