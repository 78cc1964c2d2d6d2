//! The backward pass against dual numbers and differences.

use crate::cotangent::Cotangents;
use crate::data::Data;
use crate::dynamics;
use crate::integrate;
use crate::math::{Quat, Vec3};
use crate::model::{Coincidence, Model};
use crate::scalar::Scalar;
use crate::stages::collision::{self, Contact};
use crate::state::{Input, State};
use crate::testing::stage_check::{
    Point, Stage, Tally, check, check_near_kinks, check_stage, points, zeros,
};
use crate::testing::{Random, model_from_mjcf, shared_models, shipped_models};

/// What geoms look like, in the order of the colliders.
pub(super) const SHAPES: [&str; 8] = [
    r#"type="plane" size="2 2 1""#,
    r#"type="hfield" hfield="hills""#,
    r#"type="sphere" size=".15""#,
    r#"type="capsule" size=".1 .12""#,
    r#"type="ellipsoid" size=".1 .14 .18""#,
    r#"type="cylinder" size=".12 .1""#,
    r#"type="box" size=".1 .13 .16""#,
    r#"type="mesh" mesh="gem""#,
];

/// Two shapes, the second on a free body, with parameters of all kinds.
pub(super) fn scene(first: &str, second: &str, more: &str) -> Model {
    model_from_mjcf(&format!(
        r#"<mujoco>
          <asset>
            <hfield name="hills" nrow="5" ncol="6" size=".6 .5 .2 .1"
              elevation="0 .2 .9 1 .3 .8 .1 .4 .7 0 .5 .6 .3 .2 .5 .9 .1 .6 .4 .7 .2 .8 .3 .5 .6 .1 .9 .4 .2 .7"/>
            <mesh name="brick" vertex="-.1 -.11 -.1 .1 -.11 -.1 .1 .11 -.1 -.1 .11 -.1 -.1 -.11 .1 .1 -.11 .1 .1 .11 .1 -.1 .11 .1"/>
            <mesh name="gem" vertex="-.11 -.02 .01 .12 .01 -.02 .02 -.13 .03 -.01 .14 .02 .03 .01 -.12 .01 .02 .13
              .08 .07 .06 -.07 .08 -.05"/>
          </asset>
          <worldbody>
            <geom {first} margin=".01" solmix="2" friction=".7 .01 .002" surfacevel=".1 .2 .3 .4 .5 .6"/>
            <body><freejoint/><geom {second} gap=".02" solimp=".8 .9 .002 .4 3" friction=".5 .02 .001"/></body>
          </worldbody>{more}
        </mujoco>"#
    ))
}

/// The results of all stages at a state.
pub(super) fn point(mut model: Model, state: State) -> Point {
    let structure = std::sync::Arc::make_mut(&mut model.structure);
    structure.coincidences.geoms.fill(Coincidence::None);
    let (input, mut data) = (Input::zeros(&model), Data::new(&model));
    dynamics::forward_and_sense(&model, &state, &input, &mut data);
    Point {
        model,
        state,
        input,
        data,
    }
}

/// Whether points neither jump, appear nor vanish when everything moves a little: where polygons have several largest
/// quadrilaterals, rounding chooses one.
fn is_smooth(at: &Point, random: &mut Random) -> bool {
    let contacts = &at.data.collision.contacts;
    (0..20).all(|_| {
        let (mut model, mut state) = (at.model.clone(), at.state.clone());
        let mut nudge = |numbers: &mut [f64]| {
            for number in numbers {
                *number += 1e-6 * random.next();
            }
        };
        nudge(&mut state.qpos);
        for size in &mut model.geoms.size {
            nudge(&mut size.0);
        }
        for vertex in &mut model.meshes.vertex {
            nudge(&mut vertex.0);
        }
        nudge(&mut model.height_fields.elevation);
        let moved = point(model, state).data.collision.contacts;
        let jumps = |(a, b): (&Contact, &Contact)| {
            (a.position - b.position).norm() > 1e-3
                || (a.frame.row(0) - b.frame.row(0)).norm() > 1e-3
        };
        moved.len() == contacts.len() && !contacts.iter().zip(&moved).any(jumps)
    })
}

