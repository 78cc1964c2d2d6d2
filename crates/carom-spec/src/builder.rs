//! Models made in Rust code.
//!
//! Every field of the specs can be set directly; the constructors here only shorten what is common. The
//! result is a [`ModelSpec`] like any that was read from a file: it can be compiled, or written as MJCF.
//!
//! ```
//! use carom_spec::builder::{ModelBuilder, WORLD};
//! use carom_spec::model_spec::{ActuatorSpec, BodySpec, GeomSpec, JointSpec};
//!
//! let mut model = ModelBuilder::new("double pendulum");
//! let upper = model.body(
//!     WORLD,
//!     BodySpec::new("upper")
//!         .at([0.0, 0.0, 2.0])
//!         .joint(JointSpec::hinge("shoulder", [0.0, 1.0, 0.0]))
//!         .geom(GeomSpec::capsule([0.0; 3], [0.0, 0.0, -0.5], 0.03)),
//! );
//! model.body(
//!     upper,
//!     BodySpec::new("lower")
//!         .at([0.0, 0.0, -0.5])
//!         .joint(JointSpec { damping: [0.1, 0.0, 0.0], ..JointSpec::hinge("elbow", [0.0, 1.0, 0.0]) })
//!         .geom(GeomSpec::capsule([0.0; 3], [0.0, 0.0, -0.5], 0.02)),
//! );
//! model.actuator(ActuatorSpec::motor("elbow_motor", "elbow").gear(20.0));
//! let spec = model.build();
//!
//! assert_eq!(spec.bodies.len(), 3);
//! assert_eq!(spec.bodies[2].parent, 1);
//! ```

use crate::model_spec::with_parents;
use crate::model_spec::{
    ActuatorElement, ActuatorSpec, BiasKind, BodySpec, GeomKind, GeomSpec, InertiaSpec,
    InertialSpec, JointKind, JointSpec, ModelSpec, Reference, SiteSpec, Transmission,
};

/// A body of a [`ModelBuilder`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct BodyHandle(usize);

/// The body at the root of every model.
pub const WORLD: BodyHandle = BodyHandle(0);

/// Collects bodies in any order and puts them into the order of a [`ModelSpec`].
#[derive(Clone, Debug)]
pub struct ModelBuilder {
    /// Everything that is not a body can be set here directly.
    pub spec: ModelSpec,
}

impl ModelBuilder {
    /// A model with nothing but the world.
    pub fn new(name: impl Into<String>) -> Self {
        Self {
            spec: ModelSpec {
                name: name.into(),
                ..ModelSpec::default()
            },
        }
    }

    /// Adds a body to `parent`.
    pub fn body(&mut self, parent: BodyHandle, body: BodySpec) -> BodyHandle {
        self.spec.bodies.push(BodySpec {
            parent: parent.0,
            ..body
        });
        BodyHandle(self.spec.bodies.len() - 1)
    }

    /// A body that was added before, or the world.
    pub fn body_mut(&mut self, body: BodyHandle) -> &mut BodySpec {
        // Handles come from this builder; one of another builder falls back to the world.
        let index = if body.0 < self.spec.bodies.len() {
            body.0
        } else {
            0
        };
        &mut self.spec.bodies[index]
    }

    /// Adds an actuator.
    pub fn actuator(&mut self, actuator: ActuatorSpec) -> &mut Self {
        self.spec.actuators.push(actuator);
        self
    }

    /// The model, with bodies in depth-first order; children keep the order in which they were added.
    pub fn build(self) -> ModelSpec {
        let mut spec = self.spec;
        let bodies = std::mem::take(&mut spec.bodies);
        let mut children = vec![Vec::new(); bodies.len()];
        for (index, body) in with_parents(&bodies) {
            children[body.parent.min(index - 1)].push(index);
        }
        let mut bodies: Vec<Option<BodySpec>> = bodies.into_iter().map(Some).collect();
        // Index of a body and of its parent in the new order.
        let mut pending = vec![(0, 0)];
        while let Some((index, parent)) = pending.pop() {
            let Some(body) = bodies[index].take() else {
                continue;
            };
            let place = spec.bodies.len();
            spec.bodies.push(BodySpec { parent, ..body });
            pending.extend(children[index].iter().rev().map(|&child| (child, place)));
        }
        spec
    }
}

impl Reference {
    /// A reference to the element of that name.
    pub fn to(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            ..Self::default()
        }
    }
}

impl BodySpec {
    /// A body without joints, geoms or inertia.
    pub fn new(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            ..Self::default()
        }
    }

    /// Sets the position in the parent frame (m).
    #[must_use]
    pub fn at(mut self, position: [f64; 3]) -> Self {
        self.position = position;
        self
    }

    /// Sets the orientation in the parent frame, unit quaternion (w, x, y, z).
    #[must_use]
    pub fn rotated(mut self, quaternion: [f64; 4]) -> Self {
        self.quaternion = quaternion;
        self
    }

    /// Sets mass (kg), centre of mass (m) and diagonal inertia (kg·m²) explicitly.
    #[must_use]
    pub fn inertia(mut self, mass: f64, position: [f64; 3], diagonal: [f64; 3]) -> Self {
        let inertia = InertiaSpec::Diagonal {
            quaternion: [1.0, 0.0, 0.0, 0.0],
            diagonal,
        };
        self.inertial = Some(InertialSpec {
            position,
            mass,
            inertia,
            ..InertialSpec::default()
        });
        self
    }

    /// Adds a joint.
    #[must_use]
    pub fn joint(mut self, joint: JointSpec) -> Self {
        self.joints.push(joint);
        self
    }

    /// Adds a geom.
    #[must_use]
    pub fn geom(mut self, geom: GeomSpec) -> Self {
        self.geoms.push(geom);
        self
    }

    /// Adds a site.
    #[must_use]
    pub fn site(mut self, name: impl Into<String>, position: [f64; 3]) -> Self {
        self.sites.push(SiteSpec {
            name: name.into(),
            position,
            ..SiteSpec::default()
        });
        self
    }
}

