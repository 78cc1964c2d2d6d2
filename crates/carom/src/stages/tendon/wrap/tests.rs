use super::*;
use crate::dual::Dual;
use crate::testing::Random;

/// A geom off the origin and turned.
fn frame() -> (Vec3, Mat3) {
    let quat = crate::math::Quat([0.8, 0.1, -0.5, 0.3]).normalized();
    (Vec3([0.3, -0.2, 0.5]), quat.to_mat3())
}

/// Length of the whole path from start to end, around the geom if it must.
fn path_length<T: Scalar>(
    shape: Shape,
    radius: f64,
    ends: [Vec3<T>; 2],
    side: Option<Vec3>,
) -> (T, bool) {
    let (center, rotation) = frame();
    let constant = |point: Vec3| Vec3(point.0.map(T::from));
    let rotation = Mat3(rotation.0.map(T::from));
    let obstacle = Obstacle {
        shape,
        center: constant(center),
        rotation: &rotation,
        radius: T::from(radius),
    };
    let [start, end] = ends;
    match wrap(&obstacle, start, end, side.map(constant)) {
        None => (start.distance(end), false),
        Some(contact) => {
            let [enter, leave] = contact.points;
            (
                start.distance(enter) + contact.length + leave.distance(end),
                true,
            )
        }
    }
}

/// Two ends and a side point about the geom, well outside of it.
fn random_points(random: &mut Random, radius: f64) -> ([Vec3; 2], Vec3) {
    let (center, _) = frame();
    let mut point = |least: f64| {
        let (direction, _) = Vec3(random.numbers()).normalized();
        direction * (least + 0.6 * radius * (random.next() + 1.0)) + center
    };
    let ends = [point(1.2 * radius), point(1.2 * radius)];
    (ends, point(1.2 * radius))
}

/// Planar coordinates of points about a cylinder.
fn planar(point: Vec3) -> [f64; 2] {
    let (center, rotation) = frame();
    let local = rotation.transpose_mul_vec(point - center);
    [local[0], local[1]]
}

/// Length of a taut string in a plane with a winding angle about a disk: two tangents, which subtend acos(r/|p|) each,
/// and the rest of the angle on the arc; none if it does not touch.
fn taut_length(ends: [[f64; 2]; 2], turn: f64, radius: f64) -> Option<f64> {
    let distance = |p: [f64; 2]| p[0].hypot(p[1]);
    let tangent = |p: [f64; 2]| (distance(p).powi(2) - radius * radius).sqrt();
    let subtended = |p: [f64; 2]| (radius / distance(p)).acos();
    let arc = turn.abs() - subtended(ends[0]) - subtended(ends[1]);
    (arc > 0.0).then(|| tangent(ends[0]) + tangent(ends[1]) + radius * arc)
}

fn angle(p: [f64; 2], q: [f64; 2]) -> f64 {
    let turn = q[1].atan2(q[0]) - p[1].atan2(p[0]);
    turn.sin().atan2(turn.cos())
}

#[test]
fn a_string_over_the_top_of_a_sphere_has_the_textbook_length() {
    let (center, rotation) = frame();
    let (radius, distance) = (0.2, 0.5);
    // Both ends at the same height on opposite sides: quarter turns less the tangent angles.
    let ends = [-1.0, 1.0].map(|sign| rotation.mul_vec(Vec3([sign * distance, 0.0, 0.0])) + center);
    let side = rotation.mul_vec(Vec3([0.0, 0.0, 1.0])) + center;
    let arc = std::f64::consts::PI - 2.0 * f64::acos(radius / distance);
    let expected = 2.0 * f64::sqrt(distance * distance - radius * radius) + radius * arc;
    let (length, wrapped) = path_length(Shape::Sphere, radius, ends, Some(side));
    assert!(wrapped);
    assert!((length - expected).abs() < 1e-14);
    let (length, _) = path_length(Shape::Sphere, radius, ends, None);
    assert!((length - expected).abs() < 1e-14);
}

#[test]
fn without_a_side_point_a_sphere_is_passed_the_short_way() {
    let mut random = Random::new(1);
    let (radius, mut wraps) = (0.2, 0);
    let (center, _) = frame();
    for _ in 0..300 {
        let (ends, _) = random_points(&mut random, radius);
        let (length, wrapped) = path_length(Shape::Sphere, radius, ends, None);
        let [p, q] = ends.map(|end| end - center);
        let turn = p.cross(q).norm().atan2(p.dot(q));
        let planar = [[p.norm(), 0.0], [q.norm(), 0.0]];
        let expected = taut_length(planar, turn, radius).unwrap_or_else(|| p.distance(q));
        assert!((length - expected).abs() < 1e-13, "{length} {expected}");
        wraps += usize::from(wrapped);
    }
    assert!((50..250).contains(&wraps), "{wraps}");
}

#[test]
fn around_a_cylinder_the_path_winds_like_the_polyline_through_the_side_point() {
    let mut random = Random::new(2);
    let (radius, mut long) = (0.2, 0);
    for _ in 0..1000 {
        let (ends, side) = random_points(&mut random, radius);
        let flat = ends.map(planar);
        if flat.iter().any(|p| p[0].hypot(p[1]) < 1.05 * radius) {
            continue;
        }
        let side_flat = planar(side);
        let turn = angle(flat[0], side_flat) + angle(side_flat, flat[1]);
        if (turn.abs() - std::f64::consts::PI).abs() < 1e-3 {
            continue;
        }
        let straight = (flat[0][0] - flat[1][0]).hypot(flat[0][1] - flat[1][1]);
        let across = taut_length(flat, turn, radius).unwrap_or(straight);
        let (_, rotation) = frame();
        let height = rotation.transpose_mul_vec(ends[1] - ends[0])[2];
        let (length, wrapped) = path_length(Shape::Cylinder, radius, ends, Some(side));
        // A path of constant slope unrolls to a straight line.
        assert!((length - across.hypot(height)).abs() < 1e-12, "{length}");
        long += usize::from(wrapped && turn.abs() > std::f64::consts::PI);
    }
    assert!(long > 50, "wraps by more than half a turn: {long}");
}

