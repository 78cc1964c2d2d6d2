//! Friction between a standing body and the table, over the whole face that rests on it.

use carom_scalar::scalar::Scalar;

use crate::outline::{Outline, Standing};

/// Slip below which friction fades out (m/s).
const SLIP: f64 = 2e-3;
/// Cells across the longer side of the outline.
const ACROSS: usize = 10;
/// Least distance to the rim, as a part of the radius of gyration: crowns are powers of it.
const LEAST_RIM: f64 = 1e-3;

/// What the friction of a table is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TableLaw<T: Scalar = f64> {
    /// Coulomb's coefficient at speed, mean over directions.
    pub friction: T,
    /// What is added at rest (Stribeck).
    pub stribeck: T,
    /// The speed over which that fades (m/s).
    pub stribeck_speed: T,
    /// What is added for each m/s (s/m).
    pub ploughing: T,
    /// Part of the coefficient that changes with cos 2α and sin 2α, α the direction of motion in the world.
    pub grain: [T; 2],
    /// How far the pressure moves forward while the body brakes: 1 as statics has it.
    pub lean: T,
    /// How much of the pressure is in the middle: 0 evenly, else a power of the distance to the rim.
    pub crown: T,
}

/// How many numbers a table's law has.
pub const TABLE_NUMBERS: usize = 8;

impl<T: Scalar> TableLaw<T> {
    /// The numbers in order.
    pub fn numbers(&self) -> [T; TABLE_NUMBERS] {
        let [c, s] = self.grain;
        [
            self.friction,
            self.stribeck,
            self.stribeck_speed,
            self.ploughing,
            c,
            s,
            self.lean,
            self.crown,
        ]
    }

    /// The law of numbers in order.
    pub fn of(n: &[T]) -> Self {
        Self {
            friction: n[0],
            stribeck: n[1],
            stribeck_speed: n[2],
            ploughing: n[3],
            grain: [n[4], n[5]],
            lean: n[6],
            crown: n[7],
        }
    }
}

/// The face that rests on the table, in cells: their places, and the logarithms of their distances to the rim.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Face {
    cells: Vec<([f64; 2], f64)>,
    /// Largest distance of a cell from the centre of mass (m): tilts of the pressure stay below its inverse.
    radius: f64,
}

impl Face {
    pub(crate) fn new(outline: &Outline, gyration: f64) -> Self {
        let rim = |at: [f64; 2]| (-outline.separation(at) / gyration).max(LEAST_RIM);
        let cells: Vec<([f64; 2], f64)> = (outline.cells(ACROSS).into_iter())
            .map(|at| (at, rim(at).ln()))
            .collect();
        let far = |([x, y], _): &([f64; 2], f64)| x.hypot(*y);
        Self {
            radius: cells.iter().map(far).fold(0.0, f64::max),
            cells,
        }
    }
}

/// A body on a table with such a law.
#[derive(Clone, Debug, PartialEq)]
pub struct Patch<T: Scalar = f64> {
    law: Option<TableLaw<T>>,
    /// Parts of the weight, cell by cell.
    parts: Vec<T>,
    /// Where the centre of these parts is.
    middle: [T; 2],
    /// Inverse of their second moments xx, xy, yy.
    inverse: [T; 3],
}

impl<T: Scalar> Default for Patch<T> {
    fn default() -> Self {
        Self {
            law: None,
            parts: Vec::new(),
            middle: [T::ZERO; 2],
            inverse: [T::ZERO; 3],
        }
    }
}

