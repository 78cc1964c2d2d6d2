//! Actuators: the general form and the shortcuts.
//!
//! A shortcut such as `position` inherits its own parameters (`kp`, `kv`, …) only from a default
//! written with the same shortcut, or with `general` and the shortcut's type of gain; the nearest
//! such class counts. What all actuators have (ranges, gear, …) is inherited from any default.
//! The shortcut then sets gain, bias and dynamics completely.

use super::Reader;
use super::attribute::Attributes;
use super::codes;
use super::defaults::MAIN_CLASS;
use super::history;
use super::keywords::ServoInput;
use crate::model_spec::{
    ActuatorDynamics, ActuatorElement, ActuatorInput, ActuatorSpec, BiasKind, GainKind, ModelSpec,
    Reference, ServoInputs, Transmission,
};
use crate::xml::Element;

/// Gain parameters of a muscle: range, force, scale, lmin, lmax, vmax, fpmax, fvmax.
const MUSCLE_GAIN: [f64; 9] = [0.75, 1.05, -1.0, 200.0, 0.5, 1.6, 1.5, 1.3, 1.2];

/// Dynamics parameters of a muscle: activation, deactivation time (s), smoothing.
const MUSCLE_DYNAMICS: [f64; 3] = [0.01, 0.04, 0.0];

/// The supported actuator element with that tag.
pub(super) fn element_kind(tag: &str) -> Option<ActuatorElement> {
    Some(match tag {
        "general" => ActuatorElement::General,
        "motor" => ActuatorElement::Motor,
        "position" => ActuatorElement::Position,
        "velocity" => ActuatorElement::Velocity,
        "intvelocity" => ActuatorElement::IntegratedVelocity,
        "damper" => ActuatorElement::Damper,
        "cylinder" => ActuatorElement::Cylinder,
        "muscle" => ActuatorElement::Muscle,
        "adhesion" => ActuatorElement::Adhesion,
        "dcmotor" => ActuatorElement::DcMotor,
        "pid" => ActuatorElement::Pid,
        "orientation" => ActuatorElement::Orientation,
        _ => return None,
    })
}

/// Whether a shortcut inherits its parameters from a default.
pub(super) fn inherits(element: ActuatorElement, default: &ActuatorSpec) -> bool {
    let gain = match element {
        ActuatorElement::Damper => GainKind::Affine,
        ActuatorElement::Muscle => GainKind::Muscle,
        ActuatorElement::DcMotor => GainKind::DcMotor,
        ActuatorElement::Pid => GainKind::Pid,
        ActuatorElement::Orientation => GainKind::So3,
        _ => GainKind::Fixed,
    };
    match default.element {
        ActuatorElement::General => default.gain == gain,
        same => same == element,
    }
}

/// Reads an actuator over the values of its class. `inherited` holds the parameters that a
/// shortcut inherits, if it does from any default.
pub(super) fn read(
    a: &Attributes<'_, '_>,
    element: ActuatorElement,
    inherited: Option<&ActuatorSpec>,
    actuator: &mut ActuatorSpec,
) {
    read_common(a, actuator);
    if element == ActuatorElement::General {
        read_general(a, actuator);
        return;
    }
    reset_parameters(actuator);
    actuator.element = element;
    match element {
        ActuatorElement::General | ActuatorElement::Motor => {}
        ActuatorElement::Position | ActuatorElement::IntegratedVelocity => {
            read_servo(a, inherited, actuator);
        }
        ActuatorElement::Velocity => read_velocity(a, inherited, actuator),
        ActuatorElement::Damper => read_damper(a, inherited, actuator),
        ActuatorElement::Cylinder => read_cylinder(a, inherited, actuator),
        ActuatorElement::Muscle => read_muscle(a, inherited, actuator),
        ActuatorElement::Adhesion => read_adhesion(a, inherited, actuator),
        ActuatorElement::DcMotor => read_dc_motor(a, inherited, actuator),
        ActuatorElement::Pid => read_pid(a, inherited, actuator),
        ActuatorElement::Orientation => read_orientation(a, inherited, actuator),
    }
}

