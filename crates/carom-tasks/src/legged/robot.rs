//! Which parts of a model are trunk, legs and feet, and how they move.

use carom::math::{Mat3, Vec3};
use carom::stages::kinematics::Kinematics;
use carom::{
    Data, Error, ErrorKind, Input, Model, Scalar, State, forward, forward_frames, jacobian,
};
use carom_spec::ModelSpec;
use carom_spec::model_spec::{GeomKind, GeomSpec, JointKind, JointSpec};

use super::LEGS;
use super::single_body::SingleBody;

/// Names of the parts of a quadruped. The trunk has x ahead and z up, and moves freely.
#[derive(Clone, Debug, PartialEq)]
pub struct Description {
    /// Body of the trunk.
    pub trunk: String,
    /// Of each leg (front right, front left, rear right, rear left): the foot, which is a site, a geom or a body, and the joints from
    /// trunk to foot.
    pub legs: [(String, [String; 3]); LEGS],
    /// Angles of all joints at which the robot stands, leg after leg (rad).
    pub stand: Vec<f64>,
}

/// The same model without actuators, which a controller of torques replaces, and with what a robot needs to walk if the file lacks it: a
/// trunk that moves freely and a floor. URDF files have neither.
#[must_use]
pub fn torque_driven(mut spec: ModelSpec, description: &Description) -> ModelSpec {
    spec.actuators.clear();
    spec.sensors.clear();
    spec.keyframes.clear();
    // The trunk of a URDF would be welded to the world, and its feet to the shanks: their names are needed.
    spec.compiler.fuse_static = false;
    let trunk = spec
        .bodies
        .iter()
        .position(|body| body.name == description.trunk);
    if let Some(trunk) = trunk.filter(|&trunk| trunk > 0)
        && spec.bodies[trunk].joints.is_empty()
    {
        spec.bodies[trunk].joints.push(JointSpec::free("base"));
    }
    let is_floor = |geom: &GeomSpec| matches!(geom.kind, GeomKind::Plane | GeomKind::HeightField);
    if let Some(world) = spec.bodies.first_mut()
        && world.geoms.is_empty()
        && !world.geoms.iter().any(is_floor)
    {
        world.geoms.push(GeomSpec::plane().named("floor"));
    }
    spec
}

/// Where a foot touches the ground: a point fixed to a body, lowered by the radius of its sphere.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Foot {
    Site(usize),
    Geom(usize),
    Body(usize),
}

/// A leg.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Leg {
    foot: Foot,
    body: usize,
    radius: f64,
    pub(super) dofs: [usize; 3],
    coordinates: [usize; 3],
    /// Where the foot stands, relative to the centre of mass, trunk axes.
    pub(super) neutral: Vec3,
    /// Joint-space inertia of the leg as it stands.
    pub(super) inertia: Mat3,
}

/// A quadruped: parts of a model, and the rigid body that it is about.
#[derive(Clone, Debug, PartialEq)]
pub struct Robot {
    /// The rigid body.
    pub body: SingleBody,
    /// Height of the centre of mass over the ground as it stands (m).
    pub height: f64,
    trunk: usize,
    coordinate: usize,
    dof: usize,
    /// Centre of mass as it stands, in the trunk's frame.
    center: Vec3,
    pub(super) legs: [Leg; LEGS],
    stand: Vec<f64>,
}

/// How a robot moves, in a frame with its heading at its centre of mass.
#[derive(Clone, Copy, Debug)]
pub struct Motion<T: Scalar = f64> {
    /// From trunk axes to those of the heading.
    pub rotation: Mat3<T>,
    /// Roll and pitch (rad).
    pub tilt: [T; 2],
    /// Velocity of the centre of mass (m/s).
    pub linear: Vec3<T>,
    /// Angular velocity (rad/s).
    pub angular: Vec3<T>,
    /// Places of the feet.
    pub feet: [Vec3<T>; LEGS],
    /// Velocities of the feet over the ground.
    pub foot_speeds: [Vec3<T>; LEGS],
    /// Motion of each foot by the joints of its leg: a column a joint.
    pub jacobians: [Mat3<T>; LEGS],
}

fn missing(kind: &str, name: &str) -> Error {
    Error::new(
        ErrorKind::Value,
        format!("the model has no {kind} `{name}`"),
    )
    .remedy("give the names that the model file uses; `carom check MODEL` lists what it has")
}

fn find(names: &[String], name: &str) -> Option<usize> {
    names.iter().position(|other| other == name)
}

