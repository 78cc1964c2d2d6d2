//! Numbers that carry derivatives by all parameters, so that tests need no formulas of derivatives.

use std::ops::{Add, Div, Mul, Neg, Sub};

/// A value and its derivatives.
#[derive(Clone, Debug)]
pub(crate) struct Dual {
    pub(crate) value: f64,
    pub(crate) slope: Vec<f64>,
}

impl Dual {
    /// All parameters at a point, each with a derivative of one by itself.
    pub(crate) fn variables(point: &[f64]) -> Vec<Self> {
        let unit = |i: usize| {
            let mut slope = vec![0.0; point.len()];
            slope[i] = 1.0;
            slope
        };
        let variable = |(i, &value): (usize, &f64)| Self {
            value,
            slope: unit(i),
        };
        point.iter().enumerate().map(variable).collect()
    }

    /// All parameters at a point without derivatives.
    pub(crate) fn constants(point: &[f64]) -> Vec<Self> {
        let constant = |&value: &f64| Self {
            value,
            slope: Vec::new(),
        };
        point.iter().map(constant).collect()
    }

    fn chain(&self, value: f64, factor: f64) -> Self {
        Self {
            value,
            slope: self.slope.iter().map(|s| factor * s).collect(),
        }
    }

    fn join(&self, other: &Self, value: f64, factors: [f64; 2]) -> Self {
        let both = self.slope.iter().zip(&other.slope);
        Self {
            value,
            slope: both.map(|(a, b)| factors[0] * a + factors[1] * b).collect(),
        }
    }

    pub(crate) fn exp(&self) -> Self {
        self.chain(self.value.exp(), self.value.exp())
    }

    pub(crate) fn ln(&self) -> Self {
        self.chain(self.value.ln(), 1.0 / self.value)
    }

    pub(crate) fn sin(&self) -> Self {
        self.chain(self.value.sin(), self.value.cos())
    }

    pub(crate) fn cos(&self) -> Self {
        self.chain(self.value.cos(), -self.value.sin())
    }

    pub(crate) fn atan(&self) -> Self {
        self.chain(self.value.atan(), 1.0 / (1.0 + self.value * self.value))
    }

    pub(crate) fn powi(&self, power: i32) -> Self {
        let factor = f64::from(power) * self.value.powi(power - 1);
        self.chain(self.value.powi(power), factor)
    }

    pub(crate) fn pow(&self, power: &Self) -> Self {
        (&self.ln() * power).exp()
    }
}

macro_rules! operator {
    ($trait:ident, $method:ident, |$a:ident, $b:ident| $value:expr, $factors:expr) => {
        impl $trait for &Dual {
            type Output = Dual;
            fn $method(self, other: &Dual) -> Dual {
                let ($a, $b) = (self.value, other.value);
                self.join(other, $value, $factors)
            }
        }
        impl $trait for Dual {
            type Output = Dual;
            fn $method(self, other: Dual) -> Dual {
                (&self).$method(&other)
            }
        }
        impl $trait<&Dual> for Dual {
            type Output = Dual;
            fn $method(self, other: &Dual) -> Dual {
                (&self).$method(other)
            }
        }
        impl $trait<f64> for &Dual {
            type Output = Dual;
            fn $method(self, other: f64) -> Dual {
                let constant = self.chain(other, 0.0);
                self.$method(&constant)
            }
        }
        impl $trait<f64> for Dual {
            type Output = Dual;
            fn $method(self, other: f64) -> Dual {
                (&self).$method(other)
            }
        }
    };
}

operator!(Add, add, |a, b| a + b, [1.0, 1.0]);
operator!(Sub, sub, |a, b| a - b, [1.0, -1.0]);
operator!(Mul, mul, |a, b| a * b, [b, a]);
operator!(Div, div, |a, b| a / b, [1.0 / b, -a / (b * b)]);

impl Neg for Dual {
    type Output = Dual;

    fn neg(self) -> Dual {
        self.chain(-self.value, -1.0)
    }
}

#[test]
fn derivatives_agree_with_differences() {
    let function = |v: &[Dual]| {
        let (x, y) = (&v[0], &v[1]);
        (x * y).sin() / (x.exp() + 2.0) - (y - x).atan() * x.pow(y) + y.cos().powi(3)
    };
    let at = |x: f64, y: f64| function(&Dual::variables(&[x, y]));
    let slope = at(1.3, 0.4).slope;
    let h = 1e-6;
    let x = (at(1.3 + h, 0.4).value - at(1.3 - h, 0.4).value) / (2.0 * h);
    let y = (at(1.3, 0.4 + h).value - at(1.3, 0.4 - h).value) / (2.0 * h);
    assert!((slope[0] - x).abs() < 1e-8 && (slope[1] - y).abs() < 1e-8);
    assert!((-at(1.0, 1.0)).value == -at(1.0, 1.0).value);
}