fn read_common(a: &Attributes<'_, '_>, actuator: &mut ActuatorSpec) {
    a.set("name", &mut actuator.name);
    a.set("group", &mut actuator.group);
    history::read(a, &mut actuator.history);
    a.set_range("ctrlrange", &mut actuator.control_range);
    a.set("ctrllimited", &mut actuator.control_limited);
    a.set_range("velrange", &mut actuator.velocity_range);
    a.set_range("ffrange", &mut actuator.feedforward_range);
    a.set_range("forcerange", &mut actuator.force_range);
    a.set("forcelimited", &mut actuator.force_limited);
    a.set_range("actrange", &mut actuator.activation_range);
    a.set("actlimited", &mut actuator.activation_limited);
    a.set_range("lengthrange", &mut actuator.length_range);
    a.set_leading("gear", &mut actuator.gear);
    a.set_leading("damping", &mut actuator.damping);
    a.set("armature", &mut actuator.armature);
    a.set("cranklength", &mut actuator.crank_length);
    a.set("user", &mut actuator.user);
}

fn read_general(a: &Attributes<'_, '_>, actuator: &mut ActuatorSpec) {
    if let Some(count) = a.get::<i32>("actdim") {
        actuator.activation_count = u32::try_from(count).ok();
    }
    a.set("inheritrange", &mut actuator.inherit_range);
    a.set("dyntype", &mut actuator.dynamics);
    a.set("gaintype", &mut actuator.gain);
    a.set("biastype", &mut actuator.bias);
    read_input(a, &mut actuator.input);
    a.set_leading("dynprm", &mut actuator.dynamics_parameters);
    a.set_leading("gainprm", &mut actuator.gain_parameters);
    a.set_leading("biasprm", &mut actuator.bias_parameters);
    a.set("actearly", &mut actuator.activation_early);
}

/// Sets gain, bias, dynamics and activation layout to the built-in values.
fn reset_parameters(actuator: &mut ActuatorSpec) {
    let built_in = ActuatorSpec::default();
    actuator.dynamics = built_in.dynamics;
    actuator.dynamics_parameters = built_in.dynamics_parameters;
    actuator.gain = built_in.gain;
    actuator.gain_parameters = built_in.gain_parameters;
    actuator.bias = built_in.bias;
    actuator.bias_parameters = built_in.bias_parameters;
    actuator.activation_count = built_in.activation_count;
    actuator.activation_early = built_in.activation_early;
    actuator.inherit_range = built_in.inherit_range;
    actuator.input = built_in.input;
}

/// Reads which controls an actuator takes: one word for an orientation or for none, otherwise a list.
fn read_input(a: &Attributes<'_, '_>, input: &mut Option<ActuatorInput>) {
    let word = a.element.value("input").unwrap_or_default().trim();
    *input = match word {
        "" => return,
        "expmap" => Some(ActuatorInput::RotationVector),
        "quat" => Some(ActuatorInput::Quaternion),
        "none" => Some(ActuatorInput::Servo(ServoInputs::default())),
        _ => {
            let mut flags = [false; ServoInputs::WORDS.len()];
            for ServoInput(place) in a.keywords("input").unwrap_or_default() {
                flags[place] = true;
            }
            Some(ActuatorInput::Servo(ServoInputs::from_flags(flags)))
        }
    };
}

fn not_negative(a: &Attributes<'_, '_>, name: &str) -> Option<f64> {
    let number = a.get::<f64>(name)?;
    if number < 0.0 {
        a.error(codes::VALUE_RANGE, name, "cannot be negative");
        return None;
    }
    Some(number)
}

