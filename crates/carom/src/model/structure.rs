//! Everything discrete about a model: the tree, kinds, ids, names and sparsity patterns.

use std::ops::Range;

use carom_hull::HullTopology;

use super::contact_sensor::ContactSensor;
use super::tables::{RelativeDofs, SensorNeeds};
use crate::linalg::{DofPattern, TreeSparsity};
use crate::ray::TriangleTree;

pub use carom_spec::model_spec::{
    ActuatorDynamics, ActuatorInput, BiasKind, ContactReduction, ContactReport, GainKind, GeomKind,
    Interpolation, JointKind, ObjectKind, SensorKind, ServoInputs, ServoStates, TrackingMode,
};

/// Lengths of all arrays.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs, reason = "each is the number of the elements it names")]
pub struct Counts {
    /// Always 1: the length of arrays that hold a single value.
    pub one: usize,
    /// Generalised coordinates (length of `qpos`).
    pub nq: usize,
    /// Degrees of freedom (length of `qvel`).
    pub nv: usize,
    /// Controls (length of `ctrl`).
    pub nu: usize,
    /// Activation states (length of `act`).
    pub na: usize,
    pub nbody: usize,
    pub njoint: usize,
    pub ngeom: usize,
    pub nsite: usize,
    pub ncamera: usize,
    pub nmesh: usize,
    pub nmesh_vertex: usize,
    /// Boxes around triangles of meshes.
    pub nmesh_box: usize,
    pub nheight_field: usize,
    pub nheight_field_value: usize,
    pub npair: usize,
    /// Contact laws other than the default.
    pub nlaw: usize,
    pub ncontact_point: usize,
    /// Parameters of all laws of joints.
    pub njoint_law_parameter: usize,
    /// Numbers of the map of collisions.
    pub nstrike_number: usize,
    pub nlearned: usize,
    /// Weights of all learned terms.
    pub nlearned_weight: usize,
    /// Constants of all learned terms.
    pub nlearned_constant: usize,
    /// Inputs of learned terms whose training range is known.
    pub nlearned_range: usize,
    /// Inputs of learned terms at all places.
    pub nlearned_input: usize,
    /// Outputs of learned terms at all places.
    pub nlearned_output: usize,
    /// Frames of bodies that learned terms read or act on.
    pub nlearned_frame: usize,
    /// Degrees of freedom, if there are learned terms.
    pub nlearned_dof: usize,
    /// Learned terms that act on contacts.
    pub nlearned_contact: usize,
    /// Inputs of the largest one of them, and their cotangents.
    pub nlearned_contact_input: usize,
    /// Outputs of the largest one of them.
    pub nlearned_contact_output: usize,
    /// Bodies, if a learned term acts on one.
    pub nlearned_body: usize,
    /// Numbers of work area that the largest learned term needs.
    pub nlearned_room: usize,
    pub nequality: usize,
    pub ntendon: usize,
    pub nwrap: usize,
    pub nactuator: usize,
    /// Forces of all actuators, each with a length and a moment row.
    pub nout: usize,
    pub nsensor: usize,
    /// Sensor outputs (length of `sensordata`).
    pub nsensor_value: usize,
    pub nkeyframe: usize,
    /// nkeyframe × nq, and so on.
    pub nkeyframe_qpos: usize,
    pub nkeyframe_qvel: usize,
    pub nkeyframe_act: usize,
    pub nkeyframe_ctrl: usize,
    pub nkeyframe_mocap: usize,
    pub nmocap: usize,
    /// Kinematic trees with at least one degree of freedom.
    pub ntree: usize,
    /// Entries of the joint-space inertia (lower triangle over the tree).
    pub ninertia: usize,
    /// Entries of all tendon Jacobian rows.
    pub ntendon_jacobian: usize,
    /// Entries of all actuator moment rows.
    pub nmoment: usize,
    /// Entries of the dof-dof pattern used by the implicit integrators.
    pub ndof_pair: usize,
}

/// Row-compressed sparsity: row `r` has the columns `columns[start[r]..start[r + 1]]`, increasing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SparsePattern {
    /// Start of each row in `columns`; one more entry than rows.
    pub start: Vec<usize>,
    /// Column of each entry.
    pub columns: Vec<usize>,
}