impl Robot {
    /// The robot of a description in a model.
    ///
    /// # Errors
    /// When a part is not there, is not of the kind that it must be, or the angles are not twelve.
    pub fn new(model: &Model, description: &Description) -> Result<Self, Error> {
        let structure = &model.structure;
        let name = &*description.trunk;
        let trunk = find(&structure.names.bodies, name).ok_or_else(|| missing("body", name))?;
        let joints = structure.bodies.joints[trunk].clone();
        let base = joints
            .clone()
            .next()
            .filter(|&joint| structure.joints.kind[joint] == JointKind::Free);
        let base = base.ok_or_else(|| {
            Error::new(
                ErrorKind::Unsupported,
                format!("the trunk `{name}` does not move freely"),
            )
            .remedy("give it a free joint, or prepare the model by `torque_driven`")
        })?;
        let finite = description.stand.iter().all(|angle| angle.is_finite());
        if description.stand.len() != 3 * LEGS || !finite {
            let found = description.stand.len();
            return Err(Error::new(
                ErrorKind::Value,
                format!(
                    "the stand of a quadruped has {} finite angles, not {found}",
                    3 * LEGS
                ),
            )
            .remedy("give three angles a leg: front right, front left, rear right, rear left"));
        }
        let legs = description
            .legs
            .iter()
            .map(|(foot, joints)| leg(model, foot, joints));
        let legs: Vec<Leg> = legs.collect::<Result<_, _>>()?;
        let legs: [Leg; LEGS] = legs.try_into().map_err(|_| missing("leg", ""))?;
        let mut robot = Self {
            body: SingleBody {
                mass: 0.0,
                inertia: Mat3::identity(),
                gravity: model.option.gravity[0],
            },
            height: 0.0,
            trunk,
            coordinate: structure.joints.qpos[base],
            dof: structure.joints.dof[base],
            center: Vec3::ZERO,
            legs,
            stand: description.stand.clone(),
        };
        robot.measure(model);
        Ok(robot)
    }

    /// Mass, inertia, centre and feet of the robot as it stands.
    fn measure(&mut self, model: &Model) {
        let (state, mut data) = (self.upright(model), Data::new(model));
        forward(model, &state, &Input::zeros(model), &mut data);
        let kinematics = &data.kinematics;
        let subtree = self.trunk..model.structure.bodies.subtree_end[self.trunk];
        let center = kinematics.subtree_com[self.trunk];
        self.body.mass = subtree.clone().map(|body| model.bodies.mass[body]).sum();
        let mut inertia: Mat3 = Mat3::from_diagonal(Vec3::ZERO);
        for body in subtree {
            let axes = kinematics.inertial_rotation[body];
            let own = Mat3::from_diagonal(model.bodies.inertia[body]);
            let turned = axes.mul(&own).mul(&axes.transpose());
            let arm = kinematics.inertial_position[body] - center;
            for row in 0..3 {
                for column in 0..3 {
                    let round = if row == column {
                        arm.norm_squared()
                    } else {
                        0.0
                    };
                    let steiner = model.bodies.mass[body] * (round - arm[row] * arm[column]);
                    inertia[3 * row + column] += turned[3 * row + column] + steiner;
                }
            }
        }
        self.body.inertia = inertia;
        // It stands upright: trunk axes are those of the world.
        self.center = center - kinematics.body_position[self.trunk];
        let matrix = data.mass_matrix(model);
        let nv = model.counts().nv;
        for leg in &mut self.legs {
            leg.neutral = leg.contact(kinematics) - center;
            for row in 0..3 {
                for column in 0..3 {
                    leg.inertia[3 * row + column] = matrix[leg.dofs[row] * nv + leg.dofs[column]];
                }
            }
        }
        let below = self.legs.iter().map(|leg| -leg.neutral[2]);
        self.height = below.sum::<f64>() / LEGS as f64;
    }

    /// Upright at the reference's place, with the angles of the stand.
    fn upright(&self, model: &Model) -> State {
        let mut state = State::reference(model);
        state.qpos[self.coordinate + 3..self.coordinate + 7].copy_from_slice(&[1.0, 0.0, 0.0, 0.0]);
        for (leg, angles) in self.legs.iter().zip(self.stand.chunks_exact(3)) {
            for (&coordinate, &angle) in leg.coordinates.iter().zip(angles) {
                state.qpos[coordinate] = angle;
            }
        }
        state
    }

    /// The robot on its feet on a ground of height zero.
    pub fn standing(&self, model: &Model) -> State {
        let mut state = self.upright(model);
        let mut data = Data::new(model);
        forward_frames(model, &state, &mut data);
        let feet = self.legs.iter().map(|leg| leg.contact(&data.kinematics)[2]);
        let lowest = feet.fold(f64::INFINITY, f64::min);
        state.qpos[self.coordinate + 2] -= lowest;
        state
    }