/// Position servo, or the same with integrated velocity as its set point.
fn read_servo(
    a: &Attributes<'_, '_>,
    inherited: Option<&ActuatorSpec>,
    actuator: &mut ActuatorSpec,
) {
    let mut stiffness = 1.0;
    if let Some(inherited) = inherited {
        stiffness = inherited.gain_parameters[0];
        actuator.bias_parameters[2] = inherited.bias_parameters[2];
        actuator.inherit_range = inherited.inherit_range;
        if inherited.dynamics == ActuatorDynamics::FilterExact {
            actuator.dynamics = ActuatorDynamics::FilterExact;
            actuator.dynamics_parameters[0] = inherited.dynamics_parameters[0];
        }
    }
    a.set("kp", &mut stiffness);
    actuator.gain_parameters[0] = stiffness;
    actuator.bias_parameters[1] = -stiffness;
    actuator.bias = BiasKind::Affine;
    read_damping(a, actuator);
    if let Some(time) = not_negative(a, "timeconst") {
        let filtered = time != 0.0;
        actuator.dynamics = if filtered {
            ActuatorDynamics::FilterExact
        } else {
            ActuatorDynamics::None
        };
        actuator.dynamics_parameters[0] = time;
    }
    if actuator.element == ActuatorElement::IntegratedVelocity {
        actuator.dynamics = ActuatorDynamics::Integrator;
        actuator.dynamics_parameters = ActuatorSpec::default().dynamics_parameters;
        inherit_range(a, "actrange", actuator);
    } else {
        inherit_range(a, "ctrlrange", actuator);
    }
}

/// Entry 2 of the bias of a servo: negative is damping, positive is a damping ratio.
fn read_damping(a: &Attributes<'_, '_>, actuator: &mut ActuatorSpec) {
    a.exclusive(&["kv", "dampratio"]);
    if let Some(damping) = not_negative(a, "kv") {
        actuator.bias_parameters[2] = -damping;
    }
    if let Some(ratio) = not_negative(a, "dampratio") {
        actuator.bias_parameters[2] = ratio;
    }
}

/// A written range overrides an inherited `inheritrange` and the other way round.
fn inherit_range(a: &Attributes<'_, '_>, range: &str, actuator: &mut ActuatorSpec) {
    let written = not_negative(a, "inheritrange");
    if let Some(factor) = written {
        actuator.inherit_range = factor;
    }
    if actuator.inherit_range <= 0.0 {
        return;
    }
    let has_range = a.has(range);
    if written.is_some() && has_range {
        a.exclusive(&[range, "inheritrange"]);
    } else if has_range {
        actuator.inherit_range = 0.0;
    } else if actuator.element == ActuatorElement::IntegratedVelocity {
        actuator.activation_range = [0.0; 2];
    } else {
        actuator.control_range = [0.0; 2];
    }
}

fn read_velocity(
    a: &Attributes<'_, '_>,
    inherited: Option<&ActuatorSpec>,
    actuator: &mut ActuatorSpec,
) {
    let mut gain = inherited.map_or(1.0, |inherited| inherited.gain_parameters[0]);
    a.set("kv", &mut gain);
    actuator.gain_parameters[0] = gain;
    actuator.bias_parameters[2] = -gain;
    actuator.bias = BiasKind::Affine;
}

fn read_damper(
    a: &Attributes<'_, '_>,
    inherited: Option<&ActuatorSpec>,
    actuator: &mut ActuatorSpec,
) {
    let mut damping = inherited.map_or(0.0, |inherited| -inherited.gain_parameters[2]);
    a.set("kv", &mut damping);
    if damping < 0.0 {
        a.error(codes::VALUE_RANGE, "kv", "cannot be negative");
    }
    actuator.gain = GainKind::Affine;
    actuator.gain_parameters = [0.0; 10];
    actuator.gain_parameters[2] = -damping;
    require_positive_control(a, actuator);
}

fn read_cylinder(
    a: &Attributes<'_, '_>,
    inherited: Option<&ActuatorSpec>,
    actuator: &mut ActuatorSpec,
) {
    if let Some(inherited) = inherited {
        actuator.dynamics_parameters[0] = inherited.dynamics_parameters[0];
        actuator.gain_parameters[0] = inherited.gain_parameters[0];
        actuator.bias_parameters[..3].copy_from_slice(&inherited.bias_parameters[..3]);
    }
    actuator.dynamics = ActuatorDynamics::Filter;
    actuator.bias = BiasKind::Affine;
    a.set("timeconst", &mut actuator.dynamics_parameters[0]);
    a.set("area", &mut actuator.gain_parameters[0]);
    if let Some(diameter) = a.get::<f64>("diameter").filter(|diameter| *diameter >= 0.0) {
        actuator.gain_parameters[0] = std::f64::consts::PI / 4.0 * diameter * diameter;
    }
    if let Some(bias) = a.get::<[f64; 3]>("bias") {
        actuator.bias_parameters[..3].copy_from_slice(&bias);
    }
}

