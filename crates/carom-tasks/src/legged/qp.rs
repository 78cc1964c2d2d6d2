//! Quadratic programs over contact forces within friction pyramids.
//!
//!   min ½·xᵀHx + gᵀx,   |fx| ≤ μ·fz,  |fy| ≤ μ·fz,  low ≤ fz ≤ high  for each force f of x                (1)
//!
//! A primal–dual interior point with Mehrotra's corrector [Nocedal 2006, §16.6]. With the six rows C·f ≤ d of a force, slacks
//! s = d − C·f > 0 and multipliers z > 0, each iteration solves twice
//!
//!   (H + Cᵀ·diag(z/s)·C)·Δx = −(Hx + g) − Cᵀ·((σμ − Δs·Δz)/s),   Δs = −C·Δx                             (2)
//!   Δz = −z + (σμ − Δs·Δz)/s + (z/s)·C·Δx                                                            (3)
//!
//! with one factorisation. Rows of different forces do not mix: Cᵀ·W·C adds a 3×3 block to each force's place in H, so that
//! constraints cost next to nothing. The start is always strictly inside, and steps that stay there keep (1) exactly. The number of
//! iterations hardly depends on which rows are active, which is what a control loop wants. Solving allocates nothing.

/// Rows of a force.
const ROWS: usize = 6;
/// How much of the way to the boundary a step may go.
const MAX_STEP: f64 = 0.995;
/// How much smaller than residuals the products of slacks and multipliers are to be: errors of forces are of the size of their roots
/// where a row is only just active.
const GAP: f64 = 1e-3;
/// Largest z/s, in diagonals of H. Beyond 1e16 a row would leave nothing of H in the sums of its block.
const MAX_WEIGHT: f64 = 1e12;
/// Iterations after which a program is given up: those of random feasible programs stay below 25.
const MAX_ITERATIONS: usize = 60;

/// A quadratic program (1).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PyramidProgram {
    /// H, symmetric and positive definite, row by row; its upper half is read.
    pub hessian: Vec<f64>,
    /// g.
    pub gradient: Vec<f64>,
    /// Of each force.
    pub pyramids: Vec<Pyramid>,
}

/// Where a force may be.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pyramid {
    /// Friction coefficient.
    pub friction: f64,
    /// The least normal force (N).
    pub low: f64,
    /// The largest normal force (N), above the least.
    pub high: f64,
}

impl Pyramid {
    /// C·f.
    fn rows(&self, [x, y, z]: [f64; 3]) -> [f64; ROWS] {
        let held = self.friction * z;
        [x - held, -x - held, y - held, -y - held, z, -z]
    }

    /// d.
    fn limits(&self) -> [f64; ROWS] {
        [0.0, 0.0, 0.0, 0.0, self.high, -self.low]
    }

    /// Cᵀ·w.
    fn pull(&self, w: [f64; ROWS]) -> [f64; 3] {
        let held = self.friction * (w[0] + w[1] + w[2] + w[3]);
        [w[0] - w[1], w[2] - w[3], w[4] - w[5] - held]
    }

    /// Whether there is a force strictly inside.
    fn is_open(&self) -> bool {
        let finite = self.friction.is_finite() && self.low.is_finite() && self.high.is_finite();
        finite && self.friction > 0.0 && self.high > self.low.max(0.0)
    }
}

/// How a program was solved.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Solved {
    /// Iterations.
    pub iterations: usize,
    /// Whether the tolerance was met. Otherwise the forces are still within their pyramids.
    pub converged: bool,
}

/// Memory of a solver for programs of any size, and the last solution.
#[derive(Clone, Debug)]
pub struct InteriorPoint {
    /// Largest gradient of the Lagrangian, as a part of the largest of Hx and g, at which an iteration is the last.
    pub tolerance: f64,
    /// Largest z/s.
    weight: f64,
    x: Vec<f64>,
    step: Vec<f64>,
    slope: Vec<f64>,
    factor: Vec<f64>,
    slack: Vec<[f64; ROWS]>,
    multiplier: Vec<[f64; ROWS]>,
    change: Vec<[[f64; ROWS]; 2]>,
}