impl SparsePattern {
    /// Where the entries of `row` are in the value array.
    #[inline]
    pub fn row(&self, row: usize) -> Range<usize> {
        self.start[row]..self.start[row + 1]
    }

    /// Columns of `row`.
    #[inline]
    pub fn columns(&self, row: usize) -> &[usize] {
        &self.columns[self.row(row)]
    }

    /// Where the entry of `row` and `column` is in the value array, if it is stored.
    pub fn entry(&self, row: usize, column: usize) -> Option<usize> {
        let position = self.columns(row).binary_search(&column).ok()?;
        Some(self.start[row] + position)
    }

    /// Appends a row.
    pub fn push_row(&mut self, columns: impl IntoIterator<Item = usize>) {
        if self.start.is_empty() {
            self.start.push(0);
        }
        self.columns.extend(columns);
        self.start.push(self.columns.len());
    }

    /// Number of entries.
    pub fn entries(&self) -> usize {
        self.columns.len()
    }
}

/// Bodies; body 0 is the world.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BodyStructure {
    /// Parent; the world is its own parent. Always smaller than the body's id.
    pub parent: Vec<usize>,
    /// Ancestor that is a child of the world.
    pub root: Vec<usize>,
    /// Topmost body that is rigidly attached to this one.
    pub weld: Vec<usize>,
    /// Index among the mocap bodies.
    pub mocap: Vec<Option<usize>>,
    /// Joints of the body.
    pub joints: Vec<Range<usize>>,
    /// Degrees of freedom of the body.
    pub dofs: Vec<Range<usize>>,
    /// Geoms of the body.
    pub geoms: Vec<Range<usize>>,
    /// Kinematic tree; none for static bodies.
    pub tree: Vec<Option<usize>>,
    /// One past the last descendant: the subtree of `b` is `b..subtree_end[b]`.
    pub subtree_end: Vec<usize>,
    /// Degrees of freedom that move the body, root first: row `b` of the body–dof pattern.
    pub moving_dofs: SparsePattern,
}

/// Joints.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct JointStructure {
    /// Kind.
    pub kind: Vec<JointKind>,
    /// Body.
    pub body: Vec<usize>,
    /// First coordinate in `qpos`.
    pub qpos: Vec<usize>,
    /// First degree of freedom.
    pub dof: Vec<usize>,
    /// Whether the joint has limits.
    pub limited: Vec<bool>,
    /// Whether the total actuator force is limited.
    pub actuator_force_limited: Vec<bool>,
    /// Whether gravity compensation is applied by the actuator.
    pub actuator_gravcomp: Vec<bool>,
}

impl JointStructure {
    /// The dofs of a joint.
    pub fn dofs(&self, joint: usize) -> Range<usize> {
        self.dof[joint]..self.dof[joint] + self.kind[joint].dof_count()
    }

    /// The coordinates of a joint.
    pub fn coordinates(&self, joint: usize) -> Range<usize> {
        self.qpos[joint]..self.qpos[joint] + self.kind[joint].coordinate_count()
    }

    /// Coordinates that move along straight lines, each with its dof: all but those of quaternions. In hot loops
    /// [`Iterator::for_each`] goes through them without asking at each whether its joint has ended.
    #[inline]
    pub fn straight(&self) -> impl Iterator<Item = (usize, usize)> {
        (0..self.kind.len()).flat_map(move |joint| {
            let count = self.kind[joint].straight_count();
            (0..count).map(move |k| (self.qpos[joint] + k, self.dof[joint] + k))
        })
    }

    /// The first coordinates of quaternions, each with the first of its three dofs.
    #[inline]
    pub fn rotations(&self) -> impl Iterator<Item = (usize, usize)> {
        let turning = (0..self.kind.len())
            .filter(|&joint| matches!(self.kind[joint], JointKind::Free | JointKind::Ball));
        turning.map(|joint| {
            let before = self.kind[joint].straight_count();
            (self.qpos[joint] + before, self.dof[joint] + before)
        })
    }
}