impl JointSpec {
    /// A rotation about an axis.
    pub fn hinge(name: impl Into<String>, axis: [f64; 3]) -> Self {
        Self {
            name: name.into(),
            axis,
            ..Self::default()
        }
    }

    /// A translation along an axis.
    pub fn slide(name: impl Into<String>, axis: [f64; 3]) -> Self {
        Self {
            name: name.into(),
            axis,
            kind: JointKind::Slide,
            ..Self::default()
        }
    }

    /// Three rotations.
    pub fn ball(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            kind: JointKind::Ball,
            ..Self::default()
        }
    }

    /// All six degrees of freedom.
    pub fn free(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            kind: JointKind::Free,
            ..Self::default()
        }
    }

    /// Sets limits (rad or m).
    #[must_use]
    pub fn limits(mut self, low: f64, high: f64) -> Self {
        self.range = [low, high];
        self.limited = Some(true);
        self
    }
}

impl GeomSpec {
    fn of(kind: GeomKind, size: [f64; 3]) -> Self {
        Self {
            kind,
            size,
            ..Self::default()
        }
    }

    /// An infinite plane with normal z.
    pub fn plane() -> Self {
        Self::of(GeomKind::Plane, [0.0, 0.0, 1.0])
    }

    /// A sphere.
    pub fn sphere(radius: f64) -> Self {
        Self::of(GeomKind::Sphere, [radius, 0.0, 0.0])
    }

    /// A capsule between two points (m).
    pub fn capsule(from: [f64; 3], to: [f64; 3], radius: f64) -> Self {
        let [a, b, c] = from;
        let [d, e, f] = to;
        let fromto = Some([a, b, c, d, e, f]);
        Self {
            fromto,
            ..Self::of(GeomKind::Capsule, [radius, 0.0, 0.0])
        }
    }

    /// A box with half extents (m).
    pub fn cuboid(half_extents: [f64; 3]) -> Self {
        Self::of(GeomKind::Box, half_extents)
    }

    /// A cylinder along z.
    pub fn cylinder(radius: f64, half_length: f64) -> Self {
        Self::of(GeomKind::Cylinder, [radius, half_length, 0.0])
    }

    /// An ellipsoid with semi-axes (m).
    pub fn ellipsoid(semi_axes: [f64; 3]) -> Self {
        Self::of(GeomKind::Ellipsoid, semi_axes)
    }

    /// Sets the name.
    #[must_use]
    pub fn named(mut self, name: impl Into<String>) -> Self {
        self.name = name.into();
        self
    }

    /// Sets the position in the body frame (m).
    #[must_use]
    pub fn at(mut self, position: [f64; 3]) -> Self {
        self.position = position;
        self
    }

    /// Sets the mass (kg).
    #[must_use]
    pub fn mass(mut self, mass: f64) -> Self {
        self.mass = Some(mass);
        self
    }
}

impl ActuatorSpec {
    /// A direct force on a joint.
    pub fn motor(name: impl Into<String>, joint: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            element: ActuatorElement::Motor,
            transmission: Some(Transmission::Joint(Reference::to(joint))),
            ..Self::default()
        }
    }

    /// A position servo on a joint: force = stiffness·(control − position) − damping·velocity.
    pub fn position(
        name: impl Into<String>,
        joint: impl Into<String>,
        stiffness: f64,
        damping: f64,
    ) -> Self {
        let mut servo = Self {
            element: ActuatorElement::Position,
            ..Self::motor(name, joint)
        };
        servo.gain_parameters[0] = stiffness;
        servo.bias = BiasKind::Affine;
        servo.bias_parameters[1] = -stiffness;
        servo.bias_parameters[2] = -damping;
        servo
    }

    /// Sets the gear ratio.
    #[must_use]
    pub fn gear(mut self, ratio: f64) -> Self {
        self.gear[0] = ratio;
        self
    }

    /// Clamps the control.
    #[must_use]
    pub fn control_limits(mut self, low: f64, high: f64) -> Self {
        self.control_range = [low, high];
        self.control_limited = Some(true);
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bodies_are_put_into_depth_first_order() {
        let mut model = ModelBuilder::new("tree");
        let a = model.body(WORLD, BodySpec::new("a"));
        let b = model.body(WORLD, BodySpec::new("b"));
        let a1 = model.body(a, BodySpec::new("a1"));
        model.body(b, BodySpec::new("b1"));
        model.body(a1, BodySpec::new("a11"));
        model.body(a, BodySpec::new("a2"));
        model.body_mut(WORLD).geoms.push(GeomSpec::plane());
        let spec = model.build();
        let tree: Vec<(&str, usize)> = spec
            .bodies
            .iter()
            .map(|body| (body.name.as_str(), body.parent))
            .collect();
        let expected = [
            ("world", 0),
            ("a", 0),
            ("a1", 1),
            ("a11", 2),
            ("a2", 1),
            ("b", 0),
            ("b1", 5),
        ];
        assert_eq!(tree, expected);
        assert_eq!(spec.bodies[0].geoms.len(), 1);
    }
}
