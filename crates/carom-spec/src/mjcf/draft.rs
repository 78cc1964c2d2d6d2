//! A model while it is read: bodies and frames as the file has them.
//!
//! Frames are kept until the end, because attached models are cut out along them. [`Draft::finish`]
//! then lists the bodies depth first and moves every element into the frame of its body.

use std::rc::Rc;

use super::geom::from_end_points;
use super::key::AttachedKey;
use super::merge::Authored;
use super::names::Names;
use super::orientation::{Pose, rotate};
use crate::model_spec::{
    BodySpec, CameraSpec, GeomSpec, JointKind, JointSpec, LightSpec, ModelSpec, SiteSpec,
};

/// Index of the world body.
pub(super) const WORLD: usize = 0;

/// An element with the frame it stands in.
#[derive(Clone, Debug)]
pub(super) struct Framed<T> {
    pub(super) value: T,
    pub(super) frame: Option<usize>,
}

/// A body with its elements.
#[derive(Clone, Debug, Default)]
pub(super) struct BodyDraft {
    /// The body itself; its lists are empty.
    pub(super) spec: BodySpec,
    pub(super) frame: Option<usize>,
    pub(super) children: Vec<usize>,
    pub(super) joints: Vec<Framed<JointSpec>>,
    pub(super) geoms: Vec<Framed<GeomSpec>>,
    pub(super) sites: Vec<Framed<SiteSpec>>,
    pub(super) cameras: Vec<Framed<CameraSpec>>,
    pub(super) lights: Vec<Framed<LightSpec>>,
}

impl BodyDraft {
    /// Number of elements, the body included.
    pub(super) fn size(&self) -> usize {
        1 + self.joints.len()
            + self.geoms.len()
            + self.sites.len()
            + self.cameras.len()
            + self.lights.len()
    }
}

/// A frame of a body.
#[derive(Clone, Debug)]
pub(super) struct FrameDraft {
    pub(super) name: String,
    pub(super) body: usize,
    /// Frame around this one; always an earlier one.
    pub(super) parent: Option<usize>,
    /// Pose in the frame around this one.
    pub(super) pose: Pose,
}

/// A model while it is read.
#[derive(Clone, Debug)]
pub(super) struct Draft {
    /// Everything but the bodies.
    pub(super) spec: ModelSpec,
    pub(super) bodies: Vec<BodyDraft>,
    pub(super) frames: Vec<FrameDraft>,
    /// Options that the file sets.
    pub(super) authored: Authored,
    /// Names in use.
    pub(super) names: Names,
    /// Models that can be attached, by name.
    pub(super) models: Vec<(String, Rc<Draft>)>,
    /// Keyframes of attached models.
    pub(super) attached_keys: Vec<AttachedKey>,
    /// Number of elements and frames of the tree, those that were replaced included.
    pub(super) size: usize,
    /// Effort spent on copies, in elements.
    pub(super) work: usize,
    /// Whether anything was attached or replicated.
    pub(super) is_assembled: bool,
}

impl Draft {
    pub(super) fn new() -> Self {
        let mut spec = ModelSpec::default();
        let world = spec.bodies.pop().unwrap_or_default();
        Self {
            spec,
            bodies: vec![BodyDraft {
                spec: world,
                ..BodyDraft::default()
            }],
            frames: Vec::new(),
            authored: Authored::new(),
            names: Names::default(),
            models: Vec::new(),
            attached_keys: Vec::new(),
            size: 1,
            work: 0,
            is_assembled: false,
        }
    }

    /// Adds an empty body as the last child of another one.
    pub(super) fn add_body(&mut self, parent: usize, body: BodyDraft) -> usize {
        let index = self.bodies.len();
        self.size += 1;
        self.bodies.push(body);
        self.bodies[parent].children.push(index);
        index
    }

    /// The bodies depth first, each with the place of its parent in this list.
    pub(super) fn order(&self) -> Vec<(usize, usize)> {
        let mut order = Vec::new();
        let mut open = vec![(WORLD, 0)];
        while let Some((index, parent)) = open.pop() {
            let place = order.len();
            order.push((index, parent));
            let children = self.bodies[index].children.iter().rev();
            open.extend(children.map(|child| (*child, place)));
        }
        order
    }

