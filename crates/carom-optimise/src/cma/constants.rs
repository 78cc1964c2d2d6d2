//! Constants of the evolution strategy as functions of dimension n and population λ [Hansen 2016, tab. 1].

use serde::{Deserialize, Serialize};

/// Weights and rates.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Constants {
    pub(super) population: usize,
    /// μ: how many have positive weights.
    pub(super) parents: usize,
    /// Weights of all ranks; the first μ sum to one, the others are negative or zero.
    pub(super) weights: Vec<f64>,
    /// μₑ: the variance that recombination leaves is 1/μₑ.
    pub(super) effective: f64,
    /// Rate and damping of the step size: cₛ, dₛ.
    pub(super) step_rate: f64,
    pub(super) step_damping: f64,
    /// Rates of the path, of its part and of the ranks' part in the covariance: cₚ, c₁, cₘ.
    pub(super) path_rate: f64,
    pub(super) path_share: f64,
    pub(super) ranks_share: f64,
    /// The mean length of a normal vector: E‖N(0, I)‖.
    pub(super) normal_length: f64,
}

/// λ for a dimension.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a small positive number"
)]
pub(super) fn usual_population(dimension: usize) -> usize {
    4 + (3.0 * (dimension.max(1) as f64).ln()).floor() as usize
}

impl Constants {
    pub(super) fn new(dimension: usize, population: usize) -> Self {
        let population = population.max(4);
        let n = dimension as f64;
        let raw: Vec<f64> = (1..=population)
            .map(|rank| (0.5 * (population as f64 + 1.0)).ln() - (rank as f64).ln())
            .collect();
        let parents = population / 2;
        let effective = effective_size(&raw[..parents]);
        let effective_negative = effective_size(&raw[parents..]);
        let path_share = 2.0 / ((n + 1.3).powi(2) + effective);
        let ranks_share = (2.0 * (0.25 + effective + 1.0 / effective - 2.0)
            / ((n + 2.0).powi(2) + effective))
            .min(1.0 - path_share);
        let step_rate = (effective + 2.0) / (n + effective + 5.0);
        let positive_definite = (1.0 - path_share - ranks_share) / (n * ranks_share);
        let negative_sum = (1.0 + path_share / ranks_share)
            .min(1.0 + 2.0 * effective_negative / (effective + 2.0))
            .min(positive_definite);
        Self {
            population,
            parents,
            weights: normalized(&raw, parents, negative_sum),
            effective,
            step_rate,
            step_damping: 1.0
                + 2.0 * (((effective - 1.0) / (n + 1.0)).sqrt() - 1.0).max(0.0)
                + step_rate,
            path_rate: (4.0 + effective / n) / (n + 4.0 + 2.0 * effective / n),
            path_share,
            ranks_share,
            normal_length: n.sqrt() * (1.0 - 1.0 / (4.0 * n) + 1.0 / (21.0 * n * n)),
        }
    }
}

/// (Σw)²/Σw².
fn effective_size(weights: &[f64]) -> f64 {
    let sum: f64 = weights.iter().sum();
    let squares: f64 = weights.iter().map(|w| w * w).sum();
    if squares > 0.0 {
        sum * sum / squares
    } else {
        0.0
    }
}

/// Positive weights that sum to one, negative ones whose sizes sum to the given number.
fn normalized(raw: &[f64], parents: usize, negative_sum: f64) -> Vec<f64> {
    let positive: f64 = raw[..parents].iter().sum();
    let negative: f64 = raw[parents..].iter().map(|w| w.abs()).sum();
    raw.iter()
        .enumerate()
        .map(|(rank, w)| {
            if rank < parents {
                w / positive
            } else {
                negative_sum * w.min(0.0) / negative
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_those_of_the_table() {
        let constants = Constants::new(10, usual_population(10));
        assert_eq!((constants.population, constants.parents), (10, 5));
        let positive: f64 = constants.weights[..5].iter().sum();
        assert!((positive - 1.0).abs() < 1e-15);
        assert!(constants.weights[5..].iter().all(|&w| w <= 0.0));
        assert!(constants.weights.is_sorted_by(|a, b| a >= b));
        // By hand: weights ln 5.5 − ln i.
        assert!((constants.effective - 3.167_3).abs() < 1e-3);
        assert!((constants.path_share - 2.0 / (11.3 * 11.3 + constants.effective)).abs() < 1e-15);
        assert!((constants.normal_length - 3.084_75).abs() < 1e-3);
        // The covariance never loses more than there is.
        let lost: f64 = constants.weights.iter().filter(|w| **w < 0.0).sum();
        assert!(
            constants.path_share + constants.ranks_share * (1.0 + 10.0 * lost.abs()) <= 1.0 + 1e-12
        );
    }
}
