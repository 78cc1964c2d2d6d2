//! Changes of a description as edits of the files that it was read from: includes, defaults, comments and formatting
//! stay, and only what changed changes.
//!
//! [`patched`] goes through both descriptions element by element. The writer's tags say which attributes differ; each is
//! set at the element itself, where it overrides classes and built-in values. Numbers are written as the file has them:
//! in its angles, and in the frames around the element. A body whose inertia came from its geoms gets an `<inertial>`.
//!
//! The result is one text. An include in which something changes is replaced by its content; all others stay. Texts that
//! [`relocated`] moves to another folder find their files from there.
//!
//! What has no place in the files is an error: numbers of one replica alone, of attached models, or of what a class
//! gives and no element can take back. Reading the result again is the caller's proof.

mod element;
mod relocate;
mod shortcut;
mod text;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

pub use relocate::relocated;

use super::orientation::{Pose, conjugate, multiply, rotate};
use super::write::{actuator, asset, body, relation, sensor, settings, tag};
use super::{contact_law, joint_law};
use crate::model_spec::{
    BodySpec, GeomKind, GeomSpec, InertiaSpec, InertialSpec, JointKind, JointSpec, MeshSpec,
    ModelSpec, SiteSpec, TendonPath,
};
use crate::source::SourceMap;
use crate::span::{FileId, Span};
use crate::xml::Element;
use element::Attributes;
use relocate::Move;
use tag::Tag;
use text::Texts;

/// Why a description cannot be written as a patch of its files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotPatched(pub(crate) String);

impl fmt::Display for NotPatched {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for NotPatched {}

fn refuse<T>(why: impl Into<String>) -> Result<T, NotPatched> {
    Err(NotPatched(why.into()))
}

/// Attributes that give an orientation, of which an element has one.
const ORIENTATIONS: [&str; 5] = ["quat", "axisangle", "xyaxes", "zaxis", "euler"];

/// The main file with the numbers of another description. `before` is what `sources` were read as; `after` has the same
/// elements.
///
/// ```
/// use carom_spec::{MemorySource, mjcf::ReadSettings, mjcf::patched, read::read};
///
/// let text = "<mujoco> <!-- mine -->\n<worldbody><body><joint damping='0.1'/><geom size='1'/></body></worldbody></mujoco>";
/// let files = MemorySource::new().with("swing.xml", text);
/// let model = read("swing.xml".as_ref(), &files, &ReadSettings::default());
/// let mut after = model.spec.clone();
/// after.bodies[1].joints[0].damping[0] = 0.25;
/// let patch = patched(&model.sources, &model.spec, &after).unwrap();
/// assert_eq!(patch, text.replace("0.1", "0.25"));
/// ```
///
/// # Errors
/// When a change has no place in the files.
pub fn patched(
    sources: &SourceMap,
    before: &ModelSpec,
    after: &ModelSpec,
) -> Result<String, NotPatched> {
    let texts = Texts::new(sources)?;
    let bodies = after.bodies.iter().map(|body| place(body.span)).collect();
    let mut patch = Patch {
        texts,
        changed: BTreeMap::new(),
        bodies,
    };
    patch.settings(before, after)?;
    patch.bodies(before, after)?;
    patch.relations(before, after)?;
    patch.custom(before, after)?;
    for mesh in changed_pairs(&before.meshes, &after.meshes)? {
        patch.mesh(mesh.1)?;
    }
    Move::new(sources, None)?.finish(patch.texts, before)
}

/// File and offset of a start tag.
type Place = (FileId, u32);

fn place(span: Span) -> Place {
    (span.file, span.start)
}

/// Pairs of elements that differ.
fn changed_pairs<'a, T: PartialEq>(
    before: &'a [T],
    after: &'a [T],
) -> Result<Vec<(&'a T, &'a T)>, NotPatched> {
    if before.len() != after.len() {
        return refuse("the descriptions have other elements");
    }
    let pairs = before.iter().zip(after);
    Ok(pairs.filter(|(before, after)| before != after).collect())
}

struct Patch<'s> {
    texts: Texts<'s>,
    /// What was set at each element: replicas share one, and must agree.
    changed: BTreeMap<Place, Attributes>,
    /// Bodies of the description; others in the file were fused with their parents.
    bodies: BTreeSet<Place>,
}

