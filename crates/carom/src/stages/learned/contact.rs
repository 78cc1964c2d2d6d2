//! Terms that change numbers of contacts: friction over the place on a surface, say, or over the speed of sliding.
//!
//! They act before rows and forces are made of the contacts, so that all laws see a contact with other numbers. The terms at a
//! contact of the mixed number p add up:
//!
//!   p ← max(p·(1 + Σ y) + Σ z, 1e-5)   for friction, with y of terms that multiply and z of those that add      (1)
//!   p ← p·max(1 + Σ y, 0.01)           for the reference                                                       (2)
//!
//! A contact of two geoms that a term is for is seen from the first of them: its place and normal, and the velocity at which
//! the other geom slides over it, are in the frame of that geom. With the relative velocity u of the second body in the frame
//! of the contact (normal n, tangents t), the normal out of the geom is ±n, sliding has the velocity s = ±(t₁·u₁ + t₂·u₂) and
//! the speed √(s² + v₀²) − v₀, v₀ = 0.1 mm/s, which has a slope at rest.

use super::forward::Sources;
use super::{Learned, numbers};
use crate::cotangent::{Cotangents, DataBar};
use crate::dynamics::At;
use crate::math::{Spatial, Vec3};
use crate::model::{ContactNumber, ContactSignal, LearnedContact, Model, Signal, TermMode};
use crate::quantity::LEAST_FRICTION;
use crate::scalar::Scalar;
use crate::stages::collision::{Collision, Contact, parameters};
use crate::stages::compliance::{relative_velocity, relative_velocity_vjp};
use carom_form::Bars;

/// v₀ (m/s).
const REST: f64 = 1e-4;
/// The least part of a reference that a term leaves.
const LEAST_PART: f64 = 0.01;
/// Which number each of a contact's frictions is.
const FRICTION: [ContactNumber; 5] = [
    ContactNumber::Sliding,
    ContactNumber::Sliding,
    ContactNumber::Torsional,
    ContactNumber::Rolling,
    ContactNumber::Rolling,
];
/// Which number each of a contact's references is.
const REFERENCE: [ContactNumber; 2] = [ContactNumber::Stiffness, ContactNumber::Damping];

/// What all terms at a contact add up to, number by number.
#[derive(Clone, Copy, Default)]
struct Change<T> {
    /// 1 + Σ y.
    gain: [T; ContactNumber::COUNT],
    /// Σ z.
    offset: [T; ContactNumber::COUNT],
}

impl<T: Scalar> Change<T> {
    /// No change.
    fn none() -> Self {
        Self {
            gain: [T::ONE; ContactNumber::COUNT],
            offset: [T::ZERO; ContactNumber::COUNT],
        }
    }

    fn sum_of(&mut self, mode: TermMode) -> &mut [T; ContactNumber::COUNT] {
        match mode {
            TermMode::Multiply => &mut self.gain,
            TermMode::Add | TermMode::Replace => &mut self.offset,
        }
    }
}

/// The contact as one of its geoms has it.
struct Seen<T: Scalar> {
    place: Vec3<T>,
    world_place: Vec3<T>,
    normal: Vec3<T>,
    world_normal: Vec3<T>,
    slip: Vec3<T>,
    world_slip: Vec3<T>,
    slip_speed: T,
    normal_speed: T,
    depth: T,
}

impl<T: Scalar> Seen<T> {
    fn new(model: &Model<T>, sources: Sources<'_, T>, contact: &Contact<T>, side: usize) -> Self {
        let (kinematics, geom) = (sources.kinematics, contact.geoms[side]);
        let rotation = &kinematics.geom_rotation[geom];
        let [normal, first, second] = [0, 1, 2].map(|row| contact.frame.row(row));
        let speed = relative_velocity(model, kinematics, sources.velocity, contact);
        let sign = sign(side);
        let world_normal = normal * T::from(sign);
        let world_slip = (first * speed[1] + second * speed[2]) * T::from(sign);
        let offset = contact.position - kinematics.geom_position[geom];
        Self {
            place: rotation.transpose_mul_vec(offset),
            world_place: contact.position,
            normal: rotation.transpose_mul_vec(world_normal),
            world_normal,
            slip: rotation.transpose_mul_vec(world_slip),
            world_slip,
            slip_speed: stretched(speed) - REST,
            normal_speed: speed[0],
            depth: -contact.distance,
        }
    }

