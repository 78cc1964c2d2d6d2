//! iLQR: linear-quadratic regulators around the plan at hand, within ranges [Tassa 2014, sec. III].
//!
//! With the step x⁺ = f(x, u) as a linear map A, B and the cost ℓ(x⁺, u) of the moment after it as a quadratic form, the cost to go V
//! is carried from the end to the start. With W = V + ℓ over x⁺,
//!
//! ```text
//!   Q_x = Aᵀ·W_x,   Q_u = Bᵀ·W_x + ℓ_u,   Q_xx = Aᵀ·W_xx·A,   Q_ux = (Bᵀ·W_xx + ℓ_ux)·A,
//!   Q_uu = Bᵀ·W_xx·B + Bᵀ·ℓ_xu + ℓ_ux·B + ℓ_uu                                           (1)
//!   k = argmin ½·δᵀ·(Q_uu + μ)·δ + Q_uᵀ·δ within the ranges,   K = −(Q_uu + μ)⁻¹·Q_ux of controls that are free   (2)
//! ```
//!
//! and u + α·k + K·(x ⊖ x̂) is followed for the largest α that pays. Controls are in units of their ranges, so that μ is
//! the radius of a trust region: it grows where the cost falls less than (1) promised, and shrinks where it keeps its word.
//! Curvatures of costs are those of Gauss and Newton; sensors are regarded as functions of the state.

use carom::cotangent::StateBar;
use carom::rollout::Loss;
use carom::system::{Linear, Passing, Seen, StepBar};
use carom::{Dynamics, State};
use carom_optimise::linalg::{Cholesky, Matrix, dot, transpose_times};
use carom_optimise::random::Random;
use serde::Deserialize;

use super::cost::Horizon;
use super::method::{Memory, Planned, Planner, Ranges};
use super::quantity::{Reading, ReadingBar};

/// Settings of iLQR.
#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(deny_unknown_fields, default)]
pub struct IlqrSettings {
    /// Passes back and forth for a plan.
    pub iterations: usize,
    /// The first μ, in cost per range squared.
    pub regularisation: f64,
    /// Ends where the cost falls by less than this share.
    pub tolerance: f64,
}

impl Default for IlqrSettings {
    fn default() -> Self {
        Self {
            iterations: 10,
            regularisation: 1e-6,
            tolerance: 1e-6,
        }
    }
}

/// Plans by iLQR.
#[derive(Clone, Debug)]
pub struct Ilqr {
    settings: IlqrSettings,
    /// μ of the last plan, from which the next one begins.
    regularisation: f64,
}

impl Ilqr {
    /// With settings.
    pub fn new(settings: IlqrSettings) -> Self {
        Self {
            regularisation: settings.regularisation,
            settings,
        }
    }
}

/// Bounds of μ: below it means nothing, above it nothing moves.
const REGULARISATION_BOUNDS: [f64; 2] = [1e-12, 1e8];
/// Factors α of a step that are tried.
const LINE: [f64; 6] = [1.0, 0.5, 0.25, 0.1, 0.03, 0.01];

/// Share of the cost below which a promise is nothing.
const MIN_PROMISE: f64 = 1e-12;
/// How far a plan is moved aside, as a share of ranges.
const ASIDE: f64 = 0.01;

/// A plan beside another.
fn aside(plan: &[f64], ranges: &Ranges) -> Vec<f64> {
    let nu = ranges.len();
    let mut random = Random::new(0, 0);
    let moved = plan
        .iter()
        .enumerate()
        .map(|(index, number)| number + ASIDE * ranges.width(index % nu) * random.normal());
    let mut moved: Vec<f64> = moved.collect();
    ranges.clamp(&mut moved);
    moved
}

/// A motion with all that its linear maps need.
struct Path {
    /// Before each step, and after the one beyond the plan.
    states: Vec<State>,
    sensors: Vec<Vec<f64>>,
    plan: Vec<f64>,
    cost: f64,
}

/// How controls are to change.
struct Policy {
    /// k of each step, in units of ranges.
    open: Vec<Vec<f64>>,
    /// K of each step.
    gains: Vec<Matrix>,
    /// What the quadratic form promises for all of k, and its linear part alone.
    promised: [f64; 2],
}

