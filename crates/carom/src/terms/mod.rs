//! Terms: where laws act. The chain rule over laws is written here, once.
//!
//! A [law](crate::laws) is a function f(x, p) at one element. A [`Term`] says which elements have it, where its parameters p stand in
//! the model, and a *place* what its inputs x are and what f pushes:
//!
//! | place | inputs | pushes | file |
//! |---|---|---|---|
//! | dof | its position or velocity | the dof | [`dof`] |
//! | joint | position or rotation | its one, three or six dofs | [`joint`] |
//! | joint, by a list in the file | its position and velocity | its one dof | [`joint_law`] |
//! | body | its motion relative to the medium | the body | [`body`] |
//! | length ℓ(q) of a tendon or actuator | ℓ, ℓ̇ and further ones | along J = ∂ℓ/∂q | [`length`] |
//!
//! Each place has one way forward (τ += Jᵀ·f), one back (x̄ += f̄·∂f/∂x, p̄ += f̄·∂f/∂p, J̄ += f·τ̄), one to columns of linear maps (∂τ/∂q,
//! ∂τ/∂v, and [`along`] directions of the model's numbers), and one to the part D = ∂τ/∂v of implicit integrators with its own
//! derivatives. So a new law needs its value, and nothing else.
//!
//! Laws are static: generic code is compiled for each, without dispatch in the loops over elements. A law whose derivatives
//! are not to be had from dual numbers, such as one that carries weights, states them and takes part in dual
//! numbers by [`Scalar::chain`].

pub(crate) mod actuator;
pub(crate) mod along;
pub(crate) mod body;
pub(crate) mod dof;
pub(crate) mod joint;
pub(crate) mod joint_law;
pub(crate) mod length;

use crate::laws::damper::Damper;
use crate::laws::law::Law;
use crate::laws::spring::Spring;
use crate::model::{Model, Structure};
use crate::scalar::Scalar;

/// A law at every element of a kind.
pub(crate) trait Term<const N: usize, const K: usize> {
    type Law: Law<N, K>;

    /// The law of an element.
    fn law(structure: &Structure, element: usize) -> Self::Law;
    /// The parameters of an element.
    fn parameters<T: Scalar>(model: &Model<T>, element: usize) -> [T; K];
    /// Adds to the cotangents of an element's parameters.
    fn add_parameters(model_bar: &mut Model, element: usize, bar: [f64; K]);

    /// f(x, p).
    #[inline]
    fn value<T: Scalar>(model: &Model<T>, element: usize, x: [T; N]) -> T {
        let law = Self::law(&model.structure, element);
        law.value(x, Self::parameters(model, element))
    }

    /// ∂f/∂x.
    #[inline]
    fn by_inputs(model: &Model, element: usize, x: [f64; N]) -> [f64; N] {
        let law = Self::law(&model.structure, element);
        law.by_inputs(x, Self::parameters(model, element))
    }

    /// ∂f/∂p.
    #[inline]
    fn by_parameters(model: &Model, element: usize, x: [f64; N]) -> [f64; K] {
        let law = Self::law(&model.structure, element);
        law.by_parameters(x, Self::parameters(model, element))
    }

    /// The adjoint of f: adds to the cotangents of its parameters, returns those of its inputs.
    #[inline]
    fn vjp(
        model: &Model,
        element: usize,
        x: [f64; N],
        bar: f64,
        model_bar: &mut Model,
    ) -> [f64; N] {
        let law = Self::law(&model.structure, element);
        let gradient = law.gradient(x, Self::parameters(model, element));
        pass_on::<Self, N, K>(gradient, element, bar, model_bar)
    }

    /// g = ∂f/∂ẋ as implicit integrators take it.
    #[inline]
    fn rate_derivative<T: Scalar>(model: &Model<T>, element: usize, x: [T; N]) -> T {
        let law = Self::law(&model.structure, element);
        law.rate_derivative(x, Self::parameters(model, element))
    }

    /// ∂g/∂x.
    #[inline]
    fn rate_derivative_by_inputs(model: &Model, element: usize, x: [f64; N]) -> [f64; N] {
        let law = Self::law(&model.structure, element);
        law.rate_derivative_by_inputs(x, Self::parameters(model, element))
    }