    /// Degrees of freedom of the joints of all legs, in the order of torques.
    pub fn joint_dofs(&self) -> impl Iterator<Item = usize> + '_ {
        self.legs.iter().flat_map(|leg| leg.dofs)
    }

    /// The first degree of freedom of the trunk: three translations, world axes, then three rotations, its own axes.
    pub fn base_dof(&self) -> usize {
        self.dof
    }

    /// Place of the trunk in the world, and its heading (rad).
    pub fn pose(&self, state: &State) -> ([f64; 3], f64) {
        let q = &state.qpos[self.coordinate..self.coordinate + 7];
        let (w, x, y, z) = (q[3], q[4], q[5], q[6]);
        let heading = (2.0 * (w * z + x * y)).atan2(w * w + x * x - y * y - z * z);
        ([q[0], q[1], q[2]], heading)
    }

    /// How it moves, from the frames of a state.
    pub fn motion<T: Scalar>(
        &self,
        model: &Model<T>,
        state: &State<T>,
        kinematics: &Kinematics<T>,
    ) -> Motion<T> {
        let turn = kinematics.body_rotation[self.trunk];
        let (ahead, aside) = (turn[0], turn[3]);
        let length = (ahead * ahead + aside * aside).sqrt();
        let (cos, sin) = (ahead / length, aside / length);
        let to_heading = Mat3::from_rows(
            Vec3([cos, sin, T::ZERO]),
            Vec3([-sin, cos, T::ZERO]),
            Vec3([T::ZERO, T::ZERO, T::ONE]),
        );
        let rotation = to_heading.mul(&turn);
        let speeds = &state.qvel[self.dof..self.dof + 6];
        let spin = Vec3([speeds[3], speeds[4], speeds[5]]);
        let center = self.center.map(T::from);
        let linear = Vec3([speeds[0], speeds[1], speeds[2]]) + turn.mul_vec(spin.cross(center));
        let origin = kinematics.body_position[self.trunk] + turn.mul_vec(center);
        let mut motion = Motion {
            rotation,
            tilt: [rotation[7].atan2(rotation[8]), (-rotation[6]).asin()],
            linear: to_heading.mul_vec(linear),
            angular: rotation.mul_vec(spin),
            feet: [Vec3::ZERO; LEGS],
            foot_speeds: [Vec3::ZERO; LEGS],
            jacobians: [Mat3::identity(); LEGS],
        };
        for (index, leg) in self.legs.iter().enumerate() {
            let point = leg.contact(kinematics);
            let mut speed = Vec3::ZERO;
            let mut columns = [Vec3::ZERO; 3];
            for (dof, _, moved) in jacobian::columns(model, kinematics, leg.body, point) {
                speed = speed.scale_add(moved, state.qvel[dof]);
                if let Some(column) = leg.dofs.iter().position(|&other| other == dof) {
                    columns[column] = to_heading.mul_vec(moved);
                }
            }
            let [x, y, z] = columns;
            motion.jacobians[index] = Mat3::from_columns(x, y, z);
            motion.foot_speeds[index] = to_heading.mul_vec(speed);
            motion.feet[index] = to_heading.mul_vec(point - origin);
        }
        motion
    }
}

impl Leg {
    /// The lowest point of the foot.
    fn contact<T: Scalar>(&self, kinematics: &Kinematics<T>) -> Vec3<T> {
        let mut point = match self.foot {
            Foot::Site(site) => kinematics.site_position[site],
            Foot::Geom(geom) => kinematics.geom_position[geom],
            Foot::Body(body) => kinematics.body_position[body],
        };
        point[2] = point[2] - self.radius;
        point
    }
}

/// A leg by its names.
fn leg(model: &Model, foot: &str, joints: &[String; 3]) -> Result<Leg, Error> {
    let structure = &model.structure;
    let names = &structure.names;
    let (place, body) = if let Some(site) = find(&names.sites, foot) {
        (Foot::Site(site), structure.sites.body[site])
    } else if let Some(geom) = find(&names.geoms, foot) {
        (Foot::Geom(geom), structure.geoms.body[geom])
    } else {
        let body = find(&names.bodies, foot);
        let body = body.ok_or_else(|| missing("site, geom or body", foot))?;
        (Foot::Body(body), body)
    };
    let (mut dofs, mut coordinates) = ([0; 3], [0; 3]);
    for (index, name) in joints.iter().enumerate() {
        let joint = find(&names.joints, name).ok_or_else(|| missing("joint", name))?;
        dofs[index] = structure.joints.dof[joint];
        coordinates[index] = structure.joints.qpos[joint];
        let moves = jacobian::moving_dofs(model, body).contains(&dofs[index]);
        if structure.joints.kind[joint] != JointKind::Hinge || !moves {
            let sentence = format!("joint `{name}` is not a hinge that moves the foot `{foot}`");
            return Err(Error::new(ErrorKind::Unsupported, sentence)
                .remedy("name the three hinges between the trunk and that foot"));
        }
    }
    // The sphere at that place, if there is one: the others of the body do not stand on the ground.
    let mut geoms = structure.bodies.geoms[body].clone();
    let sphere = geoms.find(|&geom| structure.geoms.kind[geom] == GeomKind::Sphere);
    Ok(Leg {
        foot: place,
        body,
        radius: sphere.map_or(0.0, |geom| model.geoms.size[geom][0]),
        dofs,
        coordinates,
        neutral: Vec3::ZERO,
        inertia: Mat3::identity(),
    })
}
