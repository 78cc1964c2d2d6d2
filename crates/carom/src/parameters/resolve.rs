//! From selectors to places of numbers.

use super::catalogue::{self, Attribute, FAMILIES, Family, Over, Part, Source, available};
use super::error::ParameterError;
use super::inertia;
use super::layout::{Layout, Place, StateField};
use super::selector::{Selector, suggestion};
use crate::model::{JointKind, Model, Recipe, Structure, Wrap};

/// A number that follows a parameter.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Target {
    pub(super) place: Place,
    /// The number is this times the parameter's.
    pub(super) factor: f64,
}

/// One element of a selection.
#[derive(Clone, Debug)]
pub(super) struct Element {
    pub(super) family: &'static Family,
    pub(super) attribute: &'static Attribute,
    pub(super) id: usize,
    /// Name without components, e.g. `geom.cube.size`.
    pub(super) name: String,
    /// Index of each component in the attribute, and the numbers that follow it.
    pub(super) components: Vec<(usize, Vec<Target>)>,
    /// How many components the attribute has for this element.
    pub(super) width: usize,
}

impl Element {
    /// The name of a component.
    pub(super) fn component_name(&self, component: usize) -> String {
        match self.attribute.source {
            Source::PseudoInertia => format!("{}[{}]", self.name, inertia::NAMES[component]),
            _ if self.width == 1 => self.name.clone(),
            _ => format!("{}[{component}]", self.name),
        }
    }
}

/// What a selector means, and which elements it passed over, with reasons.
#[derive(Clone, Debug, Default)]
pub(super) struct Resolved {
    pub(super) elements: Vec<Element>,
    pub(super) skipped: Vec<(String, String)>,
}

/// The family and attribute that a selector names.
pub(super) fn find_attribute(
    selector: &Selector,
) -> Result<(&'static Family, &'static Attribute), ParameterError> {
    let asked = selector.family.as_str();
    let is_family = |family: &&Family| family.name == asked || family.aliases.contains(&asked);
    let Some(family) = FAMILIES.iter().find(is_family) else {
        let help = suggestion(asked, FAMILIES.iter().map(|family| family.name));
        let message = format!("there is no family '{asked}': {help}");
        return Err(ParameterError::Unknown(message));
    };
    let asked = selector.attribute.as_str();
    let is_meant =
        |attribute: &&Attribute| attribute.name == asked || attribute.aliases.contains(&asked);
    let Some(attribute) = family.attributes.iter().find(is_meant) else {
        let help = suggestion(asked, family.attributes.iter().map(|found| found.name));
        let message = format!("{} has no attribute '{asked}': {help}", family.name);
        return Err(ParameterError::Unknown(message));
    };
    if let Source::Refused(why) = attribute.source {
        let message = format!("{}.{} {why}", family.name, attribute.name);
        return Err(ParameterError::Refused(message));
    }
    Ok((family, attribute))
}

/// The elements of a selector.
pub(super) fn resolve(
    model: &Model,
    recipe: &Recipe,
    layout: &Layout,
    selector: &Selector,
) -> Result<Resolved, ParameterError> {
    let (family, attribute) = find_attribute(selector)?;
    let candidates = candidates(&model.structure, family, attribute, selector);
    let mut resolved = Resolved::default();
    let mut known = false;
    for (id, name) in candidates.iter().enumerate() {
        if !selector.matches(name) {
            continue;
        }
        known = true;
        let full_name = match (family.name, selector.name.as_ref()) {
            ("option", _) | ("state", None) => format!("{}.{}", family.name, attribute.name),
            _ => format!("{}.{name}.{}", family.name, attribute.name),
        };
        let names = (family.name, attribute.name);
        let limit = match available(model, recipe, names, id) {
            Ok(limit) => limit,
            Err(why) => {
                resolved.skipped.push((full_name, why));
                continue;
            }
        };
        let all = match attribute.source {
            Source::State => state_targets(model, attribute.name, selector.name.is_some(), id),
            _ => targets(model, layout, attribute, id),
        };
        let width = limit.map_or(all.len(), |limit| limit.min(all.len()));
        let (start, end) = selector.components.unwrap_or((0, width));
        if end > width || width == 0 {
            let why = match width {
                0 => "has no such numbers".to_owned(),
                _ => format!("has {width} components, counted from 0"),
            };
            resolved.skipped.push((full_name, why));
            continue;
        }
        let selected = |(index, _): &(usize, _)| (start..end).contains(index);
        let components = all.into_iter().enumerate().filter(selected);
        resolved.elements.push(Element {
            family,
            attribute,
            id,
            name: full_name,
            components: components.collect(),
            width,
        });
    }
    check_found(selector, (family, known), &candidates, &resolved)?;
    Ok(resolved)
}

/// Refuses selectors that mean nothing that can be a parameter.
fn check_found(
    selector: &Selector,
    (family, known): (&Family, bool),
    candidates: &[String],
    resolved: &Resolved,
) -> Result<(), ParameterError> {
    if !known {
        let asked = selector.name.as_deref().unwrap_or("*");
        let help = suggestion(asked, candidates.iter().map(String::as_str));
        let message = format!("no {} is called '{asked}': {help}", family.name);
        return Err(ParameterError::Unknown(message));
    }
    // Named elements must have the attribute; of a pattern at least one.
    let is_wrong = if selector.is_pattern() {
        resolved.elements.is_empty()
    } else {
        !resolved.skipped.is_empty()
    };
    match resolved.skipped.first() {
        Some((name, why)) if is_wrong => {
            let message = match resolved.skipped.len() {
                1 => format!("{name}: it {why}"),
                more => format!("{name}: it {why}; likewise {} others", more - 1),
            };
            Err(ParameterError::Refused(message))
        }
        _ => Ok(()),
    }
}

