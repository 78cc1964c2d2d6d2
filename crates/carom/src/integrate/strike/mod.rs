//! Strikes within a step: a held body touches another one that stands on a table, and a map of collisions moves both.
//!
//! Where the map is asked, the solver leaves out the contact of the two and the friction of the table; the table still
//! carries the struck body. The step of all other forces gives velocities v*, and the map moves both bodies from where
//! they were with these, for the length of the step:
//!
//!   (q⁺, v⁺, w⁺) = Φ(q, v*, w; p, h)                                                       (1)
//!
//! in the plane: x, y and yaw of both, w what the arm behind the striker remembers, p the numbers of the laws. Height and
//! tilt of the struck body stay those of the step. Φ is [`Bodies::advance`](carom_planar::Bodies::advance), over plain or
//! dual numbers; its adjoint comes from dual numbers. Outside of the limits of the map the solver does all.

mod backward;
mod place;

pub(crate) use backward::StrikeAdjoint;
use carom_planar::Room;
use place::Place;

use crate::model::{GeomKind, Model, StrikeMap};
use crate::scalar::Scalar;
use crate::stages::kinematics::Kinematics;
use crate::state::State;

/// A body stands where its underside is so near to the table (m),
const STANDING_GAP: f64 = 2e-3;
/// moves up or down no faster (m/s),
const STANDING_SPEED: f64 = 0.1;
/// has an axis whose upward part is no smaller,
const STANDING_UP: f64 = 0.999;
/// and tips no faster (rad/s).
const STANDING_RATE: f64 = 1.0;

/// Strikes of a step, and room to compute them.
#[derive(Clone, Debug, PartialEq)]
pub struct Strikes<T: Scalar = f64> {
    /// Poses at the start of the step with the velocities v* of (1).
    before: Place<T>,
    room: Room<T>,
    /// Whether the bodies touched in the last step that the map was asked for.
    pub touched: bool,
}

impl<T: Scalar> Strikes<T> {
    /// Room for the steps of a model; none where it has no map of collisions.
    pub(super) fn new(model: &Model<T>) -> Option<Box<Self>> {
        model.strike.as_deref().map(|map| {
            Box::new(Self {
                before: Place::read(map, &State::reference(model)),
                room: map.bodies.room(),
                touched: false,
            })
        })
    }

    /// Remembers the state at the start of a step.
    pub(super) fn begin(&mut self, model: &Model<T>, start: &State<T>) {
        if let Some(map) = model.strike.as_deref() {
            self.before = Place::read(map, start);
        }
    }

    /// Moves both bodies by the map, at the end of the step of all other forces. (1)
    pub(super) fn pass(&mut self, model: &Model<T>, end: &mut State<T>, timestep: T) {
        let (Some(map), Some(laws)) = (model.strike.as_deref(), model.strike_laws()) else {
            return;
        };
        let step = Place::read(map, end);
        self.before.take_velocities(&step);
        let mut course = self.before.course(map);
        self.touched = map
            .bodies
            .advance(&laws, &mut course, timestep, &mut self.room);
        step.moved(map, &course).write(map, end);
    }
}

impl StrikeMap {
    /// Whether the map is asked in a step from this state.
    pub(crate) fn is_asked<T: Scalar>(
        &self,
        model: &Model<T>,
        state: &State<T>,
        kinematics: &Kinematics<T>,
    ) -> bool {
        let disable = &model.settings.disable;
        if disable.contact || disable.constraint {
            return false;
        }
        let course = Place::read(self, state).course(self);
        let timestep = model.option.timestep[0].value();
        self.stands(model, state, kinematics)
            && self.overlaps_in_height(model, kinematics)
            && self.limits.admit(&self.bodies, &course, timestep)
    }

    /// Whether the struck body stands upright on its table.
    fn stands<T: Scalar>(
        &self,
        model: &Model<T>,
        state: &State<T>,
        kinematics: &Kinematics<T>,
    ) -> bool {
        let place = Place::read(self, state).map(T::value);
        let up = place.up();
        let centre = place.centre(self);
        let [above, beside] = self.table(model, kinematics, [centre[0], centre[1]]);
        let gap = centre[2] - self.bodies.struck.height - above;
        let [linear, rate] = place.upright_rates(self);
        up > STANDING_UP
            && beside <= 0.0
            && gap.abs() < STANDING_GAP
            && linear.abs() < STANDING_SPEED
            && rate < STANDING_RATE
    }

    /// Height of the table (m), and how far a point of the plane is beside it.
    fn table<T: Scalar>(
        &self,
        model: &Model<T>,
        kinematics: &Kinematics<T>,
        at: [f64; 2],
    ) -> [f64; 2] {
        let position = kinematics.geom_position[self.table].value();
        if model.structure.geoms.kind[self.table] == GeomKind::Plane {
            return [position[2], f64::NEG_INFINITY];
        }
        let rotation = kinematics.geom_rotation[self.table].value();
        let size = model.geoms.size[self.table].value();
        let away = crate::math::Vec3([at[0] - position[0], at[1] - position[1], 0.0]);
        let local = rotation.transpose_mul_vec(away);
        let beside = (local[0].abs() - size[0]).max(local[1].abs() - size[1]);
        [position[2] + size[2], beside]
    }

    /// Whether the striker is as high above the table as what it strikes.
    fn overlaps_in_height<T: Scalar>(&self, model: &Model<T>, kinematics: &Kinematics<T>) -> bool {
        let [table, _] = self.table(model, kinematics, [0.0; 2]);
        let [low, high] = self.span;
        low < table + self.top && high > table
    }

    /// Whether a contact of two bodies is left to the map.
    #[inline]
    pub(crate) fn takes_over(&self, bodies: [usize; 2]) -> bool {
        let [struck, striker] = self.ids;
        bodies == [struck, striker] || bodies == [striker, struck]
    }

    /// Whether two geoms, on these bodies, are the struck body and its table.
    #[inline]
    pub(crate) fn carries(&self, geoms: [usize; 2], bodies: [usize; 2]) -> bool {
        (geoms[0] == self.table && bodies[1] == self.ids[0])
            || (geoms[1] == self.table && bodies[0] == self.ids[0])
    }
}
