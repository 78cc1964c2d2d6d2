//! Replicas and attached models.
//!
//! Both copy a part of a tree of bodies under new names. Elements outside the tree (sensors,
//! actuators, …) are copied with it when the things they refer to were copied. The original of a
//! replicated part disappears, together with everything that refers to it.

use std::rc::Rc;

use super::Reader;
use super::body::{Container, Level};
use super::codes;
use super::draft::{BodyDraft, Draft, FrameDraft};
use super::joint::is_limited;
use super::merge;
use super::names::Names;
use super::orientation::Pose;
use super::part::{Inserted, Namespace, Part};
use super::references::{Named, Referring};
use super::schema::MAX_ELEMENTS;
use crate::model_spec::{
    CompilerSettings, InertiaFromGeom, MeshSpec, ModelSpec, ObjectKind, Reference,
};
use crate::span::Span;
use crate::xml::Element;

/// Most elements that all copies together may look at or make.
const MAX_WORK: usize = 100_000_000;
/// Longest name of a copy, in bytes.
const MAX_NAME: usize = 1024;

/// What to replicate, and how.
pub(super) struct Replicate {
    span: Span,
    /// Body and frame that the replicas go to.
    into: Container,
    /// Body that holds the original while it is read.
    original: usize,
    frame: usize,
    count: usize,
    separator: String,
    offset: [f64; 3],
    angles: [f64; 3],
}