impl<D: Dynamics> Planner<D> for Ilqr {
    fn refine(&mut self, horizon: &Horizon<'_, D>, ranges: &Ranges, warm: &[f64]) -> Planned {
        let mut work = horizon.dynamics.work();
        let mut room = Room::new(horizon, ranges);
        let mut planned = Planned {
            plan: warm.to_vec(),
            cost: f64::INFINITY,
            evaluations: 1,
            gradients: 0,
        };
        let Some(mut path) = follow(horizon, warm, None, &mut work) else {
            return planned;
        };
        let first_cost = path.cost;
        for iteration in 0..self.settings.iterations {
            planned.gradients += 1;
            let Some(mut model) = room.expand(horizon, &path) else {
                break;
            };
            let mut accepted = false;
            while self.regularisation < REGULARISATION_BOUNDS[1] {
                let Some(policy) = model.solve(&path, ranges, self.regularisation) else {
                    self.grow();
                    continue;
                };
                let found = LINE.iter().find_map(|&share| {
                    planned.evaluations += 1;
                    let next = follow(
                        horizon,
                        &path.plan,
                        Some((&policy, share, ranges, &path)),
                        &mut work,
                    )?;
                    let [half, full] = policy.promised;
                    let promised = share * full - share * share * (full - half);
                    let ratio = (path.cost - next.cost) / promised.max(f64::MIN_POSITIVE);
                    (next.cost < path.cost && ratio > 1e-4).then_some((next, ratio, share))
                });
                let Some((next, ratio, share)) = found else {
                    if policy.promised[1] <= MIN_PROMISE * path.cost.abs().max(MIN_PROMISE) {
                        // Nothing to gain from here, as at the top of a hill: go aside once.
                        let aside = aside(&path.plan, ranges);
                        let beside = follow(horizon, &aside, None, &mut work);
                        if let Some(beside) = beside.filter(|_| iteration == 0) {
                            path = beside;
                            accepted = true;
                        }
                        break;
                    }
                    self.grow();
                    continue;
                };
                match ratio {
                    ratio if ratio > 0.5 && share == 1.0 => self.shrink(),
                    ratio if ratio < 0.1 || share < 0.2 => self.grow(),
                    _ => {}
                }
                let fall = path.cost - next.cost;
                path = next;
                accepted = fall > self.settings.tolerance * path.cost.abs();
                break;
            }
            if !accepted {
                break;
            }
        }
        self.regularisation = (self.regularisation).min(0.01 * REGULARISATION_BOUNDS[1]);
        planned.cost = path.cost.min(first_cost);
        if path.cost <= first_cost {
            planned.plan = path.plan;
        }
        planned
    }

    fn memory(&self) -> Memory {
        Memory {
            number: self.regularisation,
            ..Memory::default()
        }
    }

    fn recall(&mut self, memory: &Memory, length: usize) -> bool {
        let [lower, upper] = REGULARISATION_BOUNDS;
        self.regularisation = memory.number;
        memory.fits(length) && (lower..=upper).contains(&memory.number)
    }
}

impl Ilqr {
    fn grow(&mut self) {
        self.regularisation = (self.regularisation * 5.0).min(REGULARISATION_BOUNDS[1]);
    }

    fn shrink(&mut self) {
        self.regularisation = (self.regularisation / 5.0).max(REGULARISATION_BOUNDS[0]);
    }
}

