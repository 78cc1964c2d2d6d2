//! The numbers of a network: `f32` for training and speed, `f64` for derivatives to the last digits.

use std::fmt::Debug;
use std::iter::Sum;
use std::ops::{Add, AddAssign, Div, Mul, MulAssign, Neg, Sub, SubAssign};

use super::product;

/// What networks are generic over.
pub trait Real:
    Copy
    + Default
    + Debug
    + PartialEq
    + PartialOrd
    + Send
    + Sync
    + 'static
    + Neg<Output = Self>
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
    + AddAssign
    + SubAssign
    + MulAssign
    + Sum
{
    /// The nearest number of this type.
    fn of(value: f64) -> Self;
    /// The number in double precision.
    fn wide(self) -> f64;
    /// Square root.
    #[must_use]
    fn sqrt(self) -> Self;
    /// `self` · factor + sum, rounded once; slow where it is not compiled for instructions that have it.
    #[must_use]
    fn fused(self, factor: Self, sum: Self) -> Self;
    /// Whether it is neither infinite nor not a number.
    fn is_finite(self) -> bool;
    /// C += A·B with the tile that fits the registers; see [`product`].
    fn multiply(arch: pulp::Arch, a: product::Left<'_, Self>, b: &[Self], c: &mut [Self]);
}

/// A product that waits for the instructions with which it is done; a closure would not be compiled for them.
struct Product<'a, F, const R: usize, const N: usize> {
    a: product::Left<'a, F>,
    b: &'a [F],
    c: &'a mut [F],
}

impl<F: Real, const R: usize, const N: usize> pulp::WithSimd for Product<'_, F, R, N> {
    type Output = ();

    #[allow(
        clippy::inline_always,
        reason = "to be compiled for the instructions that were chosen"
    )]
    #[inline(always)]
    fn with_simd<S: pulp::Simd>(self, _: S) {
        product::tiles::<F, R, N>(self.a, self.b, self.c);
    }
}

macro_rules! real {
    ($type:ident, $columns:literal) => {
        impl Real for $type {
            #[inline(always)]
            #[allow(
                clippy::cast_possible_truncation,
                reason = "the nearest number is asked for"
            )]
            fn of(value: f64) -> Self {
                value as $type
            }

            #[inline(always)]
            fn wide(self) -> f64 {
                f64::from(self)
            }

            #[inline(always)]
            fn sqrt(self) -> Self {
                $type::sqrt(self)
            }

            #[inline(always)]
            fn is_finite(self) -> bool {
                $type::is_finite(self)
            }

            #[inline(always)]
            fn fused(self, factor: Self, sum: Self) -> Self {
                self.mul_add(factor, sum)
            }

            fn multiply(arch: pulp::Arch, a: product::Left<'_, Self>, b: &[Self], c: &mut [Self]) {
                arch.dispatch(Product::<Self, 4, $columns> { a, b, c });
            }
        }
    };
}

real!(f32, 16);
real!(f64, 8);
