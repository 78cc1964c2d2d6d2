//! Equality constraints.

use super::Reader;
use super::attribute::Attributes;
use super::codes;
use crate::model_spec::{EqualityKind, EqualityObjects, EqualitySpec, ModelSpec, Reference};
use crate::xml::Element;

/// Reads what all equality constraints have.
pub(super) fn read_common(a: &Attributes<'_, '_>, equality: &mut EqualitySpec) {
    a.set("name", &mut equality.name);
    a.set("active", &mut equality.active);
    a.set_leading("solref", &mut equality.solver_reference);
    a.set_leading("solimp", &mut equality.solver_impedance);
}

impl Reader<'_> {
    pub(super) fn read_equalities(&self, section: Element<'_>, spec: &mut ModelSpec) {
        for element in self.tree.children(section) {
            let a = self.attributes(element);
            let kind =
                match element.tag() {
                    "connect" => read_connect(&a),
                    "weld" => read_weld(&a),
                    "joint" => {
                        read_coupling(&a, "joint1", "joint2").map(|(first, second, polynomial)| {
                            EqualityKind::Joint {
                                first,
                                second,
                                polynomial,
                            }
                        })
                    }
                    "tendon" => read_coupling(&a, "tendon1", "tendon2").map(
                        |(first, second, polynomial)| EqualityKind::Tendon {
                            first,
                            second,
                            polynomial,
                        },
                    ),
                    _ => continue,
                };
            let mut equality = self.class_of(element).equality.clone();
            equality.span = element.span();
            read_common(&a, &mut equality);
            if let Some(kind) = kind {
                equality.kind = kind;
                spec.equalities.push(equality);
            }
        }
    }
}

fn read_connect(a: &Attributes<'_, '_>) -> Option<EqualityKind> {
    let anchor = a.get::<[f64; 3]>("anchor");
    let objects = read_objects(a, &["body1", "body2", "anchor"])?;
    if anchor.is_none() && matches!(objects, EqualityObjects::Bodies { .. }) && !a.has("anchor") {
        a.missing("anchor");
    }
    Some(EqualityKind::Connect {
        objects,
        anchor: anchor.unwrap_or_default(),
    })
}

fn read_weld(a: &Attributes<'_, '_>) -> Option<EqualityKind> {
    let mut torque_scale = 1.0;
    a.set("torquescale", &mut torque_scale);
    let anchor = a.get("anchor").unwrap_or_default();
    // A pose whose quaternion is zero stands for the initial relative pose.
    let relative_pose = a
        .get::<[f64; 7]>("relpose")
        .filter(|pose| pose[3..] != [0.0; 4]);
    let objects = read_objects(a, &["body1", "body2", "anchor", "relpose"])?;
    Some(EqualityKind::Weld {
        objects,
        anchor,
        relative_pose,
        torque_scale,
    })
}

/// Reads either two sites or one or two bodies.
fn read_objects(a: &Attributes<'_, '_>, body_attributes: &[&str]) -> Option<EqualityObjects> {
    let has_site = a.has("site1") || a.has("site2");
    let has_body = body_attributes.iter().find(|name| a.has(name));
    if let (true, Some(name)) = (has_site, has_body) {
        let message = format!(
            "<{}> joins either sites or bodies, not both",
            a.element.tag()
        );
        a.problems.error(codes::EXCLUSIVE, a.place(name), message);
        return None;
    }
    if has_site {
        let (first, second) = (a.require("site1"), a.require("site2"));
        return Some(EqualityObjects::Sites {
            first: first?,
            second: second?,
        });
    }
    if has_body.is_none() {
        let message = format!("<{}> needs 'body1' or two sites", a.element.tag());
        a.problems
            .error(codes::MISSING_ATTRIBUTE, a.element.span(), message);
        return None;
    }
    Some(EqualityObjects::Bodies {
        first: a.require("body1")?,
        second: a.get("body2"),
    })
}

fn read_coupling(
    a: &Attributes<'_, '_>,
    first: &str,
    second: &str,
) -> Option<(Reference, Option<Reference>, [f64; 5])> {
    let mut polynomial = [0.0, 1.0, 0.0, 0.0, 0.0];
    a.set_leading("polycoef", &mut polynomial);
    Some((a.require(first)?, a.get(second), polynomial))
}
