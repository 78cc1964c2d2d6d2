//! Contact laws that may explain recordings, each with its unknowns.

use carom_spec::ModelSpec;
use carom_spec::model_spec::{
    ComplementaritySpec, ContactLaw, ContactLawSpec, ContactPoints, HuntCrossleySpec, LawValue,
    TextSpec,
};

/// Cells along the side of a face that touches over a patch.
const PATCH_CELLS: u32 = 4;
/// Angular frequencies of a body on all of its contact points (1/s): impacts of 0.9 to 10 ms.
const FREQUENCIES: [f64; 2] = [200.0, 1600.0];
/// Steps of explicit laws are so many of the time step over the fastest of these frequencies: well within 2, the end of
/// stability, also for two bodies in contact.
const RESOLUTION: f64 = 0.4;

/// A contact law that may explain the recordings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Candidate {
    /// MuJoCo's law.
    Soft,
    /// Rigid contact with a constant restitution.
    Complementarity,
    /// A spring whose damping grows with its force, at the corners.
    HuntCrossley,
    /// The same over patches of cells.
    HuntCrossleyPatch,
}

/// A number that a candidate leaves open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unknown {
    /// Friction of contacts with fixed geoms.
    FixedFriction,
    /// Friction of contacts between moving geoms.
    MovingFriction,
    TimeConstant,
    DampingRatio,
    Restitution,
    /// Angular frequency of a body on its contact points, which says the stiffness.
    Frequency,
    Dissipation,
}

impl Unknown {
    /// Least, first and greatest value, and whether it is searched by its logarithm.
    pub(super) fn range(self) -> ([f64; 3], bool) {
        match self {
            Self::FixedFriction | Self::MovingFriction => ([0.02, 0.25, 1.0], true),
            Self::TimeConstant => ([0.0035, 0.01, 0.1], true),
            Self::DampingRatio => ([0.05, 0.3, 5.0], true),
            Self::Restitution => ([0.0, 0.4, 1.0], false),
            Self::Frequency => ([FREQUENCIES[0], 700.0, FREQUENCIES[1]], true),
            Self::Dissipation => ([0.02, 0.4, 5.0], true),
        }
    }

    /// What it is called in reports, with its unit.
    pub(super) fn words(self) -> (&'static str, &'static str) {
        match self {
            Self::FixedFriction => ("friction with fixed geoms", ""),
            Self::MovingFriction => ("friction between moving geoms", ""),
            Self::TimeConstant => ("solref time constant", "s"),
            Self::DampingRatio => ("solref damping ratio", ""),
            Self::Restitution => ("restitution", ""),
            Self::Frequency => ("stiffness per contact point", "N/m"),
            Self::Dissipation => ("dissipation", "s/m"),
        }
    }
}

/// What of the model the candidates need to know.
#[derive(Clone, Copy, Debug)]
pub(super) struct Scene {
    /// Mean mass of bodies that move freely (kg).
    pub(super) mass: f64,
    /// Whether there are several of them.
    pub(super) has_pairs: bool,
}

impl Candidate {
    /// All of them.
    pub const ALL: [Self; 4] = [
        Self::Soft,
        Self::Complementarity,
        Self::HuntCrossley,
        Self::HuntCrossleyPatch,
    ];

