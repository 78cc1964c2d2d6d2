//! Boxes against boxes and capsules.

use super::{moved, random_shape};
use crate::math::{Mat3, Vec3};
use crate::model::GeomKind;
use crate::stages::collision::{ContactPoint, Manifold, PosedShape, ShapeData, narrow};
use crate::testing::Random;

fn points(first: &PosedShape<'_>, second: &PosedShape<'_>, margin: f64) -> Vec<ContactPoint> {
    let mut out = Manifold::default();
    let collide = narrow::collider::<f64>(first.kind, second.kind).unwrap();
    collide(first, second, margin, &mut out);
    out.points().to_vec()
}

fn cuboid(position: [f64; 3], size: [f64; 3]) -> PosedShape<'static> {
    PosedShape {
        kind: GeomKind::Box,
        position: Vec3(position),
        rotation: Mat3::identity(),
        size: Vec3(size),
        data: ShapeData::None,
    }
}

/// How far outside a box a point is along its axes; negative inside.
fn outside(shape: &PosedShape<'_>, point: Vec3) -> f64 {
    let local = shape
        .rotation
        .transpose_mul_vec(point - shape.position)
        .map(f64::abs)
        - shape.size;
    local[0].max(local[1]).max(local[2])
}

/// Distance of a point outside a box.
fn distance_to_box(shape: &PosedShape<'_>, point: Vec3) -> f64 {
    let local = shape.rotation.transpose_mul_vec(point - shape.position);
    (local.map(f64::abs) - shape.size)
        .map(|x| x.max(0.0))
        .norm()
}

#[test]
fn a_box_stands_on_the_corners_of_a_smaller_face() {
    let (low, high) = (
        cuboid([0.0; 3], [1.0, 1.0, 0.5]),
        cuboid([0.25, 0.0, 0.79], [0.5, 1.5, 0.3]),
    );
    let found = points(&low, &high, 0.0);
    let expected = [[-0.25, 1.0], [-0.25, -1.0], [0.75, -1.0], [0.75, 1.0]];
    assert_eq!(found.len(), 4);
    for (point, [x, y]) in found.iter().zip(expected) {
        assert!((point.distance + 0.01).abs() < 1e-15);
        assert_eq!(point.normal, Vec3::Z);
        assert!(
            (point.position - Vec3([x, y, 0.495])).norm() < 1e-15,
            "{point:?}"
        );
    }
    assert!(points(&low, &cuboid([0.0, 0.0, 0.81], [0.5, 1.5, 0.3]), 0.0).is_empty());
}

#[test]
fn crossed_edges_touch_at_one_point() {
    let half = std::f64::consts::FRAC_1_SQRT_2;
    let mut low = cuboid([0.0; 3], [1.0, 0.1, 0.1]);
    low.rotation = Mat3([1.0, 0.0, 0.0, 0.0, half, -half, 0.0, half, half]);
    let height = 0.2 * half * 2.0 - 0.01;
    let mut high = cuboid([0.3, 0.2, height], [0.1, 1.0, 0.1]);
    high.rotation = Mat3([half, 0.0, half, 0.0, 1.0, 0.0, -half, 0.0, half]);
    let found = points(&low, &high, 0.0);
    assert_eq!(found.len(), 1);
    assert!((found[0].distance + 0.01).abs() < 1e-15);
    assert!((found[0].normal - Vec3::Z).norm() < 1e-15);
    assert!((found[0].position - Vec3([0.3, 0.0, height / 2.0])).norm() < 1e-15);
}

#[test]
fn boxes_that_share_a_point_touch_and_their_contacts_are_in_both() {
    let mut random = Random::at(3);
    let mut edges = 0;
    for _ in 0..5000 {
        let first = random_shape(&mut random, GeomKind::Box);
        let mut second = random_shape(&mut random, GeomKind::Box);
        // Move the second so that a random point of it meets a random point of the first.
        let inside = |shape: &PosedShape<'_>, place: Vec3| {
            shape.rotation.mul_vec(place.component_mul(shape.size))
        };
        second.position = first.position + inside(&first, Vec3(random.numbers()))
            - inside(&second, Vec3(random.numbers()));
        let found = points(&first, &second, 0.0);
        assert!(!found.is_empty());
        edges += usize::from(found.len() == 1);
        for point in &found {
            let slack = 1e-12 - 0.5 * point.distance;
            assert!(point.distance <= 0.0);
            assert!(outside(&first, point.position) < slack);
            assert!(outside(&second, point.position) < slack);
        }
    }
    assert!(edges > 500, "{edges}");
}

