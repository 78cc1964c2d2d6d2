//! Actuators, all in their general form.

use super::tag::{Output, Tag};
use crate::model_spec::{
    ActuatorElement, ActuatorInput, ActuatorSpec, HistorySpec, ModelSpec, Transmission,
};

pub(super) fn write(out: &mut Output, spec: &ModelSpec) {
    for actuator in &spec.actuators {
        out.empty(&actuator_tag(actuator, &ActuatorSpec::default()));
    }
}

/// The attributes that differ from those of `default`, in the general form.
pub(in super::super) fn actuator_tag(actuator: &ActuatorSpec, default: &ActuatorSpec) -> Tag {
    let tag = Tag::new("general")
        .text("name", &actuator.name)
        .text("input", &input(actuator))
        .integer_unless("group", actuator.group, default.group);
    let tag = transmission(tag, actuator.transmission.as_ref())
        .leading_unless("gear", &actuator.gear, &default.gear)
        .number_unless("cranklength", actuator.crank_length, default.crank_length)
        .word_unless("dyntype", actuator.dynamics, default.dynamics)
        .leading_unless(
            "dynprm",
            &actuator.dynamics_parameters,
            &default.dynamics_parameters,
        )
        .integer_unless(
            "actdim",
            actuator.activation_count.map_or(-1, i64::from),
            -1,
        )
        .word_unless(
            "actearly",
            actuator.activation_early,
            default.activation_early,
        )
        .word_unless("gaintype", actuator.gain, default.gain)
        .leading_unless(
            "gainprm",
            &actuator.gain_parameters,
            &default.gain_parameters,
        )
        .word_unless("biastype", actuator.bias, default.bias)
        .leading_unless(
            "biasprm",
            &actuator.bias_parameters,
            &default.bias_parameters,
        )
        .word_unless(
            "ctrllimited",
            actuator.control_limited,
            default.control_limited,
        )
        .numbers_unless("ctrlrange", &actuator.control_range, &default.control_range)
        .numbers_unless(
            "velrange",
            &actuator.velocity_range,
            &default.velocity_range,
        )
        .numbers_unless(
            "ffrange",
            &actuator.feedforward_range,
            &default.feedforward_range,
        )
        .word_unless(
            "forcelimited",
            actuator.force_limited,
            default.force_limited,
        )
        .numbers_unless("forcerange", &actuator.force_range, &default.force_range)
        .word_unless(
            "actlimited",
            actuator.activation_limited,
            default.activation_limited,
        )
        .numbers_unless(
            "actrange",
            &actuator.activation_range,
            &default.activation_range,
        )
        .numbers_unless("lengthrange", &actuator.length_range, &default.length_range)
        .number_unless(
            "inheritrange",
            actuator.inherit_range,
            default.inherit_range,
        )
        .leading_unless("damping", &actuator.damping, &default.damping)
        .number_unless("armature", actuator.armature, default.armature);
    history(tag, &actuator.history, &default.history).numbers("user", &actuator.user)
}

/// What the controls are; of an actuator with one control that does not affect the simulation, and the shortcut
/// elements declare it.
fn input(actuator: &ActuatorSpec) -> String {
    let declared = match actuator.element {
        ActuatorElement::Position => "pos",
        ActuatorElement::Velocity | ActuatorElement::IntegratedVelocity => "vel",
        ActuatorElement::Cylinder => "pressure",
        _ => "",
    };
    (actuator.input).map_or_else(|| declared.to_owned(), ActuatorInput::words)
}

fn transmission(tag: Tag, transmission: Option<&Transmission>) -> Tag {
    match transmission {
        None => tag,
        Some(Transmission::Joint(joint)) => tag.reference("joint", joint),
        Some(Transmission::JointInParent(joint)) => tag.reference("jointinparent", joint),
        Some(Transmission::Tendon(tendon)) => tag.reference("tendon", tendon),
        Some(Transmission::Site {
            site,
            reference_site,
        }) => tag
            .reference("site", site)
            .reference("refsite", reference_site),
        Some(Transmission::SliderCrank {
            crank_site,
            slider_site,
        }) => tag
            .reference("cranksite", crank_site)
            .reference("slidersite", slider_site),
        Some(Transmission::Body(body)) => tag.reference("body", body),
    }
}

/// The history buffer of an actuator or sensor.
pub(super) fn history(tag: Tag, history: &HistorySpec, default: &HistorySpec) -> Tag {
    tag.integer_unless("nsample", history.samples, default.samples)
        .word_unless("interp", history.interpolation, default.interpolation)
        .number_unless("delay", history.delay, default.delay)
        .numbers_unless("interval", &history.interval, &default.interval)
}