impl<'r> Reader<'r> {
    /// Starts to read the content of a replicate element into a body of its own.
    pub(super) fn open_replicate(
        &self,
        element: Element<'r>,
        container: Container,
        draft: &mut Draft,
    ) -> Option<Level<'r>> {
        let a = self.attributes(element);
        let count = a.require::<i32>("count")?;
        let Ok(count @ 1..) = usize::try_from(count) else {
            a.error(codes::VALUE_RANGE, "count", "must be positive");
            return None;
        };
        if draft.work > MAX_WORK {
            // Reported before: more would take too long.
            return None;
        }
        let original = draft.add_body(container.body, BodyDraft::default());
        let frame = draft.frames.len();
        draft.frames.push(FrameDraft {
            name: String::new(),
            body: original,
            parent: None,
            pose: Pose::IDENTITY,
        });
        let class = self.child_class(element, container);
        let mut replicate = Replicate {
            span: element.span(),
            into: container,
            original,
            frame,
            count,
            separator: String::new(),
            offset: [0.0; 3],
            angles: [0.0; 3],
        };
        a.set("sep", &mut replicate.separator);
        a.set("offset", &mut replicate.offset);
        a.set("euler", &mut replicate.angles);
        let inside = Container {
            body: original,
            frame: Some(frame),
            class,
        };
        let mut level = self.level(element, inside);
        level.replicate = Some(replicate);
        Some(level)
    }

    /// Replaces the original by its replicas.
    pub(super) fn make_replicas(&self, replicate: &Replicate, draft: &mut Draft) {
        if !draft.bodies[replicate.original].joints.is_empty() {
            let message = "joints cannot be replicated; put them into a body";
            self.problems
                .error(codes::REPLICATE, replicate.span, message);
            draft.bodies[replicate.original].joints.clear();
        }
        let part = draft.cut_frame(replicate.frame);
        let longest = replicate.suffix(replicate.count - 1).len();
        if !self.affords(replicate.span, draft, &part, (replicate.count, longest)) {
            self.remove_original(replicate, &part, draft);
            return;
        }
        draft.is_assembled = true;
        let rotation = self.notation.euler(replicate.angles);
        let mut first = None;
        let mut pose = Pose::IDENTITY;
        for index in 0..replicate.count {
            // The rotation is computed anew each time: products would gather rounding errors.
            let turns = replicate.angles.map(|angle| angle * index as f64);
            pose.quaternion = self.notation.euler(turns);
            let namespace = Namespace {
                suffix: replicate.suffix(index),
                ..Namespace::default()
            };
            let mut copy = part.clone();
            copy.set_pose(pose);
            let into = (replicate.into.body, replicate.into.frame);
            let inserted = draft.insert_renamed(copy, into, &namespace);
            let source = Globals::of(&draft.spec);
            if !draft.copy_globals(source, &namespace) {
                let message = format!("replicating makes more than {MAX_ELEMENTS} elements");
                self.problems
                    .error(codes::TOO_LARGE, replicate.span, message);
                break;
            }
            first.get_or_insert((inserted, namespace));
            pose = pose.then(Pose {
                position: replicate.offset,
                quaternion: rotation,
            });
        }
        self.remove_original(replicate, &part, draft);
        if let Some((inserted, namespace)) = first {
            draft.move_keys(&part, &inserted, &namespace);
        }
    }

    /// False when making copies with an addition to their names would take too much, which is
    /// reported.
    fn affords(
        &self,
        span: Span,
        draft: &mut Draft,
        part: &Part,
        (copies, addition): (usize, usize),
    ) -> bool {
        let added = part.size().saturating_mul(copies);
        let globals = Globals::count(&draft.spec).saturating_mul(copies);
        // Finding the source looks at everything, but only briefly.
        let searched = draft.size / 8;
        let work = added.saturating_add(globals).saturating_add(searched);
        draft.work = draft.work.saturating_add(work);
        let message = if draft.size.saturating_add(added) > MAX_ELEMENTS {
            format!("copies make more than {MAX_ELEMENTS} elements")
        } else if draft.work > MAX_WORK {
            "there are too many copies of large parts".to_owned()
        } else if part.longest_name() + addition > MAX_NAME {
            format!("copies get names of more than {MAX_NAME} bytes")
        } else {
            return true;
        };
        self.problems.error(codes::TOO_LARGE, span, message);
        false
    }

    /// Removes the original of replicas with all that refers to it.
    #[expect(clippy::unused_self, reason = "reads as the other steps do")]
    fn remove_original(&self, replicate: &Replicate, part: &Part, draft: &mut Draft) {
        // The original is not far from the end: only its replicas come after it.
        let children = &mut draft.bodies[replicate.into.body].children;
        if let Some(place) = children
            .iter()
            .rposition(|child| *child == replicate.original)
        {
            children.remove(place);
        }
        let (spec, names) = (&mut draft.spec, &mut draft.names);
        macro_rules! remove_dangling {
            ($($list:ident),*) => {
                let whole = ($(whole(&mut spec.$list, names),)*);
                part.remove_names(names);
                let ($($list,)*) = whole;
                $(remove_dangling(&mut spec.$list, &$list, names);)*
            };
        }
        remove_dangling!(
            pairs, excludes, tendons, equalities, actuators, sensors, tuples
        );
    }

    /// Inserts a part of another model, or of this one.
    pub(super) fn attach(&self, element: Element<'_>, container: Container, draft: &mut Draft) {
        let a = self.attributes(element);
        a.exclusive(&["body", "frame"]);
        let Some(prefix) = a.get::<String>("prefix") else {
            a.missing("prefix");
            return;
        };
        let body = a.get::<Reference>("body");
        let frame = a.get::<Reference>("frame");
        let model = a.get::<Reference>("model");
        let mut child = None;
        if let Some(model) = &model {
            let found = draft.models.iter().find(|(name, _)| *name == model.name);
            let Some((_, found)) = found else {
                let message = format!("model '{}' is not an asset", model.name);
                self.problems.error(codes::ATTACH, model.span, message);
                return;
            };
            child = Some(Rc::clone(found));
        }
        let source = child.as_deref().unwrap_or(draft);
        let part = match (&body, &frame) {
            (Some(body), _) => source
                .find_body(&body.name)
                .map(|index| source.cut_body(index)),
            (None, Some(frame)) => source
                .find_frame(&frame.name)
                .map(|index| source.cut_frame(index)),
            (None, None) if child.is_some() => Some(source.cut_world()),
            (None, None) => {
                let message = "<attach> without a model needs 'body' or 'frame'";
                self.problems.error(codes::ATTACH, element.span(), message);
                return;
            }
        };
        let Some(mut part) = part else {
            if let Some(wanted) = body.or(frame) {
                let message = format!("'{}' is not in the attached model", wanted.name);
                self.problems.error(codes::ATTACH, wanted.span, message);
            }
            return;
        };
        if !self.affords(element.span(), draft, &part, (1, prefix.len())) {
            return;
        }
        draft.is_assembled = true;
        let namespace = Namespace {
            prefix,
            suffix: String::new(),
            foreign: child.is_some(),
        };
        let into = (container.body, container.frame);
        let Some(child) = child else {
            draft.insert_renamed(part, into, &namespace);
            let source = Globals::of(&draft.spec);
            draft.copy_globals(source, &namespace);
            return;
        };
        draft.work = draft.work.saturating_add(asset_size(&child.spec));
        self.merge_settings(element.span(), &child, draft);
        part.settle(&child.spec.compiler, &draft.spec.compiler);
        let inserted = draft.insert_renamed(part.clone(), into, &namespace);
        draft.copy_assets(&child.spec, &namespace);
        if let Some(term) = child.spec.learned_terms.first() {
            let message = format!(
                "the attached model has a learned term '{}', whose sites would not be found again",
                term.name
            );
            self.problems.error(codes::ATTACH, element.span(), message);
        }
        for map in &child.spec.collision_maps {
            let message = "the map of collisions of an attached model is not taken over";
            self.problems.warning(codes::CONFLICT, map.span, message);
        }
        for law in &child.spec.contact_laws {
            let message = "the contact law of an attached model is not taken over; give it here";
            self.problems.warning(codes::CONFLICT, law.span, message);
        }
        let mut globals = Globals::of(&child.spec);
        globals.settle(&child.spec.compiler, &draft.spec.compiler);
        if !draft.copy_globals(globals, &namespace) {
            let message = format!("attaching makes more than {MAX_ELEMENTS} elements");
            self.problems
                .error(codes::TOO_LARGE, element.span(), message);
        }
        draft.attach_keys(&child, &part, &inserted, &namespace);
    }

    /// Reports settings of an attached model that cannot apply next to those of its parent.
    fn merge_settings(&self, span: Span, child: &Draft, parent: &mut Draft) {
        let (own, other) = (&child.spec, &mut parent.spec);
        let options = (&own.option, &child.authored);
        let parent_options = (&mut other.option, &parent.authored);
        merge::merge(self.conflict, span, options, parent_options, self.problems);
        let (child, parent) = (own, other);
        let mut settled = child.compiler.clone();
        // These are settled element by element.
        settled.auto_limits = parent.compiler.auto_limits;
        settled.align_free = parent.compiler.align_free;
        settled.length_range = parent.compiler.length_range.clone();
        settled.save_inertial = parent.compiler.save_inertial;
        settled.set_total_mass = parent.compiler.set_total_mass;
        if settled.inertia_from_geom == InertiaFromGeom::Always {
            settled.inertia_from_geom = InertiaFromGeom::Auto;
        }
        if settled != parent.compiler {
            let message =
                "the compiler settings of the attached model differ from those of this one";
            self.problems
                .unsupported(codes::ATTACH_COMPILER, span, message);
        }
    }
}