#[test]
fn exchanging_the_boxes_reverses_the_normals() {
    let mut random = Random::at(5);
    let mut touching = 0;
    for _ in 0..2000 {
        let first = random_shape(&mut random, GeomKind::Box);
        let second = random_shape(&mut random, GeomKind::Box);
        let forth = points(&first, &second, 0.02);
        let back = points(&second, &first, 0.02);
        assert_eq!(forth.len(), back.len());
        for point in &forth {
            let same = |other: &&ContactPoint| {
                (other.distance - point.distance).abs() < 1e-12
                    && (other.position - point.position).norm() < 1e-12
                    && (other.normal + point.normal).norm() < 1e-12
            };
            assert!(back.iter().find(same).is_some());
        }
        touching += usize::from(!forth.is_empty());
    }
    assert!(touching > 200, "{touching}");
}

#[test]
fn a_capsule_lies_on_a_box_with_both_ends_or_up_to_the_edge() {
    let block = cuboid([0.0; 3], [1.0, 1.0, 0.5]);
    let mut capsule = cuboid([0.0, 0.0, 0.69], [0.2, 0.4, 0.0]);
    capsule.kind = GeomKind::Capsule;
    capsule.rotation = Mat3([0.0, 0.0, 1.0, 0.0, 1.0, 0.0, -1.0, 0.0, 0.0]);
    let along = |capsule: &PosedShape<'_>| {
        let mut x: Vec<f64> = points(capsule, &block, 0.0)
            .iter()
            .inspect(|point| assert!((point.distance + 0.01).abs() < 1e-15))
            .map(|point| point.position[0])
            .collect();
        x.sort_by(f64::total_cmp);
        x
    };
    assert_eq!(along(&capsule), [-0.4, 0.4]);
    capsule.position[0] = 0.8;
    let [inner, edge] = along(&capsule)[..] else {
        panic!("two points expected");
    };
    assert!((inner - 0.4).abs() < 1e-15 && (edge - 1.0).abs() < 1e-15);
}

#[test]
fn a_capsule_is_as_far_from_a_box_as_a_search_says() {
    let mut random = Random::at(13);
    let mut apart = 0;
    for _ in 0..500 {
        let capsule = random_shape(&mut random, GeomKind::Capsule);
        let block = random_shape(&mut random, GeomKind::Box);
        let least = (0..=1000)
            .map(|step| capsule.size[1] * (f64::from(step) / 500.0 - 1.0))
            .map(|along| distance_to_box(&block, capsule.position + capsule.axis() * along))
            .fold(f64::INFINITY, f64::min);
        if least < 1e-3 {
            continue;
        }
        apart += 1;
        let found = points(&capsule, &block, 10.0)[0].distance + capsule.size[0];
        assert!(
            found <= least + 1e-12 && least - found < 1e-4,
            "{found} {least}"
        );
    }
    assert!(apart > 100);
}

/// Dual numbers carry the derivative of distance, position and normal with the features held.
#[test]
fn derivatives_agree_with_differences() {
    let step = 1e-6;
    let mut random = Random::at(17);
    let mut compared = 0;
    for kind in [GeomKind::Capsule, GeomKind::Box] {
        for _ in 0..300 {
            let first = random_shape(&mut random, kind);
            let second = random_shape(&mut random, GeomKind::Box);
            let exact = moved(&first, &second);
            for axis in 0..3 {
                let shifted = |amount: f64| {
                    let mut second = second;
                    second.position[axis] += amount;
                    points(&first, &second, 10.0)
                };
                let (before, after) = (shifted(-step), shifted(step));
                let count = exact.points().len();
                if before.len() != count || after.len() != count {
                    continue;
                }
                for ((exact, before), after) in exact.points().iter().zip(&before).zip(&after) {
                    let differences = (after.distance - before.distance) / (2.0 * step);
                    assert!((exact.distance.tangent[axis] - differences).abs() < 1e-6);
                    for k in 0..3 {
                        let position = (after.position[k] - before.position[k]) / (2.0 * step);
                        assert!((exact.position[k].tangent[axis] - position).abs() < 1e-6);
                        let normal = (after.normal[k] - before.normal[k]) / (2.0 * step);
                        assert!((exact.normal[k].tangent[axis] - normal).abs() < 1e-6);
                    }
                    compared += 1;
                }
            }
        }
    }
    assert!(compared > 1000, "{compared}");
}