    /// Its name in reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Soft => "soft",
            Self::Complementarity => "complementarity",
            Self::HuntCrossley => "hunt_crossley",
            Self::HuntCrossleyPatch => "hunt_crossley_patch",
        }
    }

    pub(super) fn unknowns(self, scene: Scene) -> Vec<Unknown> {
        let own: &[Unknown] = match self {
            Self::Soft => &[Unknown::TimeConstant, Unknown::DampingRatio],
            Self::Complementarity => &[Unknown::Restitution],
            Self::HuntCrossley | Self::HuntCrossleyPatch => {
                &[Unknown::Frequency, Unknown::Dissipation]
            }
        };
        let pairs = scene.has_pairs.then_some(Unknown::MovingFriction);
        let frictions = std::iter::once(Unknown::FixedFriction).chain(pairs);
        frictions.chain(own.iter().copied()).collect()
    }

    /// Points on a face that carry a body.
    fn points(self) -> f64 {
        match self {
            Self::HuntCrossleyPatch => f64::from(PATCH_CELLS * PATCH_CELLS),
            _ => 4.0,
        }
    }

    /// A number as reports give it.
    pub(super) fn reported(self, unknown: Unknown, value: f64, scene: Scene) -> f64 {
        match unknown {
            Unknown::Frequency => scene.mass * value * value / self.points(),
            _ => value,
        }
    }

    /// The law of the whole model, where it is not soft, and where geoms touch.
    fn law(self, numbers: &[(Unknown, f64)], scene: Scene) -> Option<(ContactLaw, ContactPoints)> {
        let number = |wanted: Unknown| {
            let found = numbers.iter().find(|(unknown, _)| *unknown == wanted);
            found.map_or(wanted.range().0[1], |(_, value)| *value)
        };
        match self {
            Self::Soft => None,
            Self::Complementarity => {
                let law = ComplementaritySpec {
                    restitution: number(Unknown::Restitution),
                    // Slower contacts are those of bodies that lie: gravity over some steps.
                    restitution_speed: 0.05,
                    ..ComplementaritySpec::default()
                };
                Some((ContactLaw::Complementarity(law), ContactPoints::Shape))
            }
            Self::HuntCrossley | Self::HuntCrossleyPatch => {
                let frequency = number(Unknown::Frequency);
                let law = HuntCrossleySpec {
                    stiffness: self.reported(Unknown::Frequency, frequency, scene),
                    exponent: 1.0,
                    dissipation: number(Unknown::Dissipation),
                    ..HuntCrossleySpec::default()
                };
                let points = match self {
                    Self::HuntCrossleyPatch => ContactPoints::Patch { cells: PATCH_CELLS },
                    _ => ContactPoints::Shape,
                };
                Some((ContactLaw::HuntCrossley(law), points))
            }
        }
    }

    /// A description with this law; with `written`, as a file would say it, else as it is compiled.
    pub(super) fn applied(
        self,
        spec: &ModelSpec,
        numbers: &[(Unknown, f64)],
        (scene, written): (Scene, bool),
    ) -> ModelSpec {
        let mut out = spec.clone();
        let moves = moving(&out);
        let top = out.bodies.iter().flat_map(|body| &body.geoms);
        let top = top.map(|geom| geom.priority).max().unwrap_or(0);
        for (body, moves) in out.bodies.iter_mut().zip(&moves) {
            for geom in &mut body.geoms {
                // Contacts with fixed geoms have friction of their own.
                if !moves && scene.has_pairs {
                    geom.priority = top + 1;
                }
                for &(unknown, value) in numbers {
                    match unknown {
                        Unknown::FixedFriction if !moves || !scene.has_pairs => {
                            geom.friction[0] = value;
                        }
                        Unknown::MovingFriction if *moves => geom.friction[0] = value,
                        Unknown::TimeConstant => geom.solver_reference[0] = value,
                        Unknown::DampingRatio => geom.solver_reference[1] = value,
                        _ => {}
                    }
                }
            }
        }
        let Some((law, points)) = self.law(numbers, scene) else {
            return out;
        };
        if matches!(law, ContactLaw::HuntCrossley(_)) {
            let longest = RESOLUTION / FREQUENCIES[1];
            let parts = (out.option.timestep / longest).ceil().max(1.0);
            out.option.timestep /= parts;
        }
        if written {
            out.texts.push(TextSpec {
                name: "carom/contact".to_owned(),
                data: text(law, &points),
                ..TextSpec::default()
            });
        } else {
            out.contact_laws.push(ContactLawSpec {
                law,
                points,
                ..ContactLawSpec::default()
            });
        }
        out
    }
}

/// A law as its text in a file.
fn text(mut law: ContactLaw, points: &ContactPoints) -> String {
    let mut text = format!("law={}", law.kind().description().name);
    for (number, value) in law.values() {
        let value = match value {
            LawValue::Numbers(numbers) => {
                let words: Vec<String> = numbers.iter().map(f64::to_string).collect();
                words.join(" ")
            }
            LawValue::Count(count) => count.to_string(),
        };
        text.extend(["; ", number.name, "=", &value]);
    }
    if let ContactPoints::Patch { cells } = points {
        text.extend(["; patch=", &cells.to_string()]);
    }
    text
}

/// Which bodies can move.
pub(super) fn moving(spec: &ModelSpec) -> Vec<bool> {
    let mut moves: Vec<bool> = Vec::with_capacity(spec.bodies.len());
    for (index, body) in spec.bodies.iter().enumerate() {
        let of_parent = body.parent < index && moves[body.parent];
        moves.push(!body.joints.is_empty() || of_parent || body.mocap);
    }
    moves
}
