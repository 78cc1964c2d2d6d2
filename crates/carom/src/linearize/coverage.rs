//! Which models and states the formulas cover; others go through dual numbers.

use super::medium;
use crate::data::Data;
use crate::model::{GainKind, Integrator, Model, Transmission};
use crate::stages::actuation;
use crate::stages::solve::SolveStatus;

/// Whether the formulas cover everything that the model can do.
pub(super) fn of_model(model: &Model) -> bool {
    let history = &model.structure.actuators.history;
    // The later stages of RK4 may read the very control that the step records.
    let stages_read_records =
        model.settings.integrator == Integrator::RungeKutta4 && history.iter().any(Option::is_some);
    !stages_read_records && of_dynamics(model)
}

/// Whether the formulas cover the acceleration, whatever the integrator makes of it.
pub(super) fn of_dynamics(model: &Model) -> bool {
    let (structure, settings) = (&*model.structure, &model.settings);
    structure.laws.kind.is_empty()
        && structure.learned.is_empty()
        && model.strike.is_none()
        && settings.noslip_iterations == 0
        && model.distant().is_none()
        && !settings.enable.diagexact
        && medium::is_covered(model)
        && !structure.has_adhesion
        && !structure.has_surface_velocity
        && !(structure.actuators.transmission.iter())
            .any(|kind| matches!(kind, Transmission::Body(_)))
        && !(structure.actuators.gain.iter())
            .any(|kind| matches!(kind, GainKind::DcMotor | GainKind::Pid | GainKind::So3))
}

/// Whether the formulas cover what happens in this state, in a model that they cover.
pub(super) fn of_state(model: &Model, data: &Data) -> bool {
    let solved = !matches!(
        data.solve.report.status,
        SolveStatus::Singular | SolveStatus::NotFinite
    );
    let tendons = 0..model.counts().ntendon;
    let within = |tendon: usize| {
        let limited = model.structure.tendons.actuator_force_limited[tendon];
        let [low, high] = model.tendons.actuator_force_range[tendon];
        let total = actuation::tendon_force(model, tendon, &data.actuation.unlimited_force);
        !limited || (low..=high).contains(&total)
    };
    solved && tendons.into_iter().all(within)
}

/// Whether no force but those of constraints ties kinematic trees together.
pub(super) fn trees_are_separate(model: &Model) -> bool {
    let structure = &*model.structure;
    let one_tree = |columns: &[usize]| {
        let tree = |dof: usize| structure.dofs.tree[dof];
        (columns.windows(2)).all(|pair| tree(pair[0]) == tree(pair[1]))
    };
    let tendons = &structure.tendons.jacobian;
    let moments = &structure.actuators.moment;
    (0..model.counts().ntendon).all(|tendon| one_tree(tendons.columns(tendon)))
        && (0..model.counts().nout).all(|output| one_tree(moments.columns(output)))
}
