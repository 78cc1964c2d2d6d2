//! Physics options and switches.

use carom_spec::ModelSpec;
use carom_spec::diagnostic::Diagnostic;
use carom_spec::model_spec::Flags;

use super::Source;
use super::report::{Report, code};
use crate::math::Vec3;
use crate::model::{Disable, Enable, Model, Settings};

/// How to simulate.
pub(super) fn settings(spec: &ModelSpec) -> Settings {
    let option = &spec.option;
    Settings {
        integrator: option.integrator,
        cone: option.cone,
        jacobian: option.jacobian,
        solver: option.solver,
        iterations: option.iterations as usize,
        ls_iterations: option.line_search_iterations as usize,
        noslip_iterations: option.noslip_iterations as usize,
        ccd_iterations: option.ccd_iterations as usize,
        disable: disable(&option.flags),
        enable: enable(&option.flags),
        disabled_actuator_groups: option.disabled_actuator_groups,
    }
}

fn disable(flags: &Flags) -> Disable {
    Disable {
        constraint: !flags.constraint,
        equality: !flags.equality,
        frictionloss: !flags.friction_loss,
        limit: !flags.limit,
        contact: !flags.contact,
        spring: !flags.spring,
        damper: !flags.damper,
        gravity: !flags.gravity,
        clampctrl: !flags.clamp_control,
        warmstart: !flags.warm_start,
        filterparent: !flags.filter_parent,
        actuation: !flags.actuation,
        refsafe: !flags.reference_safety,
        sensor: !flags.sensor,
        midphase: !flags.mid_phase,
        eulerdamp: !flags.euler_damping,
        nativeccd: !flags.native_ccd,
        island: !flags.island,
        multiccd: !flags.multi_ccd,
    }
}

fn enable(flags: &Flags) -> Enable {
    Enable {
        override_contacts: flags.override_contacts,
        energy: flags.energy,
        fwdinv: flags.forward_inverse,
        invdiscrete: flags.inverse_discrete,
        diagexact: flags.exact_diagonal,
    }
}

/// Refuses what is not supported. The file's place of an option is not kept, so these problems have none.
pub(super) fn check(source: Source<'_>, report: &mut Report) {
    let option = &source.spec.option;
    for (asked, feature) in [
        (option.flags.sleep, "sleep"),
        (option.flags.speculative, "speculative"),
    ] {
        if asked {
            let message = format!("option flag '{feature}' is not supported");
            report.push(Diagnostic::error(code::UNSUPPORTED, message));
        }
    }
    if option.timestep <= 0.0 {
        let message = format!("time step {} is not positive", option.timestep);
        report.push(Diagnostic::warning(code::BAD_NUMBER, message));
    }
}

/// Fills the numbers of the options.
pub(super) fn numbers(source: Source<'_>, model: &mut Model) {
    let option = &source.spec.option;
    let numbers = &mut model.option;
    numbers.timestep[0] = option.timestep;
    numbers.gravity[0] = Vec3(option.gravity);
    numbers.wind[0] = Vec3(option.wind);
    numbers.magnetic[0] = Vec3(option.magnetic);
    numbers.density[0] = option.density;
    numbers.viscosity[0] = option.viscosity;
    numbers.impratio[0] = option.impedance_ratio;
    numbers.tolerance[0] = option.tolerance;
    numbers.ls_tolerance[0] = option.line_search_tolerance;
    numbers.noslip_tolerance[0] = option.noslip_tolerance;
    numbers.ccd_tolerance[0] = option.ccd_tolerance;
    numbers.override_margin[0] = option.override_margin;
    numbers.override_solref[0] = option.override_solver_reference;
    numbers.override_solimp[0] = option.override_solver_impedance;
    numbers.override_friction[0] = option.override_friction;
}