/// Follows a plan, or a policy around a path; none where the motion does not come to its end.
fn follow<D: Dynamics>(
    horizon: &Horizon<'_, D>,
    plan: &[f64],
    policy: Option<(&Policy, f64, &Ranges, &Path)>,
    work: &mut D::Work,
) -> Option<Path> {
    let dynamics = horizon.dynamics;
    let shape = dynamics.shape();
    let nu = shape.nu;
    let mut path = Path {
        states: vec![horizon.start.clone()],
        sensors: Vec::new(),
        plan: plan.to_vec(),
        cost: 0.0,
    };
    let (mut state, mut input) = (horizon.start.clone(), dynamics.input());
    let mut tangent = vec![0.0; shape.tangent()];
    let mut room = Vec::new();
    for step in 0..=horizon.steps {
        let row = step.min(horizon.steps - 1) * nu;
        if let Some((policy, share, ranges, around)) = policy
            && step < horizon.steps
        {
            let from = &around.states[step];
            dynamics.difference(&from.qpos, &state.qpos, &mut tangent[..shape.nv]);
            let rest = state
                .qvel
                .iter()
                .zip(&from.qvel)
                .chain(state.act.iter().zip(&from.act));
            for (place, (to, from)) in tangent[shape.nv..].iter_mut().zip(rest) {
                *place = to - from;
            }
            for control in 0..nu {
                let gain = dot(policy.gains[step].row(control), &tangent);
                let change = share * policy.open[step][control] + gain;
                let number = path.plan[row + control] + change * ranges.width(control);
                path.plan[row + control] =
                    number.clamp(ranges.lower[control], ranges.upper[control]);
            }
        }
        input.ctrl.copy_from_slice(&path.plan[row..row + nu]);
        let report = dynamics.step(&mut state, &input, work);
        if report.not_finite.is_some() || report.large.is_some() {
            return None;
        }
        path.sensors.push(dynamics.sensors(work).to_vec());
        if step > 0 {
            let reading = path.reading(step, nu);
            path.cost += horizon.cost.at(&reading, step, horizon.steps, &mut room);
        }
        path.states.push(state.clone());
    }
    path.cost.is_finite().then_some(path)
}

impl Path {
    /// What is known of a moment.
    fn reading(&self, moment: usize, nu: usize) -> Reading<'_> {
        let state = &self.states[moment];
        Reading {
            qpos: &state.qpos,
            qvel: &state.qvel,
            act: &state.act,
            ctrl: &self.plan[(moment - 1) * nu..moment * nu],
            sensors: &self.sensors[moment],
        }
    }
}

/// Derivatives of sensors alone.
struct SensorBars<'a>(&'a [f64]);

impl Loss for SensorBars<'_> {
    fn by_state(&mut self, _: usize, _: &State, _: &mut StateBar) {}

    fn by_sensors(&mut self, _: usize, bar: &mut [f64]) {
        for (sum, term) in bar.iter_mut().zip(self.0) {
            *sum += term;
        }
    }

    fn uses_sensors(&self) -> bool {
        true
    }
}

/// Memory for expansions.
struct Room<D: Dynamics> {
    reverse: D::Reverse,
    widths: Vec<f64>,
}

/// Linear maps and quadratic costs along a path; controls in units of their ranges.
struct Expansion {
    a: Vec<Matrix>,
    b: Vec<Matrix>,
    /// Slopes of the cost of each moment by state and controls.
    slopes: Vec<[Vec<f64>; 2]>,
    /// Rows of residuals by state and controls, times the square roots of their curvatures.
    rows: Vec<[Matrix; 2]>,
}

impl<D: Dynamics> Room<D> {
    fn new(horizon: &Horizon<'_, D>, ranges: &Ranges) -> Self {
        Self {
            reverse: horizon.dynamics.reverse(),
            widths: (0..ranges.len())
                .map(|control| ranges.width(control))
                .collect(),
        }
    }

    fn expand(&mut self, horizon: &Horizon<'_, D>, path: &Path) -> Option<Expansion> {
        let dynamics = horizon.dynamics;
        let (n, nu) = (dynamics.shape().tangent(), self.widths.len());
        let mut expansion = Expansion {
            a: Vec::new(),
            b: Vec::new(),
            slopes: Vec::new(),
            rows: Vec::new(),
        };
        let mut linear = Linear::default();
        let mut input = dynamics.input();
        for step in 0..horizon.steps {
            input.ctrl.copy_from_slice(&path.plan[step * nu..][..nu]);
            let seen = Seen {
                step,
                state: &path.states[step],
                input: &input,
                warmstart: &path.states[step + 1].warmstart,
            };
            dynamics
                .linearize(seen, &mut linear, &mut self.reverse)
                .ok()?;
            for row in linear.b.chunks_exact_mut(nu.max(1)) {
                row.iter_mut()
                    .zip(&self.widths)
                    .for_each(|(b, width)| *b *= width);
            }
            if linear
                .a
                .iter()
                .chain(&linear.b)
                .any(|number| !number.is_finite())
            {
                return None;
            }
            expansion.a.push(Matrix::from_data(n, n, linear.a.clone())?);
            expansion
                .b
                .push(Matrix::from_data(n, nu, linear.b.clone())?);
            self.expand_cost(horizon, path, step + 1, &mut expansion)?;
        }
        Some(expansion)
    }

