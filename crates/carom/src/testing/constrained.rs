//! Random constraints on random mechanisms.

use std::sync::Arc;

use super::{Random, random_input, random_model, random_state};
use crate::data::Data;
use crate::dynamics;
use crate::math::{Mat3, Vec3};
use crate::model::{Cone, EqualityKind, JointKind, Model};
use crate::stages::collision::Contact;
use crate::stages::solve;
use crate::state::{Input, State};

/// A mechanism with equalities, friction, limits and contacts in some state.
#[derive(Clone)]
pub(crate) struct Constrained {
    pub(crate) model: Model,
    pub(crate) state: State,
    pub(crate) input: Input,
    pub(crate) contacts: Vec<Contact>,
}

impl Constrained {
    /// All results, with the solver run as the model says.
    pub(crate) fn solve(&self) -> Data {
        let mut data = Data::new(&self.model);
        self.solve_into(&mut data);
        data
    }

    /// As [`Self::solve`], with data of an earlier solution.
    pub(crate) fn solve_into(&self, data: &mut Data) {
        data.collision.contacts.clear();
        dynamics::forward(&self.model, &self.state, &self.input, data);
        data.collision.contacts.clone_from(&self.contacts);
        dynamics::constrain(&self.model_with_geoms(), &self.state, &self.input, data);
    }

    /// The model with a geom for every body: contacts name geoms, and no other stage needs them here.
    pub(crate) fn model_with_geoms(&self) -> Model {
        let mut model = self.model.clone();
        let nbody = model.counts().nbody;
        Arc::make_mut(&mut model.structure).geoms.body = (0..nbody).collect();
        model
    }
}

/// Random constraints of all kinds between the bodies of a random mechanism.
pub(crate) fn random_constrained(seed: u64, bodies: usize, cone: Cone) -> Constrained {
    let mut random = Random::new(seed ^ 0xC0);
    let mut model = random_model(seed, bodies);
    model.settings.cone = cone;
    solve::tighten(&mut model);
    model.option.impratio[0] = random.between(0.5, 10.0);
    let state = random_state(seed, &model);
    for weights in &mut model.bodies.inverse_weight {
        *weights = [random.between(0.1, 3.0), random.between(0.1, 3.0)];
    }
    for weight in &mut model.dofs.inverse_weight {
        *weight = random.between(0.1, 3.0);
    }
    add_friction(&mut random, &mut model);
    add_limits(&mut random, &mut model, &state);
    for _ in 0..bodies / 3 {
        add_equality(&mut random, &mut model);
    }
    let nbody = model.counts().nbody;
    let contacts = (0..2 * bodies)
        .map(|_| random_contact(&mut random, nbody))
        .collect();
    Constrained {
        input: random_input(seed, &model),
        model,
        state,
        contacts,
    }
}

fn random_solref(random: &mut Random) -> [f64; 2] {
    match random.below(4) {
        0 => [-random.between(50.0, 500.0), -random.between(1.0, 20.0)],
        _ => [random.between(0.01, 0.1), random.between(0.5, 1.5)],
    }
}

fn random_solimp(random: &mut Random) -> [f64; 5] {
    let start = random.between(0.1, 0.9);
    [
        start,
        random.between(start, 0.98),
        random.between(0.001, 0.5),
        random.between(0.2, 0.8),
        random.between(1.0, 4.0),
    ]
}

fn add_friction(random: &mut Random, model: &mut Model) {
    for dof in 0..model.counts().nv {
        model.dofs.solref[dof] = random_solref(random);
        model.dofs.solimp[dof] = random_solimp(random);
        if random.below(3) == 0 {
            model.dofs.frictionloss[dof] = random.between(0.1, 2.0);
        }
    }
}

/// Limits close to the state, on both sides of it.
fn add_limits(random: &mut Random, model: &mut Model, state: &State) {
    let structure = Arc::make_mut(&mut model.structure);
    for joint in 0..structure.counts.njoint {
        structure.joints.limited[joint] = random.below(2) == 0;
        model.joints.solref[joint] = random_solref(random);
        model.joints.solimp[joint] = random_solimp(random);
        model.joints.margin[joint] = random.between(0.0, 0.2);
        model.joints.range[joint] = if structure.joints.kind[joint] == JointKind::Ball {
            [0.0, random.between(0.1, 1.0)]
        } else {
            let middle = state.qpos[structure.joints.qpos[joint]];
            let [below, above] = [random.between(-0.1, 0.4), random.between(-0.1, 0.4)];
            [middle - below, middle + above]
        };
    }
}

/// A connect or weld of two bodies, or a coupling of two scalar joints.
fn add_equality(random: &mut Random, model: &mut Model) {
    let structure = Arc::make_mut(&mut model.structure);
    let scalar: Vec<usize> = (0..structure.counts.njoint)
        .filter(|&joint| {
            matches!(
                structure.joints.kind[joint],
                JointKind::Hinge | JointKind::Slide
            )
        })
        .collect();
    let kind = match random.below(3) {
        0 if scalar.len() > 1 => EqualityKind::Joint,
        1 => EqualityKind::Weld,
        _ => EqualityKind::Connect,
    };
    let mut data = random.numbers::<12>().map(|number| 0.3 * number);
    let objects = if kind == EqualityKind::Joint {
        [0; 2].map(|_: usize| scalar[random.below(scalar.len())])
    } else {
        let relative = random.quat();
        data[6..10].copy_from_slice(&relative.0);
        data[10] = random.between(0.5, 2.0);
        let first = random.below(structure.counts.nbody);
        [first, random.below(structure.counts.nbody)]
    };
    structure.counts.nequality += 1;
    structure.equalities.kind.push(kind);
    structure.equalities.between_sites.push(false);
    structure.equalities.object1.push(objects[0]);
    structure.equalities.object2.push(Some(objects[1]));
    structure.equalities.active.push(true);
    model.equalities.solref.push(random_solref(random));
    model.equalities.solimp.push(random_solimp(random));
    model.equalities.data.push(data);
}

fn random_contact(random: &mut Random, nbody: usize) -> Contact {
    let friction = random.between(0.2, 1.5);
    let [spin, roll] = [random.between(0.01, 0.3), random.between(0.01, 0.3)];
    Contact {
        geoms: [random.below(nbody), random.below(nbody)],
        feature: None,
        distance: random.between(-0.05, 0.01),
        position: random.vec3() * 0.5,
        frame: random_frame(random),
        dimension: [1, 3, 3, 4, 6][random.below(5)],
        include_margin: 0.02,
        friction: [friction, random.between(0.2, 1.5), spin, roll, 0.7 * roll],
        solref: random_solref(random),
        solreffriction: match random.below(2) {
            0 => [0.0; 2],
            _ => [random.between(0.01, 0.1), 1.0],
        },
        solimp: random_solimp(random),
        adhesion: 0.0,
        surface_velocity: [0.0; 3],
        law: None,
        pair: None,
        excluded: random.below(8) == 0,
    }
}

fn random_frame(random: &mut Random) -> Mat3 {
    let columns = random.quat().to_mat3();
    let rows: [Vec3; 3] = std::array::from_fn(|k| columns.column(k));
    Mat3::from_rows(rows[0], rows[1], rows[2])
}
