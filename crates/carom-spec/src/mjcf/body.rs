//! The tree of bodies.

use std::vec::IntoIter;

use super::Reader;
use super::attach::Replicate;
use super::codes;
use super::defaults::MAIN_CLASS;
use super::draft::{BodyDraft, Draft, FrameDraft, Framed, WORLD};
use super::keywords::Permission;
use super::names::Names;
use super::orientation::Pose;
use super::references::Named;
use super::{geom, joint, viewer};
use crate::model_spec::{BodySpec, InertiaSpec, InertialSpec, SleepPolicy};
use crate::xml::Element;

/// Where the content of an element goes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Container {
    pub(super) body: usize,
    pub(super) frame: Option<usize>,
    /// Class of elements that name none.
    pub(super) class: usize,
}

/// Elements that still have to be read, and what happens after them.
pub(super) struct Level<'t> {
    pub(super) elements: IntoIter<Element<'t>>,
    pub(super) container: Container,
    /// The replicas to make of the elements.
    pub(super) replicate: Option<Replicate>,
}

/// Adds an element to a list of a body.
fn add<T: Named>(value: T, frame: Option<usize>, list: &mut Vec<Framed<T>>, names: &mut Names) {
    names.add(T::KIND, value.name());
    list.push(Framed { value, frame });
}

impl<'r> Reader<'r> {
    /// Reads all world bodies. The depth of the tree is only limited by memory.
    pub(super) fn read_worlds(&self, draft: &mut Draft) {
        draft.add_global_names();
        for section in self.tree.sections("worldbody") {
            let container = Container {
                body: WORLD,
                frame: None,
                class: MAIN_CLASS,
            };
            let mut levels = vec![self.level(section, container)];
            while let Some(level) = levels.last_mut() {
                let container = level.container;
                match level.elements.next() {
                    Some(element) => levels.extend(self.read_content(element, container, draft)),
                    None => {
                        if let Some(replicate) = levels.pop().and_then(|level| level.replicate) {
                            self.make_replicas(&replicate, draft);
                        }
                    }
                }
            }
        }
    }

    pub(super) fn level(&self, element: Element<'r>, container: Container) -> Level<'r> {
        let elements = self.tree.children(element).into_iter();
        Level {
            elements,
            container,
            replicate: None,
        }
    }

    /// Reads one element of a body; containers return their content as a new level.
    fn read_content(
        &self,
        element: Element<'r>,
        container: Container,
        draft: &mut Draft,
    ) -> Option<Level<'r>> {
        let a = self.attributes(element);
        draft.size += 1;
        let frame = container.frame;
        let class = self
            .named_class(element, "class")
            .unwrap_or(container.class);
        let class = &self.classes[class];
        let span = element.span();
        let body = &mut draft.bodies[container.body];
        match element.tag() {
            "inertial" if self.outside_world(element, container) => {
                let inertial = self.read_inertial(element);
                body.spec.inertial = Some(inertial);
            }
            "joint" if self.outside_world(element, container) => {
                let mut value = class.joint.clone();
                value.span = span;
                joint::read(&a, &mut value);
                self.finish_joint(&mut value);
                add(value, frame, &mut body.joints, &mut draft.names);
            }
            "freejoint" if self.outside_world(element, container) => {
                let value = joint::read_free(&a);
                add(value, frame, &mut body.joints, &mut draft.names);
            }
            "geom" => {
                let mut value = class.geom.clone();
                value.span = span;
                geom::read(&a, self.notation, &mut value);
                add(value, frame, &mut body.geoms, &mut draft.names);
            }
            "site" => {
                let mut value = class.site.clone();
                value.span = span;
                geom::read_site(&a, self.notation, &mut value);
                add(value, frame, &mut body.sites, &mut draft.names);
            }
            "camera" => {
                let mut value = class.camera.clone();
                value.span = span;
                viewer::read_camera(&a, self.notation, &mut value);
                add(value, frame, &mut body.cameras, &mut draft.names);
            }
            "light" => {
                let mut value = class.light.clone();
                value.span = span;
                viewer::read_light(&a, &mut value);
                add(value, frame, &mut body.lights, &mut draft.names);
            }
            "body" => return Some(self.open_body(element, container, draft)),
            "frame" => return Some(self.open_frame(element, container, draft)),
            "replicate" => return self.open_replicate(element, container, draft),
            "attach" => self.attach(element, container, draft),
            _ => {}
        }
        None
    }

