//! What a step has to say: how the constraints were solved, and the first number that is not finite.
//!
//! Stages never fail. A step with a number that is not finite somewhere goes on to its end, and its [`StepReport`] names
//! the first stage, quantity and element that has one: what was given (`state`, `input`), then the stages in the order
//! of [`dynamics`](crate::dynamics), then `integrate`. Only a step that fails pays for the search.

use std::fmt;

use crate::data::Data;
use crate::integrate::Integration;
use crate::integrate::impact::Impacts;
use crate::math::Components;
use crate::model::Model;
use crate::scalar::Scalar;
use crate::stages::collision::Contact;
use crate::stages::constraint::{Block, BlockKind};
use crate::stages::learned;
use crate::stages::solve::{SolveReport, SolveStatus};
use crate::state::{Input, State};

/// Coordinates, velocities and accelerations beyond this are a sign of an unstable simulation (SI units).
const MAX_STABLE_SIZE: f64 = 1e10;

/// What a step has to say.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct StepReport {
    /// How the constraints were solved.
    pub solve: SolveReport,
    /// Number of contacts, those in the gap included.
    pub contacts: usize,
    /// The first number that is not finite.
    pub not_finite: Option<NotFinite>,
    /// The first coordinate, velocity or acceleration beyond 1e10 in size: an unstable simulation.
    pub large: Option<NotFinite>,
    /// Number of impacts within the step, under the impulse law.
    pub impacts: usize,
    /// Whether there were more impacts than the law allows, and the step ended at the last one.
    pub is_impact_limited: bool,
    /// Whether a learned term had an input outside of the range that it was trained on, or a map of collisions was not asked.
    pub extrapolates: bool,
    /// Whether the model has a map of collisions that was not asked, so that the solver did its part.
    pub falls_back: bool,
}

/// Something that a step should be asked about.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Warning {
    /// A number is not finite.
    NotFinite(NotFinite),
    /// Numbers grow beyond all measure.
    Large(NotFinite),
    /// The solver ran out of iterations.
    IterationLimit,
    /// The solver met a matrix that it could not factorise.
    Singular,
    /// More impacts in a step than the impulse law allows.
    ImpactLimit,
}

impl fmt::Display for Warning {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotFinite(place) => write!(out, "{place}"),
            Self::Large(place) => write!(
                out,
                "the motion grows beyond all measure: {place}; try a smaller time step"
            ),
            Self::IterationLimit => out.write_str(
                "the constraint solver ran out of iterations; allow more, or loosen its tolerance",
            ),
            Self::Singular => {
                out.write_str("the constraint solver failed: some moving part lacks inertia")
            }
            Self::ImpactLimit => out.write_str(
                "more impacts in a step than the impulse law allows, bodies stay at the last one; allow more, or take a smaller time step",
            ),
        }
    }
}

impl StepReport {
    /// All that is worth a word, the worst first.
    pub fn warnings(&self) -> impl Iterator<Item = Warning> {
        let limit = self.solve.status == SolveStatus::IterationLimit;
        let singular = self.solve.status == SolveStatus::Singular;
        [
            self.not_finite.map(Warning::NotFinite),
            self.large.map(Warning::Large),
            singular.then_some(Warning::Singular),
            limit.then_some(Warning::IterationLimit),
            self.is_impact_limited.then_some(Warning::ImpactLimit),
        ]
        .into_iter()
        .flatten()
    }

    /// The report of a step that led to `state`; `given` is what [`NotFinite::in_given`] found before it.
    pub fn new<T: Scalar>(
        model: &Model<T>,
        state: &State<T>,
        data: &Data<T>,
        given: Option<NotFinite>,
    ) -> Self {
        let motion = [&state.qpos[..], &state.qvel, &data.solve.qacc];
        let others = [&state.act[..], &data.sensing.values, &[state.time]];
        let is_solved = data.solve.report.status != SolveStatus::NotFinite;
        let is_finite = is_solved
            && motion
                .iter()
                .chain(&others)
                .all(|numbers| all_finite(numbers));
        let falls_back = model.strike.is_some() && !data.collision.is_mapped;
        let impacts = data.integration.impacts.as_deref();
        let found = || {
            NotFinite::in_stages(model, data)
                .or_else(|| NotFinite::in_state(model, state, INTEGRATE))
                .or((!is_solved).then_some(NotFinite::IN_SOLVER))
        };
        Self {
            solve: data.solve.report,
            contacts: data.collision.contacts.len(),
            not_finite: given.or_else(|| if is_finite { None } else { found() }),
            large: (motion.iter().any(|numbers| any_large(numbers)))
                .then(|| NotFinite::beyond_measure(model, state, data))
                .flatten(),
            impacts: impacts.map_or(0, |impacts| impacts.list().len()),
            is_impact_limited: impacts.is_some_and(Impacts::is_limited),
            extrapolates: falls_back || learned::extrapolates(model, &data.learned),
            falls_back,
        }
    }
}