    fn expand_cost(
        &mut self,
        horizon: &Horizon<'_, D>,
        path: &Path,
        moment: usize,
        expansion: &mut Expansion,
    ) -> Option<()> {
        let shape = horizon.dynamics.shape();
        let (n, nu) = (shape.tangent(), shape.nu);
        let reading = path.reading(moment, nu);
        let mut slopes = [vec![0.0; n], vec![0.0; nu]];
        let (mut by_state, mut by_control) = (Vec::new(), Vec::new());
        for (term, factor) in horizon.cost.weighted(moment, horizon.steps) {
            let width = term.quantity.width();
            let mut residual = vec![0.0; width];
            term.quantity.read(&reading, &mut residual);
            let mut jacobian = Vec::with_capacity(width);
            for k in 0..width {
                let mut unit = vec![0.0; width];
                unit[k] = 1.0;
                jacobian.push(self.pull(horizon, path, moment, &term.quantity, &unit)?);
            }
            let curvature = term.kind.curvature(&residual).map(|c| (c * factor).sqrt());
            let length = dot(&residual, &residual).sqrt();
            let combine = |weights: &[f64], part: usize| {
                let mut sum = vec![0.0; jacobian[0][part].len()];
                for (row, weight) in jacobian.iter().zip(weights) {
                    for (sum, number) in sum.iter_mut().zip(&row[part]) {
                        *sum += weight * number;
                    }
                }
                sum
            };
            // √H = along·n·nᵀ + across·(I − n·nᵀ), a row for each number of the residual.
            for k in 0..width {
                let weights: Vec<f64> = (0..width)
                    .map(|l| {
                        let across = if k == l { curvature[1] } else { 0.0 };
                        let both = if length > 0.0 {
                            residual[k] * residual[l] / (length * length)
                        } else {
                            0.0
                        };
                        across + (curvature[0] - curvature[1]) * both
                    })
                    .collect();
                by_state.extend(combine(&weights, 0));
                by_control.extend(combine(&weights, 1));
            }
            term.kind.slope(&mut residual, factor);
            for (part, slope) in slopes.iter_mut().enumerate() {
                let own = combine(&residual, part);
                slope
                    .iter_mut()
                    .zip(own)
                    .for_each(|(sum, number)| *sum += number);
            }
        }
        let count = by_state.len() / n.max(1);
        expansion.rows.push([
            Matrix::from_data(count, n, by_state)?,
            Matrix::from_data(count, nu, by_control)?,
        ]);
        expansion.slopes.push(slopes);
        Some(())
    }

    /// The derivative of a quantity's numbers by the state and the controls of a moment.
    fn pull(
        &mut self,
        horizon: &Horizon<'_, D>,
        path: &Path,
        moment: usize,
        quantity: &super::quantity::Quantity,
        unit: &[f64],
    ) -> Option<[Vec<f64>; 2]> {
        let dynamics = horizon.dynamics;
        let (shape, nu) = (dynamics.shape(), self.widths.len());
        let nv = shape.nv;
        let mut by_state = vec![0.0; shape.tangent()];
        let mut by_control = vec![0.0; nu];
        let mut sensors = vec![0.0; shape.sensors];
        let (qpos, rest) = by_state.split_at_mut(nv);
        let (qvel, act) = rest.split_at_mut(nv);
        let mut bar = ReadingBar {
            qpos,
            qvel,
            act,
            ctrl: &mut by_control,
            sensors: &mut sensors,
        };
        quantity.pull(unit, &mut bar);
        for (number, width) in by_control.iter_mut().zip(&self.widths) {
            *number *= width;
        }
        if sensors.iter().any(|&number| number != 0.0) {
            let state = &path.states[moment];
            let mut input = dynamics.input();
            let row = moment.min(horizon.steps - 1) * nu;
            input.ctrl.copy_from_slice(&path.plan[row..row + nu]);
            let seen = Seen {
                step: moment,
                state,
                input: &input,
                warmstart: &path.states[moment + 1].warmstart,
            };
            let next = StateBar::like(state);
            let mut step_bar = StepBar::zeros(state, &input);
            let passing = Passing {
                next: &next,
                loss: &mut SensorBars(&sensors),
                observer: &mut (),
            };
            dynamics
                .backward(seen, passing, &mut step_bar, &mut self.reverse)
                .ok()?;
            let StateBar {
                qpos, qvel, act, ..
            } = &step_bar.state;
            let found = qpos.iter().chain(qvel).chain(act);
            by_state
                .iter_mut()
                .zip(found)
                .for_each(|(sum, number)| *sum += number);
        }
        Some([by_state, by_control])
    }
}

