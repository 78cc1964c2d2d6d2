//! Checks across elements: names are unique, references lead somewhere.

use super::codes;
use super::names::Names;
use super::problems::Problems;
use super::references::{Named, Referring};
use crate::diagnostic::{Diagnostic, nearest_name};
use crate::model_spec::{InertiaSpec, ModelSpec, ObjectKind, Reference};
use crate::span::Span;

/// Most names that are looked at for the nearest one.
const MAX_CANDIDATES: usize = 1000;

/// Reports repeated names, references to nothing and numbers that became too large.
pub(crate) fn check(spec: &mut ModelSpec, problems: &Problems<'_>) {
    let checker = Checker {
        names: collect_names(spec, problems),
        problems,
    };
    checker.check_tree(spec);
    checker.check_assets(spec);
    checker.check_all(&mut spec.pairs);
    checker.check_all(&mut spec.excludes);
    checker.check_all(&mut spec.tendons);
    checker.check_all(&mut spec.equalities);
    checker.check_all(&mut spec.actuators);
    checker.check_all(&mut spec.sensors);
    checker.check_all(&mut spec.tuples);
    check_finite(spec, problems);
}

/// Numbers in the file are finite, but poses computed from them can overflow.
fn check_finite(spec: &ModelSpec, problems: &Problems<'_>) {
    let check = |tag: &str, span: Span, numbers: &[&[f64]]| {
        if numbers
            .iter()
            .any(|list| list.iter().any(|number| !number.is_finite()))
        {
            let message = format!(
                "this <{tag}> is too large for the computer's numbers, with the frames around it"
            );
            problems.error(codes::NUMBER_SIZE, span, message);
        }
    };
    for body in &spec.bodies {
        check("body", body.span, &[&body.position, &body.quaternion]);
        if let Some(inertial) = &body.inertial {
            let inertia = match &inertial.inertia {
                InertiaSpec::Diagonal { diagonal, .. } => &diagonal[..],
                InertiaSpec::Full(matrix) => &matrix[..],
            };
            check("inertial", inertial.span, &[&inertial.position, inertia]);
        }
        for joint in &body.joints {
            check("joint", joint.span, &[&joint.position, &joint.axis]);
        }
        for geom in &body.geoms {
            let ends = geom.fromto.as_ref().map_or(&[][..], |points| &points[..]);
            check(
                "geom",
                geom.span,
                &[&geom.position, &geom.quaternion, &geom.size, ends],
            );
        }
        for site in &body.sites {
            let ends = site.fromto.as_ref().map_or(&[][..], |points| &points[..]);
            check(
                "site",
                site.span,
                &[&site.position, &site.quaternion, &site.size, ends],
            );
        }
        for camera in &body.cameras {
            check(
                "camera",
                camera.span,
                &[&camera.position, &camera.quaternion],
            );
        }
        for light in &body.lights {
            check("light", light.span, &[&light.position, &light.direction]);
        }
    }
}

fn collect_names(spec: &ModelSpec, problems: &Problems<'_>) -> Names {
    fn all<'a, T: Named + 'a>(
        list: impl IntoIterator<Item = &'a T>,
        names: &mut Names,
        problems: &Problems<'_>,
    ) {
        for element in list {
            if !names.add(T::KIND, element.name()) {
                let message = format!(
                    "{} '{}' is defined twice",
                    kind_word(T::KIND),
                    element.name()
                );
                problems.error(codes::REPEATED_NAME, element.span(), message);
            }
        }
    }
    let mut names = Names::default();
    let bodies = &spec.bodies;
    all(bodies, &mut names, problems);
    all(
        bodies.iter().flat_map(|body| &body.joints),
        &mut names,
        problems,
    );
    all(
        bodies.iter().flat_map(|body| &body.geoms),
        &mut names,
        problems,
    );
    all(
        bodies.iter().flat_map(|body| &body.sites),
        &mut names,
        problems,
    );
    all(
        bodies.iter().flat_map(|body| &body.cameras),
        &mut names,
        problems,
    );
    all(
        bodies.iter().flat_map(|body| &body.lights),
        &mut names,
        problems,
    );
    all(&spec.meshes, &mut names, problems);
    all(&spec.height_fields, &mut names, problems);
    all(&spec.textures, &mut names, problems);
    all(&spec.materials, &mut names, problems);
    all(&spec.pairs, &mut names, problems);
    all(&spec.excludes, &mut names, problems);
    all(&spec.tendons, &mut names, problems);
    all(&spec.equalities, &mut names, problems);
    all(&spec.actuators, &mut names, problems);
    all(&spec.sensors, &mut names, problems);
    all(&spec.numerics, &mut names, problems);
    all(&spec.texts, &mut names, problems);
    all(&spec.tuples, &mut names, problems);
    all(&spec.keyframes, &mut names, problems);
    names
}

