//! Spatial inertia about a reference point, in world axes.
//!
//! For a body of mass m with its centre of mass at offset c from the reference and rotational inertia C
//! about the centre of mass,
//!
//!   I = C + m·(c·c·1 − c·cᵀ)                                                  (1)
//!   momentum (n, f) of a motion (ω, v):  n = I·ω + m·c × v,  f = m·v − m·c × ω   (2)

use super::components::array_newtype;
use super::{Mat3, Spatial, Vec3};
use crate::scalar::Scalar;

/// Ten numbers: Ixx, Iyy, Izz, Ixy, Ixz, Iyz about the reference, m·c (x, y, z), m.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[repr(transparent)]
pub struct SpatialInertia<T = f64>(pub [T; 10]);

array_newtype!(SpatialInertia, 10);

impl<T: Scalar> SpatialInertia<T> {
    /// The inertia of nothing.
    pub const ZERO: Self = SpatialInertia([T::ZERO; 10]);

    /// The inertia of a body from its principal inertias, the rotation of its principal axes to world axes,
    /// the offset of its centre of mass from the reference point, and its mass.
    #[inline]
    pub fn from_body(inertia: Vec3<T>, rotation: &Mat3<T>, offset: Vec3<T>, mass: T) -> Self {
        let r = &rotation.0;
        let weighted = |row: usize| {
            Vec3([
                r[row] * inertia[0],
                r[row + 1] * inertia[1],
                r[row + 2] * inertia[2],
            ])
        };
        let (wx, wy) = (weighted(0), weighted(3));
        let (x, y, z) = (rotation.row(0), rotation.row(1), rotation.row(2));
        let moment = offset * mass;
        let [cx, cy, cz] = offset.0;
        let (mxx, myy, mzz) = (moment[0] * cx, moment[1] * cy, moment[2] * cz);
        SpatialInertia([
            x.dot(wx) + (myy + mzz), // (1)
            y.dot(wy) + (mxx + mzz),
            z.dot(weighted(6)) + (mxx + myy),
            y.dot(wx) - moment[0] * cy,
            z.dot(wx) - moment[0] * cz,
            z.dot(wy) - moment[1] * cz,
            moment[0],
            moment[1],
            moment[2],
            mass,
        ])
    }

    /// Adds products of inertia xy, xz, yz about the axes of a rotation: R·P·Rᵀ.
    #[inline]
    pub fn add_products(&mut self, products: Vec3<T>, rotation: &Mat3<T>) {
        let [xy, xz, yz] = products.0;
        let weighted = |row: usize| {
            let [x, y, z] = rotation.row(row).0;
            Vec3([xy * y + xz * z, xy * x + yz * z, xz * x + yz * y])
        };
        let (wx, wy, wz) = (weighted(0), weighted(1), weighted(2));
        let (x, y, z) = (rotation.row(0), rotation.row(1), rotation.row(2));
        let sums = [
            x.dot(wx),
            y.dot(wy),
            z.dot(wz),
            y.dot(wx),
            z.dot(wx),
            z.dot(wy),
        ];
        for (entry, sum) in self.0.iter_mut().zip(sums) {
            *entry += sum;
        }
    }

    /// The cotangent of products of inertia that are zero, from that of the inertia: 2·rᵢᵀ·S·rⱼ, as in
    /// [`from_body_vjp`](Self::from_body_vjp).
    #[inline]
    pub fn products_vjp(rotation: &Mat3<T>, bar: Self) -> Vec3<T> {
        let b = &bar.0;
        let (xy, xz, yz) = (b[3] * 0.5, b[4] * 0.5, b[5] * 0.5);
        let s = Mat3([b[0], xy, xz, xy, b[1], yz, xz, yz, b[2]]);
        let (x, y, z) = (rotation.column(0), rotation.column(1), rotation.column(2));
        let (sx, sy) = (s.mul_vec(x), s.mul_vec(y));
        Vec3([y.dot(sx), z.dot(sx), z.dot(sy)]).scale(2.0)
    }