impl Patch<'_> {
    /// Sets attributes at the element of a span.
    fn set(&mut self, span: Span, attributes: Attributes) -> Result<(), NotPatched> {
        if attributes.is_empty() {
            return Ok(());
        }
        match self.changed.get(&place(span)) {
            Some(same) if *same == attributes => return Ok(()),
            Some(_) => return refuse("copies of one element have different numbers"),
            None => {}
        }
        self.texts.apply(span, &attributes)?;
        self.changed.insert(place(span), attributes);
        Ok(())
    }

    fn settings(&mut self, before: &ModelSpec, after: &ModelSpec) -> Result<(), NotPatched> {
        let tag = |spec: &ModelSpec| settings::option_tag(&spec.option, &before.option);
        let attributes = Attributes::between(tag(before), tag(after));
        self.texts.set_section("option", &attributes)?;
        let inference = |spec: &ModelSpec| spec.compiler.inertia_from_geom;
        if inference(before) == inference(after) {
            return Ok(());
        }
        let tag = Tag::new("compiler").word("inertiafromgeom", inference(after));
        let attributes = Attributes::between(Tag::new("compiler"), tag);
        self.texts.set_section("compiler", &attributes)
    }

    fn bodies(&mut self, before: &ModelSpec, after: &ModelSpec) -> Result<(), NotPatched> {
        for (before, after) in changed_pairs(&before.bodies, &after.bodies)? {
            let shell =
                |body: &BodySpec| (body.position, body.quaternion, body.gravity_compensation);
            if shell(before) != shell(after) {
                let frame = self.frame_around(after.span)?;
                let [old, new] = [before, after].map(|body| {
                    let mut body = body.clone();
                    let pose = Pose {
                        position: body.position,
                        quaternion: body.quaternion,
                    };
                    let pose = inside(frame, pose);
                    (body.position, body.quaternion) = (pose.position, pose.quaternion);
                    body
                });
                let tag = |body: &BodySpec| body::body_tag(body, &old);
                self.set(after.span, Attributes::between(tag(&old), tag(&new)))?;
            }
            if before.inertial != after.inertial {
                self.inertial(before, after)?;
            }
            for (before, after) in changed_pairs(&before.joints, &after.joints)? {
                self.joint(before, after)?;
            }
            for (before, after) in changed_pairs(&before.geoms, &after.geoms)? {
                self.geom(before, after)?;
            }
            for (before, after) in changed_pairs(&before.sites, &after.sites)? {
                self.site(before, after)?;
            }
        }
        Ok(())
    }

    fn inertial(&mut self, before: &BodySpec, after: &BodySpec) -> Result<(), NotPatched> {
        let Some(new) = &after.inertial else {
            return refuse("an <inertial> would have to go");
        };
        let Some(old) = &before.inertial else {
            let tag = tag::tag_text(&body::inertial_tag(new));
            return self.texts.insert_child(after.span, &format!("{tag}/>"));
        };
        let old = InertialSpec {
            span: new.span,
            ..old.clone()
        };
        let tags = [&old, new].map(body::inertial_tag);
        let [old_tag, new_tag] = tags;
        let mut attributes = Attributes::between(old_tag, new_tag);
        if let (InertiaSpec::Full(_), InertiaSpec::Diagonal { quaternion, .. }) =
            (&old.inertia, &new.inertia)
        {
            attributes.remove("fullinertia");
            attributes.set_numbers("quat", quaternion);
        }
        self.set(old.span, attributes)
    }

    fn joint(&mut self, before: &JointSpec, after: &JointSpec) -> Result<(), NotPatched> {
        let frame = self.frame_around(after.span)?;
        let degrees = self.texts.notation.degrees;
        let [old, new] = [before, after].map(|joint| joint_of_file(joint, frame, degrees));
        let tag = |joint: &JointSpec| body::joint_tag(joint, &old);
        let mut attributes = Attributes::between(tag(&old), tag(&new));
        if self.texts.element(after.span)?.tag() == "freejoint" {
            // A free joint by that name has no numbers and no class: the other one must not get those of the class.
            attributes.rename("joint");
            attributes.set_text("type", "free");
            attributes.set_numbers("stiffness", &new.stiffness);
            attributes.set_numbers("damping", &new.damping);
            attributes.set_numbers("armature", &[new.armature]);
            attributes.set_numbers("frictionloss", &[new.friction_loss]);
            attributes.remove("align");
        }
        self.set(after.span, attributes)
    }

    fn geom(&mut self, before: &GeomSpec, after: &GeomSpec) -> Result<(), NotPatched> {
        let frame = self.frame_around(after.span)?;
        let [old, new] = [before, after].map(|geom| {
            let mut geom = geom.clone();
            enter(frame, &mut geom.position, &mut geom.quaternion);
            geom
        });
        let tag = |geom: &GeomSpec| body::geom_tag(geom, &old);
        let mut attributes = Attributes::between(tag(&old), tag(&new));
        if before.mass.is_some() && after.mass.is_none() {
            attributes.remove("mass");
        }
        if before.fromto.is_some() && after.fromto.is_none() {
            attributes.set_text("fromto", "");
        }
        let pose = Pose {
            position: new.position,
            quaternion: new.quaternion,
        };
        self.end_points(after.span, (new.kind, pose, new.size), &mut attributes)?;
        self.set(after.span, attributes)
    }

    fn site(&mut self, before: &SiteSpec, after: &SiteSpec) -> Result<(), NotPatched> {
        let frame = self.frame_around(after.span)?;
        let [old, new] = [before, after].map(|site| {
            let mut site = site.clone();
            enter(frame, &mut site.position, &mut site.quaternion);
            site
        });
        let tag = |site: &SiteSpec| body::site_tag(site, &old);
        let mut attributes = Attributes::between(tag(&old), tag(&new));
        if before.fromto.is_some() && after.fromto.is_none() {
            attributes.set_text("fromto", "");
        }
        let pose = Pose {
            position: new.position,
            quaternion: new.quaternion,
        };
        self.end_points(after.span, (new.kind, pose, new.size), &mut attributes)?;
        self.set(after.span, attributes)
    }

    /// Replaces two end points by the pose and size that they gave where these change; where a class gives them, by others.
    fn end_points(
        &self,
        span: Span,
        (kind, pose, size): (GeomKind, Pose, [f64; 3]),
        attributes: &mut Attributes,
    ) -> Result<(), NotPatched> {
        let had_ends = attributes.take("fromto");
        let is_written = self.texts.element(span)?.attribute("fromto").is_some();
        let is_placed = had_ends || attributes.has("pos") || attributes.has("quat");
        if is_placed && is_written {
            attributes.remove("fromto");
            attributes.set_numbers("pos", &pose.position);
            attributes.set_numbers("quat", &pose.quaternion);
            attributes.set_numbers("size", &size);
        } else if had_ends {
            let half = match kind {
                GeomKind::Capsule | GeomKind::Cylinder => size[1],
                _ => size[2],
            };
            let ends = [half, -half].map(|height| pose.point([0.0, 0.0, height]));
            attributes.take("pos");
            attributes.take("quat");
            attributes.set_numbers("fromto", ends.as_flattened());
            attributes.set_numbers("size", &size[..1]);
        }
        Ok(())
    }

    fn relations(&mut self, before: &ModelSpec, after: &ModelSpec) -> Result<(), NotPatched> {
        for (old, new) in changed_pairs(&before.pairs, &after.pairs)? {
            let tags = [old, new].map(|pair| relation::pair_tag(pair, old));
            self.set(new.span, between(tags))?;
        }
        for (old, new) in changed_pairs(&before.equalities, &after.equalities)? {
            let tags = [old, new].map(|equality| relation::equality_tag(equality, old));
            self.set(new.span, between(tags))?;
        }
        for (old, new) in changed_pairs(&before.tendons, &after.tendons)? {
            let kind = match new.path {
                TendonPath::Fixed(_) => "fixed",
                TendonPath::Spatial(_) => "spatial",
            };
            let tags = [old, new].map(|one| relation::tendon_tag(Tag::new(kind), one, old));
            self.set(new.span, between(tags))?;
        }
        for (old, new) in changed_pairs(&before.actuators, &after.actuators)? {
            let tags = [old, new].map(|one| actuator::actuator_tag(one, old));
            let mut attributes = between(tags);
            let tag = self.texts.element(new.span)?.tag();
            if tag != "general" && !shortcut::translate(tag, new, &mut attributes) {
                // The shortcut has no word for it, the general form has.
                let whole =
                    actuator::actuator_tag(new, &crate::model_spec::ActuatorSpec::default());
                self.texts
                    .replace_element(new.span, &tag::tag_text(&whole))?;
                continue;
            }
            self.set(new.span, attributes)?;
        }
        for (old, new) in changed_pairs(&before.sensors, &after.sensors)? {
            let noise = [old.cutoff, old.noise];
            let tags = [old, new].map(|one| sensor::sensor_tag(one, &old.history, noise));
            self.set(new.span, between(tags))?;
        }
        Ok(())
    }

    /// Laws and other custom texts; new ones get a section of their own.
    fn custom(&mut self, before: &ModelSpec, after: &ModelSpec) -> Result<(), NotPatched> {
        for (_, law) in changed_pairs(&before.contact_laws, &after.contact_laws)? {
            self.set(
                law.span,
                Attributes::text("data", &contact_law::write(law).1),
            )?;
        }
        for (_, law) in changed_pairs(&before.joint_laws, &after.joint_laws)? {
            self.set(law.span, Attributes::text("data", &joint_law::write(law).1))?;
        }
        let known = after.texts.len().min(before.texts.len());
        for (_, text) in changed_pairs(&before.texts, &after.texts[..known])? {
            self.set(text.span, Attributes::text("data", &text.data))?;
        }
        for text in &after.texts[known..] {
            let tag = Tag::new("text")
                .text("name", &text.name)
                .text("data", &text.data);
            let section = format!("<custom>{}/></custom>", tag::tag_text(&tag));
            self.texts.insert_section(&section)?;
        }
        Ok(())
    }

    /// A mesh whose vertices moved: they stand in the model file from then on.
    fn mesh(&mut self, mesh: &MeshSpec) -> Result<(), NotPatched> {
        let mut attributes = Attributes::between(
            Tag::new("mesh"),
            asset::inline_data(Tag::new("mesh").text("name", &mesh.name), mesh),
        );
        for replaced in ["file", "content_type", "builtin", "params"] {
            attributes.remove(replaced);
        }
        self.set(mesh.span, attributes)
    }

    /// The pose of the innermost frame that an element stands in, in the frame of its body: `<frame>`s, and bodies that
    /// were fused with their parents.
    fn frame_around(&self, span: Span) -> Result<Pose, NotPatched> {
        let mut pose = Pose::IDENTITY;
        let mut around = self.texts.parent(self.texts.element(span)?);
        while let Some(element) = around {
            match element.tag() {
                "frame" => pose = self.texts.pose(element).then(pose),
                "body" if !self.bodies.contains(&place(element.span())) => {
                    pose = self.texts.pose(element).then(pose);
                }
                "replicate" => return refuse("the element is replicated"),
                _ => break,
            }
            around = self.texts.parent(element);
        }
        Ok(pose)
    }
}