impl Expansion {
    /// (1) and (2) from the end to the start; none where a problem is not convex.
    fn solve(&mut self, path: &Path, ranges: &Ranges, regularisation: f64) -> Option<Policy> {
        let steps = self.a.len();
        let (n, nu) = (self.a[0].rows(), ranges.len());
        let mut value = (vec![0.0; n], Matrix::zeros(n, n));
        let mut policy = Policy {
            open: vec![Vec::new(); steps],
            gains: vec![Matrix::zeros(0, 0); steps],
            promised: [0.0; 2],
        };
        for step in (0..steps).rev() {
            let (a, b) = (&self.a[step], &self.b[step]);
            let [slope_x, slope_u] = &self.slopes[step];
            let [rows_x, rows_u] = &self.rows[step];
            // W, with the cost of the moment.
            let (mut slope, mut curve) = value;
            slope
                .iter_mut()
                .zip(slope_x)
                .for_each(|(sum, number)| *sum += number);
            add_gram(&mut curve, rows_x, rows_x);
            let curve_a = curve.times_matrix(a);
            let curve_b = curve.times_matrix(b);
            let mut cross = Matrix::zeros(nu, n);
            add_gram(&mut cross, rows_u, rows_x);
            let q_x = transpose_times(a, &slope);
            let mut q_u = transpose_times(b, &slope);
            q_u.iter_mut()
                .zip(slope_u)
                .for_each(|(sum, number)| *sum += number);
            let mut q_xx = Matrix::zeros(n, n);
            add_gram(&mut q_xx, a, &curve_a);
            let mut q_ux = cross.times_matrix(a);
            add_gram(&mut q_ux, b, &curve_a);
            let cross_b = cross.times_matrix(b);
            let mut q_uu = Matrix::zeros(nu, nu);
            add_gram(&mut q_uu, b, &curve_b);
            add_gram(&mut q_uu, rows_u, rows_u);
            for i in 0..nu {
                for j in 0..nu {
                    q_uu[(i, j)] += cross_b[(i, j)] + cross_b[(j, i)];
                }
            }
            let mut regular = q_uu.clone();
            for i in 0..nu {
                regular[(i, i)] += regularisation;
            }
            let row = &path.plan[step * nu..][..nu];
            let end = |end: &[f64]| -> Vec<f64> {
                let ends = end.iter().zip(row).enumerate();
                ends.map(|(control, (end, number))| {
                    let width = ranges.width(control);
                    if width > 0.0 {
                        (end - number) / width
                    } else {
                        0.0
                    }
                })
                .collect()
            };
            let (lower, upper) = (end(&ranges.lower), end(&ranges.upper));
            let (open, free) = within(&regular, &q_u, &lower, &upper)?;
            let gains = gains(&regular, &q_ux, &free)?;
            // V of the next step: with k and K in the form without μ.
            let curved = q_uu.times(&open);
            policy.promised[0] -= dot(&open, &q_u) + 0.5 * dot(&open, &curved);
            policy.promised[1] -= dot(&open, &q_u);
            let mut both = curved;
            both.iter_mut()
                .zip(&q_u)
                .for_each(|(sum, number)| *sum += number);
            let mut slope = q_x;
            let terms = [
                transpose_times(&gains, &both),
                transpose_times(&q_ux, &open),
            ];
            for term in terms {
                slope
                    .iter_mut()
                    .zip(term)
                    .for_each(|(sum, number)| *sum += number);
            }
            let mut curve = q_xx;
            let curved = q_uu.times_matrix(&gains);
            let mut parts = Matrix::zeros(n, n);
            add_gram(&mut parts, &gains, &q_ux);
            add_gram(&mut curve, &gains, &curved);
            for i in 0..n {
                for j in 0..n {
                    curve[(i, j)] += parts[(i, j)] + parts[(j, i)];
                }
            }
            for i in 0..n {
                for j in 0..i {
                    let mean = 0.5 * (curve[(i, j)] + curve[(j, i)]);
                    curve[(i, j)] = mean;
                    curve[(j, i)] = mean;
                }
            }
            policy.open[step] = open;
            policy.gains[step] = gains;
            value = (slope, curve);
        }
        Some(policy)
    }
}

