//! Spatial inertia about a reference point, in world axes.
//!
//! For a body of mass m with its centre of mass at offset c from the reference and rotational inertia I_c
//! about the centre of mass,
//!
//!   I = I_c + m·(c·c·1 − c·cᵀ)                                                  (1)
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
}