/// A number that is not finite, or beyond all measure: where it was found first.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NotFinite {
    /// The stage, as [`dynamics::Observer`](crate::dynamics::Observer) names it; `state` or `input` for what was given.
    pub stage: &'static str,
    /// The quantity, as in the struct of the stage.
    pub quantity: &'static str,
    /// Whose quantity.
    pub element: Element,
    /// Which of the quantity's numbers.
    pub component: usize,
    /// The number.
    pub value: f64,
}

/// What a quantity belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "each holds the id of the element it names")]
pub enum Element {
    /// The simulation as a whole.
    Whole,
    Body(usize),
    Joint(usize),
    /// A degree of freedom.
    Dof(usize),
    Geom(usize),
    Site(usize),
    Camera(usize),
    Tendon(usize),
    Actuator(usize),
    Sensor(usize),
    Equality(usize),
    /// A contact of two geoms.
    Contact([usize; 2]),
    /// A place in an array without names.
    Entry(usize),
}

/// Name of the last stage.
const INTEGRATE: &str = "integrate";

impl NotFinite {
    /// The solver met a number that left no trace in the results: a cost that overflows, for instance.
    const IN_SOLVER: Self = Self {
        stage: "solve",
        quantity: "cost",
        element: Element::Whole,
        component: 0,
        value: f64::INFINITY,
    };

    /// A continuous motion was not followed to the end of its interval.
    pub(crate) const IN_MOTION: Self = Self {
        stage: "flow",
        quantity: "time",
        element: Element::Whole,
        component: 0,
        value: f64::NAN,
    };

    /// The first number that is not finite in what a step is given.
    pub fn in_given<T: Scalar>(
        model: &Model<T>,
        state: &State<T>,
        input: &Input<T>,
    ) -> Option<Self> {
        let of_state = [&state.qpos[..], &state.qvel, &state.act, &state.warmstart];
        let others = [&[state.time][..], &input.ctrl, &input.force];
        let mut histories = state.history.iter();
        let is_finite = (of_state.iter().chain(&others)).all(|numbers| all_finite(numbers))
            && histories.all(|history| all_finite(history.values()))
            && elements_finite(&input.body_force)
            && elements_finite(&state.mocap_position)
            && elements_finite(&state.mocap_quat);
        if is_finite {
            return None;
        }
        Self::in_state(model, state, "state").or_else(|| {
            let mut search = Search::new("input");
            search.list("ctrl", &input.ctrl, |control| of_control(model, control));
            search.list("force", &input.force, Element::Dof);
            search.elements("body_force", &input.body_force, Element::Body);
            search.found
        })
    }

    /// The first number that is not finite in a state.
    fn in_state<T: Scalar>(
        model: &Model<T>,
        state: &State<T>,
        stage: &'static str,
    ) -> Option<Self> {
        let structure = &model.structure;
        let of_mocap = |mocap: usize| {
            let is_it = |&other: &Option<usize>| other == Some(mocap);
            let body = structure.bodies.mocap.iter().position(is_it);
            body.map_or(Element::Entry(mocap), Element::Body)
        };
        let mut search = Search::new(stage);
        search.list("qpos", &state.qpos, |index| of_coordinate(model, index));
        search.list("qvel", &state.qvel, Element::Dof);
        search.list("act", &state.act, Element::Entry);
        search.elements("mocap_position", &state.mocap_position, of_mocap);
        search.elements("mocap_quat", &state.mocap_quat, of_mocap);
        search.list("warmstart", &state.warmstart, Element::Dof);
        for (index, history) in state.history.iter().enumerate() {
            search.list("history", history.values(), |_| Element::Entry(index));
        }
        search.list("time", &[state.time], |_| Element::Whole);
        search.found
    }