impl Default for InteriorPoint {
    fn default() -> Self {
        Self {
            tolerance: 1e-5,
            weight: 0.0,
            x: Vec::new(),
            step: Vec::new(),
            slope: Vec::new(),
            factor: Vec::new(),
            slack: Vec::new(),
            multiplier: Vec::new(),
            change: Vec::new(),
        }
    }
}

impl InteriorPoint {
    /// The last solution, force after force.
    pub fn solution(&self) -> &[f64] {
        &self.x
    }

    /// Multipliers of the last solution: of fx ≤ μ·fz, −fx ≤ μ·fz, the same for fy, fz ≤ high and −fz ≤ −low.
    pub fn multipliers(&self) -> &[[f64; 6]] {
        &self.multiplier
    }

    /// Solves a program. Where H is not positive definite, numbers are not finite or a pyramid has no inside, the answer has not
    /// converged and its forces are zero. A tolerance below what rounding allows is not met either; the forces are then the last ones
    /// that were found.
    pub fn solve(&mut self, program: &PyramidProgram) -> Solved {
        let (forces, size) = (program.pyramids.len(), program.gradient.len());
        let failed = |iterations| Solved {
            iterations,
            converged: false,
        };
        self.reset(forces, size);
        let fits = size == 3 * forces && program.hessian.len() == size * size;
        if !fits || !program.pyramids.iter().all(Pyramid::is_open) {
            return failed(0);
        }
        if forces == 0 {
            return Solved {
                iterations: 0,
                converged: true,
            };
        }
        self.start(program);
        let rows = (ROWS * forces) as f64;
        for iteration in 0..MAX_ITERATIONS {
            let gap = self.gap() / rows;
            let (residual, scale) = self.residual(program);
            if !residual.is_finite() || !gap.is_finite() {
                self.x.fill(0.0);
                return failed(iteration);
            }
            // The gap has the unit of work: that of the gradient times a slack.
            let typical = self.largest_slack();
            if residual <= self.tolerance * scale && gap <= GAP * self.tolerance * scale * typical {
                return Solved {
                    iterations: iteration,
                    converged: true,
                };
            }
            if !self.factorize(program) {
                // Later on, rounding ends what has come close: the forces are good enough to stand on.
                if iteration == 0 {
                    self.x.fill(0.0);
                }
                return failed(iteration);
            }
            self.direction(program, 0.0, false);
            let affine = self.longest_step(1.0);
            let centred = (self.gap_after(affine) / rows / gap).powi(3);
            self.direction(program, centred * gap, true);
            let length = self.longest_step(MAX_STEP);
            self.advance(program, length);
        }
        failed(MAX_ITERATIONS)
    }

    fn reset(&mut self, forces: usize, size: usize) {
        self.x.clear();
        self.x.resize(size, 0.0);
        self.step.resize(size, 0.0);
        self.slope.resize(size, 0.0);
        self.factor.resize(size * size, 0.0);
        self.slack.resize(forces, [0.0; ROWS]);
        self.multiplier.resize(forces, [0.0; ROWS]);
        self.change.resize(forces, [[0.0; ROWS]; 2]);
    }

    /// Normal forces somewhat above the least, and multipliers for which all products with slacks are alike.
    fn start(&mut self, program: &PyramidProgram) {
        let (x, _) = self.x.as_chunks_mut::<3>();
        for (x, pyramid) in x.iter_mut().zip(&program.pyramids) {
            let low = pyramid.low.max(0.0);
            *x = [0.0, 0.0, low + 0.1 * (pyramid.high - low)];
        }
        let size = self.x.len();
        let diagonal = program.hessian.iter().step_by(size + 1);
        self.weight = MAX_WEIGHT * diagonal.fold(0.0, |most: f64, &entry| most.max(entry));
        self.multiply(program);
        let slope = largest(&self.slope).max(f64::MIN_POSITIVE);
        let x = self.x.as_chunks::<3>().0.iter();
        let places = x.zip(&program.pyramids);
        let mut least = f64::INFINITY;
        for (slack, (x, pyramid)) in self.slack.iter_mut().zip(places) {
            let (rows, limits) = (pyramid.rows(*x), pyramid.limits());
            *slack = std::array::from_fn(|row| limits[row] - rows[row]);
            least = slack.iter().copied().fold(least, f64::min);
        }
        for (multiplier, slack) in self.multiplier.iter_mut().zip(&self.slack) {
            *multiplier = slack.map(|slack| 0.1 * slope * least / slack);
        }
    }

