//! One run of the evolution strategy: sample, rank, adapt.
//!
//! Points are drawn as x = m + σ·y with y = B·D·z, z ~ N(0, I), C = B·D²·Bᵀ. With ranks i, weights w and steps y of a
//! generation [Hansen 2016, §3–4]:
//!
//!   m ← m + σ·⟨y⟩,  ⟨y⟩ = Σ wᵢ·yᵢ over the first μ                          (1)
//!   s ← (1 − cₛ)·s + √(cₛ·(2 − cₛ)·μₑ)·B·D⁻¹·Bᵀ·⟨y⟩                         (2)
//!   σ ← σ·exp((cₛ/dₛ)·(‖s‖/E‖N‖ − 1))                                       (3)
//!   p ← (1 − cₚ)·p + h·√(cₚ·(2 − cₚ)·μₑ)·⟨y⟩                                (4)
//!   C ← (1 + c₁·δ − c₁ − cₘ·Σw)·C + c₁·p·pᵀ + cₘ·Σ wᵢ°·yᵢ·yᵢᵀ               (5)
//!
//! with wᵢ° = wᵢ for positive weights and wᵢ·n/‖B·D⁻¹·Bᵀ·yᵢ‖² for negative ones, which keeps C positive definite; h is 0
//! while s is long, and δ = (1 − h)·cₚ·(2 − cₚ) makes up for it.

use serde::{Deserialize, Serialize};

use super::constants::Constants;
use crate::linalg::{Matrix, SymmetricEigen, add_scaled, dot, norm, transpose_times};
use crate::random::Random;

/// A normal distribution that moves towards lower values.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Run {
    pub(super) constants: Constants,
    pub(super) mean: Vec<f64>,
    pub(super) sigma: f64,
    pub(super) first_sigma: f64,
    pub(super) covariance: Matrix,
    /// Eigenvectors of C as rows: Bᵀ.
    pub(super) axes: Matrix,
    /// Square roots of its eigenvalues: D.
    pub(super) lengths: Vec<f64>,
    step_path: Vec<f64>,
    pub(super) path: Vec<f64>,
    pub(super) generation: u64,
    /// The generation whose C is factored.
    factored: u64,
    /// Steps y of the generation that waits for values.
    pub(super) steps: Vec<Vec<f64>>,
    /// Generations in a row that failed as a whole.
    pub(super) lost: u32,
    /// Whether C could not be factored.
    pub(super) broken: bool,
}

impl Run {
    pub(super) fn new(mean: Vec<f64>, sigma: f64, population: usize) -> Self {
        let n = mean.len();
        Self {
            constants: Constants::new(n, population),
            mean,
            sigma,
            first_sigma: sigma,
            covariance: Matrix::identity(n),
            axes: Matrix::identity(n),
            lengths: vec![1.0; n],
            step_path: vec![0.0; n],
            path: vec![0.0; n],
            generation: 0,
            factored: 0,
            steps: Vec::new(),
            lost: 0,
            broken: false,
        }
    }

    /// Draw a generation.
    pub(super) fn sample(&mut self, random: &mut Random) -> Vec<Vec<f64>> {
        self.refactor();
        let n = self.mean.len();
        self.steps = (0..self.constants.population)
            .map(|_| {
                let z = random.normals(n);
                let stretched: Vec<f64> = z.iter().zip(&self.lengths).map(|(z, d)| z * d).collect();
                transpose_times(&self.axes, &stretched)
            })
            .collect();
        let moved = |y: &Vec<f64>| {
            let mut x = self.mean.clone();
            add_scaled(&mut x, self.sigma, y);
            x
        };
        self.steps.iter().map(moved).collect()
    }

    /// Factor C again once it may have changed by a tenth of what n generations change.
    fn refactor(&mut self) {
        let n = self.mean.len() as f64;
        let rate = self.constants.path_share + self.constants.ranks_share;
        let due = (self.generation - self.factored) as f64 > 0.1 / (rate * n);
        if self.generation == 0 || !due {
            return;
        }
        self.factored = self.generation;
        match SymmetricEigen::new(&self.covariance) {
            Some(eigen) if eigen.values[0] > 0.0 => {
                self.lengths = eigen.values.iter().map(|value| value.sqrt()).collect();
                self.axes = eigen.vectors;
            }
            _ => self.broken = true,
        }
    }