impl Replicate {
    /// The separator and the number with as many digits as the count has.
    fn suffix(&self, index: usize) -> String {
        let width = self.count.to_string().len();
        format!("{}{index:0width$}", self.separator)
    }
}

/// Elements outside the tree that refer to elements of the tree.
struct Globals {
    spec: ModelSpec,
}

impl Globals {
    /// Number of such elements.
    fn count(spec: &ModelSpec) -> usize {
        spec.pairs.len()
            + spec.excludes.len()
            + spec.tendons.len()
            + spec.equalities.len()
            + spec.actuators.len()
            + spec.sensors.len()
            + spec.joint_laws.len()
            + spec.tuples.len()
    }

    fn of(spec: &ModelSpec) -> Self {
        let spec = ModelSpec {
            pairs: spec.pairs.clone(),
            excludes: spec.excludes.clone(),
            tendons: spec.tendons.clone(),
            equalities: spec.equalities.clone(),
            actuators: spec.actuators.clone(),
            sensors: spec.sensors.clone(),
            joint_laws: spec.joint_laws.clone(),
            tuples: spec.tuples.clone(),
            ..ModelSpec::default()
        };
        Self { spec }
    }

    /// Decides automatic limits as the settings of their own model say.
    fn settle(&mut self, own: &CompilerSettings, other: &CompilerSettings) {
        if own.auto_limits == other.auto_limits {
            return;
        }
        let decide = |limited: &mut Option<bool>, range: [f64; 2]| {
            *limited = Some(is_limited(*limited, range, own.auto_limits));
        };
        for tendon in &mut self.spec.tendons {
            decide(&mut tendon.limited, tendon.range);
            decide(
                &mut tendon.actuator_force_limited,
                tendon.actuator_force_range,
            );
        }
        for actuator in &mut self.spec.actuators {
            decide(&mut actuator.control_limited, actuator.control_range);
            decide(&mut actuator.force_limited, actuator.force_range);
            decide(&mut actuator.activation_limited, actuator.activation_range);
        }
    }
}