    /// slope ← Hx + g, by the upper half of H.
    fn multiply(&mut self, program: &PyramidProgram) {
        let size = self.x.len();
        self.slope.copy_from_slice(&program.gradient);
        for (row, entries) in program.hessian.chunks_exact(size).enumerate() {
            let x = self.x[row];
            let mut sum = entries[row] * x;
            let columns = self.slope[row + 1..].iter_mut().zip(&self.x[row + 1..]);
            for (entry, (slope, other)) in entries[row + 1..].iter().zip(columns) {
                sum += entry * other;
                *slope += entry * x;
            }
            self.slope[row] += sum;
        }
    }

    /// The largest entry of Hx + g + Cᵀz, and what it is to be measured by.
    fn residual(&mut self, program: &PyramidProgram) -> (f64, f64) {
        self.multiply(program);
        let mut worst: f64 = 0.0;
        let slopes = self.slope.as_chunks::<3>().0.iter();
        let pyramids = program.pyramids.iter().zip(&self.multiplier);
        for (slope, (pyramid, &multiplier)) in slopes.zip(pyramids) {
            let pulled = pyramid.pull(multiplier);
            for axis in 0..3 {
                let off = (slope[axis] + pulled[axis]).abs();
                // A maximum would hide what is not a number.
                worst = if off > worst || off.is_nan() {
                    off
                } else {
                    worst
                };
            }
        }
        let scale = largest(&program.gradient).max(largest(&self.slope));
        (worst, scale)
    }

    /// Σ s·z.
    fn gap(&self) -> f64 {
        let pairs = self.slack.iter().zip(&self.multiplier);
        pairs.fold(0.0, |sum, (s, z)| {
            sum + (0..ROWS).map(|row| s[row] * z[row]).sum::<f64>()
        })
    }

    /// Σ s·z after a step of this length.
    fn gap_after(&self, length: f64) -> f64 {
        let pairs = self.slack.iter().zip(&self.multiplier).zip(&self.change);
        pairs.fold(0.0, |sum, ((s, z), [ds, dz])| {
            let product = |row: usize| (s[row] + length * ds[row]) * (z[row] + length * dz[row]);
            sum + (0..ROWS).map(product).sum::<f64>()
        })
    }

    fn largest_slack(&self) -> f64 {
        let all = self.slack.iter().flatten();
        all.fold(0.0, |largest: f64, &slack| largest.max(slack))
    }

    /// Factors the matrix of (2) as Uᵀ·U, in the upper half. False where it is not positive definite.
    fn factorize(&mut self, program: &PyramidProgram) -> bool {
        let size = self.x.len();
        self.factor.copy_from_slice(&program.hessian);
        let weights = self.slack.iter().zip(&self.multiplier);
        for (force, (pyramid, (s, z))) in program.pyramids.iter().zip(weights).enumerate() {
            let w: [f64; ROWS] = std::array::from_fn(|row| (z[row] / s[row]).min(self.weight));
            let mu = pyramid.friction;
            let place = 3 * force * size + 3 * force;
            self.factor[place] += w[0] + w[1];
            self.factor[place + 2] += mu * (w[1] - w[0]);
            self.factor[place + size + 1] += w[2] + w[3];
            self.factor[place + size + 2] += mu * (w[3] - w[2]);
            let sides = w[0] + w[1] + w[2] + w[3];
            self.factor[place + 2 * size + 2] += mu * mu * sides + w[4] + w[5];
        }
        for pivot in 0..size {
            let (head, below) = self.factor.split_at_mut((pivot + 1) * size);
            let row = &mut head[pivot * size..];
            let positive = row[pivot] > 0.0 && row[pivot].is_finite();
            if !positive {
                return false;
            }
            let inverse = 1.0 / row[pivot].sqrt();
            row[pivot..].iter_mut().for_each(|entry| *entry *= inverse);
            for (other, entries) in below.chunks_exact_mut(size).enumerate() {
                let column = pivot + 1 + other;
                let factor = row[column];
                for (entry, above) in entries[column..].iter_mut().zip(&row[column..]) {
                    *entry -= factor * above;
                }
            }
        }
        true
    }

