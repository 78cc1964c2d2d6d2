//! Added mass and inertia of an ellipsoid in an ideal fluid.
//!
//! With half axes a, b, c, Lamb's coefficient along the first axis is
//!
//!   κ(a, b, c) = a·b·c ∫₀^∞ dλ / √((a² + λ)³·(b² + λ)·(c² + λ))                                   (1)
//!
//! and the virtual mass and inertia for unit density follow from it, [Tuckerman 1925]. The integral is taken by the
//! 15-point Kronrod rule after the substitution λ = s·x³/(1 − x)², with s the scale of the ellipsoid. Nodes and weights
//! carry the digits that MuJoCo uses, since users see the results.

use std::f64::consts::PI;

use crate::scalar::Scalar;

/// Denominators are kept above this.
const MIN: f64 = 1e-14;

/// Weights of the Kronrod rule on [0, 1].
const WEIGHT: [f64; 15] = [
    0.011_467_66,
    0.031_546_05,
    0.052_395_01,
    0.070_326_63,
    0.084_502_36,
    0.095_175_29,
    0.102_216_47,
    0.104_741_07,
    0.102_216_47,
    0.095_175_29,
    0.084_502_36,
    0.070_326_63,
    0.052_395_01,
    0.031_546_05,
    0.011_467_66,
];

/// x³/(1 − x)² at the nodes.
const NODE: [f64; 15] = [
    7.865_151_709_349_917e-8,
    1.734_797_691_390_727_4e-5,
    0.000_354_800_814_450_619_3,
    0.002_846_636_252_924_549,
    0.014_094_260_903_596_077,
    0.053_063_261_727_396_636,
    0.170_419_787_413_177_73,
    0.5,
    1.403_630_154_868_699_1,
    3.935_348_482_702_264_2,
    11.644_841_677_041_734,
    39.531_878_074_109_03,
    177.571_136_222_080_1,
    1_429.477_291_293_739_7,
    54_087.416_549_217_705,
];

/// Derivative of x³/(1 − x)² at the nodes.
const SLOPE: [f64; 15] = [
    5.538_677_720_489_877e-5,
    0.002_080_868_285_293_228,
    0.016_514_126_520_723_166,
    0.072_619_003_443_708_77,
    0.239_852_434_018_626_02,
    0.686_831_824_902_072_5,
    1.855_112_951_918_289_4,
    5.0,
    14.060_031_152_313_941,
    43.289_412_396_110_09,
    156.585_463_763_971_12,
    747.982_608_530_502_4,
    5_827.404_295_002_711_5,
    116_754.019_794_451_2,
    25_482_945.327_264_845,
];

/// Lamb's coefficient (1) along the first of three half axes.
fn lamb_coefficient<T: Scalar>([a, b, c]: [T; 3]) -> T {
    let [inverse_a, inverse_b, inverse_c] = [a, b, c].map(|axis| T::ONE / (axis * axis));
    let scale = (a * a * a * b * c).powf(0.4);
    let mut sum = T::ZERO;
    for ((node, slope), weight) in NODE.into_iter().zip(SLOPE).zip(WEIGHT) {
        let lambda = scale * node;
        let along = lambda * inverse_a + 1.0;
        let root = (along * (lambda * inverse_b + 1.0) * (lambda * inverse_c + 1.0)).sqrt();
        sum += scale * slope / (along * root) * weight;
    }
    sum * inverse_a
}

/// Virtual mass along, and virtual inertia about, each half axis, for unit density.
pub(super) fn added_mass<T: Scalar>(axes: [T; 3]) -> ([T; 3], [T; 3]) {
    let [a, b, c] = axes;
    let volume = a * (4.0 / 3.0 * PI) * b * c;
    let kappa = [
        lamb_coefficient([a, b, c]),
        lamb_coefficient([b, c, a]),
        lamb_coefficient([c, a, b]),
    ];
    let min = T::from(MIN);
    let mass = kappa.map(|kappa| volume * kappa / (-kappa + 2.0).max(min));
    let inertia = std::array::from_fn(|axis| {
        let (next, last) = ((axis + 1) % 3, (axis + 2) % 3);
        let (p, q) = (axes[next] * axes[next], axes[last] * axes[last]);
        let (kp, kq) = (kappa[next], kappa[last]);
        let numerator = (p - q) * (p - q) * (kq - kp).abs();
        let denominator = ((p - q) * 2.0 + (p + q) * (kp - kq)).abs().max(min);
        volume * (numerator / denominator) / 5.0
    });
    (mass, inertia)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sphere_adds_half_of_its_displaced_mass() {
        let (mass, inertia) = added_mass([0.3; 3]);
        let half = 0.5 * 4.0 / 3.0 * PI * 0.027;
        for axis in 0..3 {
            assert!((mass[axis] - half).abs() < 1e-5 * half);
            assert_eq!(inertia[axis], 0.0);
        }
    }
}