    /// The first number of a motion that is beyond all measure.
    fn beyond_measure<T: Scalar>(
        model: &Model<T>,
        state: &State<T>,
        data: &Data<T>,
    ) -> Option<Self> {
        let mut search = Search::new(INTEGRATE);
        search.is_wrong = |value| value.abs() > MAX_STABLE_SIZE;
        search.list("qpos", &state.qpos, |index| of_coordinate(model, index));
        search.list("qvel", &state.qvel, Element::Dof);
        search.list("qacc", &data.solve.qacc, Element::Dof);
        search.found
    }

    /// The first number that is not finite in the results of the stages, in their order.
    fn in_stages<T: Scalar>(model: &Model<T>, data: &Data<T>) -> Option<Self> {
        let mut search = Search::new("");
        macro_rules! arrays_of {
            ($stage:ident) => {
                search.stage = stringify!($stage);
                data.$stage
                    .for_each_named(|quantity, family, index, component, number| {
                        let element = element_of(model, family, index);
                        search.offer(quantity, element, component, number);
                    });
            };
        }
        arrays_of!(kinematics);
        arrays_of!(tendon);
        arrays_of!(inertia);
        search.contacts(&data.collision.contacts);
        arrays_of!(transmission);
        arrays_of!(velocity);
        arrays_of!(passive);
        arrays_of!(bias);
        search.stage = "compliance";
        search.list("force", &data.compliance.force, Element::Dof);
        arrays_of!(actuation);
        arrays_of!(learned);
        arrays_of!(acceleration);
        search.rows(data);
        search.stage = "solve";
        search.list("qacc", &data.solve.qacc, Element::Dof);
        search.list(
            "force_constraint",
            &data.solve.force_constraint,
            Element::Dof,
        );
        arrays_of!(sensing);
        search.stage = INTEGRATE;
        let Integration { acceleration, .. } = &data.integration;
        search.list("acceleration", acceleration, Element::Dof);
        search.found
    }

    /// A sentence with the names of a model.
    pub fn describe<T: Scalar>(&self, model: &Model<T>) -> String {
        let place = match self.stage {
            "state" | "input" => format!("given in the {}", self.stage),
            stage => format!("first met after the stage '{stage}'"),
        };
        let owner = match self.element.describe(model) {
            Some(owner) => format!(" of {owner}"),
            None => String::new(),
        };
        format!(
            "{}{owner} is {} (component {}), {place}",
            self.quantity, self.value, self.component
        )
    }
}

impl fmt::Display for NotFinite {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            stage,
            quantity,
            element,
            component,
            value,
        } = self;
        write!(
            out,
            "{stage}.{quantity} of {element:?} is {value} (component {component})"
        )
    }
}

impl Element {
    /// What a block of constraint rows belongs to.
    pub(crate) fn of_block<T: Scalar>(block: &Block, contacts: &[Contact<T>]) -> Self {
        match block.kind {
            BlockKind::Equality => Self::Equality(block.object),
            BlockKind::DofFriction => Self::Dof(block.object),
            BlockKind::TendonFriction | BlockKind::TendonLimit => Self::Tendon(block.object),
            BlockKind::JointLimit => Self::Joint(block.object),
            BlockKind::FrictionlessContact
            | BlockKind::PyramidalContact
            | BlockKind::EllipticContact => {
                let contact = contacts.get(block.object);
                contact.map_or(Self::Entry(block.object), |contact| {
                    Self::Contact(contact.geoms)
                })
            }
        }
    }

    /// Kind and name, or number where there is no name; none for the whole.
    pub fn describe<T: Scalar>(self, model: &Model<T>) -> Option<String> {
        let names = &model.structure.names;
        let named = |kind: &str, list: &[String], id: usize| match list.get(id).map(String::as_str)
        {
            Some("") | None => format!("{kind} {id}"),
            Some(name) => format!("{kind} '{name}'"),
        };
        Some(match self {
            Self::Whole => return None,
            Self::Body(id) => named("body", &names.bodies, id),
            Self::Joint(id) => named("joint", &names.joints, id),
            Self::Dof(id) => {
                let joint = model.structure.dofs.joint.get(id).copied();
                let offset = joint.map_or(0, |joint| id - model.structure.joints.dof[joint]);
                let joint = named("joint", &names.joints, joint.unwrap_or(usize::MAX));
                format!("degree of freedom {offset} of {joint}")
            }
            Self::Geom(id) => named("geom", &names.geoms, id),
            Self::Site(id) => named("site", &names.sites, id),
            Self::Camera(id) => named("camera", &names.cameras, id),
            Self::Tendon(id) => named("tendon", &names.tendons, id),
            Self::Actuator(id) => named("actuator", &names.actuators, id),
            Self::Sensor(id) => named("sensor", &names.sensors, id),
            Self::Equality(id) => named("equality", &names.equalities, id),
            Self::Contact(geoms) => {
                let [first, second] = geoms.map(|geom| named("geom", &names.geoms, geom));
                format!("the contact of {first} and {second}")
            }
            Self::Entry(index) => format!("entry {index}"),
        })
    }
}