/// Degrees of freedom.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DofStructure {
    /// Body.
    pub body: Vec<usize>,
    /// Joint.
    pub joint: Vec<usize>,
    /// Previous degree of freedom on the way to the root.
    pub parent: Vec<Option<usize>>,
    /// Kinematic tree.
    pub tree: Vec<usize>,
}

/// What a geom's shape refers to beyond its size.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum GeomShape {
    /// Fully described by kind and size.
    #[default]
    Primitive,
    /// A mesh.
    Mesh(usize),
    /// A height field.
    HeightField(usize),
}

/// Geoms.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GeomStructure {
    /// Kind.
    pub kind: Vec<GeomKind>,
    /// Mesh or height field.
    pub shape: Vec<GeomShape>,
    /// Body.
    pub body: Vec<usize>,
    /// Contact type bits.
    pub contype: Vec<u32>,
    /// Contact affinity bits.
    pub conaffinity: Vec<u32>,
    /// Contact dimensionality: 1, 3, 4 or 6.
    pub condim: Vec<u8>,
    /// Whose contact parameters win.
    pub priority: Vec<i32>,
    /// Whether the file asks for contacts by signed distance; the convex hull is used.
    pub signed_distance: Vec<bool>,
    /// Visualisation group.
    pub group: Vec<i32>,
    /// Colour (red, green, blue, alpha in thousandths keeps the struct comparable).
    pub rgba: Vec<[u16; 4]>,
    /// Whether the geom or its material is fully transparent: rays pass through.
    pub invisible: Vec<bool>,
}

/// Sites.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SiteStructure {
    /// Kind.
    pub kind: Vec<GeomKind>,
    /// Body.
    pub body: Vec<usize>,
    /// Visualisation group.
    pub group: Vec<i32>,
}

/// Cameras.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CameraStructure {
    /// How the camera follows its body.
    pub mode: Vec<TrackingMode>,
    /// Body.
    pub body: Vec<usize>,
    /// Body that a targeting camera looks at.
    pub target: Vec<Option<usize>>,
    /// Width and height (pixels).
    pub resolution: Vec<[u32; 2]>,
    /// Whether the projection is orthographic.
    pub orthographic: Vec<bool>,
}

/// Meshes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MeshStructure {
    /// Vertices in the shared vertex array.
    pub vertices: Vec<Range<usize>>,
    /// Faces in `face`.
    pub faces: Vec<Range<usize>>,
    /// Triangles of all meshes; indices are local to the mesh.
    pub face: Vec<[u32; 3]>,
    /// Faces of the convex hull in `hull_face`; empty when no geom needs it.
    pub hull_faces: Vec<Range<usize>>,
    /// Triangles of the hulls; indices are local to the mesh.
    pub hull_face: Vec<[u32; 3]>,
    /// Vertices, edges and polygons of each hull; empty when no geom needs it.
    pub hull_topology: Vec<HullTopology>,
    /// Tree of boxes around the triangles.
    pub tree: Vec<TriangleTree>,
    /// The boxes of the tree among those of all meshes.
    pub boxes: Vec<Range<usize>>,
}

/// Height fields.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HeightFieldStructure {
    /// Rows and columns.
    pub size: Vec<[usize; 2]>,
    /// Elevations in the shared array.
    pub values: Vec<Range<usize>>,
}

/// Explicit contact pairs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PairStructure {
    /// First geom.
    pub geom1: Vec<usize>,
    /// Second geom.
    pub geom2: Vec<usize>,
    /// Contact dimensionality.
    pub condim: Vec<u8>,
}

/// Which pairs may touch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ContactFilter {
    /// Excluded pairs of bodies, smaller id first, sorted, each once.
    pub excluded_bodies: Vec<[usize; 2]>,
    /// The exclusions as MuJoCo signs and sorts them: body1 × 65536 + body2.
    pub exclude_signature: Vec<i64>,
    /// Contact type bits of all geoms of each body.
    pub body_contype: Vec<u32>,
    /// Contact affinity bits of all geoms of each body.
    pub body_conaffinity: Vec<u32>,
}

/// Whether either of two elements is of a type that the other has affinity to.
#[inline]
fn bits_match(types: [u32; 2], affinities: [u32; 2]) -> bool {
    types[0] & affinities[1] != 0 || types[1] & affinities[0] != 0
}

