//! Physics options of attached models.
//!
//! The policy `conflict` of the compiler section decides: with `warning` the options of the parent
//! stay, with `error` an option that both models set differently is one, and with `merge` each
//! option has its own rule. An option is set when it is written in the file.

use std::collections::BTreeSet;

use super::codes;
use super::keywords::ConflictPolicy;
use super::problems::Problems;
use crate::model_spec::{Flags, OptionSpec};
use crate::span::Span;

/// How two values of one option become one.
#[derive(Clone, Copy)]
enum Rule {
    Minimum,
    Maximum,
    /// They do not: different values are an error.
    Equal,
}

/// The options that a file sets, by their attributes.
pub(super) type Authored = BTreeSet<String>;

/// Applies the options of an attached model to its parent.
pub(super) fn merge(
    policy: ConflictPolicy,
    span: Span,
    (child, child_set): (&OptionSpec, &Authored),
    (parent, parent_set): (&mut OptionSpec, &Authored),
    problems: &Problems<'_>,
) {
    let mut merged = parent.clone();
    let mut merger = Merger {
        child_set,
        parent_set,
        differences: Vec::new(),
        set_twice: Vec::new(),
        conflicts: Vec::new(),
    };
    merger.numbers(child, &mut merged);
    merger.choices(child, &mut merged);
    merger.flags(&child.flags, &mut merged.flags);
    merged.disabled_actuator_groups |= child.disabled_actuator_groups;
    if merger.differences.is_empty() && merged == *parent {
        return;
    }
    let listed = |names: &[&str]| names.join(", ");
    match policy {
        ConflictPolicy::Error if !merger.set_twice.is_empty() => {
            let message = format!(
                "options of the attached model differ from those of this one: {}",
                listed(&merger.set_twice)
            );
            problems.error(codes::CONFLICT, span, message);
        }
        ConflictPolicy::Warning | ConflictPolicy::Error => {
            let message = format!(
                "options of the attached model are not used: {}",
                listed(&merger.differences)
            );
            problems.warning(codes::CONFLICT, span, message);
        }
        ConflictPolicy::Merge if merger.conflicts.is_empty() => *parent = merged,
        ConflictPolicy::Merge => {
            let message = format!(
                "options of the attached model cannot be merged: {}",
                listed(&merger.conflicts)
            );
            problems.error(codes::CONFLICT, span, message);
        }
    }
}

struct Merger<'m> {
    child_set: &'m Authored,
    parent_set: &'m Authored,
    /// Options of the child that differ from the parent's.
    differences: Vec<&'static str>,
    /// Those that the parent has set as well.
    set_twice: Vec<&'static str>,
    /// Those that no rule can merge.
    conflicts: Vec<&'static str>,
}

impl Merger<'_> {
    fn one<T: PartialOrd + Clone>(
        &mut self,
        name: &'static str,
        rule: Rule,
        child: &T,
        parent: &mut T,
    ) {
        if child == parent || !self.child_set.contains(name) {
            return;
        }
        self.differences.push(name);
        let is_set_twice = self.parent_set.contains(name);
        if is_set_twice {
            self.set_twice.push(name);
        }
        let takes_child = match rule {
            _ if !is_set_twice => true,
            Rule::Minimum => *child < *parent,
            Rule::Maximum => *child > *parent,
            Rule::Equal => {
                self.conflicts.push(name);
                false
            }
        };
        if takes_child {
            parent.clone_from(child);
        }
    }

    fn numbers(&mut self, child: &OptionSpec, parent: &mut OptionSpec) {
        macro_rules! merge {
            ($($rule:ident: $($name:literal $field:ident),*;)*) => {
                $($(self.one($name, Rule::$rule, &child.$field, &mut parent.$field);)*)*
            };
        }
        merge! {
            Minimum: "timestep" timestep, "tolerance" tolerance,
                "ls_tolerance" line_search_tolerance, "noslip_tolerance" noslip_tolerance,
                "ccd_tolerance" ccd_tolerance;
            Maximum: "iterations" iterations, "ls_iterations" line_search_iterations,
                "noslip_iterations" noslip_iterations, "ccd_iterations" ccd_iterations;
            Equal: "impratio" impedance_ratio, "density" density, "viscosity" viscosity,
                "gravity" gravity, "wind" wind, "magnetic" magnetic, "o_margin" override_margin,
                "o_solref" override_solver_reference, "o_solimp" override_solver_impedance,
                "o_friction" override_friction;
        }
    }

    fn choices(&mut self, child: &OptionSpec, parent: &mut OptionSpec) {
        // Choices have no order, only their numbers do.
        macro_rules! merge {
            ($($name:literal $field:ident),*) => {
                $(
                    let mut number = parent.$field as u8;
                    self.one($name, Rule::Equal, &(child.$field as u8), &mut number);
                    if number == child.$field as u8 {
                        parent.$field = child.$field;
                    }
                )*
            };
        }
        merge!("integrator" integrator, "cone" cone, "jacobian" jacobian, "solver" solver);
    }

    /// A switch that the child has turned is turned.
    fn flags(&mut self, child: &Flags, parent: &mut Flags) {
        let d = &Flags::default();
        macro_rules! merge {
            ($($name:literal $field:ident),* $(,)?) => {
                $(if child.$field != d.$field && parent.$field != child.$field {
                    self.differences.push($name);
                    parent.$field = child.$field;
                })*
            };
        }
        merge! {
            "constraint" constraint, "equality" equality, "frictionloss" friction_loss,
            "limit" limit, "contact" contact, "spring" spring, "damper" damper,
            "gravity" gravity, "clampctrl" clamp_control, "warmstart" warm_start,
            "filterparent" filter_parent, "actuation" actuation, "refsafe" reference_safety,
            "sensor" sensor, "midphase" mid_phase, "eulerdamp" euler_damping,
            "autoreset" auto_reset, "nativeccd" native_ccd, "island" island,
            "multiccd" multi_ccd, "override" override_contacts, "energy" energy,
            "fwdinv" forward_inverse, "invdiscrete" inverse_discrete, "diagexact" exact_diagonal,
        }
    }
}