    /// The twin of [`from_body`](Self::from_body).
    ///
    /// With S the symmetric matrix for which bar·I = trace(S·I): the principal inertias receive rₖᵀ·S·rₖ for
    /// the columns rₖ of the rotation R, R itself 2·S·R·diag(inertia), and the parallel-axis term is
    /// m·(trace(S)·c·c − cᵀ·S·c).
    #[inline]
    pub fn from_body_vjp(
        inertia: Vec3<T>,
        rotation: &Mat3<T>,
        offset: Vec3<T>,
        mass: T,
        bar: Self,
        cotangents: &mut BodyInertiaBar<'_, T>,
    ) {
        let b = &bar.0;
        let (xy, xz, yz) = (b[3] * 0.5, b[4] * 0.5, b[5] * 0.5);
        let s = Mat3([b[0], xy, xz, xy, b[1], yz, xz, yz, b[2]]);
        let mut columns = [Vec3::ZERO; 3];
        for k in 0..3 {
            let column = rotation.column(k);
            let image = s.mul_vec(column);
            cotangents.inertia[k] += column.dot(image);
            columns[k] = image * (inertia[k] * 2.0);
        }
        *cotangents.rotation += Mat3::from_columns(columns[0], columns[1], columns[2]);
        let parallel = offset * (b[0] + b[1] + b[2]) - s.mul_vec(offset);
        let moment_bar = bar.first_moment();
        *cotangents.offset += (parallel.scale(2.0) + moment_bar) * mass;
        *cotangents.mass += offset.dot(parallel + moment_bar) + b[9];
    }

    /// The mass.
    #[inline]
    pub fn mass(&self) -> T {
        self.0[9]
    }

    /// Mass times the offset of the centre of mass.
    #[inline]
    pub fn first_moment(&self) -> Vec3<T> {
        Vec3([self.0[6], self.0[7], self.0[8]])
    }

    /// The momentum of a motion.
    #[inline]
    pub fn mul_motion(&self, motion: Spatial<T>) -> Spatial<T> {
        let (i, v) = (&self.0, &motion.0);
        Spatial([
            i[0] * v[0] + i[3] * v[1] + i[4] * v[2] - i[8] * v[4] + i[7] * v[5], // (2)
            i[3] * v[0] + i[1] * v[1] + i[5] * v[2] + i[8] * v[3] - i[6] * v[5],
            i[4] * v[0] + i[5] * v[1] + i[2] * v[2] - i[7] * v[3] + i[6] * v[4],
            i[8] * v[1] - i[7] * v[2] + i[9] * v[3],
            i[6] * v[2] - i[8] * v[0] + i[9] * v[4],
            i[7] * v[0] - i[6] * v[1] + i[9] * v[5],
        ])
    }

    /// The twin of [`mul_motion`](Self::mul_motion).
    #[inline]
    pub fn mul_motion_vjp(
        &self,
        motion: Spatial<T>,
        bar: Spatial<T>,
        self_bar: &mut Self,
        motion_bar: &mut Spatial<T>,
    ) {
        *motion_bar += self.mul_motion(bar);
        let (v, b) = (&motion.0, &bar.0);
        // bar·(m·c × v, −m·c × ω) = m·c·(v × n̄ + f̄ × ω)
        let moment = motion.linear().cross(bar.angular()) + bar.linear().cross(motion.angular());
        *self_bar += SpatialInertia([
            v[0] * b[0],
            v[1] * b[1],
            v[2] * b[2],
            v[0] * b[1] + v[1] * b[0],
            v[0] * b[2] + v[2] * b[0],
            v[1] * b[2] + v[2] * b[1],
            moment[0],
            moment[1],
            moment[2],
            motion.linear().dot(bar.linear()),
        ]);
    }
}

/// Where [`SpatialInertia::from_body_vjp`] adds its results.
#[derive(Debug)]
pub struct BodyInertiaBar<'a, T = f64> {
    /// Cotangent of the principal inertias.
    pub inertia: &'a mut Vec3<T>,
    /// Cotangent of the rotation of the principal axes.
    pub rotation: &'a mut Mat3<T>,
    /// Cotangent of the offset of the centre of mass.
    pub offset: &'a mut Vec3<T>,
    /// Cotangent of the mass.
    pub mass: &'a mut T,
}