/// sum += leftᵀ·right.
fn add_gram(sum: &mut Matrix, left: &Matrix, right: &Matrix) {
    for row in 0..left.rows() {
        for (i, &factor) in left.row(row).iter().enumerate() {
            if factor != 0.0 {
                let right = right.row(row);
                sum.row_mut(i)
                    .iter_mut()
                    .zip(right)
                    .for_each(|(sum, number)| *sum += factor * number);
            }
        }
    }
}

/// Rounds of the search for the minimum within bounds; each may free or hold any number of controls.
const MAX_ROUNDS: usize = 50;

/// The minimum of ½·xᵀ·H·x + gᵀ·x within bounds by projected Newton steps, and which entries are free there.
fn within(
    matrix: &Matrix,
    slope: &[f64],
    lower: &[f64],
    upper: &[f64],
) -> Option<(Vec<f64>, Vec<usize>)> {
    let n = slope.len();
    let mut point: Vec<f64> = (0..n).map(|i| 0.0_f64.clamp(lower[i], upper[i])).collect();
    let value = |x: &[f64]| 0.5 * dot(x, &matrix.times(x)) + dot(slope, x);
    let mut free: Vec<usize> = Vec::new();
    for _ in 0..MAX_ROUNDS {
        let mut gradient = matrix.times(&point);
        gradient
            .iter_mut()
            .zip(slope)
            .for_each(|(sum, number)| *sum += number);
        let is_held = |i: usize| {
            (point[i] <= lower[i] && gradient[i] >= 0.0)
                || (point[i] >= upper[i] && gradient[i] <= 0.0)
        };
        free = (0..n).filter(|&i| !is_held(i)).collect();
        if free.is_empty() {
            break;
        }
        let part = Matrix::from_fn(free.len(), free.len(), |i, j| matrix[(free[i], free[j])]);
        let right: Vec<f64> = free.iter().map(|&i| -gradient[i]).collect();
        let step = Cholesky::new(&part)?.solve(&right);
        if step.iter().any(|number| !number.is_finite()) {
            return None;
        }
        let longest = step
            .iter()
            .fold(0.0_f64, |most, number| most.max(number.abs()));
        if longest < 1e-14 {
            break;
        }
        let before = value(&point);
        let mut share = 1.0;
        let next = loop {
            let mut next = point.clone();
            for (&i, step) in free.iter().zip(&step) {
                next[i] = (next[i] + share * step).clamp(lower[i], upper[i]);
            }
            if value(&next) < before || share < 1e-6 {
                break next;
            }
            share *= 0.5;
        };
        if share < 1e-6 || next == point {
            break;
        }
        point = next;
    }
    Some((point, free))
}

/// K of (2).
fn gains(matrix: &Matrix, q_ux: &Matrix, free: &[usize]) -> Option<Matrix> {
    let mut gains = Matrix::zeros(q_ux.rows(), q_ux.columns());
    if free.is_empty() {
        return Some(gains);
    }
    let part = Matrix::from_fn(free.len(), free.len(), |i, j| matrix[(free[i], free[j])]);
    let factor = Cholesky::new(&part)?;
    for column in 0..q_ux.columns() {
        let right: Vec<f64> = free.iter().map(|&i| -q_ux[(i, column)]).collect();
        for (&i, number) in free.iter().zip(factor.solve(&right)) {
            gains[(i, column)] = number;
        }
    }
    Some(gains)
}
