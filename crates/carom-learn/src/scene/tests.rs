//! Nearest points against the engine's, features against turned scenes, shape matching against differences.

use carom::math::{Mat3, Quat, Vec3};
use carom_scalar::{Dual, Scalar};

use super::motion::{self, Moments, polar};
use super::{Batch, Body, Contacts, Heading, Place, Scene, Setting, Solid, Twist, WitnessMode};
use crate::random::Random;

pub(crate) fn setting() -> Setting {
    Setting {
        step: 1.0 / 120.0,
        threshold: 0.03,
        witness: WitnessMode::Exact,
    }
}

fn vector(random: &mut Random, size: f64) -> Vec3 {
    Vec3(std::array::from_fn(|_| size * random.normal()))
}

/// A body somewhere near the origin, turned at will.
pub(crate) fn body(random: &mut Random, size: f64) -> Body {
    Body {
        position: vector(random, size),
        rotation: Quat::exp(vector(random, 1.0)).to_mat3(),
        twist: Twist {
            linear: vector(random, 1.0),
            angular: vector(random, 3.0),
        },
    }
}

fn still(position: Vec3) -> Body {
    Body {
        position,
        rotation: Mat3::identity(),
        twist: Twist::default(),
    }
}

/// Two boxes, a convex mesh, and the table.
pub(crate) fn scene(random: &mut Random) -> (Scene, Vec<Body>) {
    let points: Vec<[f64; 3]> = (0..14).map(|_| vector(random, 0.03).0).collect();
    let mesh = Solid::hull(&points, Some(0.2), 0.3).unwrap().0;
    let cube = Solid::cuboid(Vec3::new(0.03, 0.025, 0.035), Some(0.15), 0.25);
    let scene = Scene {
        solids: vec![cube.clone(), mesh, cube, Solid::plane(1.0)],
    };
    let mut bodies: Vec<Body> = (0..3).map(|_| body(random, 0.04)).collect();
    for body in &mut bodies {
        body.position[2] += 0.04;
    }
    bodies.push(still(Vec3::ZERO));
    (scene, bodies)
}

#[test]
fn the_nearest_pair_is_that_of_the_engine() {
    let xml = r#"<mujoco><worldbody>
      <body><freejoint/><geom type="box" size="0.03 0.03 0.03"/></body>
      <body><freejoint/><geom type="box" size="0.02 0.04 0.03"/></body></worldbody></mujoco>"#;
    let files = carom_spec::MemorySource::new().with("m.xml", xml);
    let settings = carom_spec::mjcf::ReadSettings::default();
    let read = carom_spec::read::read("m.xml".as_ref(), &files, &settings);
    let model = carom::compile::compile(&read.spec).0.unwrap();
    let mut data = carom::Data::new(&model);
    let halves = [Vec3::new(0.03, 0.03, 0.03), Vec3::new(0.02, 0.04, 0.03)];
    let scene = Scene {
        solids: halves
            .map(|half| Solid::cuboid(half, Some(1.0), 1.0))
            .to_vec(),
    };
    let (mut random, mut contacts) = (Random::new(4, 0), Contacts::default());
    let (mut near, mut crossed, mut exact) = (0, 0, 0);
    for _ in 0..400 {
        let bodies = [still(Vec3::ZERO), body(&mut random, 0.05)];
        let mut state = carom::State::reference(&model);
        for (index, body) in bodies.iter().enumerate() {
            let q = &mut state.qpos[7 * index..][..7];
            q[..3].copy_from_slice(&body.position.0);
            q[3..].copy_from_slice(&Quat::from_mat3(&body.rotation).0);
        }
        carom::forward_frames(&model, &state, &mut data);
        let mut work = carom::stages::collision::Manifold::default();
        let known =
            carom::stages::collision::distance(&model, &data.kinematics, [0, 1], 0.03, &mut work);
        let Some(known) = known.filter(|known| known.distance > 0.0) else {
            continue;
        };
        contacts.find(&scene, &bodies, 0.03);
        let least = (contacts.found.iter())
            .min_by(|one, two| one.distance.total_cmp(&two.distance))
            .unwrap();
        let (own, engine) = (least.distance, known.distance);
        // Crossings near the ends of two edges are left to corners, which are this much farther away at most.
        let aside = 2.0 * super::contacts::END * 0.08;
        assert!(own > engine - 1e-9 && own < engine.hypot(aside) + 1e-9);
        exact += usize::from((own - engine).abs() < 1e-9);
        near += 1;
        crossed += usize::from(matches!(least.places[0], Place::Edge(_)));
    }
    assert!(near > 50 && crossed > 5, "{near} {crossed}");
    assert!(10 * exact > 9 * near, "{exact} of {near}");
}

fn rows(batch: &Batch) -> [Vec<f64>; 5] {
    let [a, b, c, d] = batch.raw.clone();
    [a, b, c, d, batch.cut.clone()]
}

