//! From what the network says of mesh nodes to the motion of a body, by shape matching.
//!
//! A node moves freely by ṗ, and the network adds an acceleration a (a distance a step): with the positions before, p⁻ = p − h·ṗ, the
//! step of Verlet is
//!
//!   p⁺ = a + 2p − p⁻                                             (1)
//!
//! where turning goes on as rotation. The body that fits the nodes best (Müller 2005) is at their mean, turned by
//! the rotation in the polar decomposition of
//!
//!   M = Σ p⁺ rᵀ = Q·P,   Q⁺ = Q                                  (2)
//!
//! with r the nodes in axes of the body. Its velocity is the twist that fits those of the nodes best, each changed by b/h:
//!
//!   ω⁺ = (Σ |r|² − r rᵀ)⁻¹ Σ r × ṗ⁺   in axes turned by Q⁺       (3)
//!
//! Moments of a and b are all that (2) and (3) need. The derivative of (2): with M = Q·P and dQ = Q·[w]×,
//!
//!   (tr P − P)·w = axial(QᵀdM)                                   (4)
//!
//! a matrix that is regular whenever no two singular values add to zero: equal ones are as good as any.

use carom::math::{Mat3, Quat, Vec3};
use carom_scalar::Scalar;

use super::{Body, Heading, Solid, Twist};

/// Sums over the nodes of a body, in its heading: means of a and b, and Σ a rᵀ, Σ b rᵀ with r in axes of the body.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Moments<T = f64> {
    pub(crate) mean: [Vec3<T>; 2],
    pub(crate) moment: [Mat3<T>; 2],
}

/// Numbers of [`Moments`].
pub(crate) const MOMENTS: usize = 24;

impl Moments {
    /// Adds what is said of a node.
    pub(crate) fn add(&mut self, node: Vec3, count: usize, said: [Vec3; 2]) {
        for (index, &vector) in said.iter().enumerate() {
            self.mean[index] += vector * (1.0 / count as f64);
            self.moment[index] += vector.outer(node);
        }
    }

    /// The cotangents of what was said of a node.
    pub(crate) fn node_bar(&self, node: Vec3, count: usize) -> [Vec3; 2] {
        std::array::from_fn(|index| {
            self.mean[index] * (1.0 / count as f64) + self.moment[index].mul_vec(node)
        })
    }
}

impl<T: Scalar> Moments<T> {
    /// All numbers in a row, by a function of their place.
    pub(crate) fn from_numbers(mut number: impl FnMut(usize) -> T) -> Self {
        let mut next = 0;
        let mut take = || {
            next += 1;
            number(next - 1)
        };
        let mut vector = || Vec3(std::array::from_fn(|_| take()));
        let mean = [vector(), vector()];
        let mut matrix = || Mat3(std::array::from_fn(|_| take()));
        let moment = [matrix(), matrix()];
        Self { mean, moment }
    }

    /// All numbers in a row.
    pub(crate) fn numbers(&self) -> [T; MOMENTS] {
        let mut out = [T::ZERO; MOMENTS];
        let vectors = self.mean.iter().flat_map(|mean| mean.0);
        let matrices = self.moment.iter().flat_map(|moment| moment.0);
        for (out, number) in out.iter_mut().zip(vectors.chain(matrices)) {
            *out = number;
        }
        out
    }
}

/// Where a body is after a step in which nothing acts on it.
pub(crate) fn free<T: Scalar>(body: &Body<T>, step: f64) -> Body<T> {
    let turn = Quat::exp(body.twist.angular * T::from(step)).to_mat3();
    Body {
        position: body.position + body.twist.linear * T::from(step),
        rotation: turn.mul(&body.rotation),
        twist: body.twist,
    }
}

/// What the network should say of a node, in world axes: a and b of the header.
pub(crate) fn said_of(node: Vec3, free: &Body, next: &Body, step: f64) -> [Vec3; 2] {
    let [before, after] = [free, next].map(|body| body.rotation.mul_vec(node));
    let velocity =
        |body: &Body, from_center: Vec3| body.twist.linear + body.twist.angular.cross(from_center);
    [
        next.position + after - (free.position + before),
        (velocity(next, after) - velocity(free, before)) * step,
    ]
}