impl Structure {
    /// Whether contacts between geoms of two bodies are looked for: the bodies move relative to each other, some bits
    /// of their geoms match, they are not excluded and, with `filter_parent`, none hangs directly on the other. Bodies
    /// welded to the world touch their children all the same.
    pub fn bodies_may_touch(&self, first: usize, second: usize, filter_parent: bool) -> bool {
        let (bodies, filter) = (&self.bodies, &self.filter);
        let [weld1, weld2] = [first, second].map(|body| bodies.weld[body]);
        let parent = |weld: usize| bodies.weld[bodies.parent[weld]];
        let related = weld1 == parent(weld2) || weld2 == parent(weld1);
        weld1 != weld2
            && !(filter_parent && weld1 != 0 && weld2 != 0 && related)
            && bits_match(
                [filter.body_contype[first], filter.body_contype[second]],
                [
                    filter.body_conaffinity[first],
                    filter.body_conaffinity[second],
                ],
            )
            && filter
                .excluded_bodies
                .binary_search(&[first.min(second), first.max(second)])
                .is_err()
    }

    /// Whether the contact bits of two geoms match.
    #[inline]
    pub fn geom_bits_match(&self, first: usize, second: usize) -> bool {
        let geoms = &self.geoms;
        bits_match(
            [geoms.contype[first], geoms.contype[second]],
            [geoms.conaffinity[first], geoms.conaffinity[second]],
        )
    }
}

/// An object that has a frame: what sensors and constraints attach to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrameObject {
    /// Inertial frame of a body.
    Inertial(usize),
    /// Regular frame of a body.
    Body(usize),
    /// Geom.
    Geom(usize),
    /// Site.
    Site(usize),
    /// Camera.
    Camera(usize),
}

/// What an equality constraint ties together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EqualityKind {
    /// Two points coincide.
    Connect,
    /// Two frames coincide.
    Weld,
    /// A joint is a polynomial of another, or constant.
    Joint,
    /// A tendon length is a polynomial of another, or constant.
    Tendon,
}

/// Equality constraints.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EqualityStructure {
    /// Kind.
    pub kind: Vec<EqualityKind>,
    /// Whether connect and weld attach to sites instead of bodies.
    pub between_sites: Vec<bool>,
    /// First object: body, site, joint or tendon.
    pub object1: Vec<usize>,
    /// Second object; none for a joint or tendon held at a constant.
    pub object2: Vec<Option<usize>>,
    /// Whether the constraint is active at the start.
    pub active: Vec<bool>,
}

/// An element of a tendon's path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wrap {
    /// Joint of a fixed tendon.
    Joint(usize),
    /// Pulley: splits the path and divides the following length.
    Pulley,
    /// Point fixed to a body.
    Site(usize),
    /// Sphere, optionally with a side site.
    Sphere {
        /// Geom that gives centre and radius.
        geom: usize,
        /// Site that chooses the side.
        side: Option<usize>,
    },
    /// Cylinder, optionally with a side site.
    Cylinder {
        /// Geom that gives axis and radius.
        geom: usize,
        /// Site that chooses the side.
        side: Option<usize>,
    },
}

/// Tendons.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TendonStructure {
    /// Whether the tendon runs through space (or is a fixed combination of joints).
    pub spatial: Vec<bool>,
    /// Path elements in `path`.
    pub wraps: Vec<Range<usize>>,
    /// Path elements of all tendons.
    pub path: Vec<Wrap>,
    /// Whether the length is limited.
    pub limited: Vec<bool>,
    /// Whether the total actuator force is limited.
    pub actuator_force_limited: Vec<bool>,
    /// Dofs of each Jacobian row: those of the joints, or all that move any body on the path.
    pub jacobian: SparsePattern,
    /// Derived: relative dofs of the legs of the paths, three pairs per path element (to the next site, to the
    /// wrapping geom before it, from that geom to the next site).
    pub legs: RelativeDofs,
    /// Derived: for each joint of a fixed tendon, its place among the Jacobian's values.
    pub joint_entry: Vec<usize>,
}

/// Room for past values of a control or sensor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HistoryShape {
    /// Number of samples.
    pub samples: usize,
    /// Values per sample.
    pub dimension: usize,
    /// How values between samples are read.
    pub interpolation: Interpolation,
}