#[test]
fn shifts_and_turns_about_the_vertical_change_no_feature() {
    let mut random = Random::new(7, 0);
    for _ in 0..20 {
        let (scene, bodies) = scene(&mut random);
        let turn = Quat::exp(Vec3::new(0.0, 0.0, random.normal())).to_mat3();
        let shift = Vec3::new(random.normal(), random.normal(), 0.0);
        let moved: Vec<Body> = (bodies.iter())
            .map(|body| Body {
                position: turn.mul_vec(body.position) + shift,
                rotation: turn.mul(&body.rotation),
                twist: Twist {
                    linear: turn.mul_vec(body.twist.linear),
                    angular: turn.mul_vec(body.twist.angular),
                },
            })
            .collect();
        let [mut one, mut two] = [Batch::default(), Batch::default()];
        one.add(&scene, &bodies, &[], &setting());
        two.add(&scene, &moved, &[], &setting());
        let links = |batch: &Batch| {
            let found = batch.contacts.found.iter();
            found
                .map(|contact| (contact.solids, contact.places))
                .collect::<Vec<_>>()
        };
        for (one, two) in links(&one).iter().zip(&links(&two)) {
            assert_eq!(one, two);
        }
        assert!(one.topology == two.topology);
        for (one, two) in rows(&one).iter().zip(&rows(&two)) {
            for (one, two) in one.iter().zip(two) {
                assert!((one - two).abs() < 1e-9, "{one} {two}");
            }
        }
    }
}

#[test]
fn polar_decomposition_finds_the_nearest_rotation_from_afar() {
    let mut random = Random::new(9, 0);
    for _ in 0..200 {
        let rotation = Quat::exp(vector(&mut random, 1.5)).to_mat3();
        let stretch = Mat3::from_diagonal(vector(&mut random, 1.0).map(|x| x.abs() + 0.05));
        let axes = Quat::exp(vector(&mut random, 1.0)).to_mat3();
        let symmetric = axes.mul(&stretch).mul(&axes.transpose());
        let guess = Quat::exp(vector(&mut random, 0.7)).to_mat3().mul(&rotation);
        let found = polar(&rotation.mul(&symmetric), &guess).unwrap();
        for (found, known) in found.0.iter().zip(&rotation.0) {
            assert!((found - known).abs() < 1e-8);
        }
    }
    let identity = Mat3::<f64>::identity();
    assert_eq!(polar(&Mat3::default(), &identity), None);
    let none = Mat3::from_diagonal(Vec3([f64::NAN; 3]));
    assert_eq!(polar(&none, &identity), None);
}

#[test]
fn the_derivative_of_polar_decomposition_is_right_at_repeated_singular_values() {
    // The stretch of a cube has three equal singular values, where formulas with 1/(σᵢ − σⱼ) divide by zero.
    let mut random = Random::new(10, 0);
    for stretch in [[1.0, 1.0, 1.0], [2.0, 2.0, 0.5], [1.0, 2.0, 3.0]] {
        let rotation = Quat::exp(vector(&mut random, 1.0)).to_mat3();
        let base = rotation.mul(&Mat3::from_diagonal(Vec3(stretch)));
        let along = Mat3(std::array::from_fn(|_| random.normal()));
        let varied = Mat3(std::array::from_fn(|index| {
            Dual::<1>::moving(base.0[index], along.0[index])
        }));
        let known = polar(&varied, &rotation.map(Dual::from)).unwrap();
        let at = |step: f64| polar(&(base + along * step), &rotation).unwrap();
        let step = 1e-4;
        for index in 0..9 {
            let slope = |step: f64| (at(step).0[index] - at(-step).0[index]) / (2.0 * step);
            let slope = (4.0 * slope(step) - slope(2.0 * step)) / 3.0;
            assert!((slope - known.0[index].tangent[0]).abs() < 1e-8);
        }
    }
}

#[test]
fn saying_what_happens_makes_it_happen() {
    let mut random = Random::new(12, 0);
    let (scene, bodies) = scene(&mut random);
    for (solid, now) in scene.solids.iter().zip(&bodies).take(3) {
        let mut then = *now;
        then.position += vector(&mut random, 0.01);
        then.rotation = Quat::exp(vector(&mut random, 0.1))
            .to_mat3()
            .mul(&then.rotation);
        then.twist.linear += vector(&mut random, 1.0);
        then.twist.angular += vector(&mut random, 5.0);
        let (heading, step) = (Heading::of(&now.rotation, 0), setting().step);
        let free = motion::free(now, step);
        let mut said = Moments::default();
        for &vertex in &solid.vertices {
            let vectors = motion::said_of(vertex, &free, &then, step);
            said.add(
                vertex,
                solid.vertices.len(),
                vectors.map(|vector| heading.see(vector)),
            );
        }
        let next = motion::next(solid, now, &heading, &said, step).unwrap();
        let close = |one: &[f64], two: &[f64], size: f64| {
            for (one, two) in one.iter().zip(two) {
                assert!((one - two).abs() < 1e-10 * size, "{one} {two}");
            }
        };
        close(&next.position.0, &then.position.0, 1.0);
        close(&next.rotation.0, &then.rotation.0, 1.0);
        close(&next.twist.linear.0, &then.twist.linear.0, 10.0);
        close(&next.twist.angular.0, &then.twist.angular.0, 100.0);
    }
}

#[test]
fn a_steep_axis_gives_way_to_the_next_one() {
    let upright = Quat::exp(Vec3::new(0.0, -1.5, 0.0)).to_mat3();
    let heading = Heading::of(&upright, 0);
    let seen = heading.see(upright.column(1));
    assert!(seen[0] > 0.99 && seen[2].value().abs() < 0.1);
}