    /// B·D⁻¹·Bᵀ·v.
    fn whitened(&self, v: &[f64]) -> Vec<f64> {
        let inner: Vec<f64> = self
            .axes
            .times(v)
            .iter()
            .zip(&self.lengths)
            .map(|(v, d)| v / d)
            .collect();
        transpose_times(&self.axes, &inner)
    }

    /// Adapt to the values of the generation, infinite where there is none.
    pub(super) fn adapt(&mut self, values: &[f64]) {
        self.generation += 1;
        let mut order: Vec<usize> = (0..values.len()).collect();
        order.sort_by(|&a, &b| values[a].total_cmp(&values[b]));
        let known = values.iter().filter(|value| value.is_finite()).count();
        if known == 0 {
            // Nothing is known but that the draw was too bold.
            self.lost += 1;
            self.sigma *= 0.5;
            return;
        }
        self.lost = 0;
        let weights = self.weights_of(known);
        let steps = std::mem::take(&mut self.steps);
        let mut shift = vec![0.0; self.mean.len()];
        for (&i, &w) in order.iter().zip(&weights) {
            if w > 0.0 {
                add_scaled(&mut shift, w, &steps[i]);
            }
        }
        add_scaled(&mut self.mean, self.sigma, &shift); // (1)
        let direct = self.follow_paths(&shift);
        self.adapt_covariance(direct, &order, &weights, &steps);
        let c = &self.constants;
        let excess = norm(&self.step_path) / c.normal_length - 1.0;
        self.sigma *= (c.step_rate / c.step_damping * excess).min(1.0).exp(); // (3)
    }

    /// Points without a value are no parents.
    fn weights_of(&self, known: usize) -> Vec<f64> {
        let parents = self.constants.parents;
        let mut weights = self.constants.weights.clone();
        if known < parents {
            let sum: f64 = weights[..known].iter().sum();
            for weight in &mut weights[..known] {
                *weight /= sum;
            }
            weights[known..parents].fill(0.0);
        }
        weights
    }

    /// (2) and (4); whether the step's path is short.
    fn follow_paths(&mut self, shift: &[f64]) -> bool {
        let c = &self.constants;
        let white = self.whitened(shift);
        let gain = (c.step_rate * (2.0 - c.step_rate) * c.effective).sqrt();
        for (p, w) in self.step_path.iter_mut().zip(&white) {
            *p = (1.0 - c.step_rate) * *p + gain * w; // (2)
        }
        let n = self.mean.len() as f64;
        let age = (1.0 - (1.0 - c.step_rate).powf(2.0 * self.generation as f64)).sqrt();
        let direct = norm(&self.step_path) / age < (1.4 + 2.0 / (n + 1.0)) * c.normal_length;
        let gain = (c.path_rate * (2.0 - c.path_rate) * c.effective).sqrt();
        for (p, s) in self.path.iter_mut().zip(shift) {
            *p *= 1.0 - c.path_rate;
            if direct {
                *p += gain * s; // (4)
            }
        }
        direct
    }

    /// (5).
    fn adapt_covariance(
        &mut self,
        direct: bool,
        order: &[usize],
        weights: &[f64],
        steps: &[Vec<f64>],
    ) {
        let n = self.mean.len();
        let whites: Vec<f64> = (order.iter().zip(weights))
            .map(|(&i, &w)| {
                if w < 0.0 {
                    let white = self.whitened(&steps[i]);
                    w * n as f64 / dot(&white, &white).max(f64::MIN_POSITIVE)
                } else {
                    w
                }
            })
            .collect();
        let c = &self.constants;
        let sum: f64 = weights.iter().sum();
        let makeup = if direct {
            0.0
        } else {
            c.path_share * c.path_rate * (2.0 - c.path_rate)
        };
        let keep = 1.0 + makeup - c.path_share - c.ranks_share * sum;
        for i in 0..n {
            let row = self.covariance.row_mut(i);
            for entry in row.iter_mut() {
                *entry *= keep;
            }
            add_scaled(row, c.path_share * self.path[i], &self.path);
            for (&k, &w) in order.iter().zip(&whites) {
                add_scaled(row, c.ranks_share * w * steps[k][i], &steps[k]);
            }
        }
        // Rounding differs between the two halves.
        for i in 0..n {
            for j in 0..i {
                let mean = 0.5 * (self.covariance[(i, j)] + self.covariance[(j, i)]);
                self.covariance[(i, j)] = mean;
                self.covariance[(j, i)] = mean;
            }
        }
    }
}