/// How an actuator acts on the mechanism.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transmission {
    /// On a joint.
    Joint(usize),
    /// On a ball or free joint, with the gear in the parent frame.
    JointInParent(usize),
    /// Through a slider-crank.
    SliderCrank {
        /// Site at the crank's pin.
        crank: usize,
        /// Site whose z axis is the slider's direction.
        slider: usize,
    },
    /// On a tendon.
    Tendon(usize),
    /// On a site, in the site's or the reference site's frame.
    Site {
        /// Where the force acts.
        site: usize,
        /// Frame in which the gear is given.
        reference: Option<usize>,
    },
    /// Adhesion of a body's contacts.
    Body(usize),
    /// On the orientation of a ball joint: three forces in the child's frame.
    BallOrientation(usize),
    /// On the orientation of a site relative to another: three forces in the site's frame.
    SiteOrientation {
        /// Where the torque acts.
        site: usize,
        /// Where its opposite acts.
        reference: usize,
    },
}

/// Actuators.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ActuatorStructure {
    /// Transmission.
    pub transmission: Vec<Transmission>,
    /// Activation dynamics.
    pub dynamics: Vec<ActuatorDynamics>,
    /// Gain.
    pub gain: Vec<GainKind>,
    /// Bias.
    pub bias: Vec<BiasKind>,
    /// Activation states; empty when stateless.
    pub activations: Vec<Range<usize>>,
    /// Forces, with their lengths and moment rows: one for all but servos of orientations.
    pub outputs: Vec<Range<usize>>,
    /// Controls: one for all but motors and servos with set points.
    pub controls: Vec<Range<usize>>,
    /// What the controls are.
    pub input: Vec<ActuatorInput>,
    /// What the activation states of motors and servos are.
    pub states: Vec<ServoStates>,
    /// The actuator of each control.
    pub control_owner: Vec<usize>,
    /// Whether controls are limited, but for the next two.
    pub control_limited: Vec<bool>,
    /// Whether the velocity that a servo with set points is given is limited.
    pub velocity_limited: Vec<bool>,
    /// Whether its feedforward is limited.
    pub feedforward_limited: Vec<bool>,
    /// Whether the force is limited.
    pub force_limited: Vec<bool>,
    /// Whether the activation is limited.
    pub activation_limited: Vec<bool>,
    /// Whether the force uses the activation of the end of the step.
    pub activation_early: Vec<bool>,
    /// Group, for switching off.
    pub group: Vec<i32>,
    /// History of the control, if there is one.
    pub history: Vec<Option<usize>>,
    /// Dofs of each moment row, one row for each of `outputs`: those of the joint, the tendon's row, for sites at least
    /// [`BodyStructure::relative_dofs`] of the bodies of site and reference (or world), likewise for crank and slider;
    /// for a body all dofs, since adhesion also acts on what the body touches.
    pub moment: SparsePattern,
    /// Derived: relative dofs of site and reference, or of crank and slider; one pair per moment row.
    pub lever: RelativeDofs,
}

/// Which range limits a control.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ControlLimit {
    /// That of the actuator's controls.
    Control,
    /// That of its set point of velocity.
    Velocity,
    /// That of its feedforward.
    Feedforward,
}