fn read_muscle(
    a: &Attributes<'_, '_>,
    inherited: Option<&ActuatorSpec>,
    actuator: &mut ActuatorSpec,
) {
    let (mut gain, mut dynamics) = (MUSCLE_GAIN, MUSCLE_DYNAMICS);
    if let Some(inherited) = inherited {
        gain.copy_from_slice(&inherited.gain_parameters[..9]);
        dynamics.copy_from_slice(&inherited.dynamics_parameters[..3]);
    }
    // Negative values leave what is there.
    let set = |target: &mut f64, number: f64| {
        if number >= 0.0 {
            *target = number;
        }
    };
    for (index, time) in a
        .get::<[f64; 2]>("timeconst")
        .into_iter()
        .flatten()
        .enumerate()
    {
        set(&mut dynamics[index], time);
    }
    for (index, bound) in a.get::<[f64; 2]>("range").into_iter().flatten().enumerate() {
        set(&mut gain[index], bound);
    }
    let names = ["force", "scale", "lmin", "lmax", "vmax", "fpmax", "fvmax"];
    for (name, target) in names.into_iter().zip(&mut gain[2..]) {
        if let Some(number) = a.get(name) {
            set(target, number);
        }
    }
    dynamics[2] = not_negative(a, "tausmooth").unwrap_or(dynamics[2]);
    actuator.dynamics = ActuatorDynamics::Muscle;
    actuator.gain = GainKind::Muscle;
    actuator.bias = BiasKind::Muscle;
    actuator.dynamics_parameters[..3].copy_from_slice(&dynamics);
    actuator.gain_parameters[..9].copy_from_slice(&gain);
    actuator.bias_parameters[..9].copy_from_slice(&gain);
}

fn read_adhesion(
    a: &Attributes<'_, '_>,
    inherited: Option<&ActuatorSpec>,
    actuator: &mut ActuatorSpec,
) {
    let inherited_gain = inherited.map_or(1.0, |inherited| inherited.gain_parameters[0]);
    actuator.gain_parameters[0] = not_negative(a, "gain").unwrap_or(inherited_gain);
    require_positive_control(a, actuator);
}

/// A servo with set points of position and velocity, integral action and feedforward.
fn read_pid(a: &Attributes<'_, '_>, inherited: Option<&ActuatorSpec>, actuator: &mut ActuatorSpec) {
    let [mut stiffness, mut integral, mut most, mut slew] = [1.0, 0.0, 0.0, 0.0];
    actuator.bias_parameters = [0.0; 10];
    if let Some(inherited) = inherited {
        stiffness = -inherited.bias_parameters[1];
        actuator.bias_parameters[2] = inherited.bias_parameters[2];
        actuator.inherit_range = inherited.inherit_range;
        actuator.input = inherited.input;
        if inherited.dynamics == ActuatorDynamics::Pid {
            integral = inherited.gain_parameters[0];
            [most, slew] = [0, 1].map(|k| inherited.dynamics_parameters[k]);
        }
    }
    a.set("kp", &mut stiffness);
    actuator.bias_parameters[1] = -stiffness;
    read_damping(a, actuator);
    for (name, target) in [
        ("ki", &mut integral),
        ("imax", &mut most),
        ("slewmax", &mut slew),
    ] {
        *target = not_negative(a, name).unwrap_or(*target);
    }
    read_input(a, &mut actuator.input);
    a.set_range("posrange", &mut actuator.control_range);
    let written = if a.has("posrange") {
        "posrange"
    } else {
        "ctrlrange"
    };
    inherit_range(a, written, actuator);
    actuator.gain = GainKind::Pid;
    actuator.bias = BiasKind::Affine;
    actuator.gain_parameters = [0.0; 10];
    actuator.gain_parameters[0] = integral;
    actuator.dynamics_parameters = [0.0; 10];
    if integral != 0.0 || slew != 0.0 {
        actuator.dynamics = ActuatorDynamics::Pid;
        actuator.dynamics_parameters[1] = slew;
    }
    if integral != 0.0 {
        actuator.dynamics_parameters[0] = most;
    }
}

