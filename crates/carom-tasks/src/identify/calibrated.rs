//! The description of a calibrated model: numbers that were found are written where the file has them, and the result is
//! read again to see that it is the model that was found.

mod agreement;
mod meshes;

use std::path::Path;

use carom::Model;
use carom::model::{GeomShape, Given};
use carom::parameters::Parameters;
use carom::quantity::{Family, Quantity, Quantity as Q, Role};
use carom::{Error, ErrorKind};
use carom_spec::mjcf::{Allow, AssetStorage, ReadSettings, patched, relocated, write_with};
use carom_spec::model_spec::{
    EqualityKind, GeomKind, InertiaFromGeom, InertiaSpec, InertialSpec, PairSpec,
};
use carom_spec::read::{ReadModel, read};
use carom_spec::source::{DiskSource, MemorySource, Overlay};
use carom_spec::{ModelSpec, SourceMap};

/// The files that a model was read from, and what they say.
#[derive(Clone, Copy, Debug)]
pub struct Original<'a> {
    /// What they say.
    pub spec: &'a ModelSpec,
    /// Their texts.
    pub sources: &'a SourceMap,
}

impl Original<'_> {
    /// The path of the main file.
    pub fn path(&self) -> &Path {
        let main = self.sources.files().first();
        main.map_or(Path::new(""), |file| file.path())
    }
}

/// MJCF text of a model, compiled from a description, with the parameters θ.
///
/// With the files that the description comes from, it is a patch of the main one, to be read in its folder: see
/// [`patched`]. Where there are none, or a number has no place in them, the model is written whole and complete in itself,
/// data of meshes included; a comment at its end says why.
///
/// # Errors
/// When a parameter has no place in such a file; it is named.
pub fn calibrated(
    start: &Model,
    spec: &ModelSpec,
    original: Option<Original<'_>>,
    parameters: &Parameters,
    theta: &[f64],
) -> Result<String, Error> {
    let refuse = |why: &str| Error::new(ErrorKind::Description, why);
    let model = parameters
        .bake(theta)
        .map_err(|error| Error::of(ErrorKind::Description, error))?;
    let given = |model: &Model| model.recipe().map(|recipe| recipe.given.clone());
    let base = given(parameters.base());
    let (Some(start), Some(before), Some(after)) = (given(start), base, given(&model)) else {
        return Err(refuse("the model was not compiled from a description"));
    };
    // Numbers of the model are those of fused bodies, so that these are written.
    let mut spec = carom::compile::simplified(spec);
    let mut place = Place {
        model: &model,
        pairs: pair_order(&model, &spec),
        spec: &mut spec,
        missing: None,
        moved_meshes: Vec::new(),
    };
    for change in changes([&start, &before], &after) {
        place.set(&change);
    }
    place.keep_length_ranges();
    let Place {
        missing,
        moved_meshes,
        ..
    } = place;
    if let Some(missing) = missing {
        return Err(refuse(&format!(
            "{missing} was identified, but cannot be written into a model file yet; the report has its value"
        )));
    }
    let check = |again: Result<Model, Error>| agreement::check(&model, &again?, &moved_meshes);
    let patch = original.map(|original| -> Result<String, String> {
        let files = carom::compile::simplified(original.spec);
        let text = patched(original.sources, &files, &spec).map_err(|error| error.to_string())?;
        match check(compiled(&text, original.path())) {
            Ok(()) => Ok(text),
            Err(error) => Err(error.to_string()),
        }
    });
    let mut text = write_with(&spec, AssetStorage::Inline);
    match patch {
        Some(Ok(text)) => return Ok(text),
        // Comments hold no two hyphens.
        Some(Err(why)) => {
            let why = why.lines().next().unwrap_or_default().replace("--", "- -");
            text = format!("{text}<!-- written whole: {why} -->\n");
        }
        None => {}
    }
    check(compiled(&text, Path::new(WHOLE)))
        .map_err(|cause| refuse("the calibrated model cannot be written").because(cause))?;
    Ok(text)
}

/// The name of a text that is complete in itself.
const WHOLE: &str = "calibrated.xml";

