//! Calibrated in continuous time: the file says so, and has a time step at which the model holds.
//!
//! Numbers that were found without errors of time steps are not those with which steps of the initial length predict best. Whoever loads the
//! file, MuJoCo included, steps by its time step; so this is halved until the errors on the recordings of the fit are those of continuous
//! time within a tenth.

use carom::{Error, ErrorKind, Model};
use carom_spec::ModelSpec;
use carom_spec::mjcf::simulation;

use crate::evaluate::{Report, evaluate};
use crate::problem::Stepping;
use crate::recording::Recordings;

/// Errors in fixed steps over those in continuous time at which a step holds.
const MAX_ERROR_RATIO: f64 = 1.1;
/// Most halvings of the time step: to a 32nd, beyond which simulations take longer than those in continuous time.
const MAX_HALVINGS: u32 = 5;

/// A time step at which fixed steps have the errors of continuous time; the smallest that was tried if none has.
pub(super) fn holding_step(
    model: &Model,
    recordings: &Recordings,
    continuous: &Report,
) -> Result<f64, Error> {
    let mut model = model.clone();
    for _ in 0..MAX_HALVINGS {
        let found = evaluate(&model, recordings, Stepping::Fixed)?;
        let mut pairs = found.total.iter().zip(&continuous.total);
        let holds = |(fixed, continuous): (&f64, &f64)| {
            *fixed <= MAX_ERROR_RATIO * continuous || continuous.is_nan()
        };
        if found.failures().next().is_none() && pairs.all(holds) {
            break;
        }
        model.option.timestep[0] *= 0.5;
    }
    Ok(model.option.timestep[0])
}

/// The text of a calibrated model with the tolerance to which it was followed, and its time step.
pub(super) fn stated(
    text: &str,
    spec: &ModelSpec,
    (tolerance, timestep): (f64, f64),
) -> Result<String, Error> {
    let (name, data) = simulation::write(tolerance);
    let refuse = |why: &str| Error::new(ErrorKind::Description, why);
    let mut text = text.to_owned();
    if spec.continuous_time.is_some() {
        remove_text(&mut text, &name);
    }
    let end = text.rfind("</mujoco>");
    let end = end.ok_or_else(|| refuse("the calibrated model has no end"))?;
    // Sections may be repeated in a file; what comes last counts.
    let stated = format!(
        "  <option timestep=\"{timestep}\"/>\n  <custom>\n    <text name=\"{name}\" data=\"{data}\"/>\n  </custom>\n"
    );
    text.insert_str(end, &stated);
    Ok(text)
}

/// Takes an earlier text of this name out.
fn remove_text(text: &mut String, name: &str) {
    let Some(at) = text.find(&format!("\"{name}\"")) else {
        return;
    };
    let start = text[..at].rfind("<text");
    let end = text[at..].find("/>").map(|end| at + end + 2);
    if let (Some(start), Some(end)) = (start, end) {
        text.replace_range(start..end, "");
    }
}