impl<T: Scalar> Patch<T> {
    /// Spreads the weight as a law says; nothing where it is spread so already.
    pub(crate) fn spread(&mut self, face: &Face, law: &TableLaw<T>) {
        if !T::HAS_DERIVATIVES && self.law.as_ref() == Some(law) {
            return;
        }
        self.law = Some(*law);
        let cells = &face.cells;
        self.parts.clear();
        self.parts
            .extend(cells.iter().map(|cell| (law.crown * cell.1).exp()));
        let total = self.parts.iter().fold(T::ZERO, |sum, &part| sum + part);
        self.middle = [T::ZERO; 2];
        for (part, (at, _)) in self.parts.iter_mut().zip(cells) {
            *part /= total;
            for axis in 0..2 {
                self.middle[axis] += *part * at[axis];
            }
        }
        let mut moment = [T::ZERO; 3];
        for (&part, (at, _)) in self.parts.iter().zip(cells) {
            let [x, y] = [0, 1].map(|axis| -self.middle[axis] + at[axis]);
            for (sum, product) in moment.iter_mut().zip([x * x, x * y, y * y]) {
                *sum += part * product;
            }
        }
        let [xx, xy, yy] = moment;
        let determinant = xx * yy - xy * xy;
        self.inverse = [yy, -xy, xx].map(|entry| entry / determinant);
    }

    /// Force (world) and torque on the body that has this yaw and moves with this velocity.
    pub(crate) fn force(
        &self,
        (body, face): (&Standing, &Face),
        yaw: T,
        velocity: [T; 3],
    ) -> [T; 3] {
        let Some(law) = &self.law else {
            return [T::ZERO; 3];
        };
        let (sin, cos) = yaw.sin_cos();
        let (sin2, cos2) = (sin * cos * 2.0, cos * cos - sin * sin);
        // The grain as the body sees it.
        let grain = [
            law.grain[0] * cos2 + law.grain[1] * sin2,
            law.grain[1] * cos2 - law.grain[0] * sin2,
        ];
        let [x, y, spin] = velocity;
        let motion = ([cos * x + sin * y, cos * y - sin * x], spin, grain);
        let weight = body.mass * body.gravity;
        let [even, across, up] = self.moments(law, face, motion);
        // Where the pressure moves to as the body brakes: so far that no part of it would pull.
        let forward = law.lean * body.height;
        let [dx, dy] = [0, 1].map(|axis| -(forward * even[axis]) - self.middle[axis]);
        let [a, b, c] = self.inverse;
        let mut tilt = [a * dx + b * dy, b * dx + c * dy];
        let steep = (tilt[0] * tilt[0] + tilt[1] * tilt[1]).sqrt() * face.radius;
        if steep.value() > 1.0 {
            tilt = tilt.map(|part| part / steep);
        }
        let [u, v, torque] = [0, 1, 2].map(|k| {
            even[k]
                + tilt[0] * (across[k] - self.middle[0] * even[k])
                + tilt[1] * (up[k] - self.middle[1] * even[k])
        });
        [
            (cos * u - sin * v) * weight,
            (sin * u + cos * v) * weight,
            torque * weight,
        ]
    }

    /// The same in the frame of the body, for a weight of one that lies evenly; and with the weight times x, and times y.
    fn moments(
        &self,
        law: &TableLaw<T>,
        face: &Face,
        (along, spin, grain): ([T; 2], T, [T; 2]),
    ) -> [[T; 3]; 3] {
        let speed_scale = T::ONE / (law.stribeck_speed * law.stribeck_speed);
        let mut sums = [[T::ZERO; 3]; 3];
        for (([x, y], _), &part) in face.cells.iter().zip(&self.parts) {
            let (u, v) = (along[0] - spin * *y, along[1] + spin * *x);
            let square = u * u + v * v;
            let slip2 = square + SLIP * SLIP;
            let slip = slip2.sqrt();
            let turned = (grain[0] * (u * u - v * v) + grain[1] * (u * v * 2.0)) / slip2;
            let coefficient = law.friction * (turned + 1.0)
                + law.stribeck * (-(square * speed_scale)).exp()
                + law.ploughing * slip;
            let pull = -(part * coefficient / slip);
            let force = [pull * u, pull * v, pull * (v * *x - u * *y)];
            let [even, across, up] = &mut sums;
            for k in 0..3 {
                even[k] += force[k];
                across[k] += force[k] * *x;
                up[k] += force[k] * *y;
            }
        }
        sums
    }
}