    /// ∂g/∂p.
    #[inline]
    fn rate_derivative_by_parameters(model: &Model, element: usize, x: [f64; N]) -> [f64; K] {
        let law = Self::law(&model.structure, element);
        law.rate_derivative_by_parameters(x, Self::parameters(model, element))
    }

    /// The adjoint of g: adds to the cotangents of its parameters, returns those of its inputs.
    #[inline]
    fn rate_derivative_vjp(
        model: &Model,
        element: usize,
        x: [f64; N],
        bar: f64,
        model_bar: &mut Model,
    ) -> [f64; N] {
        let law = Self::law(&model.structure, element);
        let gradient = law.rate_derivative_gradient(x, Self::parameters(model, element));
        pass_on::<Self, N, K>(gradient, element, bar, model_bar)
    }
}

/// What a cotangent passes on by the derivatives with respect to inputs and parameters: adds to the cotangents of the parameters,
/// returns those of the inputs.
#[inline]
fn pass_on<S: Term<N, K> + ?Sized, const N: usize, const K: usize>(
    (by_inputs, by_parameters): ([f64; N], [f64; K]),
    element: usize,
    bar: f64,
    model_bar: &mut Model,
) -> [f64; N] {
    S::add_parameters(model_bar, element, by_parameters.map(|slope| slope * bar));
    by_inputs.map(|slope| slope * bar)
}

/// Declares a term by its law and the places of its parameters, `family.field[element]` or one component of it. The same list
/// reads them from a model and adds to their cotangents, which have the layout of the model.
macro_rules! term {
    (
        $(#[$attribute:meta])*
        $name:ident: $law:ident<$inputs:literal, $count:literal>,
        |$structure:ident, $element:ident|
        [$($family:ident.$field:ident[$at:expr] $([$component:literal])?),* $(,)?]
    ) => {
        $(#[$attribute])*
        pub(crate) struct $name;

        impl Term<$inputs, $count> for $name {
            type Law = $law;

            #[inline]
            fn law(_: &Structure, _: usize) -> $law {
                $law
            }

            #[inline]
            fn parameters<T: Scalar>(model: &Model<T>, $element: usize) -> [T; $count] {
                let $structure = &*model.structure;
                let _ = $structure;
                [$(model.$family.$field[$at] $([$component])?),*]
            }

            #[inline]
            fn add_parameters(model_bar: &mut Model, $element: usize, bar: [f64; $count]) {
                let $structure = &*model_bar.structure;
                let _ = $structure;
                let mut bar = bar.iter();
                $(
                    if let Some(bar) = bar.next() {
                        model_bar.$family.$field[$at] $([$component])? += bar;
                    }
                )*
            }
        }
    };
}

term! {
    /// Dampers of dofs, over their velocity.
    DofDamper: Damper<1, 3>, |structure, dof| [
        dofs.damping[dof],
        dofs.damping_poly[dof][0],
        dofs.damping_poly[dof][1],
    ]
}

term! {
    /// Springs of hinges and slides, over their position.
    JointSpring: Spring<1, 5>, |structure, joint| [
        joints.stiffness[joint],
        joints.stiffness_poly[joint][0],
        joints.stiffness_poly[joint][1],
        qpos.spring[structure.joints.qpos[joint]],
        qpos.spring[structure.joints.qpos[joint]],
    ]
}

term! {
    /// Springs along tendons, over their length.
    TendonSpring: Spring<1, 5>, |structure, tendon| [
        tendons.stiffness[tendon],
        tendons.stiffness_poly[tendon][0],
        tendons.stiffness_poly[tendon][1],
        tendons.spring_length[tendon][0],
        tendons.spring_length[tendon][1],
    ]
}

term! {
    /// Dampers along tendons, over the rate of their length.
    TendonDamper: Damper<1, 3>, |structure, tendon| [
        tendons.damping[tendon],
        tendons.damping_poly[tendon][0],
        tendons.damping_poly[tendon][1],
    ]
}

/// Whether a spring or damper can be left out: it has no strength, nor a derivative to carry.
#[inline]
pub(crate) fn is_absent<T: Scalar>(strength: [T; 3]) -> bool {
    !T::HAS_DERIVATIVES && strength == [T::ZERO; 3]
}
