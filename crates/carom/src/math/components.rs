//! Flat views: containers of numbers that can be visited one number at a time.

use crate::scalar::Scalar;
use std::slice;

/// A fixed number of scalars, seen as a slice.
///
/// It lets generic containers (state, stage data, cotangents) be copied, perturbed, compared and converted
/// between `f64` and duals without knowing what the numbers mean.
pub trait Components<T>: Copy + Default {
    /// How many numbers there are.
    const LEN: usize;
    /// The same container with another number type.
    type With<U: Scalar>: Components<U>;
    /// The numbers in storage order.
    fn as_slice(&self) -> &[T];
    /// The numbers in storage order, to write.
    fn as_mut_slice(&mut self) -> &mut [T];
    /// Converts every number.
    fn map<U: Scalar>(&self, convert: impl FnMut(T) -> U) -> Self::With<U>;
}

impl<T: Scalar> Components<T> for T {
    const LEN: usize = 1;
    type With<U: Scalar> = U;

    #[inline]
    fn as_slice(&self) -> &[T] {
        slice::from_ref(self)
    }

    #[inline]
    fn as_mut_slice(&mut self) -> &mut [T] {
        slice::from_mut(self)
    }

    #[inline]
    fn map<U: Scalar>(&self, mut convert: impl FnMut(T) -> U) -> U {
        convert(*self)
    }
}

/// Arrays one length at a time, since the standard library has no `Default` for arrays of any length.
macro_rules! array_components {
    ($($length:literal)*) => {
        $(
            impl<T: Scalar> Components<T> for [T; $length] {
                const LEN: usize = $length;
                type With<U: Scalar> = [U; $length];

                #[inline]
                fn as_slice(&self) -> &[T] {
                    self
                }

                #[inline]
                fn as_mut_slice(&mut self) -> &mut [T] {
                    self
                }

                #[inline]
                fn map<U: Scalar>(&self, convert: impl FnMut(T) -> U) -> [U; $length] {
                    <[T; $length]>::map(*self, convert)
                }
            }
        )*
    };
}

array_components! { 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 }

/// Gives an array newtype its element access, its vector-space operators and [`Components`].
macro_rules! array_newtype {
    ($name:ident, $length:literal) => {
        impl<T: Scalar> $name<T> {
            /// Lifts constants to this number type.
            #[inline]
            pub fn from_f64(numbers: $name<f64>) -> Self {
                $name(numbers.0.map(T::from))
            }

            /// Converts every number.
            #[inline]
            pub fn map<U: Scalar>(self, convert: impl FnMut(T) -> U) -> $name<U> {
                let mut convert = convert;
                let mut out = [U::ZERO; $length];
                for i in 0..$length {
                    out[i] = convert(self.0[i]);
                }
                $name(out)
            }

            /// The numbers without their derivatives.
            #[inline]
            pub fn value(self) -> $name<f64> {
                self.map(T::value)
            }

            /// `self` + `direction`·`factor`.
            #[inline]
            #[must_use]
            pub fn scale_add(self, direction: Self, factor: T) -> Self {
                let mut out = self;
                for i in 0..$length {
                    out.0[i] += direction.0[i] * factor;
                }
                out
            }

            /// `self` times a constant; cheaper than `*` for duals.
            #[inline]
            #[must_use]
            pub fn scale(self, factor: f64) -> Self {
                let mut out = self;
                for number in &mut out.0 {
                    *number *= factor;
                }
                out
            }

            /// Whether all numbers are finite.
            #[inline]
            pub fn is_finite(self) -> bool {
                self.0.iter().all(|number| number.is_finite())
            }
        }

        impl<T> From<[T; $length]> for $name<T> {
            #[inline]
            fn from(numbers: [T; $length]) -> Self {
                $name(numbers)
            }
        }

        impl<T> std::ops::Index<usize> for $name<T> {
            type Output = T;
            #[inline]
            fn index(&self, index: usize) -> &T {
                &self.0[index]
            }
        }

        impl<T> std::ops::IndexMut<usize> for $name<T> {
            #[inline]
            fn index_mut(&mut self, index: usize) -> &mut T {
                &mut self.0[index]
            }
        }

        impl<T: Scalar> std::ops::Add for $name<T> {
            type Output = Self;
            #[inline]
            fn add(self, other: Self) -> Self {
                let mut out = self;
                out += other;
                out
            }
        }

        impl<T: Scalar> std::ops::Sub for $name<T> {
            type Output = Self;
            #[inline]
            fn sub(self, other: Self) -> Self {
                let mut out = self;
                out -= other;
                out
            }
        }

        impl<T: Scalar> std::ops::Neg for $name<T> {
            type Output = Self;
            #[inline]
            fn neg(self) -> Self {
                let mut out = self;
                for number in &mut out.0 {
                    *number = -*number;
                }
                out
            }
        }

        impl<T: Scalar, S: Into<T>> std::ops::Mul<S> for $name<T> {
            type Output = Self;
            #[inline]
            fn mul(self, factor: S) -> Self {
                let factor = factor.into();
                let mut out = self;
                for number in &mut out.0 {
                    *number *= factor;
                }
                out
            }
        }

        impl<T: Scalar> std::ops::AddAssign for $name<T> {
            #[inline]
            fn add_assign(&mut self, other: Self) {
                for i in 0..$length {
                    self.0[i] += other.0[i];
                }
            }
        }

        impl<T: Scalar> std::ops::SubAssign for $name<T> {
            #[inline]
            fn sub_assign(&mut self, other: Self) {
                for i in 0..$length {
                    self.0[i] -= other.0[i];
                }
            }
        }

        impl<T: Scalar, S: Into<T>> std::ops::MulAssign<S> for $name<T> {
            #[inline]
            fn mul_assign(&mut self, factor: S) {
                *self = *self * factor;
            }
        }

        impl<T: Scalar> crate::math::Components<T> for $name<T> {
            const LEN: usize = $length;
            type With<U: Scalar> = $name<U>;

            #[inline]
            fn as_slice(&self) -> &[T] {
                &self.0
            }

            #[inline]
            fn as_mut_slice(&mut self) -> &mut [T] {
                &mut self.0
            }

            #[inline]
            fn map<U: Scalar>(&self, convert: impl FnMut(T) -> U) -> $name<U> {
                $name(self.0.map(convert))
            }
        }
    };
}

pub(crate) use array_newtype;