/// Names among which a selector chooses.
fn candidates(
    structure: &Structure,
    family: &Family,
    attribute: &Attribute,
    selector: &Selector,
) -> Vec<String> {
    if family.name != "state" {
        return catalogue::element_names(structure, family.name);
    }
    if selector.name.is_none() {
        // The whole vector is one element.
        return vec![String::new()];
    }
    match attribute.name {
        "act" => catalogue::element_names(structure, "actuator"),
        "qpos" | "qvel" => catalogue::element_names(structure, "joint"),
        _ => catalogue::element_names(structure, "body"),
    }
}

/// The numbers that follow each component of an attribute.
fn targets(model: &Model, layout: &Layout, attribute: &Attribute, id: usize) -> Vec<Vec<Target>> {
    match attribute.source {
        Source::Parts(parts) => {
            let parts = parts.iter();
            parts
                .flat_map(|part| part_targets(model, layout, part, id))
                .collect()
        }
        Source::Mirrored(parts) => {
            let mut parts = parts
                .iter()
                .map(|part| part_targets(model, layout, part, id));
            let mut all = parts.next().unwrap_or_default();
            for part in parts {
                for (targets, more) in all.iter_mut().zip(part) {
                    targets.extend(more);
                }
            }
            all
        }
        // Its numbers do not follow one by one.
        Source::PseudoInertia => vec![Vec::new(); inertia::COUNT],
        Source::State | Source::Refused(_) => Vec::new(),
    }
}

/// The numbers that follow each component of a part.
fn part_targets(model: &Model, layout: &Layout, part: &Part, id: usize) -> Vec<Vec<Target>> {
    let Some(field) = layout.field(part.family, part.field) else {
        return Vec::new();
    };
    let (first, count) = part.components.unwrap_or((0, field.width));
    let target = |element: usize, component: usize| Target {
        place: Place::Given(field.start + element * field.width + component),
        factor: part.factor,
    };
    let components = |element: usize| {
        (first..first + count).map(move |component| vec![target(element, component)])
    };
    let structure = &model.structure;
    match part.over {
        Over::Element => components(id).collect(),
        Over::Dofs => {
            let start = structure.joints.dof[id];
            let dofs = start..start + dof_count(structure.joints.kind[id]);
            (first..first + count)
                .map(|component| dofs.clone().map(|dof| target(dof, component)).collect())
                .collect()
        }
        Over::Coordinate => components(structure.joints.qpos[id]).collect(),
        Over::Vertices => structure.meshes.vertices[id]
            .clone()
            .flat_map(components)
            .collect(),
        Over::Elevations => structure.height_fields.values[id]
            .clone()
            .flat_map(components)
            .collect(),
        Over::Wraps => {
            let has_coefficient = |wrap: &usize| {
                matches!(structure.tendons.path[*wrap], Wrap::Joint(_) | Wrap::Pulley)
            };
            let wraps = structure.tendons.wraps[id].clone().filter(has_coefficient);
            wraps.flat_map(components).collect()
        }
    }
}

fn dof_count(kind: JointKind) -> usize {
    match kind {
        JointKind::Free => 6,
        JointKind::Ball => 3,
        JointKind::Slide | JointKind::Hinge => 1,
    }
}

/// Numbers of the initial state: of one element, or all.
fn state_targets(model: &Model, attribute: &str, is_named: bool, id: usize) -> Vec<Vec<Target>> {
    let (structure, n) = (&model.structure, model.counts());
    let (field, range) = match attribute {
        "qpos" if is_named => {
            let start = structure.joints.qpos[id];
            let count = match structure.joints.kind[id] {
                JointKind::Free => 7,
                JointKind::Ball => 4,
                JointKind::Slide | JointKind::Hinge => 1,
            };
            (StateField::Qpos, start..start + count)
        }
        "qpos" => (StateField::Qpos, 0..n.nq),
        "qvel" if is_named => {
            let start = structure.joints.dof[id];
            let count = dof_count(structure.joints.kind[id]);
            (StateField::Qvel, start..start + count)
        }
        "qvel" => (StateField::Qvel, 0..n.nv),
        "act" if is_named => (StateField::Act, structure.actuators.activations[id].clone()),
        "act" => (StateField::Act, 0..n.na),
        mocap => {
            let (field, width) = match mocap {
                "mocap_pos" => (StateField::MocapPosition, 3),
                _ => (StateField::MocapQuat, 4),
            };
            let range = match structure.bodies.mocap.get(id) {
                Some(Some(mocap)) if is_named => mocap * width..(mocap + 1) * width,
                _ if is_named => 0..0,
                _ => 0..n.nmocap * width,
            };
            (field, range)
        }
    };
    let target = |index: usize| Target {
        place: Place::State(field, index),
        factor: 1.0,
    };
    range.map(|index| vec![target(index)]).collect()
}
