//! The adjoint of strikes: (1) of the module over dual numbers, a few directions at a time.

use carom_planar::{CONTACT_NUMBERS, Laws, Room, TABLE_NUMBERS};

use super::Strikes;
use super::place::{PLACE_NUMBERS, Place};
use crate::cotangent::{Cotangents, StateBar, quat_bar};
use crate::dual::{Dual, LANES};
use crate::math::{Quat, Vec3};
use crate::model::{Model, STRIKE_MEMORY, StrikeMap};

/// Numbers over which the map is differentiated.
type Local = Dual<LANES>;

/// Places of what goes in. First what a slide depends on: a turn of the struck body, its velocities, the law of the table, the
/// length of the step. Then the rest: its position, coordinates of the striker and their rates, what the arm remembers, the
/// law of the contact.
const TURN: usize = 0;
const LINEAR: usize = TURN + 3;
const ANGULAR: usize = LINEAR + 3;
const TABLE: usize = ANGULAR + 3;
const STEP: usize = TABLE + TABLE_NUMBERS;
const POSITION: usize = STEP + 1;
const HELD: usize = POSITION + 3;
const HELD_RATE: usize = HELD + 3;
const MEMORY: usize = HELD_RATE + 3;
const CONTACT: usize = MEMORY + STRIKE_MEMORY;
const INPUTS: usize = CONTACT + CONTACT_NUMBERS;

/// Room for the adjoint of the strikes of a step.
#[derive(Clone, Debug)]
pub(crate) struct StrikeAdjoint {
    room: Room<Local>,
    /// Cotangents of the end of the step as it would be without the map.
    next: StateBar,
}

impl StrikeAdjoint {
    /// Room for the steps of a model; none where it has no map of collisions.
    pub(crate) fn new(model: &Model) -> Option<Box<Self>> {
        model.strike.as_deref().map(|map| {
            Box::new(Self {
                room: map.bodies.room(),
                next: StateBar::zeros(model),
            })
        })
    }

    /// From the cotangents of the end of a step to those of the velocities v*, which are returned as cotangents of a step
    /// that moves neither body. Adds those of poses and memory at the start, of the laws and of the length of the step.
    pub(crate) fn backward(
        &mut self,
        model: &Model,
        strikes: &Strikes,
        timestep: f64,
        next: &StateBar,
        bar: &mut Cotangents,
    ) -> &StateBar {
        self.next.set_zero();
        self.next.add(next);
        let (Some(map), Some(laws)) = (model.strike.as_deref(), model.strike_laws()) else {
            return &self.next;
        };
        let found = self.inputs_bar(map, &laws, (&strikes.before, timestep), next);
        let [_, dof] = map.free;
        for k in 0..3 {
            bar.state.qpos[dof + k] += found[POSITION + k];
            bar.state.qpos[dof + 3 + k] += found[TURN + k];
            self.next.qpos[dof + k] = 0.0;
            self.next.qpos[dof + 3 + k] = 0.0;
            self.next.qvel[dof + k] = found[LINEAR + k];
            self.next.qvel[dof + 3 + k] = found[ANGULAR + k];
        }
        for (k, [_, dof]) in map.held.into_iter().enumerate() {
            bar.state.qpos[dof] += found[HELD + k];
            self.next.qpos[dof] = 0.0;
            self.next.qvel[dof] = found[HELD_RATE + k];
        }
        for k in 0..STRIKE_MEMORY {
            bar.state.act[map.memory + k] += found[MEMORY + k];
            self.next.act[map.memory + k] = 0.0;
        }
        let of_laws = found[CONTACT..].iter().chain(&found[TABLE..]);
        for (number, found) in bar.model.strikes.number.iter_mut().zip(of_laws) {
            *number += found;
        }
        bar.input.timestep += found[STEP];
        &self.next
    }

    /// A step without the map keeps what the arm remembers. Where actuators are switched off, all activations are kept, these
    /// among them.
    pub(crate) fn keep_memory(model: &Model, next: &StateBar, bar: &mut Cotangents) {
        let Some(map) = model.strike.as_deref() else {
            return;
        };
        if model.settings.disable.actuation {
            return;
        }
        let kept = map.memory..map.memory + STRIKE_MEMORY;
        for (own, next) in bar.state.act[kept.clone()].iter_mut().zip(&next.act[kept]) {
            *own += next;
        }
    }