impl Part {
    /// Decides what is automatic as the settings of their own model say.
    fn settle(&mut self, own: &CompilerSettings, other: &CompilerSettings) {
        for body in &mut self.bodies {
            if own.inertia_from_geom == InertiaFromGeom::Always {
                body.spec.inertial = None;
            }
            for joint in body.joints.iter_mut().map(|joint| &mut joint.value) {
                if own.align_free != other.align_free {
                    joint.align = joint.align.or(Some(own.align_free));
                }
                if own.auto_limits != other.auto_limits {
                    let limited = is_limited(joint.limited, joint.range, own.auto_limits);
                    joint.limited = Some(limited);
                    let range = joint.actuator_force_range;
                    let limited = is_limited(joint.actuator_force_limited, range, own.auto_limits);
                    joint.actuator_force_limited = Some(limited);
                }
            }
        }
    }
}

impl Draft {
    fn find_body(&self, name: &str) -> Option<usize> {
        self.bodies.iter().position(|body| body.spec.name == name)
    }

    fn find_frame(&self, name: &str) -> Option<usize> {
        self.frames.iter().position(|frame| frame.name == name)
    }

    /// Adds the names of everything outside the tree, and of the world.
    pub(super) fn add_global_names(&mut self) {
        let (names, spec) = (&mut self.names, &self.spec);
        names.add(ObjectKind::Body, "world");
        names.add_all(&spec.meshes);
        names.add_all(&spec.height_fields);
        names.add_all(&spec.textures);
        names.add_all(&spec.materials);
        names.add_all(&spec.pairs);
        names.add_all(&spec.excludes);
        names.add_all(&spec.tendons);
        names.add_all(&spec.equalities);
        names.add_all(&spec.actuators);
        names.add_all(&spec.sensors);
        names.add_all(&spec.numerics);
        names.add_all(&spec.texts);
        names.add_all(&spec.tuples);
        names.add_all(&spec.keyframes);
    }

    fn insert_renamed(
        &mut self,
        mut part: Part,
        (body, frame): (usize, Option<usize>),
        namespace: &Namespace,
    ) -> Inserted {
        part.rename(namespace);
        part.add_names(&mut self.names);
        part.retarget(namespace, &self.names);
        self.insert(part, body, frame)
    }

    /// Copies the elements that refer to what was copied; false when there are too many.
    fn copy_globals(&mut self, source: Globals, namespace: &Namespace) -> bool {
        let (spec, names, source) = (&mut self.spec, &mut self.names, source.spec);
        copy_referring(source.pairs, &mut spec.pairs, namespace, names)
            && copy_referring(source.excludes, &mut spec.excludes, namespace, names)
            && copy_tendons(source.tendons, spec, namespace, names)
            && copy_referring(source.equalities, &mut spec.equalities, namespace, names)
            && copy_referring(source.actuators, &mut spec.actuators, namespace, names)
            && copy_referring(source.sensors, &mut spec.sensors, namespace, names)
            && copy_referring(source.joint_laws, &mut spec.joint_laws, namespace, names)
            && copy_referring(source.tuples, &mut spec.tuples, namespace, names)
    }

