//! Names to ids, for every family of elements.
//!
//! Elements refer to each other by name. The tables give the id (in the order of the compiled arrays) and turn a
//! name that does not exist into an error at the place of the reference, with the nearest existing name as help.
//! Within a family names are unique; different families do not share a name space.

use std::collections::HashMap;

use carom_spec::ModelSpec;
use carom_spec::diagnostic::{Diagnostic, nearest_name};
use carom_spec::model_spec::{ObjectKind, Reference};
use carom_spec::span::Span;

use super::report::{Report, called, code};
use crate::model::Names;

/// The named elements of one family.
#[derive(Clone, Debug)]
pub(super) struct NameTable {
    /// What an element is called in messages.
    family: &'static str,
    /// Ids by name; the first of repeated names wins.
    ids: HashMap<String, usize>,
    /// Names in order of ids; empty for unnamed elements.
    names: Vec<String>,
}

impl NameTable {
    /// Collects the names of a family and reports repeated ones.
    fn new<'a>(
        family: &'static str,
        elements: impl IntoIterator<Item = (&'a str, Span)>,
        report: &mut Report,
    ) -> Self {
        let mut table = Self {
            family,
            ids: HashMap::new(),
            names: Vec::new(),
        };
        for (id, (name, span)) in elements.into_iter().enumerate() {
            table.names.push(name.to_owned());
            if name.is_empty() {
                continue;
            }
            if table.ids.contains_key(name) {
                report.error_help(
                    code::DUPLICATE_NAME,
                    span,
                    format!("repeated name '{name}' of a {family}"),
                    format!("give every {family} a name of its own, or leave it unnamed"),
                );
            } else {
                table.ids.insert(name.to_owned(), id);
            }
        }
        table
    }

    /// The id of a name.
    pub(super) fn get(&self, name: &str) -> Option<usize> {
        self.ids.get(name).copied()
    }

    /// The id of the element that `reference` names; an error for `user` (such as "actuator 'a'") if there is none.
    pub(super) fn resolve(
        &self,
        reference: &Reference,
        user: impl FnOnce() -> String,
        report: &mut Report,
    ) -> Option<usize> {
        let id = self.get(&reference.name);
        if id.is_none() {
            report.push(self.unknown(reference, &user()));
        }
        id
    }

    fn unknown(&self, reference: &Reference, user: &str) -> Diagnostic {
        let family = self.family;
        let name = &reference.name;
        let message = if name.is_empty() {
            format!("{user} does not name its {family}")
        } else {
            format!("{user} refers to a {family} '{name}' that does not exist")
        };
        let diagnostic = Diagnostic::error(code::UNKNOWN_NAME, message).at(reference.span);
        match nearest_name(name, self.names.iter().map(String::as_str)) {
            Some(nearest) => diagnostic.help(format!("there is a {family} '{nearest}'")),
            None if self.ids.is_empty() => {
                diagnostic.help(format!("the model has no named {family}"))
            }
            None => diagnostic,
        }
    }

    /// All names in order of ids; empty for unnamed elements.
    pub(super) fn names(&self) -> &[String] {
        &self.names
    }
}

/// One table a family: its field, its word in messages, where its elements are, which kinds of references mean it, and the
/// list of names that the compiled model keeps of it.
macro_rules! lookup {
    ($($list:ident $word:literal $(of $bodies:ident)?: $($kind:ident)|+ $(, $names:ident)?;)*) => {
        /// All families.
        #[derive(Clone, Debug)]
        pub(super) struct Lookup {
            $(pub(super) $list: NameTable,)*
        }

        impl Lookup {
            /// Collects all names and reports repeated ones.
            pub(super) fn new(spec: &ModelSpec, report: &mut Report) -> Self {
                Self {
                    $($list: {
                        let elements = lookup!(@ spec $list $($bodies)?);
                        let named = elements.map(|element| (element.name.as_str(), element.span));
                        NameTable::new($word, named, report)
                    },)*
                }
            }

            /// The table of a kind of object.
            pub(super) fn table(&self, kind: ObjectKind) -> &NameTable {
                match kind {
                    $($(ObjectKind::$kind)|+ => &self.$list,)*
                }
            }

            /// Copies the names into the compiled model.
            pub(super) fn fill_names(&self, names: &mut Names) {
                $($(names.$names.clone_from(&self.$list.names);)?)*
            }
        }
    };
    (@ $spec:ident $list:ident) => { $spec.$list.iter() };
    (@ $spec:ident $list:ident $bodies:ident) => {
        $spec.$bodies.iter().flat_map(|body| &body.$list)
    };
}

lookup! {
    bodies "body": Body | BodyInertial | Subtree, bodies;
    joints "joint" of bodies: Joint, joints;
    geoms "geom" of bodies: Geom, geoms;
    sites "site" of bodies: Site, sites;
    cameras "camera" of bodies: Camera, cameras;
    lights "light" of bodies: Light;
    meshes "mesh": Mesh, meshes;
    height_fields "height field": HeightField, height_fields;
    textures "texture": Texture;
    materials "material": Material;
    pairs "contact pair": Pair;
    excludes "contact exclusion": Exclude;
    equalities "equality constraint": Equality, equalities;
    tendons "tendon": Tendon, tendons;
    actuators "actuator": Actuator, actuators;
    sensors "sensor": Sensor, sensors;
    numerics "custom number": Numeric;
    texts "custom text": Text;
    tuples "custom tuple": Tuple;
    keyframes "keyframe": Keyframe;
}