/// The first states drawn in which the shapes touch.
fn touching(model: &Model, seed: u64, count: usize) -> Vec<Point> {
    let mut random = Random::new(seed);
    let mut found = Vec::new();
    for _ in 0..200 {
        let mut state = State::reference(model);
        let Quat(quat) = random.quat();
        for axis in 0..3 {
            state.qpos[axis] = 0.3 * random.next();
        }
        state.qpos[3..7].copy_from_slice(&quat);
        let point = point(model.clone(), state);
        if !point.data.collision.contacts.is_empty() && is_smooth(&point, &mut random) {
            found.push(point);
            if found.len() == count {
                break;
            }
        }
    }
    found
}

/// Every pair of shapes that can touch, each in several states.
fn pairs() -> Vec<(String, Point)> {
    let mut points = Vec::new();
    for (index, first) in SHAPES.iter().enumerate() {
        for second in &SHAPES[index.max(2)..] {
            let model = scene(first, second, "");
            let states = touching(&model, 3, 6);
            assert_eq!(states.len(), 6, "{first} {second}");
            points.extend((states.into_iter()).map(|point| (format!("{first} {second}"), point)));
        }
    }
    points
}

/// Faces and edges that are nearly parallel, so that contacts are found by clipping.
fn stacks() -> Vec<(String, Point)> {
    let shapes = [
        (SHAPES[6], 0.16),
        (SHAPES[5], 0.1),
        (r#"type="mesh" mesh="brick""#, 0.1),
        (r#"type="capsule" size=".1 .12" euler="0 90 0""#, 0.1),
    ];
    let mut random = Random::new(21);
    let mut points = Vec::new();
    for (first, height1) in shapes {
        for (second, height2) in shapes {
            // Two capsules have two points only when exactly parallel.
            if first.contains("capsule") && second.contains("capsule") {
                continue;
            }
            let model = scene(first, second, "");
            let mut found = 0;
            for _ in 0..60 {
                let mut state = State::reference(&model);
                let [x, y, a, b, c] = random.numbers();
                state.qpos[..3].copy_from_slice(&[0.06 * x, 0.06 * y, height1 + height2 - 0.01]);
                let quat = Quat([1.0, 0.02 * a, 0.02 * b, 0.4 * c]).normalized();
                state.qpos[3..7].copy_from_slice(&quat.0);
                let at = point(model.clone(), state);
                if at.data.collision.contacts.len() > 1 && is_smooth(&at, &mut random) && found < 4
                {
                    points.push((format!("{first} below {second}"), at));
                    found += 1;
                }
            }
            assert!(found > 1, "{first} {second} {found}");
        }
    }
    points
}

/// As [`pairs`], with an explicit pair, a contact override, priorities, direct solref and contact points.
fn parameters() -> Vec<(String, Point)> {
    let mut points = Vec::new();
    let [ball, cuboid] = [SHAPES[2], SHAPES[6]].map(|shape| format!(r#"{shape} name="moving""#));
    let table = r#"type="plane" size="2 2 1" name="fixed""#;
    let pair = r#"<contact><pair geom1="fixed" geom2="moving" friction=".7 .6 .1 .02 .03" solreffriction=".03 .8"/></contact>"#;
    let law = r#"<custom><text name="carom/contact/corners" data="law=hunt_crossley; geom1=moving;
      points=.1 .13 .16 -.1 .13 .16 .1 -.13 .16 .1 .13 -.16 -.1 -.13 -.16 .02 .03 -.16"/></custom>"#;
    let over = r#"<option o_margin=".03" o_friction=".4 .5 .1 .02 .03"><flag override="enable"/></option>"#;
    for (first, second, more) in [
        (table.to_owned(), &ball, pair),
        (table.to_owned(), &cuboid, over),
        (
            format!(r#"{table} priority="1" solref="-100 -3""#),
            &ball,
            "",
        ),
        (format!(r#"{table} solref="-100 -3""#), &cuboid, law),
        (format!(r#"{} name="fixed""#, SHAPES[6]), &cuboid, law),
        (format!(r#"{} name="fixed""#, SHAPES[7]), &cuboid, law),
    ] {
        let model = scene(&first, second, more);
        let states = touching(&model, 5, 4);
        assert_eq!(states.len(), 4, "{first} {second}");
        points.extend(
            states
                .into_iter()
                .map(|point| (format!("{first} {more}"), point)),
        );
    }
    points
}

check_stage!(
    collision,
    (pairs().into_iter())
        .chain(stacks())
        .chain(parameters())
        .chain(points()),
    |point| collision::forward(
        &point.model,
        &point.data.kinematics,
        &mut point.data.collision
    ),
    |at, bar| crate::stages::collision::backward(at.at(), bar)
);

/// Patches end where cells are cut: a sliver of one has a centre that turns within the steps of differences.
#[test]
fn patches_of_boxes() {
    let patch = r#"<custom><text name="carom/contact" data="law=hunt_crossley; exponent=1; patch=3"/></custom>"#;
    let cuboid = format!(r#"{} name="moving""#, SHAPES[6]);
    let table = r#"type="plane" size="2 2 1" name="fixed""#.to_owned();
    let mut tally = Tally::default();
    for first in [table, format!(r#"{} name="fixed""#, SHAPES[6])] {
        let states = touching(&scene(&first, &cuboid, patch), 5, 4);
        assert_eq!(states.len(), 4, "{first}");
        for point in states {
            tally.add(&check_near_kinks::<Checked>(&point));
        }
    }
    tally.assert_telling("collision", "patches of boxes", 20);
}

/// The stage near kinks, where things rest on each other: dual numbers hold the same features fixed.
struct Resting;

impl Stage for Resting {
    const NAME: &'static str = "collision";
    const DIFFERENCES: bool = false;

    fn forward<T: Scalar>(point: &mut Point<T>) {
        collision::forward(
            &point.model,
            &point.data.kinematics,
            &mut point.data.collision,
        );
    }

    fn backward(at: &Point, bar: &mut Cotangents) {
        crate::stages::collision::backward(at.at(), bar);
    }
}

#[test]
fn models_near_rest() {
    let contacts = |models: Vec<(String, Model)>| -> usize {
        let settled = models.iter().map(|(name, model)| settle(name, model));
        settled.sum()
    };
    let shipped = contacts(shipped_models());
    carom_testing::at_least("contacts of shipped models near rest", shipped);
    let shared = shared_models("soft");
    if !shared.is_empty() {
        carom_testing::at_least("contacts of shared models near rest", contacts(shared));
    }
}

/// Checks a model at some moments of a simulation, a little beside: where edges are parallel but for rounding, the points
/// at which they cross, and derivatives of any kind, keep few digits. Returns how many contacts were looked at.
fn settle(name: &str, model: &Model) -> usize {
    let mut contacts = 0;
    let mut random = Random::new(31);
    let (mut state, input) = (State::reference(model), Input::zeros(model));
    let mut data = Data::new(model);
    for steps in [1, 30, 100] {
        for _ in 0..steps {
            integrate::step(model, &mut state, &input, &mut data);
        }
        let mut beside = state.clone();
        for coordinate in &mut beside.qpos {
            *coordinate += 1e-4 * random.next();
        }
        let at = point(model.clone(), beside);
        println!("{name}: {} contacts", at.data.collision.contacts.len());
        if !at.data.collision.contacts.is_empty() {
            contacts += at.data.collision.contacts.len();
            check::<Resting>(&at);
        }
    }
    contacts
}

/// Shapes on a coarse grid of places and quarter turns, some without extent: centres coincide, faces are parallel, edges
/// meet.
#[test]
fn cotangents_are_finite_wherever_shapes_are() {
    let mut random = Random::new(11);
    let mut contacts = 0;
    for (index, first) in SHAPES.iter().enumerate() {
        for second in &SHAPES[index.max(2)..] {
            let mut model = scene(first, second, "");
            for round in 0..150 {
                if round == 100 {
                    model.geoms.size[1][0] = 0.0;
                } else if round == 125 {
                    model.geoms.size.fill(Vec3::ZERO);
                }
                let mut state = State::reference(&model);
                for axis in 0..3 {
                    state.qpos[axis] = [0.0, 0.05, 0.1, -0.1, 0.13][random.below(5)];
                }
                let mut quarter =
                    || Quat(std::array::from_fn(|_| [0.0, 1.0, -1.0][random.below(3)]));
                state.qpos[3..7].copy_from_slice(&quarter().normalized().0);
                let at = point(model.clone(), state);
                contacts += at.data.collision.contacts.len();
                let mut bar = zeros(&at);
                for contact in &mut bar.data.contacts {
                    *contact = contact.map(|_| random.next());
                }
                crate::stages::collision::backward(at.at(), &mut bar);
                let mut is_finite = true;
                bar.model
                    .for_each(|_, _, _, number| is_finite &= number.is_finite());
                (bar.data.kinematics).for_each(|_, _, _, number| is_finite &= number.is_finite());
                assert!(is_finite, "{first} {second} {:?}", at.state.qpos);
            }
        }
    }
    assert!(contacts > 1000, "{contacts}");
}
