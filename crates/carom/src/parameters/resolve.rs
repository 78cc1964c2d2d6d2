//! From selectors to places of numbers.

use super::catalogue::{self, ATTRIBUTES, Attribute, Part, Source, available};
use super::error::ParameterProblem;
use super::inertia;
use super::layout::{Layout, Place, StateField};
use super::selector::{Selector, suggestion};
use crate::error::Error;
use crate::model::{Model, Quantity, Recipe, Structure, Wrap, joint_law_parameter};
use crate::quantity::{ElementKind, Over};

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

/// The attribute that a selector names.
pub(super) fn find_attribute(selector: &Selector) -> Result<&'static Attribute, Error> {
    let asked = selector.family.as_str();
    let Some(element) = ElementKind::called(asked) else {
        let help = suggestion(asked, ElementKind::ALL.iter().map(|kind| kind.name()));
        let message = format!("there is no family '{asked}': {help}");
        return Err(ParameterProblem::Unknown.error(message));
    };
    let asked = selector.attribute.as_str();
    let own = || (ATTRIBUTES.iter()).filter(|attribute| attribute.element == element);
    let Some(attribute) = own().find(|attribute| attribute.is_called(asked)) else {
        let help = suggestion(asked, own().map(|found| found.name));
        let message = format!("{} has no attribute '{asked}': {help}", element.name());
        return Err(ParameterProblem::Unknown.error(message));
    };
    if let Source::Refused(why) = attribute.source {
        let message = format!("{}.{} {why}", element.name(), attribute.name);
        return Err(ParameterProblem::Refused.error(message));
    }
    Ok(attribute)
}

/// The elements of a selector.
pub(super) fn resolve(
    model: &Model,
    recipe: &Recipe,
    layout: &Layout,
    selector: &Selector,
) -> Result<Resolved, Error> {
    let attribute = find_attribute(selector)?;
    let element = attribute.element;
    let candidates = candidates(&model.structure, attribute, selector);
    let mut resolved = Resolved::default();
    let mut known = false;
    for (id, name) in candidates.iter().enumerate() {
        if !selector.matches(name) {
            continue;
        }
        known = true;
        let full_name = match (element, selector.name.as_ref()) {
            (ElementKind::Option, _) | (ElementKind::State, None) => {
                format!("{}.{}", element.name(), attribute.name)
            }
            _ => format!("{}.{name}.{}", element.name(), attribute.name),
        };
        let limit = match available(model, recipe, attribute, id) {
            Ok(limit) => limit,
            Err(why) => {
                resolved.skipped.push((full_name, why));
                continue;
            }
        };
        let all = match attribute.source {
            Source::State(field) => state_targets(model, field, selector.name.is_some(), id),
            source => targets(model, layout, source, id),
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
            attribute,
            id,
            name: full_name,
            components: components.collect(),
            width,
        });
    }
    check_found(selector, (element, known), &candidates, &resolved)?;
    Ok(resolved)
}

/// Refuses selectors that mean nothing that can be a parameter.
fn check_found(
    selector: &Selector,
    (element, known): (ElementKind, bool),
    candidates: &[String],
    resolved: &Resolved,
) -> Result<(), Error> {
    if !known {
        let asked = selector.name.as_deref().unwrap_or("*");
        let help = suggestion(asked, candidates.iter().map(String::as_str));
        let message = format!("no {} is called '{asked}': {help}", element.name());
        return Err(ParameterProblem::Unknown.error(message));
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
            Err(ParameterProblem::Refused.error(message))
        }
        _ => Ok(()),
    }
}

/// Names among which a selector chooses.
fn candidates(structure: &Structure, attribute: &Attribute, selector: &Selector) -> Vec<String> {
    let element = match attribute.source {
        // The whole vector is one element.
        Source::State(_) if selector.name.is_none() => return vec![String::new()],
        Source::State(StateField::Act) => ElementKind::Actuator,
        Source::State(StateField::Qpos | StateField::Qvel) => ElementKind::Joint,
        Source::State(StateField::MocapPosition | StateField::MocapQuat) => ElementKind::Body,
        _ => attribute.element,
    };
    catalogue::element_names(structure, element)
}

/// The numbers that follow each component of an attribute.
fn targets(model: &Model, layout: &Layout, source: Source, id: usize) -> Vec<Vec<Target>> {
    if source == Source::PseudoInertia {
        // Its numbers do not follow one by one.
        return vec![Vec::new(); inertia::COUNT];
    }
    if let Source::JointLaw(name) = source {
        let start = layout.field(Quantity::JointLawParameter).start;
        let parameter = joint_law_parameter(&model.structure.joint_laws, id, name);
        let target = |parameter| Target {
            place: Place::Given(start + parameter),
            factor: 1.0,
        };
        return parameter.map(|own| vec![target(own)]).into_iter().collect();
    }
    let of = |part: Part| part_targets(model, layout, &part, id);
    let mut parts = source.parts().into_iter().map(of);
    if !source.is_mirrored() {
        return parts.flatten().collect();
    }
    let mut all = parts.next().unwrap_or_default();
    for part in parts {
        for (targets, more) in all.iter_mut().zip(part) {
            targets.extend(more);
        }
    }
    all
}

/// The numbers that follow each component of a part.
fn part_targets(model: &Model, layout: &Layout, part: &Part, id: usize) -> Vec<Vec<Target>> {
    let field = layout.field(part.quantity);
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
            let dofs = structure.joints.dofs(id);
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
        Over::Weights => structure.learned.terms[id]
            .weights
            .clone()
            .flat_map(components)
            .collect(),
    }
}

/// Numbers of the initial state: of one element, or all.
fn state_targets(model: &Model, field: StateField, is_named: bool, id: usize) -> Vec<Vec<Target>> {
    let (structure, n) = (&model.structure, model.counts());
    let mocap = |width: usize| match structure.bodies.mocap.get(id) {
        Some(Some(mocap)) if is_named => mocap * width..(mocap + 1) * width,
        _ if is_named => 0..0,
        _ => 0..n.nmocap * width,
    };
    let range = match field {
        StateField::Qpos if is_named => structure.joints.coordinates(id),
        StateField::Qpos => 0..n.nq,
        StateField::Qvel if is_named => structure.joints.dofs(id),
        StateField::Qvel => 0..n.nv,
        StateField::Act if is_named => structure.actuators.activations[id].clone(),
        StateField::Act => 0..n.na,
        StateField::MocapPosition => mocap(3),
        StateField::MocapQuat => mocap(4),
    };
    let target = |index: usize| Target {
        place: Place::State(field, index),
        factor: 1.0,
    };
    range.map(|index| vec![target(index)]).collect()
}