/// A servo of the orientation of a ball joint, or of a site relative to another.
fn read_orientation(
    a: &Attributes<'_, '_>,
    inherited: Option<&ActuatorSpec>,
    actuator: &mut ActuatorSpec,
) {
    let mut stiffness = 1.0;
    if let Some(inherited) = inherited {
        stiffness = inherited.gain_parameters[0];
        actuator.bias_parameters[2] = inherited.bias_parameters[2];
        actuator.input = inherited.input;
    }
    a.set("kp", &mut stiffness);
    actuator.gain_parameters[0] = stiffness;
    actuator.bias_parameters[1] = -stiffness;
    read_damping(a, actuator);
    read_input(a, &mut actuator.input);
    actuator.gain = GainKind::So3;
    actuator.bias = BiasKind::So3;
}

/// What the attributes of a motor say, with the words of its data sheet.
#[derive(Default)]
struct MotorSheet {
    /// Terminal resistance (Ω).
    resistance: f64,
    /// Torque constant (N·m/A) and back-EMF constant (V·s/rad).
    constants: [f64; 2],
    /// Voltage (V), stall torque (N·m), no-load speed (rad/s).
    nominal: [f64; 3],
    /// Greatest torque (N·m), current (A), rate of the current (A/s).
    saturation: [f64; 3],
    /// Inductance (H), electrical time constant (s).
    inductance: [f64; 2],
    /// Amplitude (N·m), poles, phase (rad).
    cogging: [f64; 3],
    /// kp, ki, kd, slewmax, Imax, Vmax.
    controller: [f64; 6],
    /// Resistance (K/W), capacitance (J/K), time constant (s), coefficient (1/K), reference and ambient temperature (°C).
    thermal: [f64; 6],
    /// Stiffness, damping, Coulomb and static friction, Stribeck speed.
    friction: [f64; 5],
}

impl MotorSheet {
    fn inherited(from: &ActuatorSpec) -> Self {
        let (gain, bias) = (&from.gain_parameters, &from.bias_parameters);
        let dynamics = &from.dynamics_parameters;
        Self {
            resistance: gain[0],
            constants: [gain[1], 0.0],
            nominal: [0.0; 3],
            saturation: [0.0, 0.0, dynamics[1]],
            inductance: [0.0, dynamics[0]],
            cogging: [bias[0], bias[1], bias[2]],
            controller: [gain[4], gain[5], gain[6], dynamics[7], dynamics[8], gain[7]],
            thermal: [dynamics[2], dynamics[3], 0.0, gain[2], gain[3], dynamics[4]],
            friction: [dynamics[5], dynamics[6], bias[3], bias[4], bias[5]],
        }
    }

    fn read(&mut self, a: &Attributes<'_, '_>) {
        a.set("resistance", &mut self.resistance);
        a.set_leading("motorconst", &mut self.constants);
        a.set_leading("nominal", &mut self.nominal);
        a.set_leading("saturation", &mut self.saturation);
        a.set_leading("inductance", &mut self.inductance);
        a.set_leading("cogging", &mut self.cogging);
        a.set_leading("controller", &mut self.controller);
        a.set_leading("thermal", &mut self.thermal);
        a.set_leading("lugre", &mut self.friction);
    }

    /// The back-EMF constant Kₑ: as given, or from the no-load speed ω₀ = V·Kₑ/(Kₑ² + R·b) with damping b. Where no
    /// motor has that speed, the damping is left out.
    fn back_emf(&self, damping: f64) -> f64 {
        let (given, [voltage, stall, no_load]) = (self.constants[1], self.nominal);
        if given > 0.0 || voltage <= 0.0 || no_load <= 0.0 {
            return given;
        }
        let without_damping = voltage / no_load;
        if damping > 0.0 && self.resistance > 0.0 {
            let root = voltage * voltage - 4.0 * self.resistance * damping * no_load * no_load;
            if root > 0.0 {
                return (voltage + root.sqrt()) / (2.0 * no_load);
            }
        } else if damping > 0.0 && stall > 0.0 {
            let exact = without_damping - voltage * damping / stall;
            if exact > 0.0 {
                return exact;
            }
        }
        without_damping
    }

