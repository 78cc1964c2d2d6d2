//! Friction between a standing body and the table, over the whole face that rests on it.

use super::outline::Standing;

/// Slip below which friction fades out (m/s).
const SLIP: f64 = 2e-3;
/// Cells across the longer side of the outline.
const ACROSS: usize = 10;

/// What the friction of a table is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TableLaw {
    /// Coulomb's coefficient at speed, mean over directions.
    pub friction: f64,
    /// What is added at rest (Stribeck).
    pub stribeck: f64,
    /// The speed over which that fades (m/s).
    pub stribeck_speed: f64,
    /// What is added for each m/s (s/m).
    pub ploughing: f64,
    /// Part of the coefficient that changes with cos 2α and sin 2α, α the direction of motion in the world.
    pub grain: [f64; 2],
    /// How far the pressure moves forward while the body brakes: 1 as statics has it.
    pub lean: f64,
    /// How much of the pressure is in the middle: 0 evenly, else a power of the distance to the rim.
    pub crown: f64,
}

/// How many numbers a table's law has.
pub(super) const TABLE_NUMBERS: usize = 8;

impl TableLaw {
    /// The numbers in order.
    pub fn numbers(&self) -> [f64; TABLE_NUMBERS] {
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
    pub fn of(n: &[f64]) -> Self {
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

/// A body on a table with such a law.
#[derive(Clone, Debug, PartialEq)]
pub struct Patch {
    law: TableLaw,
    /// Weight (N).
    weight: f64,
    height: f64,
    /// Places and parts of the weight.
    cells: Vec<([f64; 2], f64)>,
    /// Where the centre of these parts is.
    middle: [f64; 2],
    /// Inverse of their second moments xx, xy, yy.
    inverse: [f64; 3],
}

impl Patch {
    /// The body on the table.
    pub fn new(body: &Standing, law: TableLaw) -> Self {
        let outline = &body.outline;
        let places = outline.cells(ACROSS);
        let rim = |at: [f64; 2]| (-outline.separation(at) / body.gyration).max(1e-3);
        let mut cells: Vec<([f64; 2], f64)> = (places.into_iter())
            .map(|at| (at, rim(at).powf(law.crown)))
            .collect();
        let total: f64 = cells.iter().map(|cell| cell.1).sum();
        let mut middle = [0.0; 2];
        for (at, part) in &mut cells {
            *part /= total;
            for axis in 0..2 {
                middle[axis] += *part * at[axis];
            }
        }
        let mut moment = [0.0; 3];
        for (at, part) in &cells {
            let [x, y] = [at[0] - middle[0], at[1] - middle[1]];
            for (sum, product) in moment.iter_mut().zip([x * x, x * y, y * y]) {
                *sum += part * product;
            }
        }
        let [xx, xy, yy] = moment;
        let determinant = xx * yy - xy * xy;
        Self {
            law,
            weight: body.mass * body.gravity,
            height: body.height,
            cells,
            middle,
            inverse: [yy, -xy, xx].map(|entry| entry / determinant),
        }
    }

    /// Force (world) and torque on the body that moves with this velocity.
    pub fn force(&self, pose: [f64; 3], velocity: [f64; 3]) -> [f64; 3] {
        let (sin, cos) = pose[2].sin_cos();
        let (sin2, cos2) = (2.0 * sin * cos, cos * cos - sin * sin);
        let law = &self.law;
        // The grain as the body sees it.
        let grain = [
            law.grain[0] * cos2 + law.grain[1] * sin2,
            law.grain[1] * cos2 - law.grain[0] * sin2,
        ];
        let [x, y, spin] = velocity;
        let along = [cos * x + sin * y, cos * y - sin * x];
        let even = self.body_force(along, spin, grain, [0.0; 2]);
        let forward = law.lean * self.height / self.weight;
        let shift = [-forward * even[0], -forward * even[1]];
        let [u, v, torque] = self.body_force(along, spin, grain, shift);
        [cos * u - sin * v, sin * u + cos * v, torque]
    }

    /// The same in the frame of the body, with its weight on a point so far from the centre of mass.
    fn body_force(&self, along: [f64; 2], spin: f64, grain: [f64; 2], shift: [f64; 2]) -> [f64; 3] {
        let law = &self.law;
        let [dx, dy] = [shift[0] - self.middle[0], shift[1] - self.middle[1]];
        let [a, b, c] = self.inverse;
        let tilt = [a * dx + b * dy, b * dx + c * dy];
        let speed_scale = 1.0 / (law.stribeck_speed * law.stribeck_speed);
        let mut sum = [0.0; 3];
        for ([x, y], part) in &self.cells {
            let lean = tilt[0] * (x - self.middle[0]) + tilt[1] * (y - self.middle[1]);
            let weight = part * (1.0 + lean).max(0.0);
            let (u, v) = (along[0] - spin * y, along[1] + spin * x);
            let square = u * u + v * v;
            let slip2 = square + SLIP * SLIP;
            let slip = slip2.sqrt();
            let turned = (grain[0] * (u * u - v * v) + grain[1] * 2.0 * u * v) / slip2;
            let coefficient = law.friction * (1.0 + turned)
                + law.stribeck * (-square * speed_scale).exp()
                + law.ploughing * slip;
            let pull = -weight * coefficient / slip;
            sum[0] += pull * u;
            sum[1] += pull * v;
            sum[2] += pull * (x * v - y * u);
        }
        sum.map(|part| part * self.weight)
    }
}