    /// True unless the element would stand in the world, which is reported.
    fn outside_world(&self, element: Element<'_>, container: Container) -> bool {
        if container.body == WORLD {
            let message = format!("the world body cannot have <{}>", element.tag());
            self.problems.error(codes::WORLD, element.span(), message);
        }
        container.body != WORLD
    }

    pub(super) fn child_class(&self, element: Element<'_>, container: Container) -> usize {
        self.named_class(element, "childclass")
            .unwrap_or(container.class)
    }

    fn open_body(
        &self,
        element: Element<'r>,
        container: Container,
        draft: &mut Draft,
    ) -> Level<'r> {
        let spec = self.read_body(element);
        let body = BodyDraft {
            spec,
            frame: container.frame,
            ..BodyDraft::default()
        };
        draft.names.add(BodySpec::KIND, &body.spec.name);
        let index = draft.add_body(container.body, body);
        let class = self.child_class(element, container);
        self.level(
            element,
            Container {
                body: index,
                frame: None,
                class,
            },
        )
    }

    fn read_body(&self, element: Element<'_>) -> BodySpec {
        let a = self.attributes(element);
        let mut body = BodySpec {
            span: element.span(),
            ..BodySpec::default()
        };
        a.set("name", &mut body.name);
        a.set("pos", &mut body.position);
        a.set_orientation(self.notation, &mut body.quaternion);
        a.set("mocap", &mut body.mocap);
        a.set("gravcomp", &mut body.gravity_compensation);
        a.set("sleep", &mut body.sleep);
        if body.sleep == SleepPolicy::Init {
            let message = "bodies that start asleep are not supported";
            self.problems
                .unsupported(codes::SLEEP, a.place("sleep"), message);
            body.sleep = SleepPolicy::Auto;
        }
        if let Some(Permission(allowed)) = a.get("simple") {
            body.allow_simple = allowed;
        }
        if let Some(Permission(allowed)) = a.get("fuse") {
            body.allow_fuse = allowed;
        }
        a.set("user", &mut body.user);
        body
    }

    fn open_frame(
        &self,
        element: Element<'r>,
        container: Container,
        draft: &mut Draft,
    ) -> Level<'r> {
        let a = self.attributes(element);
        let mut frame = FrameDraft {
            name: String::new(),
            body: container.body,
            parent: container.frame,
            pose: Pose::IDENTITY,
        };
        a.set("name", &mut frame.name);
        a.set("pos", &mut frame.pose.position);
        a.set_orientation(self.notation, &mut frame.pose.quaternion);
        let scaled = a
            .get::<[f64; 3]>("scale")
            .is_some_and(|scale| scale != [1.0; 3]);
        if scaled || a.get::<f64>("massscale").is_some_and(|scale| scale != 0.0) {
            let message = "scaled frames are not supported";
            self.problems
                .unsupported(codes::FRAME_SCALE, element.span(), message);
        }
        let index = draft.frames.len();
        draft.frames.push(frame);
        let class = self.child_class(element, container);
        self.level(
            element,
            Container {
                body: container.body,
                frame: Some(index),
                class,
            },
        )
    }

    fn read_inertial(&self, element: Element<'_>) -> InertialSpec {
        let a = self.attributes(element);
        let mut inertial = InertialSpec {
            span: element.span(),
            ..InertialSpec::default()
        };
        inertial.position = a.require("pos").unwrap_or_default();
        inertial.mass = a.require("mass").unwrap_or_default();
        let diagonal = a.get::<[f64; 3]>("diaginertia").unwrap_or_default();
        let mut quaternion = super::orientation::IDENTITY;
        a.set_orientation(self.notation, &mut quaternion);
        for other in [
            "quat",
            "axisangle",
            "xyaxes",
            "zaxis",
            "euler",
            "diaginertia",
        ] {
            a.exclusive(&["fullinertia", other]);
        }
        inertial.inertia = match a.get::<[f64; 6]>("fullinertia") {
            Some(full) => InertiaSpec::Full(full),
            None => InertiaSpec::Diagonal {
                quaternion,
                diagonal,
            },
        };
        inertial
    }
}