    fn read(&self, signal: ContactSignal) -> T {
        match signal {
            ContactSignal::Place(axis) => self.place[axis],
            ContactSignal::WorldPlace(axis) => self.world_place[axis],
            ContactSignal::Normal(axis) => self.normal[axis],
            ContactSignal::WorldNormal(axis) => self.world_normal[axis],
            ContactSignal::Slip(axis) => self.slip[axis],
            ContactSignal::WorldSlip(axis) => self.world_slip[axis],
            ContactSignal::SlipSpeed => self.slip_speed,
            ContactSignal::NormalSpeed => self.normal_speed,
            ContactSignal::Depth => self.depth,
        }
    }
}

impl Seen<f64> {
    /// No cotangents.
    fn zero() -> Self {
        Self {
            place: Vec3::ZERO,
            world_place: Vec3::ZERO,
            normal: Vec3::ZERO,
            world_normal: Vec3::ZERO,
            slip: Vec3::ZERO,
            world_slip: Vec3::ZERO,
            slip_speed: 0.0,
            normal_speed: 0.0,
            depth: 0.0,
        }
    }

    fn add(&mut self, signal: ContactSignal, bar: f64) {
        match signal {
            ContactSignal::Place(axis) => self.place[axis] += bar,
            ContactSignal::WorldPlace(axis) => self.world_place[axis] += bar,
            ContactSignal::Normal(axis) => self.normal[axis] += bar,
            ContactSignal::WorldNormal(axis) => self.world_normal[axis] += bar,
            ContactSignal::Slip(axis) => self.slip[axis] += bar,
            ContactSignal::WorldSlip(axis) => self.world_slip[axis] += bar,
            ContactSignal::SlipSpeed => self.slip_speed += bar,
            ContactSignal::NormalSpeed => self.normal_speed += bar,
            ContactSignal::Depth => self.depth += bar,
        }
    }
}

/// The normal of a contact leads out of its first geom.
fn sign(side: usize) -> f64 {
    if side == 0 { 1.0 } else { -1.0 }
}

/// √(s² + v₀²).
fn stretched<T: Scalar>(speed: Vec3<T>) -> T {
    (speed[1] * speed[1] + speed[2] * speed[2] + REST * REST).sqrt()
}

/// Whether terms change a contact.
fn is_changed<T: Scalar>(terms: &[LearnedContact], contact: &Contact<T>) -> bool {
    !contact.excluded && terms.iter().any(|own| own.side(contact.geoms).is_some())
}

/// Changes the numbers of all contacts.
pub(super) fn forward<T: Scalar>(
    model: &Model<T>,
    sources: Sources<'_, T>,
    collision: &mut Collision<T>,
    out: &mut Learned<T>,
) {
    let terms = &model.structure.learned.contacts;
    out.contact_excess.fill(T::ZERO);
    let motions = std::mem::take(&mut out.motion);
    for contact in &mut collision.contacts {
        if is_changed(terms, contact) {
            let change = change(model, (sources, &motions), contact, out);
            apply(model, &change, contact);
        }
    }
    out.motion = motions;
}

/// (1), (2). From the numbers that the model mixes, so that doing it again changes nothing.
fn apply<T: Scalar>(model: &Model<T>, change: &Change<T>, contact: &mut Contact<T>) {
    let (least, mixed) = (
        T::from(LEAST_FRICTION),
        parameters::mix(model, contact.geoms, contact.pair),
    );
    for (k, number) in FRICTION.into_iter().enumerate() {
        let (own, number) = (mixed.friction[k].max(least), number as usize);
        contact.friction[k] = (own * change.gain[number] + change.offset[number]).max(least);
    }
    for (k, number) in REFERENCE.into_iter().enumerate() {
        let gain = change.gain[number as usize].max(T::from(LEAST_PART));
        contact.solref[k] = mixed.solref[k] * gain;
    }
}

