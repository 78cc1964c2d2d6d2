//! States within a step.
//!
//! With kᵢ the rates of all stages, the rates at the end of the step the last of them, the state at the part p of a step of
//! length h is y₀ + h·Σᵢ bᵢ(p)·kᵢ, bᵢ(p) = Σⱼ cᵢⱼ·pʲ. Where a method has its own such polynomials, they are as exact as its
//! estimate of the error, and a step may end anywhere in itself; otherwise positions follow the cubic through both ends and
//! their rates.

use super::tableau::{Method, Tableau};

/// Coefficients cᵢⱼ of p … p⁴, one row a stage.
type Polynomials = &'static [[f64; 4]];

/// [Tsitouras 2011]
const TSIT5: Polynomials = &[
    [
        1.0,
        -2.763_706_197_274_826,
        2.913_255_461_821_912_6,
        -1.053_088_497_729_021_6,
    ],
    [0.0, 0.1317, -0.2234, 0.1017],
    [
        0.0,
        3.930_296_236_894_751_6,
        -5.941_033_872_131_505,
        2.490_627_285_651_253,
    ],
    [
        0.0,
        -12.411_077_166_933_676,
        30.338_188_630_282_32,
        -16.548_102_889_244_902,
    ],
    [
        0.0,
        37.509_313_416_511_04,
        -88.178_904_894_766_4,
        47.379_521_962_819_28,
    ],
    [
        0.0,
        -27.896_526_289_197_286,
        65.091_894_674_793_66,
        -34.870_657_861_496_61,
    ],
    [0.0, 1.5, -4.0, 2.5],
];

/// [Hairer 1993]
const DOPRI5: Polynomials = &[
    [
        1.0,
        -2.853_580_065_386_283_5,
        3.071_743_464_105_900_5,
        -1.127_017_565_386_283_5,
    ],
    [0.0; 4],
    [
        0.0,
        4.023_133_379_230_305,
        -6.249_321_565_289,
        2.675_424_484_351_598,
    ],
    [
        0.0,
        -3.732_401_961_588_504_2,
        10.068_970_589_843_675,
        -5.685_526_961_588_504,
    ],
    [
        0.0,
        2.554_803_830_184_942_3,
        -6.399_112_377_351_017,
        3.521_932_367_920_791_2,
    ],
    [
        0.0,
        -1.374_424_114_218_602_4,
        3.272_657_752_246_729,
        -1.767_281_257_075_745_5,
    ],
    [
        0.0,
        1.382_468_931_778_143_6,
        -3.764_937_863_556_287,
        2.382_468_931_778_144,
    ],
];

/// Weights of the rates within the steps of a method.
#[derive(Clone, Copy, Debug)]
pub(super) struct Dense {
    polynomials: Option<Polynomials>,
    tableau: &'static Tableau,
}

impl Dense {
    pub(super) fn of(method: Method) -> Self {
        let polynomials = match method {
            Method::Tsit5 => Some(TSIT5),
            Method::Dopri5 => Some(DOPRI5),
            _ => None,
        };
        Self {
            polynomials,
            tableau: method.tableau(),
        }
    }

    /// Whether a step may end anywhere in itself: its states there are as exact as its error is known.
    pub(super) fn is_exact(&self) -> bool {
        let is_low = self.tableau.error_order <= 3 && !self.tableau.is_extrapolated();
        self.polynomials.is_some() || is_low
    }

    /// Writes bᵢ(p).
    pub(super) fn write_weights(&self, p: f64, out: &mut Vec<f64>) {
        out.clear();
        if let Some(polynomials) = self.polynomials {
            let value = |[a, b, c, d]: &[f64; 4]| p * (a + p * (b + p * (c + p * d)));
            out.extend(polynomials.iter().map(value));
            return;
        }
        let whole = p * p * (3.0 - 2.0 * p);
        out.extend(self.tableau.weights.iter().map(|weight| whole * weight));
        out[0] += p * (1.0 - p) * (1.0 - p);
        out.push(p * p * (p - 1.0));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// States within a step of y′ = y + t: of the order of the polynomials.
    #[test]
    fn states_within_a_step_have_the_order_they_claim() {
        let exact = |t: f64| 2.0 * t.exp() - t - 1.0;
        for (name, method) in Method::ALL {
            let (dense, tableau) = (Dense::of(method), method.tableau());
            if tableau.is_extrapolated() {
                continue;
            }
            let error = |h: f64| {
                let mut rates: Vec<f64> = Vec::new();
                let mut y = 1.0;
                for stage in 0..=tableau.len() {
                    let row = match stage.checked_sub(1) {
                        None => &[][..],
                        Some(row) => tableau.stages.get(row).copied().unwrap_or(tableau.weights),
                    };
                    y = 1.0 + h * row.iter().zip(&rates).map(|(a, k)| a * k).sum::<f64>();
                    rates.push(y + h * tableau.place(stage));
                }
                let mut weights = Vec::new();
                dense.write_weights(1.0, &mut weights);
                let end = 1.0 + h * weights.iter().zip(&rates).map(|(b, k)| b * k).sum::<f64>();
                assert!((end - y).abs() < 1e-14, "{name}: {end} instead of {y}");
                dense.write_weights(0.4, &mut weights);
                let found = 1.0 + h * weights.iter().zip(&rates).map(|(b, k)| b * k).sum::<f64>();
                (found - exact(0.4 * h)).abs()
            };
            let order = (error(0.1) / error(0.05)).log2();
            let least = if dense.polynomials.is_some() {
                4.5
            } else {
                2.7
            };
            assert!(order > least, "{name}: {order}");
        }
    }
}
