//! Where numbers are: the flat order of all given numbers, and places in it and in the initial state.

use std::ops::Range;

use crate::model::{Given, Model};
use crate::scalar::Scalar;

/// A field in the flat order of [`Given::for_each`].
#[derive(Clone, Copy, Debug)]
pub(super) struct Field {
    pub(super) family: &'static str,
    pub(super) name: &'static str,
    /// Where its first number is.
    pub(super) start: usize,
    /// Numbers of an element.
    pub(super) width: usize,
    /// Numbers altogether.
    pub(super) length: usize,
}

/// All fields that have numbers.
#[derive(Clone, Debug)]
pub(super) struct Layout {
    pub(super) fields: Vec<Field>,
}

impl Layout {
    /// The layout of given numbers.
    pub(super) fn new(given: &Given) -> Self {
        let mut fields: Vec<Field> = Vec::new();
        let mut count = 0;
        given.for_each(|family, field, element, component, _| {
            let is_same = |last: &&mut Field| (last.family, last.name) == (family, field);
            match fields.last_mut().filter(is_same) {
                Some(last) => {
                    last.length += 1;
                    if element == 0 {
                        last.width = component + 1;
                    }
                }
                None => fields.push(Field {
                    family,
                    name: field,
                    start: count,
                    width: 1,
                    length: 1,
                }),
            }
            count += 1;
        });
        Self { fields }
    }

    /// A field by its names; none if it has no numbers.
    pub(super) fn field(&self, family: &str, name: &str) -> Option<&Field> {
        let is_meant = |found: &&Field| (found.family, found.name) == (family, name);
        self.fields.iter().find(is_meant)
    }

    /// The field of a place.
    pub(super) fn field_at(&self, place: usize) -> Option<&Field> {
        let holds = |field: &&Field| (field.start..field.start + field.length).contains(&place);
        self.fields.iter().find(holds)
    }
}

/// All given numbers in their flat order.
pub(super) fn flat(given: &Given) -> Vec<f64> {
    let mut numbers = Vec::new();
    given.for_each(|_, _, _, _, number| numbers.push(number));
    numbers
}

/// All numbers of a model, in the same order.
pub(super) fn flat_model(model: &Model) -> Vec<f64> {
    let mut numbers = Vec::new();
    model.for_each(|_, _, _, _, number| numbers.push(number));
    numbers
}

/// Writes numbers at places, which are in increasing order.
pub(super) fn write<T: Scalar>(given: &mut Given<T>, writes: &[(usize, T)]) {
    let mut next = writes.iter().copied().peekable();
    let mut place = 0;
    given.for_each_mut(|_, _, _, _, number| {
        while let Some((_, value)) = next.next_if(|&(at, _)| at == place) {
            *number = value;
        }
        place += 1;
    });
}

/// As [`write`], for the numbers that are in the model.
pub(super) fn write_model<T: Scalar>(model: &mut Model<T>, writes: &[(usize, T)]) {
    let mut next = writes.iter().copied().peekable();
    let mut place = 0;
    model.for_each_mut(|_, _, _, _, number| {
        while let Some((_, value)) = next.next_if(|&(at, _)| at == place) {
            *number = value;
        }
        place += 1;
    });
}

/// Given numbers without vertices and elevations: what passes of dual numbers work on, where nothing follows from these.
#[derive(Clone, Debug)]
pub(super) struct Light {
    /// The numbers that are left.
    pub(super) given: Given,
    /// Places of those that are not, in increasing order.
    removed: Vec<Range<usize>>,
}

