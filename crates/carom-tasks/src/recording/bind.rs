//! From names in a mapping to places in a model.

use crate::error;
use carom::Model;
use carom::model::JointKind;
use carom::{Error, Place};

use super::Frame;
use super::mapping::Mapping;

/// Finds elements of a model by name, with kind words where there is none.
pub(super) struct Binder<'a> {
    pub(super) model: &'a Model,
    pub(super) mapping: &'a Mapping,
}

/// What poses of a recording are those of.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tracked {
    pub(super) position: Frame,
    pub(super) rotation: Frame,
    /// The first dof, of a body on a free joint.
    pub(super) dof: Option<usize>,
    /// How large a body is (m).
    pub(super) radius: f64,
}

impl Tracked {
    /// A frame that no dof moves directly, of no extent.
    pub(super) fn by(frame: Frame) -> Self {
        Self {
            position: frame,
            rotation: frame,
            dof: None,
            radius: 0.0,
        }
    }
}

impl Binder<'_> {
    pub(super) fn error(&self, message: &str) -> Error {
        let file = &self.mapping.file;
        error::recording(format!("mapping '{file}': {message}")).at(Place::File(file.into()))
    }

    fn find(&self, kind: &str, names: &[String], wanted: &str) -> Result<usize, Error> {
        if let Some(index) = names.iter().position(|name| name == wanted) {
            return Ok(index);
        }
        // Elements without a name go by their number.
        let number = wanted.strip_prefix('#').map(str::parse::<usize>);
        if let Some(Ok(index)) = number
            && index < names.len()
        {
            return Ok(index);
        }
        let named: Vec<&str> = names
            .iter()
            .map(String::as_str)
            .filter(|name| !name.is_empty())
            .collect();
        let help = if named.is_empty() {
            format!("no {kind} of the model has a name; give it one in the model file")
        } else {
            format!("the model has {}", named.join(", "))
        };
        Err(self.error(&format!(
            "[[{kind}]] name = \"{wanted}\": there is no such {kind}; {help}"
        )))
    }

    /// A hinge or slide: its places in qpos and qvel, and whether it turns.
    pub(super) fn joint(&self, name: &str) -> Result<(usize, usize, bool), Error> {
        let structure = &self.model.structure;
        let joint = self.find("joint", &structure.names.joints, name)?;
        let joints = &structure.joints;
        let is_hinge = match joints.kind[joint] {
            JointKind::Hinge => true,
            JointKind::Slide => false,
            JointKind::Ball | JointKind::Free => {
                return Err(self.error(&format!(
                    "[[joint]] name = \"{name}\": a free or ball joint has no single coordinate; map the pose of its body by [[body]]"
                )));
            }
        };
        Ok((joints.qpos[joint], joints.dof[joint], is_hinge))
    }

    /// A body: its frame for positions, and for rotations.
    pub(super) fn body(&self, name: &str) -> Result<Tracked, Error> {
        let structure = &self.model.structure;
        let body = self.find("body", &structure.names.bodies, name)?;
        let joints = &structure.joints;
        let own = structure.bodies.joints[body].clone();
        let at = |joint: usize, shift: usize| Frame::State {
            qpos: joints.qpos[joint] + shift,
            dof: joints.dof[joint] + shift,
        };
        let mut tracked = Tracked {
            radius: self.radius(body),
            ..Tracked::by(Frame::Body(body))
        };
        if own.clone().next().map(|joint| joints.kind[joint]) == Some(JointKind::Free) {
            tracked.position = at(own.start, 0);
            tracked.rotation = at(own.start, 3);
            tracked.dof = Some(joints.dof[own.start]);
        }
        Ok(tracked)
    }

    /// A site.
    pub(super) fn site(&self, name: &str) -> Result<usize, Error> {
        self.find("site", &self.model.structure.names.sites, name)
    }

    /// A sensor: its first value and how many it has.
    pub(super) fn sensor(&self, name: &str) -> Result<(usize, usize), Error> {
        let structure = &self.model.structure;
        let sensor = self.find("sensor", &structure.names.sensors, name)?;
        Ok((
            structure.sensors.address[sensor],
            structure.sensors.dimension[sensor],
        ))
    }

    /// The control of an actuator, or one of several by its word.
    pub(super) fn actuator(&self, name: &str) -> Result<usize, Error> {
        self.find("actuator", &self.model.structure.control_names(), name)
    }

    /// How large a body is (m): the radius of its largest geom, 0 if it has none.
    fn radius(&self, body: usize) -> f64 {
        let geoms = self.model.structure.bodies.geoms[body].clone();
        geoms
            .map(|geom| self.model.geoms.bounding_radius[geom])
            .fold(0.0, f64::max)
    }
}