impl Lookup {
    /// Checks the references that nothing else in the compilation follows: materials, textures, lights and tuples.
    pub(super) fn check_passive_references(&self, spec: &ModelSpec, report: &mut Report) {
        // What refers, to what, and how messages call it.
        let in_bodies = spec.bodies.iter().flat_map(|body| {
            let geoms = body
                .geoms
                .iter()
                .map(|geom| ("geom", &geom.name, &geom.material));
            let sites = body
                .sites
                .iter()
                .map(|site| ("site", &site.name, &site.material));
            geoms.chain(sites)
        });
        let lights = spec.bodies.iter().flat_map(|body| &body.lights);
        let materials = in_bodies
            .chain((spec.tendons.iter()).map(|tendon| ("tendon", &tendon.name, &tendon.material)))
            .chain((spec.meshes.iter()).map(|mesh| ("mesh", &mesh.name, &mesh.material)))
            .map(|user| (&self.materials, user));
        let textures = (spec.materials.iter()).map(|material| {
            (
                &self.textures,
                ("material", &material.name, &material.texture),
            )
        });
        let targets = lights.map(|light| (&self.bodies, ("light", &light.name, &light.target)));
        for (table, (kind, name, reference)) in materials.chain(textures).chain(targets) {
            if let Some(reference) = reference {
                table.resolve(reference, || called(kind, name), report);
            }
        }
        for tuple in &spec.tuples {
            for member in &tuple.elements {
                let user = || called("tuple", &tuple.name);
                let table = self.table(member.object.kind);
                table.resolve(&member.object.reference, user, report);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use carom_spec::model_spec::{BodySpec, GeomSpec};
    use carom_spec::span::FileId;

    fn span(start: usize) -> Span {
        Span::new(FileId(0), start, start + 1)
    }

    fn body_with_geoms(name: &str, geoms: &[&str]) -> BodySpec {
        BodySpec {
            name: name.to_owned(),
            span: span(name.len()),
            geoms: geoms
                .iter()
                .map(|geom| GeomSpec {
                    name: (*geom).to_owned(),
                    span: span(100 + geom.len()),
                    ..GeomSpec::default()
                })
                .collect(),
            ..BodySpec::default()
        }
    }

    #[test]
    fn ids_count_over_all_bodies_and_skip_unnamed_elements() {
        let mut spec = ModelSpec::default();
        spec.bodies
            .push(body_with_geoms("upper", &["shoulder", ""]));
        spec.bodies.push(body_with_geoms("", &["", "wrist"]));
        let mut report = Report::default();
        let lookup = Lookup::new(&spec, &mut report);
        assert!(report.into_diagnostics().is_empty());
        assert_eq!(lookup.geoms.get("wrist"), Some(3));
        assert_eq!(lookup.geoms.get(""), None);
        assert_eq!(lookup.bodies.get("world"), Some(0));
        assert_eq!(lookup.geoms.names(), ["shoulder", "", "", "wrist"]);
    }

    #[test]
    fn an_unknown_name_is_an_error_at_the_reference_with_the_nearest_name() {
        let mut spec = ModelSpec::default();
        spec.bodies.push(body_with_geoms("forearm", &[]));
        let mut report = Report::default();
        let lookup = Lookup::new(&spec, &mut report);
        let reference = Reference {
            name: "foreram".to_owned(),
            span: span(7),
        };
        let user = || called("actuator", "grip");
        assert_eq!(lookup.bodies.resolve(&reference, user, &mut report), None);
        let diagnostics = report.into_diagnostics();
        assert_eq!(diagnostics.len(), 1);
        assert_eq!(
            diagnostics[0].message,
            "actuator 'grip' refers to a body 'foreram' that does not exist"
        );
        assert_eq!(diagnostics[0].span, Some(span(7)));
        assert_eq!(
            diagnostics[0].help.as_deref(),
            Some("there is a body 'forearm'")
        );
    }

    #[test]
    fn repeated_names_are_errors_within_a_family_only() {
        let mut spec = ModelSpec::default();
        spec.bodies.push(body_with_geoms("a", &["a", "b"]));
        spec.bodies.push(body_with_geoms("a", &["b"]));
        let mut report = Report::default();
        let lookup = Lookup::new(&spec, &mut report);
        let diagnostics = report.into_diagnostics();
        let messages: Vec<&str> = diagnostics.iter().map(|d| d.message.as_str()).collect();
        assert_eq!(
            messages,
            ["repeated name 'a' of a body", "repeated name 'b' of a geom"]
        );
        assert_eq!(lookup.geoms.get("b"), Some(1));
    }
}
