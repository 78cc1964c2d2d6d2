//! Does anything depend on each parameter?
//!
//! Each parameter is changed once, a little, and a motion is simulated again. If no bit of the final state and of the
//! sensors along the way is different, the gradient of every loss is zero, and the likely reason is told.

use rayon::prelude::*;

use super::layout::Place;
use super::{Entry, Parameters};
use crate::data::Data;
use crate::error::Error;
use crate::integrate;
use crate::model::{Family, Model, Quantity, Settings};
use crate::quantity::Purpose;
use crate::rollout::Controls;
use crate::state::{Input, State};

/// By how much θ is changed, relative to its size but at least to [`LEAST`].
const STEP: f64 = 1e-3;
/// Sizes of θ below this count as this.
const LEAST: f64 = 0.1;

/// A motion in which parameters should show.
#[derive(Clone, Copy, Debug)]
pub struct Motion<'a> {
    /// Where it starts.
    pub start: &'a State,
    /// Controls.
    pub controls: &'a Controls,
    /// Number of time steps.
    pub steps: usize,
}

/// A parameter that nothing depends on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// Its name.
    pub parameter: String,
    /// Why that may be.
    pub reason: String,
}

impl std::fmt::Display for Finding {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "{} moves nothing: {}", self.parameter, self.reason)
    }
}

/// What a motion leaves behind.
struct Trace {
    /// Bits of the final state and of all sensors.
    bits: Vec<u64>,
    /// Geoms that took part in contacts.
    touching: Vec<bool>,
}

impl Parameters {
    /// Changes each parameter once and simulates a motion: the parameters on which nothing depends, with the likely
    /// reason. An empty list means that every parameter shows.
    ///
    /// # Errors
    ///
    /// When θ gives no model.
    pub fn self_check(&self, theta: &[f64], motion: &Motion<'_>) -> Result<Vec<Finding>, Error> {
        let reference = self.trace(theta, motion)?;
        let findings: Result<Vec<Option<Finding>>, Error> = (0..self.len())
            .into_par_iter()
            .map(|index| {
                let mut changed = theta.to_vec();
                changed[index] += STEP * theta[index].abs().max(LEAST);
                let trace = self.trace(&changed, motion)?;
                let is_same = trace.bits == reference.bits;
                Ok(is_same.then(|| Finding {
                    parameter: self.entries[index].name.clone(),
                    reason: self.reason(&self.entries[index], &reference, motion),
                }))
            })
            .collect();
        Ok(findings?.into_iter().flatten().collect())
    }

    /// Simulates a motion.
    fn trace(&self, theta: &[f64], motion: &Motion<'_>) -> Result<Trace, Error> {
        let model = self.apply(theta)?;
        let mut state = self.apply_state(theta, motion.start)?;
        let mut input = Input::zeros(&model);
        let mut data = Data::new(&model);
        let mut trace = Trace {
            bits: Vec::new(),
            touching: vec![false; model.counts().ngeom],
        };
        for step in 0..motion.steps {
            motion.controls.write(step, &mut input.ctrl);
            integrate::step(&model, &mut state, &input, &mut data);
            trace
                .bits
                .extend(data.sensing.values.iter().map(|value| value.to_bits()));
            for contact in &data.collision.contacts {
                trace.touching[contact.geoms[0]] = true;
                trace.touching[contact.geoms[1]] = true;
            }
        }
        let numbers = state.qpos.iter().chain(&state.qvel).chain(&state.act);
        trace.bits.extend(numbers.map(|number| number.to_bits()));
        trace.bits.push(state.time.to_bits());
        Ok(trace)
    }

