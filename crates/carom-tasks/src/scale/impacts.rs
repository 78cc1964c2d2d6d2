//! Which faces meet how fast at what angle: what a set of runs covers of the impacts that there are.

use carom::math::{Quat, Vec3};
use carom::{Data, Model, State};

/// Two bodies begin to touch.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Impact {
    /// The bodies, by their number in the run.
    pub bodies: [usize; 2],
    /// Speed along the normal at which they approach, and across it (m/s).
    pub speed: [f64; 2],
    /// Angle (rad) between the normal and the nearest axis of each body: 0 where a face is hit flat.
    pub tilt: [f64; 2],
    /// Face of each body that is hit: −x, +x, −y, +y, −z, +z.
    pub face: [usize; 2],
}

/// Numbers of an impact in files.
pub(super) const COLUMNS: usize = 9;

impl Impact {
    /// Run, bodies, approach and sliding speed, tilts, faces.
    pub(super) fn row(&self, run: usize) -> [f64; COLUMNS] {
        let [a, b] = self.bodies.map(|body| body as f64);
        let [c, d] = self.face.map(|face| face as f64);
        let ([speed, slide], [first, second]) = (self.speed, self.tilt);
        [run as f64, a, b, speed, slide, first, second, c, d]
    }

    /// The impact of a row.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "small counts, bounded by what casts saturate at"
    )]
    pub fn of(row: &[f64; COLUMNS]) -> Self {
        Self {
            bodies: [row[1] as usize, row[2] as usize],
            speed: [row[3], row[4]],
            tilt: [row[5], row[6]],
            face: [row[7] as usize, row[8] as usize],
        }
    }
}

/// Who touches whom.
pub(super) struct Touching<'a> {
    places: &'a [[usize; 3]],
    before: Vec<[usize; 2]>,
    now: Vec<[usize; 2]>,
}

impl<'a> Touching<'a> {
    pub(super) fn new(places: &'a [[usize; 3]]) -> Self {
        Self {
            places,
            before: Vec::new(),
            now: Vec::new(),
        }
    }

    /// Looks at the contacts of a step that began at a state; appends those that are new.
    pub(super) fn look(
        &mut self,
        model: &Model,
        state: &State,
        data: &Data,
        out: &mut Vec<Impact>,
    ) {
        self.now.clear();
        for contact in &data.collision.contacts {
            let number = |geom: usize| {
                let body = model.structure.geoms.body[geom];
                self.places.iter().position(|place| place[0] == body)
            };
            let [first, second] = contact.geoms.map(number);
            let (Some(first), Some(second)) = (first, second) else {
                continue;
            };
            let pair = [first, second];
            if self.now.contains(&pair) {
                continue;
            }
            self.now.push(pair);
            if self.before.contains(&pair) {
                continue;
            }
            let normal = contact.frame.row(0);
            let [v1, v2] = pair.map(|body| self.velocity(state, body, contact.position));
            let relative = v1 - v2;
            let along = relative.dot(normal);
            let [(tilt1, face1), (tilt2, face2)] =
                [(first, normal), (second, -normal)].map(|(body, out)| self.side(state, body, out));
            out.push(Impact {
                bodies: pair,
                speed: [along, (relative - normal * along).norm()],
                tilt: [tilt1, tilt2],
                face: [face1, face2],
            });
        }
        std::mem::swap(&mut self.before, &mut self.now);
    }

    fn pose(&self, state: &State, body: usize) -> (Vec3, Quat) {
        let [_, qpos, _] = self.places[body];
        let at = |k: usize| state.qpos[qpos + k];
        (
            Vec3([at(0), at(1), at(2)]),
            Quat([at(3), at(4), at(5), at(6)]).normalized(),
        )
    }

    fn velocity(&self, state: &State, body: usize, point: Vec3) -> Vec3 {
        let [_, _, dof] = self.places[body];
        let (position, quat) = self.pose(state, body);
        let at = |k: usize| state.qvel[dof + k];
        let turning = quat.rotate(Vec3([at(3), at(4), at(5)]));
        Vec3([at(0), at(1), at(2)]) + turning.cross(point - position)
    }

    /// The axis of a body that is nearest to a direction: angle to it, and face.
    fn side(&self, state: &State, body: usize, direction: Vec3) -> (f64, usize) {
        let local = self.pose(state, body).1.rotate_inverse(direction);
        let axis = (0..3).max_by(|&a, &b| local[a].abs().total_cmp(&local[b].abs()));
        let axis = axis.unwrap_or(0);
        let tilt = local[axis].abs().min(1.0).acos();
        (tilt, 2 * axis + usize::from(local[axis] > 0.0))
    }
}