fn between([old, new]: [Tag; 2]) -> Attributes {
    Attributes::between(old, new)
}

/// A pose of the body in a frame of it.
fn inside(frame: Pose, pose: Pose) -> Pose {
    if frame == Pose::IDENTITY {
        return pose;
    }
    let back = conjugate(frame.quaternion);
    let offset = std::array::from_fn(|axis| pose.position[axis] - frame.position[axis]);
    Pose {
        position: rotate(back, offset),
        quaternion: multiply(back, pose.quaternion),
    }
}

/// Moves a pose of the body into a frame of it.
fn enter(frame: Pose, position: &mut [f64; 3], quaternion: &mut [f64; 4]) {
    let pose = Pose {
        position: *position,
        quaternion: *quaternion,
    };
    Pose {
        position: *position,
        quaternion: *quaternion,
    } = inside(frame, pose);
}

/// A joint in a frame, with angles as the file has them.
fn joint_of_file(joint: &JointSpec, frame: Pose, degrees: bool) -> JointSpec {
    let mut joint = joint.clone();
    if frame != Pose::IDENTITY && joint.kind != JointKind::Free {
        let anchor = Pose {
            position: joint.position,
            ..Pose::IDENTITY
        };
        joint.position = inside(frame, anchor).position;
        joint.axis = rotate(conjugate(frame.quaternion), joint.axis);
    }
    if degrees && matches!(joint.kind, JointKind::Hinge | JointKind::Ball) {
        joint.range = joint.range.map(f64::to_degrees);
        if joint.kind == JointKind::Hinge {
            joint.reference_value = joint.reference_value.to_degrees();
            joint.spring_reference = joint.spring_reference.to_degrees();
        }
    }
    joint
}

/// Whether an element stands for another file.
fn is_include(element: Element<'_>) -> bool {
    element.tag().eq_ignore_ascii_case("include")
}
