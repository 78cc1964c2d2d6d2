//! Laws on the level of forces: the force at one contact as a function of its state and of the law's numbers.
//!
//! Such a law is one file: a type with [`ForceLaw`], whose `force` is written once, generic over the scalar. Its local
//! Jacobian comes from dual numbers here. The compliance stage knows laws by `contact_force` and `contact_force_vjp` of the
//! parent module alone; both choose by `match`, so that each law is compiled into the loop over contacts.

use crate::dual::Dual;
use crate::math::Vec3;
use crate::model::LawNumbers;
use crate::scalar::Scalar;

/// The most numbers that a law may have.
const MAX_NUMBERS: usize = 7;

/// A number with derivatives by distance, two coefficients of friction, velocity and the numbers of the law.
type Local = Dual<{ 6 + MAX_NUMBERS }>;

/// What the force of a contact depends on, besides the numbers of its law.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Touch<T: Scalar = f64> {
    /// Signed distance, negative in penetration (m).
    pub distance: T,
    /// Coefficients of sliding friction along both tangents.
    pub friction: [T; 2],
    /// Velocity of the second body's surface relative to the first one's: normal, two tangents (m/s).
    pub velocity: Vec3<T>,
    /// Whether there is friction at all.
    pub has_friction: bool,
}

/// Cotangents of what the force of a contact depends on, besides the numbers of its law.
#[derive(Clone, Copy, Debug, PartialEq)]
#[allow(missing_docs, reason = "each field is the cotangent of what it names")]
pub struct TouchBar {
    pub distance: f64,
    pub friction: [f64; 2],
    pub velocity: Vec3,
}

/// A law at one contact, with N numbers.
pub trait ForceLaw<const N: usize> {
    /// The numbers of a law of this kind.
    fn numbers<T: Scalar>(laws: &LawNumbers<T>, law: usize) -> [T; N];

    /// The same numbers, to be changed.
    fn numbers_mut(laws: &mut LawNumbers, law: usize) -> [&mut f64; N];

    /// The force on the second body: normal, two tangents (N). Zero where the bodies do not touch.
    fn force<T: Scalar>(numbers: [T; N], at: &Touch<T>) -> Vec3<T>;
}

/// Where the numbers of a law are kept: how many there are, and their fields in [`LawNumbers`] in the order of `force`.
macro_rules! numbers {
    ($count:literal: $($field:ident),*) => {
        #[inline]
        fn numbers<T: Scalar>(laws: &LawNumbers<T>, law: usize) -> [T; $count] {
            [$(laws.$field[law]),*]
        }

        fn numbers_mut(laws: &mut LawNumbers, law: usize) -> [&mut f64; $count] {
            [$(&mut laws.$field[law]),*]
        }
    };
}
pub(super) use numbers;

/// Lists the laws on the level of forces, each with its type, and the laws on other levels.
macro_rules! force_laws {
    ($($kind:ident => $law:ty),*; others: $($other:ident)|*) => {
        /// The force of a contact under a law: normal, two tangents (N). Zero for laws on other levels.
        #[inline]
        pub(crate) fn contact_force<T: Scalar>(
            kind: LawKind,
            (laws, law): (&LawNumbers<T>, usize),
            at: &Touch<T>,
        ) -> Vec3<T> {
            match kind {
                $(LawKind::$kind => <$law>::force(<$law>::numbers(laws, law), at),)*
                $(LawKind::$other)|* => Vec3::ZERO,
            }
        }

        /// The adjoint of [`contact_force`]: adds the cotangents of the law's numbers and gives those of the contact.
        pub(crate) fn contact_force_vjp(
            kind: LawKind,
            (laws, law): (&LawNumbers, usize),
            at: &Touch,
            force_bar: Vec3,
            laws_bar: &mut LawNumbers,
        ) -> TouchBar {
            match kind {
                $(LawKind::$kind => force::vjp::<$law, _>((laws, law), at, force_bar, laws_bar),)*
                $(LawKind::$other)|* => TouchBar {
                    distance: 0.0,
                    friction: [0.0; 2],
                    velocity: Vec3::ZERO,
                },
            }
        }
    };
}

pub(super) use force_laws;

/// The adjoint of one law, whose Jacobian comes from dual numbers.
pub(super) fn vjp<L: ForceLaw<N>, const N: usize>(
    (laws, law): (&LawNumbers, usize),
    at: &Touch,
    force_bar: Vec3,
    laws_bar: &mut LawNumbers,
) -> TouchBar {
    const { assert!(N <= MAX_NUMBERS, "raise MAX_NUMBERS") };
    let [first, second] = at.friction;
    let varied = Touch {
        distance: Local::variable(at.distance, 0),
        friction: [Local::variable(first, 1), Local::variable(second, 2)],
        velocity: Vec3(std::array::from_fn(|i| {
            Local::variable(at.velocity[i], 3 + i)
        })),
        has_friction: at.has_friction,
    };
    let numbers = L::numbers(laws, law);
    let force = L::force(
        std::array::from_fn(|i| Local::variable(numbers[i], 6 + i)),
        &varied,
    );
    let slope =
        |place: usize| (0..3).fold(0.0, |sum, i| sum + force[i].tangent[place] * force_bar[i]);
    for (place, bar) in L::numbers_mut(laws_bar, law).into_iter().enumerate() {
        *bar += slope(6 + place);
    }
    TouchBar {
        distance: slope(0),
        friction: [slope(1), slope(2)],
        velocity: Vec3(std::array::from_fn(|i| slope(3 + i))),
    }
}