    /// The one motor constant K that stands for both.
    fn motor_constant(&self, damping: f64) -> f64 {
        match [self.constants[0], self.back_emf(damping)] {
            [torque, back_emf] if torque > 0.0 && back_emf > 0.0 => (torque * back_emf).sqrt(),
            [torque, _] if torque > 0.0 => torque,
            [_, back_emf] => back_emf,
        }
    }

    /// Thermal resistance and capacitance, with the time constant for the one that is missing, or for the capacitance.
    fn thermal_pair(&self) -> [f64; 2] {
        let [resistance, capacitance, time, ..] = self.thermal;
        if time > 0.0 && resistance > 0.0 {
            [resistance, time / resistance]
        } else if time > 0.0 && capacitance > 0.0 {
            [time / capacitance, capacitance]
        } else {
            [resistance, capacitance]
        }
    }
}

/// An electric motor with its driver.
fn read_dc_motor(
    a: &Attributes<'_, '_>,
    inherited: Option<&ActuatorSpec>,
    actuator: &mut ActuatorSpec,
) {
    let mut sheet = inherited.map_or_else(MotorSheet::default, MotorSheet::inherited);
    actuator.input = inherited.and_then(|inherited| inherited.input);
    sheet.read(a);
    read_input(a, &mut actuator.input);
    actuator.dynamics = ActuatorDynamics::DcMotor;
    actuator.gain = GainKind::DcMotor;
    actuator.bias = BiasKind::DcMotor;
    actuator.activation_early = true;
    actuator.activation_limited = Some(false);

    let constant = sheet.motor_constant(actuator.damping[0]);
    let [voltage, stall, _] = sheet.nominal;
    let mut resistance = sheet.resistance;
    if resistance == 0.0 && voltage > 0.0 && stall > 0.0 && constant > 0.0 {
        resistance = constant * voltage / stall;
    }
    let is_passive = actuator.input == Some(ActuatorInput::Servo(ServoInputs::default()));
    let thermal = sheet.thermal_pair();
    let has_thermal = sheet.thermal[..3].iter().any(|&number| number > 0.0);
    let is_negative = |numbers: &[f64]| numbers.iter().any(|&number| number < 0.0);
    let problems = [
        (
            is_negative(&sheet.constants),
            "motorconst",
            "cannot be negative",
        ),
        (
            constant <= 0.0 && !is_passive,
            "motorconst",
            "is missing: give a positive motor constant, or 'nominal'",
        ),
        (
            resistance <= 0.0,
            "resistance",
            "is missing: give a positive resistance, or 'nominal'",
        ),
        (
            is_negative(&sheet.inductance),
            "inductance",
            "cannot be negative",
        ),
        (
            has_thermal && thermal.iter().any(|&number| number <= 0.0),
            "thermal",
            "needs a positive resistance and a positive capacitance, or a time constant with one of them",
        ),
        (
            sheet.saturation[0] <= 0.0 && sheet.saturation[1] > 0.0 && constant <= 0.0,
            "saturation",
            "limits a current, which needs a positive motor constant",
        ),
    ];
    for (found, name, message) in problems {
        if found {
            a.error(codes::VALUE_RANGE, name, message);
        }
    }

    let [torque, current, current_rate] = sheet.saturation;
    if torque > 0.0 || current > 0.0 {
        let most = if torque > 0.0 {
            torque
        } else {
            constant * current
        };
        actuator.force_range = [-most, most];
        actuator.force_limited = Some(true);
    }
    let [
        stiffness,
        integral,
        damping,
        slew,
        most_integral,
        most_voltage,
    ] = sheet.controller;
    let gain = &mut actuator.gain_parameters;
    *gain = [0.0; 10];
    gain[..2].copy_from_slice(&[resistance, constant]);
    gain[4..8].copy_from_slice(&[stiffness, integral, damping, most_voltage.max(0.0)]);
    let [amplitude, poles, phase] = sheet.cogging;
    let bias = &mut actuator.bias_parameters;
    *bias = [0.0; 10];
    bias[..3].copy_from_slice(&[amplitude, poles, phase]);
    let dynamics = &mut actuator.dynamics_parameters;
    *dynamics = [0.0; 10];
    let [inductance, time] = sheet.inductance;
    dynamics[0] = if inductance > 0.0 {
        inductance / resistance
    } else {
        time
    };
    dynamics[1] = current_rate.max(0.0);
    dynamics[7..9].copy_from_slice(&[slew, most_integral]);
    if has_thermal {
        let [.., coefficient, reference, ambient] = sheet.thermal;
        dynamics[2..5].copy_from_slice(&[thermal[0], thermal[1], ambient]);
        gain[2..4].copy_from_slice(&[coefficient, reference]);
    }
    let [bristle, micro_damping, coulomb, breakaway, stribeck] = sheet.friction;
    if bristle > 0.0 {
        dynamics[5..7].copy_from_slice(&[bristle, micro_damping]);
        bias[3..6].copy_from_slice(&[coulomb, breakaway, stribeck]);
    }
}

