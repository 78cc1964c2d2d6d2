//! Every stage on every shared model: models are read once, and stages go through them together.

use carom_testing::at_most;

use super::points::{is_solved, point_at};
use super::{Point, Stage, Tally, coarse_groups, examine, fine_groups};
use crate::data::Data;
use crate::integrate;
use crate::model::Model;
use crate::state::{Input, State};
use crate::testing::{Random, shared_models};

/// A stage whose type is known to its check only.
struct Entry {
    name: &'static str,
    check: fn(&Point) -> Result<Tally, String>,
    tally: Tally,
}

impl Entry {
    fn of<S: Stage>() -> Self {
        let check = |point: &Point| {
            // Once more to name the group, should it fail.
            examine::<S>(point, &coarse_groups())
                .or_else(|_| examine::<S>(point, &fine_groups(&point.model)))
        };
        Self {
            name: S::NAME,
            check,
            tally: Tally::default(),
        }
    }
}

/// After some motion and a little beside it: where things rest exactly on each other, rounding chooses between equal
/// contacts.
fn in_motion(model: &Model) -> Point {
    let mut random = Random::new(31);
    let (mut state, input) = (State::reference(model), Input::zeros(model));
    let mut data = Data::new(model);
    for _ in 0..60 {
        integrate::step(model, &mut state, &input, &mut data);
    }
    let displacement = random.vector(model.counts().nv);
    integrate::integrate_positions(model, &mut state.qpos, &displacement, 1e-4);
    let mut model = model.clone();
    // Of two geoms the greater friction counts: equal ones are a kink.
    for friction in &mut model.geoms.friction {
        *friction *= random.between(0.9, 1.1);
    }
    point_at(model, state, &mut random)
}

/// Checks stages on the shared models under a law.
fn check_shared(law: &str, mut stages: Vec<Entry>) {
    let models = shared_models(law);
    let (mut unsolved, mut wrong) = (0, Vec::new());
    for (name, model) in &models {
        println!("{name}");
        let point = in_motion(model);
        if !is_solved(&point) {
            println!("{name}: left out, impulses are not found");
            unsolved += 1;
            continue;
        }
        for entry in &mut stages {
            match (entry.check)(&point) {
                Ok(found) => entry.tally.add(&found),
                Err(why) => wrong.push(format!("{name}: {why}")),
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    if models.is_empty() {
        return; // which was written down
    }
    at_most(
        &format!("shared models without a solution, {law}"),
        unsolved,
    );
    for entry in &stages {
        let models_of = format!("shared models, {law}");
        entry
            .tally
            .assert_telling(entry.name, &models_of, models.len() / 8);
    }
}

/// The stages named, each with the check of its own tests.
macro_rules! entries {
    ($($($stage:ident)::+),*) => {
        vec![$(Entry::of::<crate::stages::$($stage::)+tests::Checked>()),*]
    };
}

#[test]
fn backward_is_the_adjoint_of_forward_in_shared_models() {
    check_shared(
        "soft",
        entries!(
            kinematics,
            tendon,
            inertia,
            transmission,
            velocity,
            passive,
            bias,
            actuation,
            acceleration,
            collision,
            constraint,
            solve,
            sensing
        ),
    );
}

#[test]
fn backward_is_the_adjoint_of_forward_in_shared_models_with_compliant_contacts() {
    check_shared("hunt_crossley", entries!(compliance, acceleration));
}

#[test]
fn backward_is_the_adjoint_of_forward_in_shared_models_with_rigid_contacts() {
    check_shared("complementarity", entries!(solve::complementarity));
}