/// Whether all numbers are finite; without branches, so that many are looked at at once.
fn all_finite<T: Scalar>(numbers: &[T]) -> bool {
    numbers
        .iter()
        .fold(true, |all, number| all & number.value().is_finite())
}

/// Whether a number is beyond all measure.
fn elements_finite<T: Scalar, C: Components<T>>(elements: &[C]) -> bool {
    (elements.iter()).all(|element| all_finite(element.as_slice()))
}

fn any_large<T: Scalar>(numbers: &[T]) -> bool {
    numbers.iter().fold(false, |any, number| {
        any | (number.value().abs() > MAX_STABLE_SIZE)
    })
}

/// The joint of a coordinate.
fn of_coordinate<T: Scalar>(model: &Model<T>, index: usize) -> Element {
    let starts = &model.structure.joints.qpos;
    let after = starts.partition_point(|&start| start <= index);
    Element::Joint(after.saturating_sub(1))
}

/// The actuator of a control.
fn of_control<T: Scalar>(model: &Model<T>, control: usize) -> Element {
    Element::Actuator(model.structure.actuators.control_owner[control])
}

/// What an entry of an array belongs to, by the count that gives the array its length.
fn element_of<T: Scalar>(model: &Model<T>, family: &str, index: usize) -> Element {
    match family {
        "one" => Element::Whole,
        "nbody" => Element::Body(index),
        "njoint" => Element::Joint(index),
        "nv" | "nlearned_dof" => Element::Dof(index),
        "nq" => of_coordinate(model, index),
        "ngeom" => Element::Geom(index),
        "nsite" => Element::Site(index),
        "ncamera" => Element::Camera(index),
        "ntendon" => Element::Tendon(index),
        "nactuator" => Element::Actuator(index),
        "nu" => of_control(model, index),
        "nout" => {
            let outputs = &model.structure.actuators.outputs;
            let actuator = outputs.partition_point(|outputs| outputs.end <= index);
            Element::Actuator(actuator)
        }
        "nsensor_value" => {
            let after = model
                .structure
                .sensors
                .address
                .partition_point(|&start| start <= index);
            Element::Sensor(after.saturating_sub(1))
        }
        _ => Element::Entry(index),
    }
}

/// Keeps the first number that is wrong: not finite, unless told otherwise.
struct Search {
    stage: &'static str,
    is_wrong: fn(f64) -> bool,
    found: Option<NotFinite>,
}

impl Search {
    fn new(stage: &'static str) -> Self {
        Self {
            stage,
            is_wrong: |value| !value.is_finite(),
            found: None,
        }
    }

    fn offer<T: Scalar>(
        &mut self,
        quantity: &'static str,
        element: Element,
        component: usize,
        number: T,
    ) {
        let value = number.value();
        if self.found.is_none() && (self.is_wrong)(value) {
            self.found = Some(NotFinite {
                stage: self.stage,
                quantity,
                element,
                component,
                value,
            });
        }
    }

    /// One number for each element.
    fn list<T: Scalar>(
        &mut self,
        quantity: &'static str,
        numbers: &[T],
        element: impl Fn(usize) -> Element,
    ) {
        for (index, &number) in numbers.iter().enumerate() {
            if (self.is_wrong)(number.value()) {
                self.offer(quantity, element(index), 0, number);
            }
        }
    }

    /// Several numbers for each element.
    fn elements<T: Scalar, C: Components<T>>(
        &mut self,
        quantity: &'static str,
        values: &[C],
        element: impl Fn(usize) -> Element,
    ) {
        for (index, value) in values.iter().enumerate() {
            for (component, &number) in value.as_slice().iter().enumerate() {
                if !number.value().is_finite() {
                    self.offer(quantity, element(index), component, number);
                }
            }
        }
    }

    fn contacts<T: Scalar>(&mut self, contacts: &[Contact<T>]) {
        self.stage = "collision";
        for contact in contacts {
            let element = Element::Contact(contact.geoms);
            self.offer("distance", element, 0, contact.distance);
            for (component, &number) in contact.position.0.iter().enumerate() {
                self.offer("position", element, component, number);
            }
            for (component, &number) in contact.frame.0.iter().enumerate() {
                self.offer("frame", element, component, number);
            }
        }
    }