/// The next pose and velocity; none if the nodes fit no body.
pub(crate) fn next<T: Scalar>(
    solid: &Solid,
    body: &Body<T>,
    heading: &Heading<T>,
    said: &Moments<T>,
    step: f64,
) -> Option<Body<T>> {
    let free = free(body, step);
    let spread = solid.spread.map(T::from);
    let show = |moment: &Mat3<T>| {
        Mat3::from_columns(
            heading.show(moment.column(0)),
            heading.show(moment.column(1)),
            heading.show(moment.column(2)),
        )
    };
    let [position, velocity] = said.moment.map(|moment| show(&moment));
    // The mean of the nodes is the centre, so that their sums need no correction.
    let matched = free.rotation.mul(&spread) + position; // (2)
    let rotation = polar(&matched, &free.rotation)?;
    let center = free.position + heading.show(said.mean[0]);
    let linear = body.twist.linear + heading.show(said.mean[1]) * T::from(1.0 / step);
    // Σ ṗ⁺ rᵀ, in axes turned by the new rotation.
    let rates = Mat3::skew(body.twist.angular)
        .mul(&free.rotation)
        .mul(&spread)
        + velocity.map(|rate| rate / step);
    let local = rotation.transpose().mul(&rates);
    let angular = solve(&about(&spread), axial(&local)); // (3)
    Some(Body {
        position: center,
        rotation,
        twist: Twist {
            linear,
            angular: rotation.mul_vec(angular),
        },
    })
}

/// tr(S) − S.
fn about<T: Scalar>(matrix: &Mat3<T>) -> Mat3<T> {
    let trace = matrix.0[0] + matrix.0[4] + matrix.0[8];
    Mat3::from_diagonal(Vec3([trace; 3])) - *matrix
}

/// Σ r × v for a matrix Σ v rᵀ.
fn axial<T: Scalar>(matrix: &Mat3<T>) -> Vec3<T> {
    let m = &matrix.0;
    Vec3::new(m[7] - m[5], m[2] - m[6], m[3] - m[1])
}

fn solve<T: Scalar>(matrix: &Mat3<T>, right: Vec3<T>) -> Vec3<T> {
    matrix.inverse().mul_vec(right)
}

/// Steps of Newton's method; it takes four from where nothing acts.
const MAX_STEPS: usize = 60;

/// The rotation of a polar decomposition (2), found from a guess: the rotation nearest to a matrix. None if there is no
/// single one.
pub(crate) fn polar<T: Scalar>(matrix: &Mat3<T>, guess: &Mat3<T>) -> Option<Mat3<T>> {
    let plain = matrix.map(Scalar::value);
    let mut rotation = guess.map(Scalar::value);
    let mut is_found = false;
    for _ in 0..MAX_STEPS {
        let turned = rotation.transpose().mul(&plain);
        let symmetric = (turned + turned.transpose()) * 0.5;
        let change = newton(&symmetric, axial(&turned))?;
        if is_found {
            break;
        }
        rotation = rotation.mul(&Quat::exp(change).to_mat3());
        is_found = change.norm() < 1e-9;
    }
    if !is_found {
        return None;
    }
    let constant: Mat3<T> = rotation.map(T::from);
    let turned = constant.transpose().mul(matrix);
    let symmetric = (turned + turned.transpose()) * T::from(0.5);
    let change = solve(&about(&symmetric), axial(&turned)); // (4)
    Some(constant.mul(&Quat::exp(change).to_mat3()))
}

/// A step towards the nearest rotation: by (4) where that matrix is safely regular, else along the gradient.
fn newton(symmetric: &Mat3, axial: Vec3) -> Option<Vec3> {
    let matrix = about(symmetric);
    let size = symmetric.0.iter().map(|x| x.abs()).sum::<f64>();
    if !(size > 0.0 && size.is_finite()) {
        return None;
    }
    let minor = matrix.0[0] * matrix.0[4] - matrix.0[1] * matrix.0[3];
    let least = 1e-6 * size;
    let is_positive = matrix.0[0] > least
        && minor > least * least
        && matrix.determinant() > least * least * least;
    let step = if is_positive {
        solve(&matrix, axial)
    } else {
        axial * (1.0 / size)
    };
    // A long step goes past the nearest rotation.
    let length = step.norm();
    Some(if length > 1.0 {
        step * (1.0 / length)
    } else {
        step
    })
}