impl ActuatorStructure {
    /// What a control of an actuator with several is, in the words of MJCF; empty for the only one.
    pub fn control_word(&self, control: usize) -> &'static str {
        let owner = self.control_owner[control];
        let controls = &self.controls[owner];
        if controls.len() < 2 {
            return "";
        }
        let place = control - controls.start;
        match self.input[owner] {
            ActuatorInput::RotationVector => ["x", "y", "z"][place],
            ActuatorInput::Quaternion => ["qw", "qx", "qy", "qz"][place],
            ActuatorInput::Servo(inputs) => {
                let words = ServoInputs::WORDS.into_iter().zip(inputs.flags());
                let mut present = words.filter(|(_, present)| *present);
                present.nth(place).map_or("", |(word, _)| word)
            }
        }
    }

    /// The range that limits a control; none if it is not limited.
    #[inline]
    pub fn control_limit(&self, control: usize) -> Option<ControlLimit> {
        let role = self.control_role(control);
        let limited = match role {
            ControlLimit::Control => &self.control_limited,
            ControlLimit::Velocity => &self.velocity_limited,
            ControlLimit::Feedforward => &self.feedforward_limited,
        };
        limited[self.control_owner[control]].then_some(role)
    }

    /// The range that would limit a control: only servos of a length have more than one.
    #[inline]
    pub fn control_role(&self, control: usize) -> ControlLimit {
        let owner = self.control_owner[control];
        if self.gain[owner] == GainKind::Pid {
            self.servo_control_role(owner, control)
        } else {
            ControlLimit::Control
        }
    }

    #[cold]
    fn servo_control_role(&self, owner: usize, control: usize) -> ControlLimit {
        let ActuatorInput::Servo(inputs) = self.input[owner] else {
            return ControlLimit::Control;
        };
        let place = control - self.controls[owner].start;
        let first = usize::from(inputs.position);
        if inputs.position && place == 0 {
            ControlLimit::Control
        } else if inputs.velocity && place == first {
            ControlLimit::Velocity
        } else {
            ControlLimit::Feedforward
        }
    }
}

/// An element that a sensor is attached to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SensorObject {
    /// What it is.
    pub kind: ObjectKind,
    /// Its id.
    pub id: usize,
}

impl SensorObject {
    /// Its frame; that of a body with this id for elements that have none, which compiling refuses.
    pub fn frame(self) -> FrameObject {
        match self.kind {
            ObjectKind::BodyInertial => FrameObject::Inertial(self.id),
            ObjectKind::Geom => FrameObject::Geom(self.id),
            ObjectKind::Site => FrameObject::Site(self.id),
            ObjectKind::Camera => FrameObject::Camera(self.id),
            _ => FrameObject::Body(self.id),
        }
    }
}

/// What a sensor measures, and where.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sensor {
    /// What is measured.
    pub kind: SensorKind,
    /// The measured element, where the kind has one.
    pub object: Option<SensorObject>,
    /// The element from which is seen, or the second one.
    pub reference: Option<SensorObject>,
}

impl Sensor {
    /// The id of the measured element; zero for kinds without.
    #[inline]
    pub fn id(&self) -> usize {
        self.object.map_or(0, |object| object.id)
    }

    /// The frame of the measured element; the world's for kinds without.
    pub fn frame(&self) -> FrameObject {
        self.object
            .map_or(FrameObject::Body(0), SensorObject::frame)
    }

    /// The frame from which is seen, or in which something is; none for the world's.
    pub fn seen_from(&self) -> Option<FrameObject> {
        self.reference.map(SensorObject::frame)
    }

    /// The geoms of both elements.
    pub fn geoms(&self) -> [SensorGeoms; 2] {
        [self.object, self.reference].map(|object| match object {
            Some(SensorObject {
                kind: ObjectKind::Geom,
                id,
            }) => SensorGeoms::Geom(id),
            object => SensorGeoms::Body(object.map_or(0, |object| object.id)),
        })
    }

    /// What a contact sensor looks for and reports.
    pub fn contact(&self, report: ContactReport) -> ContactSensor {
        let [first, second] = [self.object, self.reference].map(|object| match object {
            None => ContactMatch::Any,
            Some(SensorObject { kind, id }) => match kind {
                ObjectKind::Geom => ContactMatch::Geom(id),
                ObjectKind::Subtree => ContactMatch::Subtree(id),
                ObjectKind::Site => ContactMatch::Site(id),
                _ => ContactMatch::Body(id),
            },
        });
        ContactSensor {
            first,
            second,
            report,
        }
    }
}

/// One geom, or all geoms of a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SensorGeoms {
    /// One geom.
    Geom(usize),
    /// All geoms of a body.
    Body(usize),
}

/// What one side of a contact must belong to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ContactMatch {
    /// Anything.
    Any,
    /// A geom.
    Geom(usize),
    /// A body.
    Body(usize),
    /// A body or any of its descendants.
    Subtree(usize),
    /// The volume of a site.
    Site(usize),
}

