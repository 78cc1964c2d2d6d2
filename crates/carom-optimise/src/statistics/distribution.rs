//! Distributions, as far as intervals need them [Abramowitz 1964, ch. 6 and 26].
//!
//! All follow from two functions: the regularised incomplete gamma function by its series or continued fraction,
//!
//!   P(a, x) = xᵃ·e⁻ˣ/Γ(a)·Σₖ xᵏ/(a·(a + 1)⋯(a + k))   (1)
//!
//! and the incomplete beta function I(x; a, b) by its continued fraction. Quantiles are found by halving, to the last bit.

/// ln Γ(x) for x > 0, by Stirling's series.
pub fn ln_gamma(x: f64) -> f64 {
    // The series needs a large argument: Γ(x) = Γ(x + n)/(x·(x + 1)⋯).
    let mut shifted = x;
    let mut product = 1.0;
    while shifted < 12.0 {
        product *= shifted;
        shifted += 1.0;
    }
    let inverse = 1.0 / (shifted * shifted);
    let coefficients = [
        1.0 / 12.0,
        -1.0 / 360.0,
        1.0 / 1260.0,
        -1.0 / 1680.0,
        1.0 / 1188.0,
        -691.0 / 360_360.0,
        1.0 / 156.0,
    ];
    let series = coefficients
        .iter()
        .rev()
        .fold(0.0, |sum, c| sum * inverse + c)
        / shifted;
    let half_ln_turn = 0.5 * std::f64::consts::TAU.ln();
    (shifted - 0.5) * shifted.ln() - shifted + half_ln_turn + series - product.ln()
}

/// Smallest denominator of a continued fraction: keeps Lentz's method from dividing by zero.
const MIN_DENOMINATOR: f64 = 1e-300;
/// Maximum of terms of a series or continued fraction.
const MAX_TERMS: usize = 10_000;

/// A continued fraction b₀ + a₁/(b₁ + a₂/(b₂ + …)), evaluated from its beginning by Lentz's method.
fn continued_fraction(first: f64, terms: impl Iterator<Item = [f64; 2]>) -> f64 {
    let not_zero = |value: f64| {
        if value.abs() < MIN_DENOMINATOR {
            MIN_DENOMINATOR
        } else {
            value
        }
    };
    let mut fraction = not_zero(first);
    let (mut c, mut d) = (fraction, 0.0);
    for [a, b] in terms.take(MAX_TERMS) {
        d = 1.0 / not_zero(b + a * d);
        c = not_zero(b + a / c);
        fraction *= c * d;
        if (c * d - 1.0).abs() < f64::EPSILON {
            break;
        }
    }
    fraction
}

/// P(a, x), the regularised lower incomplete gamma function.
fn lower_gamma(a: f64, x: f64) -> f64 {
    if x <= 0.0 {
        return 0.0;
    }
    let front = (a * x.ln() - x - ln_gamma(a)).exp();
    if x < a + 1.0 {
        let mut term = 1.0 / a;
        let mut sum = term;
        for k in 1..MAX_TERMS {
            term *= x / (a + k as f64);
            sum += term;
            if term < sum * f64::EPSILON {
                break;
            }
        }
        front * sum // (1)
    } else {
        let terms = (1..).map(|k: u32| {
            let k = f64::from(k);
            [k * (a - k), x - a + 1.0 + 2.0 * k]
        });
        1.0 - front / continued_fraction(x - a + 1.0, terms)
    }
}

/// I(x; a, b), the regularised incomplete beta function.
fn incomplete_beta(a: f64, b: f64, x: f64) -> f64 {
    if x <= 0.0 || x >= 1.0 {
        return x.clamp(0.0, 1.0);
    }
    // The fraction is quick on one side of the mean; the other follows by symmetry.
    if x > (a + 1.0) / (a + b + 2.0) {
        return 1.0 - incomplete_beta(b, a, 1.0 - x);
    }
    let logarithm = a * x.ln() + b * (-x).ln_1p() + ln_gamma(a + b) - ln_gamma(a) - ln_gamma(b);
    let terms = (1..).map(|k: u32| {
        let m = f64::from(k / 2);
        let numerator = if k.is_multiple_of(2) {
            m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m))
        } else {
            -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0))
        };
        [numerator, 1.0]
    });
    logarithm.exp() / (a * continued_fraction(1.0, terms))
}