    /// (2) and (3). The corrector's products are those of the direction before it.
    fn direction(&mut self, program: &PyramidProgram, centre: f64, corrects: bool) {
        let parts = self.slack.iter().zip(&self.change);
        let pyramids = program.pyramids.iter().zip(parts);
        let steps = self.step.as_chunks_mut::<3>().0.iter_mut();
        let slopes = self.slope.as_chunks::<3>().0;
        for ((step, slope), (pyramid, (s, change))) in steps.zip(slopes).zip(pyramids) {
            let pulled = pyramid.pull(target(centre, corrects, s, change));
            *step = std::array::from_fn(|axis| -slope[axis] - pulled[axis]);
        }
        solve_upper(&self.factor, &mut self.step);
        let parts = self.slack.iter().zip(&self.multiplier);
        let places = self.step.as_chunks::<3>().0.iter().zip(parts);
        let pyramids = program.pyramids.iter().zip(places);
        let most = self.weight;
        for (change, (pyramid, (step, (s, z)))) in self.change.iter_mut().zip(pyramids) {
            let (goal, moved) = (target(centre, corrects, s, change), pyramid.rows(*step));
            let weight = |row: usize| (z[row] / s[row]).min(most);
            let dz = std::array::from_fn(|row| goal[row] - z[row] + weight(row) * moved[row]);
            *change = [moved.map(|moved| -moved), dz];
        }
    }

    /// The longest step, at most one, that keeps slacks and multipliers positive, times `part` if they bound it.
    fn longest_step(&self, part: f64) -> f64 {
        let mut length: f64 = 1.0;
        let numbers = self.slack.iter().zip(&self.multiplier).zip(&self.change);
        for ((s, z), [ds, dz]) in numbers {
            for row in 0..ROWS {
                for (number, change) in [(s[row], ds[row]), (z[row], dz[row])] {
                    if change < 0.0 {
                        length = length.min(-part * number / change);
                    }
                }
            }
        }
        length
    }

    fn advance(&mut self, program: &PyramidProgram, length: f64) {
        for (x, step) in self.x.iter_mut().zip(&self.step) {
            *x += length * step;
        }
        let parts = self.multiplier.iter_mut().zip(&self.change);
        let places = self.x.as_chunks::<3>().0.iter().zip(&program.pyramids);
        for ((slack, (multiplier, [ds, dz])), (x, pyramid)) in
            self.slack.iter_mut().zip(parts).zip(places)
        {
            let (rows, limits) = (pyramid.rows(*x), pyramid.limits());
            for row in 0..ROWS {
                // From the forces themselves, so that no error adds up, unless rounding would leave none.
                let exact = limits[row] - rows[row];
                let moved = slack[row] + length * ds[row];
                slack[row] = if exact > 0.0 { exact } else { moved };
                multiplier[row] += length * dz[row];
            }
        }
    }
}

/// (σμ − Δs·Δz)/s.
fn target(
    centre: f64,
    corrects: bool,
    slack: &[f64; ROWS],
    [ds, dz]: &[[f64; ROWS]; 2],
) -> [f64; ROWS] {
    std::array::from_fn(|row| {
        let second = if corrects { ds[row] * dz[row] } else { 0.0 };
        (centre - second) / slack[row]
    })
}

/// x ← (Uᵀ·U)⁻¹·x.
fn solve_upper(factor: &[f64], x: &mut [f64]) {
    let size = x.len();
    for row in 0..size {
        let entries = &factor[row * size..][..size];
        x[row] /= entries[row];
        let value = x[row];
        for (x, entry) in x[row + 1..].iter_mut().zip(&entries[row + 1..]) {
            *x -= entry * value;
        }
    }
    for row in (0..size).rev() {
        let entries = &factor[row * size..][..size];
        let products = entries[row + 1..].iter().zip(&x[row + 1..]);
        let rest = products.fold(x[row], |rest, (entry, x)| rest - entry * x);
        x[row] = rest / entries[row];
    }
}

fn largest(numbers: &[f64]) -> f64 {
    numbers
        .iter()
        .fold(0.0, |largest: f64, number| largest.max(number.abs()))
}
