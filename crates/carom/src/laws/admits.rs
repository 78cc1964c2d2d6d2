//! What a law goes with follows from its level; what it does not go with is refused with a sentence here.

use crate::model::{Integrator, LawLevel, LawStructure};

/// Why something is refused, and the way out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Refusal {
    /// What the law does, before "but the integrator is …".
    pub(crate) why: &'static str,
    /// What about the integrator does not go with it.
    pub(crate) because: &'static str,
    /// What to do instead.
    pub(crate) help: &'static str,
}

/// Why laws of a level do not go with an integrator.
pub(crate) fn integrator(level: LawLevel, integrator: Integrator) -> Option<Refusal> {
    match (level, integrator) {
        (LawLevel::Impulse, Integrator::Euler)
        | (LawLevel::Force | LawLevel::Acceleration, _)
        | (LawLevel::Impact, Integrator::Euler | Integrator::Implicit | Integrator::ImplicitFast) => {
            None
        }
        (LawLevel::Impulse, _) => Some(Refusal {
            why: "is complementarity, which gives impulses for a whole step",
            because: "",
            help: "set <option integrator=\"Euler\"/>, or choose law=hunt_crossley, which goes with any integrator",
        }),
        (LawLevel::Impact, Integrator::RungeKutta4) => Some(Refusal {
            why: "changes velocities within a step",
            because: ", whose stages know one velocity",
            help: "set <option integrator=\"Euler\"/>, implicit or implicitfast",
        }),
    }
}

/// Why the laws of a model do not go with continuous time.
pub(crate) fn continuous_time(laws: &LawStructure) -> Option<&'static str> {
    if laws.acts_on(LawLevel::Impulse) {
        Some(
            "the complementarity law acts by impulses in fixed steps and has no accelerations; use the law 'soft' or 'hunt_crossley'",
        )
    } else if laws.acts_on(LawLevel::Impact) {
        Some(
            "the impulse law finds the times of its impacts within fixed steps; use those (--integrator fixed)",
        )
    } else {
        None
    }
}

/// Why the laws of a model do not go with contacts from distance.
pub(crate) fn contacts_from_distance(laws: &LawStructure) -> Option<&'static str> {
    if laws.acts_on(LawLevel::Impulse) {
        Some(
            "contacts from distance are those of the soft law; the complementarity law solves for impulses",
        )
    } else if laws.acts_on(LawLevel::Impact) {
        Some("contacts from distance are those of the soft law; the impulse law has none")
    } else {
        None
    }
}

/// What friction laws lack that know no more than this `condim`.
pub(crate) fn lacking_friction(max_condim: u8) -> &'static str {
    if max_condim == 1 {
        "no friction"
    } else {
        "no torsional or rolling friction"
    }
}