fn require_positive_control(a: &Attributes<'_, '_>, actuator: &mut ActuatorSpec) {
    actuator.control_limited = Some(true);
    if actuator.control_range.iter().any(|bound| *bound < 0.0) {
        a.error(codes::VALUE_RANGE, "ctrlrange", "cannot be negative");
    }
}

impl Reader<'_> {
    pub(super) fn read_actuators(&self, section: Element<'_>, spec: &mut ModelSpec) {
        for element in self.tree.children(section) {
            let Some(kind) = element_kind(element.tag()) else {
                continue;
            };
            let class = self.named_class(element, "class").unwrap_or(MAIN_CLASS);
            let a = self.attributes(element);
            let mut actuator = self.classes[class].actuator.clone();
            actuator.span = element.span();
            // The class of a general actuator does not make it a shortcut.
            actuator.element = ActuatorElement::General;
            read(
                &a,
                kind,
                self.classes.inherited_actuator(kind, class),
                &mut actuator,
            );
            let has_inputs = matches!(
                actuator.gain,
                GainKind::DcMotor | GainKind::Pid | GainKind::So3
            );
            if !has_inputs {
                // Of a single control the word is only a label.
                actuator.input = actuator.input.filter(|input| input.count() != 1);
            }
            actuator.transmission = self.read_transmission(&a);
            spec.actuators.push(actuator);
        }
    }

    /// Reads where an actuator acts; of several targets the last kind counts.
    fn read_transmission(&self, a: &Attributes<'_, '_>) -> Option<Transmission> {
        let target = |name: &str| a.get::<Reference>(name);
        let mut found = None;
        found = target("joint").map(Transmission::Joint).or(found);
        found = target("jointinparent")
            .map(Transmission::JointInParent)
            .or(found);
        found = target("tendon").map(Transmission::Tendon).or(found);
        let slider = target("slidersite");
        if let Some(crank_site) = target("cranksite") {
            let slider_site = slider.clone().unwrap_or_default();
            found = Some(Transmission::SliderCrank {
                crank_site,
                slider_site,
            });
            if slider.is_none() {
                a.missing("slidersite");
            }
        }
        let reference_site = target("refsite");
        if let Some(site) = target("site") {
            found = Some(Transmission::Site {
                site,
                reference_site: reference_site.clone(),
            });
        }
        found = target("body").map(Transmission::Body).or(found);
        if found.is_none() {
            let message = format!("<{}> has no target to act on", a.element.tag());
            self.problems
                .error(codes::TRANSMISSION, a.element.span(), message);
        }
        let is_crank = matches!(found, Some(Transmission::SliderCrank { .. }) | None);
        for name in ["cranklength", "slidersite"] {
            if a.has(name) && !is_crank {
                a.error(codes::TRANSMISSION, name, "needs a 'cranksite' to act on");
            }
        }
        let is_site = matches!(found, Some(Transmission::Site { .. }) | None);
        if reference_site.is_some() && !is_site {
            a.error(codes::TRANSMISSION, "refsite", "needs a 'site' to act on");
        }
        found
    }
}