    /// The resolved model.
    pub(super) fn finish(mut self) -> ModelSpec {
        let frames = self.frame_poses();
        let order = self.order();
        for &(index, parent) in &order {
            let body = std::mem::take(&mut self.bodies[index]);
            self.spec.bodies.push(finish_body(body, parent, &frames));
        }
        if self.is_assembled {
            let indices: Vec<usize> = order.into_iter().map(|(index, _)| index).collect();
            super::key::finish(&mut self.spec, self.attached_keys, &indices);
        }
        // Sensors that MuJoCo lacks come last, so that all others have its ids.
        let sensors = &mut self.spec.sensors;
        sensors.sort_by_key(|sensor| sensor.kind.row().code.is_none());
        self.spec
    }

    /// The pose of every frame in its body.
    fn frame_poses(&self) -> Vec<Pose> {
        let mut poses: Vec<Pose> = Vec::with_capacity(self.frames.len());
        for frame in &self.frames {
            let around = frame.parent.map_or(Pose::IDENTITY, |parent| poses[parent]);
            poses.push(around.then(frame.pose));
        }
        poses
    }
}

fn finish_body(draft: BodyDraft, parent: usize, frames: &[Pose]) -> BodySpec {
    let mut body = draft.spec;
    body.parent = parent;
    if let Some(frame) = draft.frame {
        move_pose(&frames[frame], &mut body.position, &mut body.quaternion);
    }
    body.joints = finish_all(draft.joints, frames, move_joint);
    body.geoms = finish_all(draft.geoms, frames, move_geom);
    body.sites = finish_all(draft.sites, frames, move_site);
    body.cameras = finish_all(draft.cameras, frames, |frame, camera| {
        move_pose(frame, &mut camera.position, &mut camera.quaternion);
    });
    body.lights = finish_all(draft.lights, frames, |frame, light| {
        light.position = frame.point(light.position);
        light.direction = rotate(frame.quaternion, light.direction);
    });
    body
}

fn finish_all<T>(list: Vec<Framed<T>>, frames: &[Pose], apply: fn(&Pose, &mut T)) -> Vec<T> {
    let finish = |element: Framed<T>| {
        let mut value = element.value;
        if let Some(frame) = element.frame {
            apply(&frames[frame], &mut value);
        }
        value
    };
    list.into_iter().map(finish).collect()
}

fn move_pose(frame: &Pose, position: &mut [f64; 3], quaternion: &mut [f64; 4]) {
    let moved = frame.then(Pose {
        position: *position,
        quaternion: *quaternion,
    });
    *position = moved.position;
    *quaternion = moved.quaternion;
}

fn move_joint(frame: &Pose, joint: &mut JointSpec) {
    if joint.kind == JointKind::Free {
        return;
    }
    joint.position = frame.point(joint.position);
    if joint.kind != JointKind::Ball {
        joint.axis = rotate(frame.quaternion, joint.axis);
    }
}

fn move_geom(frame: &Pose, geom: &mut GeomSpec) {
    // End points are turned into a pose first: moving the points would lose the twist about them.
    let ends = geom.fromto.filter(|_| geom.mesh.is_none());
    if let Some(shape) =
        ends.and_then(|ends| from_end_points(geom.kind, geom.position, geom.size, ends))
    {
        (geom.position, geom.quaternion, geom.size) = shape;
        geom.fromto = None;
    }
    move_pose(frame, &mut geom.position, &mut geom.quaternion);
}

fn move_site(frame: &Pose, site: &mut SiteSpec) {
    let ends = site.fromto;
    if let Some(shape) =
        ends.and_then(|ends| from_end_points(site.kind, site.position, site.size, ends))
    {
        (site.position, site.quaternion, site.size) = shape;
        site.fromto = None;
    }
    move_pose(frame, &mut site.position, &mut site.quaternion);
}