struct Checker<'p> {
    names: Names,
    problems: &'p Problems<'p>,
}

impl Checker<'_> {
    fn check(&self, kind: ObjectKind, reference: &Reference) {
        if self.names.contains(kind, &reference.name) || self.problems.is_full() {
            return;
        }
        let message = format!("{} '{}' does not exist", kind_word(kind), reference.name);
        let mut diagnostic =
            Diagnostic::error(codes::UNKNOWN_REFERENCE, message).at(reference.span);
        let candidates = self.names.of_kind(kind).take(MAX_CANDIDATES);
        if let Some(near) = nearest_name(&reference.name, candidates) {
            diagnostic = diagnostic.help(format!("did you mean '{near}'?"));
        }
        self.problems.push(diagnostic);
    }

    fn check_optional(&self, kind: ObjectKind, reference: Option<&Reference>) {
        if let Some(reference) = reference {
            self.check(kind, reference);
        }
    }

    fn check_all<T: Referring>(&self, list: &mut [T]) {
        for element in list {
            element.visit(&mut |kind, reference| {
                // An empty name was reported as missing when it was read.
                if !reference.name.is_empty() {
                    self.check(kind, reference);
                }
            });
        }
    }

    fn check_tree(&self, spec: &ModelSpec) {
        for body in &spec.bodies {
            for geom in &body.geoms {
                self.check_optional(ObjectKind::Material, geom.material.as_ref());
                self.check_optional(ObjectKind::Mesh, geom.mesh.as_ref());
                self.check_optional(ObjectKind::HeightField, geom.height_field.as_ref());
            }
            for site in &body.sites {
                self.check_optional(ObjectKind::Material, site.material.as_ref());
                self.check_optional(ObjectKind::Mesh, site.mesh.as_ref());
            }
            for camera in &body.cameras {
                self.check_optional(ObjectKind::Body, camera.target.as_ref());
            }
            for light in &body.lights {
                self.check_optional(ObjectKind::Body, light.target.as_ref());
            }
        }
    }

    fn check_assets(&self, spec: &ModelSpec) {
        for mesh in &spec.meshes {
            self.check_optional(ObjectKind::Material, mesh.material.as_ref());
        }
        for material in &spec.materials {
            self.check_optional(ObjectKind::Texture, material.texture.as_ref());
        }
        for tendon in &spec.tendons {
            self.check_optional(ObjectKind::Material, tendon.material.as_ref());
        }
    }
}

/// The kind in words.
fn kind_word(kind: ObjectKind) -> &'static str {
    match kind {
        ObjectKind::BodyInertial | ObjectKind::Body | ObjectKind::Subtree => "body",
        ObjectKind::Joint => "joint",
        ObjectKind::Geom => "geom",
        ObjectKind::Site => "site",
        ObjectKind::Camera => "camera",
        ObjectKind::Light => "light",
        ObjectKind::Mesh => "mesh",
        ObjectKind::HeightField => "height field",
        ObjectKind::Texture => "texture",
        ObjectKind::Material => "material",
        ObjectKind::Pair => "contact pair",
        ObjectKind::Exclude => "contact exclusion",
        ObjectKind::Equality => "equality constraint",
        ObjectKind::Tendon => "tendon",
        ObjectKind::Actuator => "actuator",
        ObjectKind::Sensor => "sensor",
        ObjectKind::Numeric => "custom numeric",
        ObjectKind::Text => "custom text",
        ObjectKind::Tuple => "custom tuple",
        ObjectKind::Keyframe => "keyframe",
    }
}