/// What terms say at a contact. `work` lends its work area and is told how far inputs are out of range.
fn change<T: Scalar>(
    model: &Model<T>,
    given: (Sources<'_, T>, &[Spatial<T>]),
    contact: &Contact<T>,
    work: &mut Learned<T>,
) -> Change<T> {
    let learned = &model.structure.learned;
    let mut change = Change::none();
    for (index, own) in learned.contacts.iter().enumerate() {
        let Some(side) = own.side(contact.geoms) else {
            continue;
        };
        let term = &learned.terms[own.term];
        let x = &mut work.contact_input[..own.signals.len()];
        read(model, given, (contact, side), &own.signals, x);
        let ranges = &model.learned.range[term.ranges.clone()];
        for (x, [low, high]) in x.iter().zip(ranges) {
            let beyond = (low.value() - x.value()).max(x.value() - high.value());
            let worst = work.contact_excess[index].value();
            work.contact_excess[index] = T::from(worst.max(beyond));
        }
        let y = &mut work.contact_output[..own.numbers.len()];
        (term.form).value(x, numbers(model, term), y, &mut work.room);
        let sums = change.sum_of(own.mode);
        for (&number, &y) in own.numbers.iter().zip(&*y) {
            sums[number as usize] += y;
        }
    }
    change
}

/// The inputs of a term at a contact.
fn read<T: Scalar>(
    model: &Model<T>,
    (sources, motions): (Sources<'_, T>, &[Spatial<T>]),
    (contact, side): (&Contact<T>, usize),
    signals: &[Signal],
    x: &mut [T],
) {
    let seen = Seen::new(model, sources, contact, side);
    for (x, &signal) in x.iter_mut().zip(signals) {
        *x = match signal {
            Signal::Contact(signal) => seen.read(signal),
            other => sources.read(model, other, motions),
        };
    }
}

/// The adjoint of [`forward`]: leaves the cotangents of the mixed numbers in place of those of the changed ones, and adds to
/// those of everything that terms read. `own` lends its work area and sums the cotangents of motions.
pub(super) fn backward(at: At<'_>, own: &mut Learned, bars: &mut Cotangents) {
    let terms = &at.model.structure.learned.contacts;
    for index in 0..at.data.collision.contacts.len() {
        if is_changed(terms, &at.data.collision.contacts[index]) {
            contact_vjp(at, index, own, bars);
        }
    }
}

/// The adjoint at one contact.
fn contact_vjp(at: At<'_>, index: usize, own: &mut Learned, bars: &mut Cotangents) {
    let (model, learned) = (at.model, &at.model.structure.learned);
    let contact = &at.data.collision.contacts[index];
    let given = (Sources::before_controls(at), &at.data.learned.motion[..]);
    let change = change(model, given, contact, own);
    let change_bar = apply_vjp(model, &change, contact, &mut bars.data.contacts[index]);
    for term_of in &learned.contacts {
        let Some(side) = term_of.side(contact.geoms) else {
            continue;
        };
        let y_bar = &mut own.contact_output[..term_of.numbers.len()];
        let mut sums = change_bar;
        let sums = sums.sum_of(term_of.mode);
        for (bar, &number) in y_bar.iter_mut().zip(&term_of.numbers) {
            *bar = sums[number as usize];
        }
        if y_bar.iter().all(|bar| *bar == 0.0) {
            continue;
        }
        let term = &learned.terms[term_of.term];
        let count = term_of.signals.len();
        let (x, rest) = own.contact_input.split_at_mut(count);
        let x_bar = &mut rest[..count];
        read(model, given, (contact, side), &term_of.signals, x);
        x_bar.fill(0.0);
        let model_bar = &mut bars.model.learned;
        let mut term_bars = Bars {
            inputs: &mut *x_bar,
            weights: &mut model_bar.weight[term.weights.clone()],
            constants: &mut model_bar.constant[term.constants.clone()],
        };
        let numbers = numbers(model, term);
        (term.form).vjp(x, numbers, y_bar, &mut term_bars, &mut own.room);
        let mut seen_bar = Seen::zero();
        for (&signal, &bar) in term_of.signals.iter().zip(&*x_bar) {
            match signal {
                Signal::Contact(signal) => seen_bar.add(signal, bar),
                other => super::backward::signal_vjp(at, other, bar, &mut own.motion, bars),
            }
        }
        seen_vjp(at, (index, side), &seen_bar, &mut bars.data);
    }
}

/// The adjoint of [`apply`]; returns the cotangents of what the terms add up to.
fn apply_vjp(
    model: &Model,
    change: &Change<f64>,
    contact: &Contact,
    bar: &mut Contact,
) -> Change<f64> {
    let mut change_bar = Change::default();
    let mixed = parameters::mix(model, contact.geoms, contact.pair);
    for (k, number) in FRICTION.into_iter().enumerate() {
        let (own, number) = (mixed.friction[k].max(LEAST_FRICTION), number as usize);
        let (gain, passed) = (change.gain[number], bar.friction[k]);
        let is_held = own * gain + change.offset[number] <= LEAST_FRICTION;
        bar.friction[k] = if is_held { 0.0 } else { passed * gain };
        if !is_held {
            change_bar.gain[number] += passed * own;
            change_bar.offset[number] += passed;
        }
    }
    for (k, number) in REFERENCE.into_iter().enumerate() {
        let (gain, passed) = (change.gain[number as usize], bar.solref[k]);
        bar.solref[k] = passed * gain.max(LEAST_PART);
        if gain > LEAST_PART {
            change_bar.gain[number as usize] += passed * mixed.solref[k];
        }
    }
    change_bar
}

/// The adjoint of [`Seen::new`].
fn seen_vjp(at: At<'_>, (index, side): (usize, usize), bar: &Seen<f64>, data_bar: &mut DataBar) {
    let (kinematics, contact) = (&at.data.kinematics, &at.data.collision.contacts[index]);
    let (geom, sign) = (contact.geoms[side], sign(side));
    let rotation = &kinematics.geom_rotation[geom];
    let [normal, first, second] = [0, 1, 2].map(|row| contact.frame.row(row));
    let speed = relative_velocity(at.model, kinematics, &at.data.velocity, contact);
    let offset = contact.position - kinematics.geom_position[geom];
    let (world_normal, world_slip) = (normal * sign, (first * speed[1] + second * speed[2]) * sign);
    let mut offset_bar = Vec3::ZERO;
    let (mut normal_bar, mut slip_bar) = (bar.world_normal, bar.world_slip);
    let rotation_bar = &mut data_bar.kinematics.geom_rotation[geom];
    rotation.transpose_mul_vec_vjp(offset, bar.place, rotation_bar, &mut offset_bar);
    rotation.transpose_mul_vec_vjp(world_normal, bar.normal, rotation_bar, &mut normal_bar);
    rotation.transpose_mul_vec_vjp(world_slip, bar.slip, rotation_bar, &mut slip_bar);
    data_bar.kinematics.geom_position[geom] -= offset_bar;
    (normal_bar, slip_bar) = (normal_bar * sign, slip_bar * sign);
    let share = bar.slip_speed / stretched(speed);
    let speed_bar = Vec3([
        bar.normal_speed,
        first.dot(slip_bar) + speed[1] * share,
        second.dot(slip_bar) + speed[2] * share,
    ]);
    let contact_bar = &mut data_bar.contacts[index];
    contact_bar.position += offset_bar + bar.world_place;
    contact_bar.distance -= bar.depth;
    let frame_bars = [normal_bar, slip_bar * speed[1], slip_bar * speed[2]];
    for (row, frame_bar) in frame_bars.into_iter().enumerate() {
        for k in 0..3 {
            contact_bar.frame[3 * row + k] += frame_bar[k];
        }
    }
    relative_velocity_vjp(at, index, (speed, speed_bar), data_bar);
}