/// Sensors.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SensorStructure {
    /// What is measured, and where.
    pub list: Vec<Sensor>,
    /// First value in the output array.
    pub address: Vec<usize>,
    /// Number of values.
    pub dimension: Vec<usize>,
    /// Whether the cutoff applies to both signs (real) or only above (positive); none for axes and quaternions.
    pub clip: Vec<Option<bool>>,
    /// History of the values, if there is one.
    pub history: Vec<Option<usize>>,
    /// Derived: passes over the tree that the sensors need.
    pub needs: SensorNeeds,
}

/// Names of all elements; empty strings for unnamed ones.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs, reason = "one list a family")]
pub struct Names {
    pub model: String,
    pub bodies: Vec<String>,
    pub joints: Vec<String>,
    pub geoms: Vec<String>,
    pub sites: Vec<String>,
    pub cameras: Vec<String>,
    pub meshes: Vec<String>,
    pub height_fields: Vec<String>,
    pub pairs: Vec<String>,
    pub equalities: Vec<String>,
    pub tendons: Vec<String>,
    pub actuators: Vec<String>,
    pub sensors: Vec<String>,
    pub keyframes: Vec<String>,
    pub learned: Vec<String>,
}

impl Structure {
    /// Names of the controls: that of the actuator, with the word of the control where it has several; empty where the
    /// actuator has no name.
    pub fn control_names(&self) -> Vec<String> {
        let name = |(control, &owner): (usize, &usize)| {
            let name = &self.names.actuators[owner];
            match self.actuators.control_word(control) {
                "" => name.clone(),
                _ if name.is_empty() => String::new(),
                word => format!("{name}.{word}"),
            }
        };
        self.actuators
            .control_owner
            .iter()
            .enumerate()
            .map(name)
            .collect()
    }
}

/// Everything discrete about a model.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[allow(
    clippy::struct_excessive_bools,
    reason = "independent facts about the model"
)]
pub struct Structure {
    /// Lengths of all arrays.
    pub counts: Counts,
    /// Names.
    pub names: Names,
    /// Bodies.
    pub bodies: BodyStructure,
    /// Joints.
    pub joints: JointStructure,
    /// Degrees of freedom.
    pub dofs: DofStructure,
    /// Degrees of freedom of each kinematic tree.
    pub tree_dofs: Vec<Range<usize>>,
    /// Geoms.
    pub geoms: GeomStructure,
    /// Sites.
    pub sites: SiteStructure,
    /// Frames of inertias, geoms and sites that coincide with others.
    pub coincidences: super::Coincidences,
    /// Cameras.
    pub cameras: CameraStructure,
    /// Meshes.
    pub meshes: MeshStructure,
    /// Height fields.
    pub height_fields: HeightFieldStructure,
    /// Explicit contact pairs.
    pub pairs: PairStructure,
    /// Contact filter.
    pub filter: ContactFilter,
    /// Contact laws other than the default.
    pub laws: super::LawStructure,
    /// Laws of joints, in the order of the file.
    pub joint_laws: Vec<super::JointLaw>,
    /// Learned terms.
    pub learned: super::LearnedStructure,
    /// Equality constraints.
    pub equalities: EqualityStructure,
    /// Tendons.
    pub tendons: TendonStructure,
    /// Actuators.
    pub actuators: ActuatorStructure,
    /// Sensors.
    pub sensors: SensorStructure,
    /// Histories: those of actuators, then those of sensors.
    pub histories: Vec<HistoryShape>,
    /// Colours and materials.
    pub appearance: super::Appearance,
    /// Lower triangle of the joint-space inertia: row `i` holds the ancestors of dof `i`, root first, then `i`.
    pub inertia: TreeSparsity,
    /// Symmetric dof–dof pattern (ancestors, self, descendants) of the implicit integrators.
    pub dof_pairs: DofPattern,
    /// Whether any body has gravity compensation.
    pub has_gravcomp: bool,
    /// Whether the medium acts on any body.
    pub has_fluid: bool,
    /// Whether the surface of any geom moves.
    pub has_surface_velocity: bool,
    /// Whether any contact can pull.
    pub has_adhesion: bool,
    /// Whether any tendon has armature.
    pub has_tendon_armature: bool,
}