    /// The likely reason why nothing depends on a parameter.
    fn reason(&self, entry: &Entry, trace: &Trace, motion: &Motion<'_>) -> String {
        let Some(target) = entry.targets.first() else {
            return "the body does not move".to_owned();
        };
        let place = match target.place {
            Place::Given(place) => place,
            Place::State(..) => {
                return "nothing depends on this part of the initial state".to_owned();
            }
        };
        let Some(field) = self.layout.field_at(place) else {
            return "nothing depends on it".to_owned();
        };
        let element = (place - field.start) / field.width;
        let quantity = field.quantity;
        let reason = match switched_off(&self.base.settings, quantity) {
            Some(reason) => reason,
            None => not_reached(&self.base, quantity, element, (trace, motion)),
        };
        reason.to_owned()
    }
}

/// Whether the model's settings switch off what a number is for.
fn switched_off(settings: &Settings, quantity: Quantity) -> Option<&'static str> {
    let (disable, enable) = (&settings.disable, &settings.enable);
    let found = match quantity.row().purpose {
        Purpose::Gravity if disable.gravity => "gravity is switched off",
        Purpose::Spring if disable.spring => "springs are switched off",
        Purpose::Damper if disable.damper => "dampers are switched off",
        Purpose::DryFriction if disable.frictionloss => "dry friction is switched off",
        Purpose::Limit if disable.limit => "limits are switched off",
        Purpose::Equality if disable.equality => "equality constraints are switched off",
        Purpose::Contact if disable.contact => "contacts are switched off",
        Purpose::Contact if enable.override_contacts => {
            "contact override is on: select option.o_solref and the like"
        }
        Purpose::ContactOverride if !enable.override_contacts => "contact override is off",
        Purpose::DryFriction | Purpose::Limit | Purpose::Equality | Purpose::Contact
            if disable.constraint =>
        {
            "constraints are switched off"
        }
        _ if quantity.family() == Family::Actuators && disable.actuation => {
            "actuation is switched off"
        }
        _ => return None,
    };
    Some(found)
}

/// What did not happen in a motion.
fn not_reached(
    model: &Model,
    quantity: Quantity,
    element: usize,
    (trace, motion): (&Trace, &Motion<'_>),
) -> &'static str {
    let any_contact = trace.touching.contains(&true);
    match (quantity.family(), quantity) {
        (
            Family::Geoms | Family::Pairs | Family::Laws | Family::HeightFields | Family::Meshes,
            _,
        ) if !any_contact => "no contact happened in this motion",
        (Family::Geoms, _) if !trace.touching[element] => "the geom touched nothing in this motion",
        (_, Quantity::GeomFriction) => {
            "the contacts have fewer friction directions (condim), or the other geom decides"
        }
        (_, Quantity::GeomSolmix) => "no contact mixes different parameters",
        (Family::Geoms, _) => "the other geom of each contact decides (priority), or a pair",
        (Family::Pairs, _) => "the pair did not touch in this motion",
        _ if quantity.row().purpose == Purpose::Limit => "the limit was not reached in this motion",
        (Family::Joints | Family::JointLaws | Family::Dofs | Family::Tendons, _) => {
            "the joint or tendon did not move in this motion"
        }
        (Family::Learned, _) => "the term is untrained, or its inputs did not move",
        (Family::Actuators, _) if matches!(motion.controls, Controls::Zero) => {
            "all controls are zero"
        }
        (Family::Actuators, _) => "the actuator exerted no force that depends on it in this motion",
        (Family::Sites | Family::Cameras, _) => {
            "no sensor, tendon, actuator or constraint that uses it changed with it in this motion"
        }
        _ if quantity.row().purpose == Purpose::Medium => "no body moves through the medium",
        (_, Quantity::OptionMagnetic) => "there is no magnetometer",
        (_, Quantity::OptionImpratio) => "no contact slides under a friction cone",
        (Family::Bodies, _) if model.structure.bodies.weld[element] == 0 => {
            "the body is fixed to the world"
        }
        (_, Quantity::BodyGravcomp) => "there is no gravity",
        (_, Quantity::SensorCutoff) => "the reading did not reach it",
        (Family::Sensors, _) => "the sensor keeps no history",
        (Family::Equalities, _) => "the constraint is inactive, or holds exactly",
        _ => "nothing depends on it in this motion",
    }
}