/// A calibrated model, as it was written for the folder of the file `from`, for the place `to`: its meshes and includes are
/// found from there. The same text where these are one folder.
///
/// # Errors
/// When the files cannot be found from there.
pub fn calibrated_at(text: &str, from: &Path, to: &Path) -> Result<String, Error> {
    let fail = |cause: Error| {
        let why = format!(
            "the calibrated model cannot be written to '{}'",
            to.display()
        );
        Error::new(ErrorKind::Description, why).because(cause)
    };
    let read = read_at(text, from);
    let folder = to.parent().unwrap_or(Path::new(""));
    let moved = relocated(&read.sources, &read.spec, folder);
    let moved = moved.map_err(|error| fail(Error::of(ErrorKind::Description, error)))?;
    if moved != text {
        let model = carom::load::compiled(read).map_err(fail)?.model;
        let again = compiled(&moved, to).map_err(fail)?;
        agreement::check(&model, &again, &[]).map_err(fail)?;
    }
    Ok(moved)
}

/// A text as the file of a path; what it refers to is read from disk.
fn read_at(text: &str, path: &Path) -> ReadModel {
    let memory = MemorySource::new().with(path, text);
    let files = Overlay::new(memory, DiskSource::default());
    // What the original was allowed to have, it still has.
    let settings = ReadSettings {
        allow: Allow::Everything,
    };
    read(path, &files, &settings)
}

/// The model that a text gives as the file of a path.
fn compiled(text: &str, path: &Path) -> Result<Model, Error> {
    Ok(carom::load::compiled(read_at(text, path))?.model)
}

/// Where the description has each pair of the model, whose pairs are sorted by their bodies.
fn pair_order(model: &Model, spec: &ModelSpec) -> Vec<usize> {
    let structure = &model.structure;
    let body = |name: &str| {
        let geom = structure.names.geoms.iter().position(|own| own == name);
        geom.map_or(usize::MAX, |geom| structure.geoms.body[geom])
    };
    let bodies = |&index: &usize| {
        let pair: &PairSpec = &spec.pairs[index];
        let bodies = [&pair.geom1, &pair.geom2].map(|geom| body(&geom.name));
        [bodies[0].min(bodies[1]), bodies[0].max(bodies[1])]
    };
    let mut order: Vec<usize> = (0..spec.pairs.len()).collect();
    order.sort_by_key(bodies);
    order
}

/// A number that is another one than before.
struct Change {
    quantity: Quantity,
    element: usize,
    component: usize,
    value: f64,
}

/// Numbers that are others than where the search began. Where it began elsewhere than at the model of the file, these are numbers
/// from which nothing follows.
fn changes([start, before]: [&Given; 2], after: &Given) -> Vec<Change> {
    let flat = |given: &Given| {
        let mut numbers = Vec::new();
        given.for_each(|_, _, _, number: f64| numbers.push(number.to_bits()));
        numbers
    };
    let (start, before) = (flat(start), flat(before));
    let mut changes = Vec::new();
    let mut index = 0;
    after.for_each(|quantity, element, component, value| {
        let differs = |old: &[u64]| old.get(index) != Some(&value.to_bits());
        let is_direct = quantity.row().role == Role::Direct;
        if differs(&before) || (is_direct && differs(&start)) {
            changes.push(Change {
                quantity,
                element,
                component,
                value,
            });
        }
        index += 1;
    });
    changes
}

struct Place<'a> {
    model: &'a Model,
    /// Where the description has each pair of the model.
    pairs: Vec<usize>,
    spec: &'a mut ModelSpec,
    /// The first change that has no place.
    missing: Option<String>,
    /// Meshes of which vertices have moved.
    moved_meshes: Vec<usize>,
}

