//! Derivatives of the distance of shapes that are apart: of the distance, of both witness points and of the normal, by
//! poses, sizes, mesh vertices and height fields.

use super::backward::{SHAPES, point, scene};
use crate::cotangent::Cotangents;
use crate::math::Vec3;
use crate::model::Model;
use crate::scalar::Scalar;
use crate::stages::collision::{GeomDistance, Manifold, distance, distance_backward};
use crate::state::State;
use crate::testing::Random;
use crate::testing::stage_check::{
    Point, Stage, moved_along, pair_inputs, random_direction, two_sided, with_direction, zeros,
};

/// The greatest distance (m).
const CUTOFF: f64 = 3.0;
/// The fixed and the moving geom.
const GEOMS: [usize; 2] = [0, 1];
/// States of every pair.
const STATES: usize = 4;

/// Tells the helpers of stages that shapes move rigidly.
struct Shapes;

impl Stage for Shapes {
    const NAME: &'static str = "collision";
    fn forward<T: Scalar>(_: &mut Point<T>) {}
    fn backward(_: &Point, _: &mut Cotangents) {}
}

fn numbers<T: Scalar>(found: &GeomDistance<T>) -> [T; 10] {
    let [[a, b, c], [d, e, f]] = found.points.map(|point| point.0);
    let [x, y, z] = found.normal.0;
    [found.distance, a, b, c, d, e, f, x, y, z]
}

fn measure<T: Scalar>(point: &Point<T>) -> Option<GeomDistance<T>> {
    let kinematics = &point.data.kinematics;
    distance(
        &point.model,
        kinematics,
        GEOMS,
        CUTOFF,
        &mut Manifold::default(),
    )
}

/// States in which the shapes are apart.
fn apart(model: &Model, seed: u64) -> Vec<Point> {
    let mut random = Random::new(seed);
    let mut found = Vec::new();
    for _ in 0..500 {
        let mut state = State::reference(model);
        let reach: f64 = random.pick(&[0.25, 0.35, 0.7]);
        state.qpos[..3].copy_from_slice(&random.numbers::<3>().map(|number| reach * number));
        state.qpos[3..7].copy_from_slice(&random.quat().0);
        let at = point(model.clone(), state);
        if measure(&at).is_some_and(|found| found.distance > 1e-3) && found.len() < STATES {
            found.push(at);
        }
    }
    found
}

/// The derivative of the weighed numbers along the direction, by differences that agree with each other.
fn differences(at: &Point, direction: &Cotangents, weights: &[f64; 10]) -> Option<f64> {
    let value = |step: f64| {
        let found = measure(&moved_along(at, direction, step))?;
        Some(
            (numbers(&found).iter().zip(weights))
                .map(|(a, b)| a * b)
                .sum::<f64>(),
        )
    };
    let quotient = |step: f64| Some((value(step)? - value(-step)?) / (2.0 * step));
    let [coarse, fine] = [quotient(1e-5)?, quotient(5e-6)?];
    ((coarse - fine).abs() < 1e-4 * (1.0 + fine.abs())).then_some((4.0 * fine - coarse) / 3.0)
}

/// Of everything that the distance depends on, for those of the distance.
fn cotangents(at: &Point, bar: &GeomDistance) -> Cotangents {
    let mut found = zeros(at);
    distance_backward(
        &at.model,
        &at.data.kinematics,
        GEOMS,
        CUTOFF,
        bar,
        &mut found,
    );
    found
}

/// Compares with dual numbers and differences; false where the nearest features change.
fn check(name: &str, at: &Point, random: &mut Random) -> bool {
    let weights: [f64; 10] = random.numbers();
    let bar = GeomDistance {
        distance: weights[0],
        points: [
            Vec3([weights[1], weights[2], weights[3]]),
            Vec3([weights[4], weights[5], weights[6]]),
        ],
        normal: Vec3([weights[7], weights[8], weights[9]]),
    };
    let found = cotangents(at, &bar);
    let direction = random_direction::<Shapes>(at, random);
    let backward = pair_inputs::<Shapes>(&found, &direction);
    let dual = measure(&with_direction(at, &direction)).unwrap();
    let duals: f64 = (numbers(&dual).iter().zip(weights))
        .map(|(number, weight)| number.tangent[0] * weight)
        .sum();
    let scale = 1e-3 + backward.norm;
    let error = (backward.sum - duals).abs() / scale;
    assert!(
        error < 1e-10,
        "{name}: backward {}, duals {duals}",
        backward.sum
    );
    let direction = two_sided(at, &direction);
    let backward = pair_inputs::<Shapes>(&found, &direction);
    let Some(differences) = differences(at, &direction, &weights) else {
        return false;
    };
    let error = (backward.sum - differences).abs() / scale;
    assert!(
        error < 1e-6,
        "{name}: backward {}, differences {differences}",
        backward.sum
    );
    true
}

#[test]
fn distances_of_all_pairs_that_are_apart_have_exact_derivatives() {
    for (index, first) in SHAPES.iter().enumerate() {
        for second in &SHAPES[index.max(2)..] {
            for (first, second) in [(first, second), (second, first)] {
                // Planes and height fields do not move.
                if second.contains("plane") || second.contains("hfield") {
                    continue;
                }
                let name = format!("{first} {second}");
                let states = apart(&scene(first, second, ""), 17);
                assert_eq!(states.len(), STATES, "{name}");
                let mut random = Random::new(19);
                let judged = states
                    .iter()
                    .filter(|at| check(&name, at, &mut random))
                    .count();
                assert!(judged >= STATES / 2, "{name}: {judged}");
            }
        }
    }
}

/// The derivative by the pose of the moving geom is known: the distance grows along the normal.
#[test]
fn the_distance_grows_along_the_normal() {
    let model = scene(SHAPES[2], SHAPES[6], "");
    for at in apart(&model, 23) {
        let found = measure(&at).unwrap();
        let bar = GeomDistance {
            distance: 1.0,
            points: [Vec3::ZERO; 2],
            normal: Vec3::ZERO,
        };
        let cotangents = cotangents(&at, &bar);
        let error = cotangents.data.kinematics.geom_position[1] - found.normal;
        assert!(error.norm() < 1e-12, "{error:?}");
        // A larger sphere is nearer.
        assert!((cotangents.model.geoms.size[0][0] + 1.0).abs() < 1e-12);
    }
}