    fn inputs_bar(
        &mut self,
        map: &StrikeMap,
        laws: &Laws,
        (before, timestep): (&Place, f64),
        next: &StateBar,
    ) -> [f64; INPUTS] {
        let mut found = [0.0; INPUTS];
        let mut end_bar = None;
        let is_apart = map.bodies.are_apart(&before.course(map), timestep);
        for first in (0..INPUTS).step_by(LANES) {
            let seed = |place: usize, value: f64| match place.checked_sub(first) {
                Some(lane) => Local::variable(value, lane),
                None => Local::constant(value),
            };
            let slides = !is_apart || first < POSITION;
            let end = self.end(map, laws, (before, timestep, slides), &seed);
            let numbers = end.numbers();
            let bars = end_bar.get_or_insert_with(|| end_bars(map, &end, next));
            for (lane, found) in found[first..].iter_mut().take(LANES).enumerate() {
                *found = (numbers.iter().zip(bars.iter()))
                    .map(|(number, bar)| number.tangent[lane] * bar)
                    .sum();
            }
        }
        found
    }

    /// The end of the step, with seeds by the places of the inputs. Where the struck body only slides, what that does not
    /// depend on may be seeded without it.
    fn end(
        &mut self,
        map: &StrikeMap,
        laws: &Laws,
        (before, timestep, slides): (&Place, f64, bool),
        seed: &dyn Fn(usize, f64) -> Local,
    ) -> Place<Local> {
        let start = before.quat.normalized();
        let mut quat = start.map(Local::constant);
        for axis in 0..3 {
            let turn = Vec3(std::array::from_fn(|k| if k == axis { 0.5 } else { 0.0 }));
            let way = start.mul(Quat::from_parts(0.0, turn));
            let step = seed(TURN + axis, 0.0);
            for (number, way) in quat.0.iter_mut().zip(way.0) {
                *number += step * way;
            }
        }
        let vector =
            |first: usize, values: Vec3| Vec3(std::array::from_fn(|k| seed(first + k, values[k])));
        let start = Place {
            position: vector(POSITION, before.position),
            quat,
            linear: vector(LINEAR, before.linear),
            angular: vector(ANGULAR, before.angular),
            held: std::array::from_fn(|k| seed(HELD + k, before.held[k])),
            held_rate: std::array::from_fn(|k| seed(HELD_RATE + k, before.held_rate[k])),
            memory: std::array::from_fn(|k| seed(MEMORY + k, before.memory[k])),
        };
        let plain = laws.numbers();
        let laws = Laws::of(&std::array::from_fn(|k| {
            match k.checked_sub(CONTACT_NUMBERS) {
                None => seed(CONTACT + k, plain[k]),
                Some(own) => seed(TABLE + own, plain[k]),
            }
        }));
        let timestep = seed(STEP, timestep);
        let mut course = start.course(map);
        if slides {
            let _ = (map.bodies).advance(&laws, &mut course, timestep, &mut self.room);
        } else {
            map.bodies.advance_striker(&laws, &mut course, timestep);
        }
        let step = Place {
            position: start.position + start.linear * timestep,
            quat: start.quat.integrate(start.angular, timestep),
            ..start
        };
        step.moved(map, &course)
    }
}

/// Cotangents of the numbers of the end of a step.
fn end_bars(map: &StrikeMap, end: &Place<Local>, next: &StateBar) -> [f64; PLACE_NUMBERS] {
    let [_, dof] = map.free;
    let vector = |list: &[f64], first: usize| Vec3(std::array::from_fn(|k| list[first + k]));
    let bars = Place {
        position: vector(&next.qpos, dof),
        quat: quat_bar(
            end.quat.map(|number| number.value),
            vector(&next.qpos, dof + 3),
        ),
        linear: vector(&next.qvel, dof),
        angular: vector(&next.qvel, dof + 3),
        held: map.held.map(|[_, dof]| next.qpos[dof]),
        held_rate: map.held.map(|[_, dof]| next.qvel[dof]),
        memory: std::array::from_fn(|k| next.act[map.memory + k]),
    };
    bars.numbers()
}