#[test]
fn inside_a_sphere_the_string_touches_where_it_is_shortest() {
    let mut random = Random::new(3);
    let (center, _) = frame();
    let (radius, mut touches) = (0.2, 0);
    for _ in 0..300 {
        let (ends, _) = random_points(&mut random, radius);
        let inside = center + Vec3(random.numbers()) * (0.1 * radius);
        let (length, wrapped) = path_length(Shape::Sphere, radius, ends, Some(inside));
        if !wrapped {
            assert!((length - ends[0].distance(ends[1])).abs() < 1e-15);
            continue;
        }
        touches += 1;
        let through = |angle: f64| {
            let [x, y] = plane_through(ends[0] - center, ends[1] - center);
            let point = center + (x * angle.cos() + y * angle.sin()) * radius;
            ends[0].distance(point) + point.distance(ends[1])
        };
        // The shortest way through a point of the circle, by golden sections between the directions of the ends.
        let (p, q) = (ends[0] - center, ends[1] - center);
        let (mut low, mut high) = (0.0, p.cross(q).norm().atan2(p.dot(q)));
        let golden = 0.5 * (5.0_f64.sqrt() - 1.0);
        for _ in 0..60 {
            let (a, b) = (high - golden * (high - low), low + golden * (high - low));
            if through(a) < through(b) {
                high = b;
            } else {
                low = a;
            }
        }
        assert!((length - through(0.5 * (low + high))).abs() < 1e-11);
    }
    assert!(touches > 50, "{touches}");
}

#[test]
fn length_is_continuous_at_the_onset_of_contact() {
    let (center, rotation) = frame();
    let radius = 0.2;
    for shape in [Shape::Sphere, Shape::Cylinder] {
        for side in [None, Some(Vec3([0.0, 0.3, 0.0]))] {
            let side = side.map(|side| rotation.mul_vec(side) + center);
            let at = |height: f64| {
                let ends =
                    [-0.5, 0.5].map(|x| rotation.mul_vec(Vec3([x, radius + height, 0.0])) + center);
                path_length(shape, radius, ends, side)
            };
            for step in [1e-3, 1e-6, 1e-9, 1e-12, 1e-15] {
                let ((above, clear), (below, touching)) = (at(step), at(-step));
                assert!(!clear);
                assert!(touching || step < 1e-12);
                assert!((above - below).abs() < 10.0 * step + 1e-13, "{step}");
            }
        }
    }
}

#[test]
fn ends_within_the_geom_pass_straight() {
    let (center, _) = frame();
    let ends = [
        center + Vec3([0.05, 0.0, 0.0]),
        center + Vec3([1.0, 0.2, 0.1]),
    ];
    for side in [None, Some(center), Some(center + Vec3([0.0, 0.5, 0.0]))] {
        let (length, wrapped) = path_length(Shape::Sphere, 0.2, ends, side);
        assert!(!wrapped);
        assert_eq!(length, ends[0].distance(ends[1]));
    }
}

#[test]
fn degenerate_points_give_finite_lengths() {
    let (center, rotation) = frame();
    let along = |x: f64| rotation.mul_vec(Vec3([x, 0.0, 0.0])) + center;
    let pairs = [
        [along(0.5), along(0.5)],
        [along(0.5), along(-0.7)],
        [along(0.5), along(0.7)],
        [center, along(0.5)],
    ];
    for ends in pairs {
        for side in [None, Some(center), Some(along(0.6)), Some(along(-0.6))] {
            for shape in [Shape::Sphere, Shape::Cylinder] {
                let (length, _) = path_length(shape, 0.2, ends, side);
                assert!(length.is_finite());
            }
        }
    }
}

#[test]
fn duals_agree_with_central_differences() {
    let mut random = Random::new(4);
    let (radius, h) = (0.2, 1e-6);
    let (center, _) = frame();
    let mut wraps = [0; 3];
    for _ in 0..300 {
        let (ends, outside) = random_points(&mut random, radius);
        let inside = center + Vec3(random.numbers()) * (0.1 * radius);
        let cases = [
            (Shape::Sphere, outside),
            (Shape::Cylinder, outside),
            (Shape::Sphere, inside),
        ];
        for (case, (shape, side)) in cases.into_iter().enumerate() {
            let dual = std::array::from_fn(|end| {
                Vec3(std::array::from_fn(|axis| {
                    Dual::<6>::variable(ends[end][axis], 3 * end + axis)
                }))
            });
            let (length, wrapped) = path_length(shape, radius, dual, Some(side));
            for direction in 0..6 {
                let moved = |step: f64| {
                    let mut ends = ends;
                    ends[direction / 3][direction % 3] += step;
                    path_length(shape, radius, ends, Some(side))
                };
                let (plus, minus) = (moved(h), moved(-h));
                // Kinks and jumps have no derivative.
                if plus.1 != wrapped || minus.1 != wrapped || (plus.0 - minus.0).abs() > 10.0 * h {
                    continue;
                }
                let slope = (plus.0 - minus.0) / (2.0 * h);
                assert!((length.tangent[direction] - slope).abs() < 1e-5, "{case}");
                wraps[case] += usize::from(wrapped);
            }
        }
    }
    assert!(wraps.iter().all(|&count| count > 200), "{wraps:?}");
}
