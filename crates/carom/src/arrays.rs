//! One declaration for every struct of flat arrays.
//!
//! `arrays!` declares a struct whose fields are vectors of numbers (a scalar, a [`Vec3`](crate::math::Vec3), …)
//! with the lengths given by [`Counts`](crate::model::Counts), and derives what every such struct needs: allocation
//! (`zeros`), change of scalar (`map`, e.g. `f64` to dual numbers), and a flat walk over all components
//! (`for_each`, `for_each_mut`) under stable field names. Model numbers, stage results and their cotangents
//! are all declared with it, so a cotangent has the layout of its primal by construction.
//!
//! Fields after `@plain` are integers or flags: copied, never differentiated.

use crate::math::Components;
use crate::scalar::Scalar;

/// Declares a struct of flat arrays; see the module documentation.
macro_rules! arrays {
    (
        $(#[$meta:meta])*
        pub struct $name:ident {
            $( $(#[$field_meta:meta])* $field:ident : [$element:ty; $count:ident $(* $factor:literal)?], )*
            $( @plain $( $(#[$plain_meta:meta])* $plain:ident : [$plain_element:ty; $plain_count:ident $(* $plain_factor:literal)?], )* )?
        }
    ) => {
        $(#[$meta])*
        #[derive(Debug, Default, PartialEq)]
        pub struct $name<T: $crate::scalar::Scalar = f64> {
            $( $(#[$field_meta])* pub $field: Vec<$element>, )*
            $( $( $(#[$plain_meta])* pub $plain: Vec<$plain_element>, )* )?
        }

        impl<T: $crate::scalar::Scalar> Clone for $name<T> {
            fn clone(&self) -> Self {
                Self {
                    $( $field: $crate::arrays::copied(&self.$field), )*
                    $( $( $plain: $crate::arrays::copied(&self.$plain), )* )?
                }
            }
        }

        #[cfg(test)]
        impl $crate::arrays::Arrays for $name<f64> {
            type Over<U: $crate::scalar::Scalar> = $name<U>;

            fn convert<U: $crate::scalar::Scalar>(&self, convert: &mut dyn FnMut(f64) -> U) -> $name<U> {
                self.map(convert)
            }

            fn visit(&self, visit: &mut dyn FnMut(&'static str, f64)) {
                self.for_each(|field, _, _, number| visit(field, number));
            }

            fn visit_mut(&mut self, visit: &mut dyn FnMut(&'static str, &mut f64)) {
                self.for_each_mut(|field, _, _, number| visit(field, number));
            }

            fn parts<U: $crate::scalar::Scalar>(over: &$name<U>, visit: &mut dyn FnMut(&'static str, U)) {
                over.for_each(|field, _, _, number| visit(field, number));
            }
        }

        impl<T: $crate::scalar::Scalar> $name<T> {
            /// All arrays at their full length, filled with zeros.
            pub fn zeros(counts: &$crate::model::Counts) -> Self {
                let _ = counts;
                Self {
                    $( $field: $crate::arrays::zeroed(counts.$count $(* $factor)?), )*
                    $( $( $plain: $crate::arrays::zeroed(counts.$plain_count $(* $plain_factor)?), )* )?
                }
            }

            /// The same arrays over another scalar.
            pub fn map<U: $crate::scalar::Scalar>(&self, mut convert: impl FnMut(T) -> U) -> $name<U> {
                let _ = &mut convert;
                $name {
                    $( $field: $crate::arrays::converted(&self.$field, &mut convert), )*
                    $( $( $plain: $crate::arrays::copied(&self.$plain), )* )?
                }
            }

            /// Sets every number to zero.
            pub fn set_zero(&mut self) {
                $( self.$field.fill(Default::default()); )*
            }

            /// Calls `visit(field, element, component, number)` for every number, in declaration order.
            pub fn for_each(&self, mut visit: impl FnMut(&'static str, usize, usize, T)) {
                let _ = &mut visit;
                $( $crate::arrays::walk(&self.$field, |index, component, number| {
                    visit(stringify!($field), index, component, number);
                }); )*
            }

            /// As [`Self::for_each`], with the count that gives the field its length after the field's name.
            pub fn for_each_named(
                &self,
                mut visit: impl FnMut(&'static str, &'static str, usize, usize, T),
            ) {
                let _ = &mut visit;
                $( $crate::arrays::walk(&self.$field, |index, component, number| {
                    visit(stringify!($field), stringify!($count), index, component, number);
                }); )*
            }

            /// As [`Self::for_each`], with the number by mutable reference.
            pub fn for_each_mut(&mut self, mut visit: impl FnMut(&'static str, usize, usize, &mut T)) {
                let _ = &mut visit;
                $( $crate::arrays::walk_mut(&mut self.$field, |index, component, number| {
                    visit(stringify!($field), index, component, number);
                }); )*
            }
        }
    };
}

pub(crate) use arrays;

// Structs have up to a hundred arrays. What is done with each of them is compiled once for a kind of element, and not once for
// every array and caller: inlined it was a tenth of the program.

/// A copy of an array.
#[inline(never)]
pub(crate) fn copied<C: Clone>(array: &[C]) -> Vec<C> {
    array.to_vec()
}

/// An array of zeros.
#[inline(never)]
pub(crate) fn zeroed<C: Clone + Default>(length: usize) -> Vec<C> {
    vec![C::default(); length]
}

/// An array over another scalar.
#[inline(never)]
pub(crate) fn converted<T: Scalar, U: Scalar, C: Components<T>>(
    array: &[C],
    convert: &mut dyn FnMut(T) -> U,
) -> Vec<C::With<U>> {
    let convert = |element: &C| element.map(&mut *convert);
    array.iter().map(convert).collect()
}

/// Calls `visit(label, element, numbers)` for every element of an array.
#[inline(never)]
pub(crate) fn elements<L: Copy, T: Scalar, C: Components<T>>(
    (label, array): (L, &[C]),
    visit: &mut dyn FnMut(L, usize, &[T]),
) {
    for (index, element) in array.iter().enumerate() {
        visit(label, index, element.as_slice());
    }
}

/// As [`elements`], to change.
#[inline(never)]
pub(crate) fn elements_mut<L: Copy, T: Scalar, C: Components<T>>(
    (label, array): (L, &mut [C]),
    visit: &mut dyn FnMut(L, usize, &mut [T]),
) {
    for (index, element) in array.iter_mut().enumerate() {
        visit(label, index, element.as_mut_slice());
    }
}

/// Calls `visit(element, component, number)` for every number of an array.
#[inline]
pub(crate) fn walk<T: Copy, C: Components<T>>(array: &[C], mut visit: impl FnMut(usize, usize, T)) {
    for (index, element) in array.iter().enumerate() {
        for (component, number) in element.as_slice().iter().enumerate() {
            visit(index, component, *number);
        }
    }
}

/// As [`walk`], with the number by mutable reference.
#[inline]
pub(crate) fn walk_mut<T, C: Components<T>>(
    array: &mut [C],
    mut visit: impl FnMut(usize, usize, &mut T),
) {
    for (index, element) in array.iter_mut().enumerate() {
        for (component, number) in element.as_mut_slice().iter_mut().enumerate() {
            visit(index, component, number);
        }
    }
}

/// sum ← sum + terms.
pub(crate) fn add<T: Scalar, C: Components<T>>(sum: &mut [C], terms: &[C]) {
    for (sum, term) in sum.iter_mut().zip(terms) {
        for (sum, &term) in sum.as_mut_slice().iter_mut().zip(term.as_slice()) {
            *sum += term;
        }
    }
}

/// What tests of backward passes need to know of any struct of flat arrays.
#[cfg(test)]
pub(crate) trait Arrays: Clone {
    /// The same arrays over another scalar.
    type Over<U: crate::scalar::Scalar>: Clone;

    /// Every number converted, in declaration order.
    fn convert<U: crate::scalar::Scalar>(&self, convert: &mut dyn FnMut(f64) -> U)
    -> Self::Over<U>;
    /// Every number with its field, in declaration order.
    fn visit(&self, visit: &mut dyn FnMut(&'static str, f64));
    /// As [`Self::visit`], to change.
    fn visit_mut(&mut self, visit: &mut dyn FnMut(&'static str, &mut f64));
    /// As [`Self::visit`], over another scalar.
    fn parts<U: crate::scalar::Scalar>(
        over: &Self::Over<U>,
        visit: &mut dyn FnMut(&'static str, U),
    );
}