    /// Rows of constraints, each with its Jacobian.
    fn rows<T: Scalar>(&mut self, data: &Data<T>) {
        self.stage = "constraint";
        let constraint = &data.constraint;
        for block in &constraint.blocks {
            let element = Element::of_block(block, &data.collision.contacts);
            for (component, &number) in constraint.block_jacobian(block).iter().enumerate() {
                self.offer("jacobian", element, component, number);
            }
            for (component, row) in constraint.block_rows(block).iter().enumerate() {
                self.offer("position", element, component, row.position);
                self.offer("velocity", element, component, row.velocity);
                self.offer(
                    "reference_acceleration",
                    element,
                    component,
                    row.reference_acceleration,
                );
                self.offer("regularization", element, component, row.regularization);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::integrate;
    use crate::testing::model_from_mjcf;

    const CHAIN: &str = r#"<mujoco><worldbody>
      <geom name="floor" type="plane" size="1 1 1"/>
      <body name="base" pos="0 0 0.1"><freejoint name="root"/><geom name="foot" size="0.1"/>
        <body name="arm" pos="0.3 0 0.2"><joint name="elbow"/><geom size="0.05 0.1" type="capsule"/></body></body>
      </worldbody>
      <actuator><motor name="push" joint="elbow"/></actuator>
      <sensor><jointpos name="angle" joint="elbow"/></sensor></mujoco>"#;

    fn report(change: impl Fn(&mut State, &mut Input, &mut Model)) -> (Model, StepReport) {
        let mut model = model_from_mjcf(CHAIN);
        let (mut state, mut input) = (State::reference(&model), Input::zeros(&model));
        change(&mut state, &mut input, &mut model);
        let mut data = Data::new(&model);
        let report = integrate::step(&model, &mut state, &input, &mut data);
        (model, report)
    }

    #[test]
    fn a_healthy_step_says_how_it_was_solved() {
        let (_, report) = report(|_, _, _| {});
        assert_eq!(report.not_finite, None);
        assert_eq!(report.solve.status, SolveStatus::Converged);
        assert_eq!(report.contacts, 1);
        assert_eq!(report.warnings().count(), 0);
    }

    #[test]
    fn what_was_given_is_named() {
        let (model, report) = report(|state, _, _| state.qpos[7] = f64::NAN);
        let found = report.not_finite.unwrap();
        assert_eq!((found.stage, found.quantity), ("state", "qpos"));
        assert_eq!(found.element, Element::Joint(1));
        assert_eq!(
            found.describe(&model),
            "qpos of joint 'elbow' is NaN (component 0), given in the state"
        );
    }

    #[test]
    fn controls_and_forces_are_named() {
        let (model, report) = report(|_, input, _| input.ctrl[0] = f64::INFINITY);
        let found = report.not_finite.unwrap();
        assert_eq!((found.stage, found.quantity), ("input", "ctrl"));
        assert_eq!(found.element.describe(&model).unwrap(), "actuator 'push'");
        let (_, report) = self::report(|_, input, _| input.body_force[2].0[4] = f64::NAN);
        let found = report.not_finite.unwrap();
        assert_eq!((found.element, found.component), (Element::Body(2), 4));
    }

    #[test]
    fn the_first_stage_is_named() {
        let (model, report) = report(|_, _, model| model.dofs.damping[6] = f64::INFINITY);
        let found = report.not_finite.unwrap();
        assert_eq!(found.stage, "passive", "{found}");
        let (_, report) = self::report(|_, _, model| model.bodies.position[2][0] = f64::NAN);
        let found = report.not_finite.unwrap();
        assert_eq!(
            (found.stage, found.quantity),
            ("kinematics", "body_position")
        );
        assert_eq!(found.element.describe(&model).unwrap(), "body 'arm'");
    }

    #[test]
    fn a_motion_beyond_all_measure_is_worth_a_warning() {
        let (model, report) = report(|state, _, _| state.qvel[6] = 1e13);
        assert_eq!(report.not_finite, None);
        let found = report.large.unwrap();
        assert!(
            report
                .warnings()
                .any(|warning| warning == Warning::Large(found))
        );
        let text = found.describe(&model);
        assert!(text.starts_with("qpos of joint 'elbow' is "), "{text}");
    }
}