impl Place<'_> {
    fn set(&mut self, change: &Change) {
        let is_set = match change.quantity {
            _ if self.is_inertia(change) => {
                self.set_inertia(change.element);
                true
            }
            Q::MeshVertex => self.set_vertex(change.element).is_some(),
            // They follow from vertices and sizes.
            Q::MeshMoments
            | Q::MeshBoxLow
            | Q::MeshBoxHigh
            | Q::GeomBoundingBox
            | Q::GeomBoundingRadius => true,
            Q::GeomSize if self.is_mesh(change.element) => true,
            _ => {
                let number = self.number(change);
                number.map(|number| *number = change.value).is_some()
            }
        };
        if !is_set && self.missing.is_none() {
            let row = change.quantity.row();
            let (field, family) = (row.field, row.family.name());
            self.missing = Some(format!("{field} of {family} {}", change.element));
        }
    }

    /// Where the description has a number.
    fn number(&mut self, change: &Change) -> Option<&mut f64> {
        match change.quantity.family() {
            Family::Option => self.option(change),
            Family::Bodies => self.body(change),
            Family::Joints => self.joint(change.element, change),
            Family::Dofs => self.dof(change),
            Family::Qpos => self.coordinate(change),
            Family::Geoms | Family::Sources => self.geom(change),
            Family::Sites => self.site(change),
            Family::Pairs => self.pair(change),
            Family::Laws => self.law(change),
            Family::JointLaws => self.joint_law(change),
            Family::Tendons => self.tendon(change),
            Family::Equalities => self.equality(change),
            Family::Actuators => self.actuator(change),
            Family::Sensors => self.sensor(change),
            _ => None,
        }
    }

    /// Lengths that the compiler found by search are those of the search's model, not of one that is searched again.
    fn keep_length_ranges(&mut self) {
        let found = &self.model.actuators.length_range;
        for (actuator, range) in self.spec.actuators.iter_mut().zip(found) {
            actuator.length_range = *range;
        }
    }

    fn is_mesh(&self, geom: usize) -> bool {
        matches!(self.model.structure.geoms.shape[geom], GeomShape::Mesh(_))
    }

    fn is_inertia(&self, change: &Change) -> bool {
        let is_number = matches!(
            change.quantity,
            Q::BodyMass
                | Q::BodyInertialPosition
                | Q::BodyInertialQuat
                | Q::BodyInertia
                | Q::BodyInertiaProducts
        );
        is_number && change.element < self.spec.bodies.len()
    }

    /// Writes all of a body's inertia, about the principal axes that the model has found: a part alone would leave the rest to the
    /// geoms.
    fn set_inertia(&mut self, id: usize) {
        let numbers = &self.model.bodies;
        if self.spec.compiler.inertia_from_geom == InertiaFromGeom::Always {
            // From now on the file says it; what it said so far did not count.
            self.spec.compiler.inertia_from_geom = InertiaFromGeom::Auto;
            for body in &mut self.spec.bodies {
                body.inertial = None;
            }
        }
        let body = &mut self.spec.bodies[id];
        body.inertial = Some(InertialSpec {
            span: (body.inertial.as_ref()).map_or(body.span, |written| written.span),
            position: numbers.inertial_position[id].0,
            mass: numbers.mass[id],
            inertia: InertiaSpec::Diagonal {
                quaternion: numbers.inertial_quat[id].0,
                diagonal: numbers.inertia[id].0,
            },
        });
    }

    fn option(&mut self, change: &Change) -> Option<&mut f64> {
        let option = &mut self.spec.option;
        let k = change.component;
        match change.quantity {
            Q::OptionTimestep => Some(&mut option.timestep),
            Q::OptionGravity => option.gravity.get_mut(k),
            Q::OptionWind => option.wind.get_mut(k),
            Q::OptionMagnetic => option.magnetic.get_mut(k),
            Q::OptionDensity => Some(&mut option.density),
            Q::OptionViscosity => Some(&mut option.viscosity),
            Q::OptionImpratio => Some(&mut option.impedance_ratio),
            Q::OptionOverrideMargin => Some(&mut option.override_margin),
            Q::OptionOverrideSolref => option.override_solver_reference.get_mut(k),
            Q::OptionOverrideSolimp => option.override_solver_impedance.get_mut(k),
            Q::OptionOverrideFriction => option.override_friction.get_mut(k),
            _ => None,
        }
    }

    fn body(&mut self, change: &Change) -> Option<&mut f64> {
        let body = self.spec.bodies.get_mut(change.element)?;
        let k = change.component;
        match change.quantity {
            Q::BodyPosition => body.position.get_mut(k),
            Q::BodyQuat => body.quaternion.get_mut(k),
            Q::BodyGravcomp => Some(&mut body.gravity_compensation),
            _ => None,
        }
    }

    /// A joint of the description by its id.
    fn joint(&mut self, id: usize, change: &Change) -> Option<&mut f64> {
        let mut joints = self
            .spec
            .bodies
            .iter_mut()
            .flat_map(|body| &mut body.joints);
        let joint = joints.nth(id)?;
        let k = change.component;
        match change.quantity {
            Q::JointPosition => joint.position.get_mut(k),
            Q::JointAxis => joint.axis.get_mut(k),
            Q::JointStiffness => joint.stiffness.get_mut(0),
            Q::JointStiffnessPoly => joint.stiffness.get_mut(1 + k),
            Q::JointRange => joint.range.get_mut(k),
            Q::JointActuatorForceRange => joint.actuator_force_range.get_mut(k),
            Q::JointMargin => Some(&mut joint.margin),
            Q::JointSolref => joint.limit_solver_reference.get_mut(k),
            Q::JointSolimp => joint.limit_solver_impedance.get_mut(k),
            Q::DofArmature => Some(&mut joint.armature),
            Q::DofDamping => joint.damping.get_mut(0),
            Q::DofDampingPoly => joint.damping.get_mut(1 + k),
            Q::DofFrictionloss => Some(&mut joint.friction_loss),
            Q::DofSolref => joint.friction_solver_reference.get_mut(k),
            Q::DofSolimp => joint.friction_solver_impedance.get_mut(k),
            Q::QposReference => Some(&mut joint.reference_value),
            Q::QposSpring => Some(&mut joint.spring_reference),
            Q::JointSpringDamper => joint.spring_damper.get_mut(k),
            _ => None,
        }
    }

    fn dof(&mut self, change: &Change) -> Option<&mut f64> {
        let joint = *self.model.structure.dofs.joint.get(change.element)?;
        self.joint(joint, change)
    }

    fn coordinate(&mut self, change: &Change) -> Option<&mut f64> {
        let addresses = &self.model.structure.joints.qpos;
        let joint = addresses
            .iter()
            .position(|&start| start == change.element)?;
        self.joint(joint, change)
    }

    fn geom(&mut self, change: &Change) -> Option<&mut f64> {
        if change.quantity == Q::JointSpringDamper {
            return self.joint(change.element, change);
        }
        let mut geoms = self.spec.bodies.iter_mut().flat_map(|body| &mut body.geoms);
        let geom = geoms.nth(change.element)?;
        let k = change.component;
        // The ends of a capsule or cylinder leave its radius open.
        let has_length = matches!(geom.kind, GeomKind::Capsule | GeomKind::Cylinder);
        let is_radius = change.quantity == Q::GeomSize && k == 0 && has_length;
        let is_placed = matches!(change.quantity, Q::GeomPosition | Q::GeomQuat | Q::GeomSize);
        if is_placed && !is_radius && geom.fromto.take().is_some() {
            // The two ends would give place and length again.
            let numbers = &self.model.recipe()?.given.model.geoms;
            geom.position = numbers.position.get(change.element)?.0;
            geom.quaternion = numbers.quat.get(change.element)?.0;
            geom.size = numbers.size.get(change.element)?.0;
        }
        match change.quantity {
            Q::GeomSize => geom.size.get_mut(k),
            Q::GeomPosition => geom.position.get_mut(k),
            Q::GeomQuat => geom.quaternion.get_mut(k),
            Q::GeomFriction => geom.friction.get_mut(k),
            Q::GeomSolmix => Some(&mut geom.solver_mix),
            Q::GeomSolref => geom.solver_reference.get_mut(k),
            Q::GeomSolimp => geom.solver_impedance.get_mut(k),
            Q::GeomMargin => Some(&mut geom.margin),
            Q::GeomGap => Some(&mut geom.gap),
            Q::GeomSurfaceVelocity => geom.surface_velocity.get_mut(k),
            Q::GeomAdhesion => Some(&mut geom.adhesion),
            Q::GeomFluid => geom.fluid_coefficients.get_mut(k.checked_sub(1)?),
            Q::GeomMass => Some(geom.mass.insert(0.0)),
            Q::GeomDensity => {
                geom.mass = None;
                Some(&mut geom.density)
            }
            _ => None,
        }
    }

    fn site(&mut self, change: &Change) -> Option<&mut f64> {
        let mut sites = self.spec.bodies.iter_mut().flat_map(|body| &mut body.sites);
        let site = sites.nth(change.element)?;
        let k = change.component;
        if site.fromto.take().is_some() {
            let numbers = &self.model.recipe()?.given.model.sites;
            site.position = numbers.position.get(change.element)?.0;
            site.quaternion = numbers.quat.get(change.element)?.0;
            site.size = numbers.size.get(change.element)?.0;
        }
        match change.quantity {
            Q::SitePosition => site.position.get_mut(k),
            Q::SiteQuat => site.quaternion.get_mut(k),
            Q::SiteSize => site.size.get_mut(k),
            _ => None,
        }
    }

    fn tendon(&mut self, change: &Change) -> Option<&mut f64> {
        let tendon = self.spec.tendons.get_mut(change.element)?;
        let k = change.component;
        match change.quantity {
            Q::TendonRange => tendon.range.get_mut(k),
            Q::TendonActuatorForceRange => tendon.actuator_force_range.get_mut(k),
            Q::TendonMargin => Some(&mut tendon.margin),
            Q::TendonStiffness => tendon.stiffness.get_mut(0),
            Q::TendonStiffnessPoly => tendon.stiffness.get_mut(1 + k),
            Q::TendonDamping => tendon.damping.get_mut(0),
            Q::TendonDampingPoly => tendon.damping.get_mut(1 + k),
            Q::TendonArmature => Some(&mut tendon.armature),
            Q::TendonFrictionloss => Some(&mut tendon.friction_loss),
            Q::TendonSpringLength => {
                // Where the file says nothing, it is the length at the reference configuration.
                let found = *self.model.tendons.spring_length.get(change.element)?;
                tendon.spring_length.get_or_insert(found).get_mut(k)
            }
            Q::TendonSolrefLimit => tendon.limit_solver_reference.get_mut(k),
            Q::TendonSolimpLimit => tendon.limit_solver_impedance.get_mut(k),
            Q::TendonSolrefFriction => tendon.friction_solver_reference.get_mut(k),
            Q::TendonSolimpFriction => tendon.friction_solver_impedance.get_mut(k),
            _ => None,
        }
    }

    fn equality(&mut self, change: &Change) -> Option<&mut f64> {
        let equality = self.spec.equalities.get_mut(change.element)?;
        let k = change.component;
        match (change.quantity, &mut equality.kind) {
            (Q::EqualitySolref, _) => equality.solver_reference.get_mut(k),
            (Q::EqualitySolimp, _) => equality.solver_impedance.get_mut(k),
            (
                Q::EqualityData,
                EqualityKind::Joint { polynomial, .. } | EqualityKind::Tendon { polynomial, .. },
            ) => polynomial.get_mut(k),
            (Q::EqualityData, EqualityKind::Connect { anchor, .. }) => anchor.get_mut(k),
            (Q::EqualityData, EqualityKind::Weld { torque_scale, .. }) if k == 10 => {
                Some(torque_scale)
            }
            _ => None,
        }
    }

    fn sensor(&mut self, change: &Change) -> Option<&mut f64> {
        let sensor = self.spec.sensors.get_mut(change.element)?;
        match change.quantity {
            Q::SensorCutoff => Some(&mut sensor.cutoff),
            Q::SensorNoise => Some(&mut sensor.noise),
            Q::SensorDelay => Some(&mut sensor.history.delay),
            Q::SensorInterval => sensor.history.interval.get_mut(change.component),
            _ => None,
        }
    }

    fn pair(&mut self, change: &Change) -> Option<&mut f64> {
        let index = *self.pairs.get(change.element)?;
        let pair = self.spec.pairs.get_mut(index)?;
        let k = change.component;
        match change.quantity {
            Q::PairSolref => pair.solver_reference.get_mut(k),
            Q::PairSolreffriction => pair.friction_solver_reference.get_mut(k),
            Q::PairSolimp => pair.solver_impedance.get_mut(k),
            Q::PairMargin => Some(&mut pair.margin),
            Q::PairGap => Some(&mut pair.gap),
            Q::PairAdhesion => Some(&mut pair.adhesion),
            Q::PairFriction => pair.friction.get_mut(k),
            _ => None,
        }
    }

    fn law(&mut self, change: &Change) -> Option<&mut f64> {
        let spec = self.spec.contact_laws.get_mut(change.element)?;
        let attribute = change.quantity.row().attribute?;
        spec.law.number_mut(attribute.name, change.component)
    }

    fn joint_law(&mut self, change: &Change) -> Option<&mut f64> {
        let numbers = &mut self.spec.joint_laws.iter_mut();
        numbers.flat_map(|law| &mut law.numbers).nth(change.element)
    }

    fn actuator(&mut self, change: &Change) -> Option<&mut f64> {
        let actuator = self.spec.actuators.get_mut(change.element)?;
        let k = change.component;
        match change.quantity {
            Q::ActuatorGear => actuator.gear.get_mut(k),
            Q::ActuatorGain => actuator.gain_parameters.get_mut(k),
            Q::ActuatorBias => actuator.bias_parameters.get_mut(k),
            Q::ActuatorDynamics => actuator.dynamics_parameters.get_mut(k),
            Q::ActuatorCrankLength => Some(&mut actuator.crank_length),
            Q::ActuatorControlRange => actuator.control_range.get_mut(k),
            Q::ActuatorVelocityRange => actuator.velocity_range.get_mut(k),
            Q::ActuatorFeedforwardRange => actuator.feedforward_range.get_mut(k),
            Q::ActuatorForceRange => actuator.force_range.get_mut(k),
            Q::ActuatorActivationRange => actuator.activation_range.get_mut(k),
            Q::ActuatorDamping => actuator.damping.get_mut(0),
            Q::ActuatorDampingPoly => actuator.damping.get_mut(1 + k),
            Q::ActuatorArmature => Some(&mut actuator.armature),
            Q::ActuatorDelay => Some(&mut actuator.history.delay),
            _ => None,
        }
    }
}
