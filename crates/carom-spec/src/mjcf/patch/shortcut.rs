//! Gain, bias and dynamics of actuators in the words of the shortcut that a file has them in.

use super::element::Attributes;
use crate::model_spec::{ActuatorDynamics, ActuatorSpec};

/// Puts changes of `gainprm`, `biasprm` and `dynprm` into the words of a shortcut; false where it has none for them.
pub(super) fn translate(tag: &str, actuator: &ActuatorSpec, attributes: &mut Attributes) -> bool {
    let gain_changes = attributes.take("gainprm");
    let bias_changes = attributes.take("biasprm");
    let dynamics_change = attributes.take("dynprm");
    if !(gain_changes || bias_changes || dynamics_change) {
        return true;
    }
    let (gain, bias) = (&actuator.gain_parameters, &actuator.bias_parameters);
    let dynamics = &actuator.dynamics_parameters;
    let (mut words, removed): (Vec<(&str, Vec<f64>)>, &[&str]) = match tag {
        "position" | "intvelocity" if bias[0] == 0.0 && bias[1] == -gain[0] => {
            let (mut words, removed) = servo(gain[0], bias[2]);
            if actuator.dynamics == ActuatorDynamics::FilterExact {
                words.push(("timeconst", vec![dynamics[0]]));
            }
            (words, removed)
        }
        "orientation" if bias[1] == -gain[0] => servo(gain[0], bias[2]),
        "pid" => {
            let (mut words, removed) = servo(-bias[1], bias[2]);
            words.push(("ki", vec![gain[0]]));
            if actuator.dynamics == ActuatorDynamics::Pid {
                words.extend([("imax", vec![dynamics[0]]), ("slewmax", vec![dynamics[1]])]);
            }
            (words, removed)
        }
        "velocity" if bias[..2] == [0.0; 2] && bias[2] == -gain[0] => {
            (vec![("kv", vec![gain[0]])], &[])
        }
        "damper" => (vec![("kv", vec![-gain[2]])], &[]),
        "adhesion" => (vec![("gain", vec![gain[0]])], &[]),
        "cylinder" => (
            vec![
                ("timeconst", vec![dynamics[0]]),
                ("area", vec![gain[0]]),
                ("bias", bias[..3].to_vec()),
            ],
            &["diameter"],
        ),
        "muscle" if gain[..9] == bias[..9] => {
            let names = ["force", "scale", "lmin", "lmax", "vmax", "fpmax", "fvmax"];
            let numbers = names.into_iter().zip(&gain[2..]);
            let mut words: Vec<(&str, Vec<f64>)> = vec![
                ("timeconst", dynamics[..2].to_vec()),
                ("tausmooth", vec![dynamics[2]]),
                ("range", gain[..2].to_vec()),
            ];
            words.extend(numbers.map(|(name, &number)| (name, vec![number])));
            // A negative one leaves what is there, such as a force that follows from the scale.
            words.retain(|(_, numbers)| numbers.iter().all(|&number| number >= 0.0));
            (words, &[])
        }
        _ => return false,
    };
    for (name, numbers) in words.drain(..) {
        attributes.set_numbers(name, &numbers);
    }
    for &name in removed {
        attributes.remove(name);
    }
    true
}

/// Stiffness, and damping or, where it is positive, the damping ratio.
fn servo<'w>(stiffness: f64, damping: f64) -> (Vec<(&'w str, Vec<f64>)>, &'w [&'w str]) {
    let stiffness = ("kp", vec![stiffness]);
    if damping > 0.0 {
        (vec![stiffness, ("dampratio", vec![damping])], &["kv"])
    } else {
        (vec![stiffness, ("kv", vec![-damping])], &["dampratio"])
    }
}