    /// Copies all assets and custom data of an attached model.
    fn copy_assets(&mut self, child: &ModelSpec, namespace: &Namespace) {
        fn copies<T: Named + Clone>(
            source: &[T],
            list: &mut Vec<T>,
            namespace: &Namespace,
            names: &mut Names,
            adjust: impl Fn(&mut T),
        ) {
            for element in source {
                let mut copy = element.clone();
                namespace.rename(copy.name_mut());
                adjust(&mut copy);
                names.add(T::KIND, copy.name());
                list.push(copy);
            }
        }
        let (spec, names) = (&mut self.spec, &mut self.names);
        copies(&child.meshes, &mut spec.meshes, namespace, names, |mesh| {
            namespace.rename_asset(&mut mesh.material);
        });
        copies(
            &child.height_fields,
            &mut spec.height_fields,
            namespace,
            names,
            |_| {},
        );
        copies(
            &child.textures,
            &mut spec.textures,
            namespace,
            names,
            |_| {},
        );
        copies(
            &child.materials,
            &mut spec.materials,
            namespace,
            names,
            |material| {
                namespace.rename_asset(&mut material.texture);
            },
        );
        copies(
            &child.numerics,
            &mut spec.numerics,
            namespace,
            names,
            |_| {},
        );
        copies(&child.texts, &mut spec.texts, namespace, names, |_| {});
    }
}

/// Vertices, faces and elevations of all assets: they are copied with every attachment.
fn asset_size(spec: &ModelSpec) -> usize {
    let of_mesh = |mesh: &MeshSpec| mesh.vertices.len() + mesh.faces.len() + mesh.normals.len();
    let meshes: usize = spec.meshes.iter().map(of_mesh).sum();
    let fields: usize = spec
        .height_fields
        .iter()
        .map(|field| field.elevation.len())
        .sum();
    meshes + fields
}

fn copy_tendons(
    mut source: Vec<crate::model_spec::TendonSpec>,
    spec: &mut ModelSpec,
    namespace: &Namespace,
    names: &mut Names,
) -> bool {
    for tendon in &mut source {
        namespace.rename_asset(&mut tendon.material);
    }
    copy_referring(source, &mut spec.tendons, namespace, names)
}

/// Appends copies of the elements whose references exist under their new names.
fn copy_referring<T: Referring>(
    source: Vec<T>,
    list: &mut Vec<T>,
    namespace: &Namespace,
    names: &mut Names,
) -> bool {
    for mut element in source {
        let (mut total, mut renamed, mut missing) = (0, 0, false);
        element.visit(&mut |kind, reference| {
            total += 1;
            let name = namespace.apply(&reference.name);
            let is_world = reference.name == "world" && is_body(kind);
            let is_outside = T::KEEPS_OUTSIDE && names.contains(kind, &reference.name);
            if names.contains(kind, &name) {
                reference.name = name;
                renamed += 1;
            } else if !is_world && !is_outside {
                missing = true;
            }
        });
        if missing || (total > 0 && renamed == 0) {
            continue;
        }
        if list.len() >= MAX_ELEMENTS {
            return false;
        }
        namespace.rename(element.name_mut());
        names.add(T::KIND, element.name());
        list.push(element);
    }
    true
}

fn is_body(kind: ObjectKind) -> bool {
    matches!(
        kind,
        ObjectKind::Body | ObjectKind::BodyInertial | ObjectKind::Subtree
    )
}

/// For each element, whether everything that it refers to is there.
fn whole<T: Referring>(list: &mut [T], names: &Names) -> Vec<bool> {
    let is_whole = |element: &mut T| {
        let mut is_whole = true;
        element.visit(&mut |kind, reference| is_whole &= names.contains(kind, &reference.name));
        is_whole
    };
    list.iter_mut().map(is_whole).collect()
}

/// Removes the elements that were whole and are so no longer.
fn remove_dangling<T: Referring>(list: &mut Vec<T>, was_whole: &[bool], names: &mut Names) {
    let is_whole = whole(list, names);
    let mut flags = was_whole.iter().zip(is_whole);
    list.retain(|element| {
        let keep = flags.next().is_none_or(|(was, is)| is || !was);
        if !keep {
            names.remove(T::KIND, element.name());
        }
        keep
    });
}