impl Light {
    /// Leaves out what can be, unless it is needed.
    pub(super) fn new(given: &Given, layout: &Layout, needs_vertices: bool) -> Self {
        let mut light = Self {
            given: given.clone(),
            removed: Vec::new(),
        };
        if needs_vertices {
            return light;
        }
        let Model {
            meshes,
            height_fields,
            ..
        } = &mut light.given.model;
        meshes.vertex = Vec::new();
        meshes.box_low = Vec::new();
        meshes.box_high = Vec::new();
        height_fields.elevation = Vec::new();
        let fields = [
            ("meshes", "vertex"),
            ("meshes", "box_low"),
            ("meshes", "box_high"),
            ("height_fields", "elevation"),
        ];
        let found = fields
            .iter()
            .filter_map(|(family, name)| layout.field(family, name));
        let ranges = found.map(|field| field.start..field.start + field.length);
        light.removed = ranges.collect();
        light.removed.sort_by_key(|range| range.start);
        light
    }

    /// Where a number is among those that are left; none if it is not.
    pub(super) fn place(&self, place: usize) -> Option<usize> {
        let mut before = 0;
        for range in &self.removed {
            if range.contains(&place) {
                return None;
            }
            if range.end <= place {
                before += range.len();
            }
        }
        Some(place - before)
    }

    /// Numbers of a model without those that are left out.
    pub(super) fn keep(&self, mut numbers: Vec<f64>) -> Vec<f64> {
        for range in self.removed.iter().rev() {
            numbers.drain(range.clone());
        }
        numbers
    }
}

/// A vector of the initial state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum StateField {
    Qpos,
    Qvel,
    Act,
    MocapPosition,
    MocapQuat,
}

/// Where a number is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Place {
    /// Among the given numbers, in their flat order.
    Given(usize),
    /// In the initial state.
    State(StateField, usize),
}

/// Fields whose numbers reach the model as they are, and on which no other number of the model depends. All others go
/// through the derivation.
const DIRECT: &[(&str, &[&str])] = &[
    (
        "option",
        &[
            "gravity",
            "wind",
            "magnetic",
            "density",
            "viscosity",
            "impratio",
            "override_margin",
            "override_solref",
            "override_solimp",
            "override_friction",
        ],
    ),
    ("bodies", &["gravcomp"]),
    (
        "joints",
        &[
            "stiffness",
            "stiffness_poly",
            "actuator_force_range",
            "margin",
            "solref",
            "solimp",
        ],
    ),
    (
        "dofs",
        &[
            "damping",
            "damping_poly",
            "frictionloss",
            "solref",
            "solimp",
        ],
    ),
    (
        "geoms",
        &[
            "friction",
            "solmix",
            "solref",
            "solimp",
            "margin",
            "gap",
            "surface_velocity",
            "adhesion",
            "fluid",
        ],
    ),
    ("sites", &["size"]),
    ("cameras", &["fovy", "sensor_size", "intrinsic"]),
    ("meshes", &["vertex"]),
    ("height_fields", &["elevation"]),
    (
        "pairs",
        &[
            "solref",
            "solreffriction",
            "solimp",
            "margin",
            "gap",
            "adhesion",
            "friction",
        ],
    ),
    (
        "laws",
        &[
            "restitution",
            "restitution_speed",
            "baumgarte",
            "mixing",
            "stiffness",
            "exponent",
            "dissipation",
            "transition_speed",
            "static_ratio",
            "viscous",
            "viscous_force",
        ],
    ),
    ("equalities", &["solref", "solimp"]),
    (
        "tendons",
        &[
            "actuator_force_range",
            "margin",
            "stiffness",
            "stiffness_poly",
            "damping",
            "damping_poly",
            "frictionloss",
            "solref_limit",
            "solimp_limit",
            "solref_friction",
            "solimp_friction",
        ],
    ),
    (
        "actuators",
        &[
            "dynamics",
            "control_range",
            "force_range",
            "activation_range",
            "length_range",
            "delay",
        ],
    ),
    ("sensors", &["cutoff", "delay"]),
];

/// Whether numbers of a field need no derivation.
pub(super) fn is_direct(family: &str, field: &str) -> bool {
    let fields = DIRECT.iter().find(|(name, _)| *name == family);
    fields.is_some_and(|(_, fields)| fields.contains(&field))
}