/// The probability that a χ² variable with so many degrees of freedom is at most x.
pub fn chi_squared_probability(x: f64, degrees: f64) -> f64 {
    lower_gamma(0.5 * degrees, 0.5 * x)
}

/// The probability that a variable of Student's distribution is at most t; with infinitely many degrees a normal one.
pub fn student_probability(t: f64, degrees: f64) -> f64 {
    let outside = if degrees.is_finite() {
        incomplete_beta(0.5 * degrees, 0.5, degrees / (degrees + t * t))
    } else {
        1.0 - chi_squared_probability(t * t, 1.0)
    };
    if t > 0.0 {
        1.0 - 0.5 * outside
    } else {
        0.5 * outside
    }
}

/// x with a probability of being at most it, of a χ² variable.
pub fn chi_squared_quantile(probability: f64, degrees: f64) -> f64 {
    quantile(probability, |x| chi_squared_probability(x, degrees))
}

/// How far from its mean a variable of Student's distribution lies with a probability, on both sides together; with
/// infinitely many degrees a normal one.
pub fn student_range(probability: f64, degrees: f64) -> f64 {
    quantile(probability, |t| 2.0 * student_probability(t, degrees) - 1.0)
}

/// Where a rising function of positive numbers reaches a probability; NaN if that is none.
fn quantile(probability: f64, function: impl Fn(f64) -> f64) -> f64 {
    if !(0.0..1.0).contains(&probability) {
        return if probability == 1.0 {
            f64::INFINITY
        } else {
            f64::NAN
        };
    }
    let mut high = 1.0;
    while function(high) < probability && high < 1e300 {
        high *= 2.0;
    }
    let mut low = 0.0;
    loop {
        let middle = 0.5 * (low + high);
        if middle <= low || middle >= high {
            return high;
        }
        if function(middle) < probability {
            low = middle;
        } else {
            high = middle;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn near(found: f64, exact: f64) {
        assert!((found / exact - 1.0).abs() < 1e-9, "{found} {exact}");
    }

    #[test]
    fn gamma_function() {
        near(ln_gamma(0.5), std::f64::consts::PI.sqrt().ln());
        near(ln_gamma(10.0), 362_880.0_f64.ln());
        near(ln_gamma(100.0), 359.134_205_369_575_4);
        assert!(ln_gamma(1.0).abs() < 1e-14 && ln_gamma(2.0).abs() < 1e-14);
    }

    #[test]
    fn incomplete_functions() {
        near(lower_gamma(2.0, 3.0), 1.0 - 4.0 * (-3.0_f64).exp());
        near(lower_gamma(2.0, 0.5), 1.0 - 1.5 * (-0.5_f64).exp());
        near(incomplete_beta(2.0, 3.0, 0.5), 0.6875);
        near(incomplete_beta(1.0, 1.0, 0.3), 0.3);
        near(incomplete_beta(5.0, 2.0, 0.9), 0.885_735);
    }

    #[test]
    fn tabulated_quantiles() {
        near(chi_squared_quantile(0.95, 1.0), 3.841_458_820_694_124);
        near(chi_squared_quantile(0.95, 10.0), 18.307_038_053_275_14);
        near(chi_squared_quantile(0.99, 100.0), 135.806_723_200_893);
        near(student_range(0.95, 1.0), 12.706_204_736_432_1);
        near(student_range(0.95, 10.0), 2.228_138_851_964_94);
        near(student_range(0.99, 30.0), 2.749_995_653_567_32);
        near(student_range(0.95, f64::INFINITY), 1.959_963_984_540_05);
        near(student_range(0.95, 1e6), 1.959_966_357_0);
    }

    #[test]
    fn impossible_probabilities() {
        assert!(student_range(1.5, 3.0).is_nan() && student_range(f64::NAN, 3.0).is_nan());
        assert_eq!(chi_squared_quantile(1.0, 2.0), f64::INFINITY);
        assert_eq!(chi_squared_quantile(0.0, 2.0), 5e-324);
    }
}
