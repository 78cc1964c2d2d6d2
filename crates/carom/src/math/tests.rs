//! Identities and MuJoCo's conventions; the twins are in their own file.

mod twins;

use super::{Components, Mat3, Pose, Quat, Spatial, SpatialInertia, Vec3};
use crate::dual::Dual;
use crate::scalar::Scalar;
use crate::testing::Random;
use std::f64::consts::PI;

#[track_caller]
fn assert_close(actual: &[f64], expected: &[f64], tolerance: f64) {
    assert_eq!(actual.len(), expected.len());
    let scale = expected.iter().fold(1.0_f64, |scale, x| scale.max(x.abs()));
    for (i, (a, e)) in actual.iter().zip(expected).enumerate() {
        assert!((a - e).abs() <= tolerance * scale, "[{i}]: {a} is not {e}");
    }
}

/// A few units in the last place, for chains of ten or twenty operations on numbers of size 1.
const ROUNDING: f64 = 4e-15;

const SAMPLES: usize = 50;

#[test]
fn rotations_agree_between_quaternion_and_matrix() {
    let mut random = Random::at(7);
    for _ in 0..SAMPLES {
        let (a, b, v) = (random.quat(), random.quat(), random.vec3());
        assert_close(&a.rotate(v).0, &a.to_mat3().mul_vec(v).0, ROUNDING);
        assert_close(
            &a.rotate_inverse(v).0,
            &a.to_mat3().transpose_mul_vec(v).0,
            1e-15,
        );
        assert_close(
            &a.mul(b).to_mat3().0,
            &a.to_mat3().mul(&b.to_mat3()).0,
            1e-15,
        );
        let back = Quat::from_mat3(&a.to_mat3());
        assert_close(&(back * back.dot(a).signum()).0, &a.0, ROUNDING);
        assert_close(&[a.to_mat3().determinant()], &[1.0], ROUNDING);
    }
}

#[test]
fn every_branch_of_the_matrix_conversion_is_exact() {
    for half_turn in [Quat([1.0, 0.0, 0.0, 0.0]), Quat([0.0, 1.0, 0.0, 0.0])]
        .into_iter()
        .chain([Quat([0.0, 0.0, 1.0, 0.0]), Quat([0.0, 0.0, 0.0, 1.0])])
    {
        assert_eq!(Quat::from_mat3(&half_turn.to_mat3()), half_turn);
    }
}

#[test]
fn integration_and_difference_are_inverse() {
    let mut random = Random::at(8);
    for _ in 0..SAMPLES {
        let (start, velocity) = (random.quat(), random.vec3());
        let end = start.integrate(velocity, 0.7);
        assert_close(&end.difference(start).0, &(velocity * 0.7).0, ROUNDING);
        assert_close(&end.0, &start.mul(Quat::exp(velocity * 0.7)).0, ROUNDING);
        // A quaternion and its opposite are the same rotation.
        assert_close(&(-end).difference(start).0, &(velocity * 0.7).0, ROUNDING);
    }
}

#[test]
fn derivative_is_the_rate_of_integration() {
    let mut random = Random::at(14);
    for _ in 0..SAMPLES {
        let (quat, velocity) = (random.quat(), random.vec3());
        let time = Dual::variable(0.0, 0);
        let moving = Quat::<Dual<1>>::from_f64(quat).integrate(Vec3::from_f64(velocity), time);
        let rate = moving.map(|number| number.tangent[0]);
        assert_close(&rate.0, &quat.derivative(velocity).0, ROUNDING);
    }
}

#[test]
fn rotation_maps_have_the_right_derivative_at_rest() {
    let still = Vec3(std::array::from_fn(|i| Dual::<3>::variable(0.0, i)));
    let half_identity = |quat: Quat<Dual<3>>| {
        for i in 0..3 {
            let expected: [f64; 3] = std::array::from_fn(|j| if i == j { 0.5 } else { 0.0 });
            assert_eq!(quat[i + 1].tangent, expected);
        }
        assert_eq!(quat.value(), Quat::identity());
        assert_eq!(quat[0].tangent, [0.0; 3]);
    };
    half_identity(Quat::exp(still));
    half_identity(Quat::identity().integrate(still, 1.0));
    for i in 0..3 {
        let expected: [f64; 3] = std::array::from_fn(|j| if i == j { 1.0 } else { 0.0 });
        assert_eq!(Quat::exp(still).log()[i].tangent, expected);
        assert_eq!((-Quat::exp(still)).log()[i].tangent, expected);
    }
}

#[test]
fn exponential_series_meets_the_closed_form() {
    for square in [0.999e-3_f64, 1.001e-3] {
        let angle = square.sqrt();
        let expected = Quat::from_axis_angle(Vec3::Y, angle);
        assert_close(&Quat::exp(Vec3::Y * angle).0, &expected.0, ROUNDING);
    }
}

#[test]
fn degenerate_vectors_and_quaternions_follow_mujoco() {
    assert_eq!(Vec3::<f64>::ZERO.normalized(), (Vec3::X, 0.0));
    assert_eq!(Quat([0.0; 4]).normalized(), Quat::identity());
    assert_eq!(Quat::from_z_to(Vec3::<f64>::ZERO), Quat::identity());
    assert_eq!(Quat::from_z_to(Vec3([0.0, 0.0, 2.0])), Quat::identity());
    assert_eq!(Quat::from_z_to(-Vec3::<f64>::Z), Quat([0.0, 1.0, 0.0, 0.0]));
    assert_eq!(
        Quat::<f64>::identity().difference(-Quat::identity()),
        Vec3::ZERO
    );
    let nearly_half = Quat::from_axis_angle(Vec3::X, PI + 1e-3).log();
    assert_close(&nearly_half.0, &[1e-3 - PI, 0.0, 0.0], ROUNDING);
}

#[test]
fn z_axis_is_turned_to_the_direction() {
    let mut random = Random::at(9);
    for _ in 0..SAMPLES {
        let direction = random.vec3();
        let turned = Quat::from_z_to(direction).rotate(Vec3::Z);
        assert_close(&turned.0, &direction.normalized().0.0, ROUNDING);
    }
    // The derivative is finite where the direction is along z already.
    let direction = Vec3([
        Dual::<2>::variable(0.0, 0),
        Dual::variable(0.0, 1),
        Dual::ONE,
    ]);
    let quat = Quat::from_z_to(direction);
    assert_eq!(
        (quat[1].tangent, quat[2].tangent),
        ([0.0, -0.5], [0.5, 0.0])
    );
}

#[test]
fn poses_compose_and_invert() {
    let mut random = Random::at(10);
    for _ in 0..SAMPLES {
        let a = Pose::new(random.vec3(), random.quat());
        let b = Pose::new(random.vec3(), random.quat());
        let point = random.vec3();
        let expected = a.transform_point(b.transform_point(point));
        assert_close(&a.mul(b).transform_point(point).0, &expected.0, ROUNDING);
        let back = a.inverse().transform_point(a.transform_point(point));
        assert_close(&back.0, &point.0, ROUNDING);
    }
}

#[test]
fn power_is_independent_of_the_reference_point() {
    let mut random = Random::at(11);
    for _ in 0..SAMPLES {
        let (motion, force) = (Spatial(random.numbers()), Spatial(random.numbers()));
        let offset = random.vec3();
        let shifted = force.shift_force(offset).dot(motion.shift_motion(offset));
        assert_close(&[shifted], &[force.dot(motion)], ROUNDING);
        // ad* is minus the transpose of ad.
        let other = Spatial(random.numbers());
        let expected = -force.dot(motion.cross_motion(other));
        assert_close(
            &[motion.cross_force(force).dot(other)],
            &[expected],
            ROUNDING,
        );
    }
}

#[test]
fn inertia_matches_the_sum_over_points() {
    let mut random = Random::at(12);
    for _ in 0..SAMPLES {
        // Two equal point masses on each axis of a body: principal inertias 2m(y² + z²), and so on.
        let [x, y, z] = random.vec3().0;
        let (quat, offset, motion) = (random.quat(), random.vec3(), Spatial(random.numbers()));
        let point_mass = 0.5;
        let inertia = Vec3([y * y + z * z, x * x + z * z, x * x + y * y]) * (2.0 * point_mass);
        let body = SpatialInertia::from_body(inertia, &quat.to_mat3(), offset, 6.0 * point_mass);
        let mut momentum = Spatial::ZERO;
        for local in [
            Vec3([x, 0.0, 0.0]),
            Vec3([0.0, y, 0.0]),
            Vec3([0.0, 0.0, z]),
        ] {
            for arm in [quat.rotate(local) + offset, quat.rotate(-local) + offset] {
                let velocity = motion.shift_motion(arm).linear();
                let point = Spatial::new(Vec3::ZERO, velocity * point_mass);
                momentum += point.shift_force(-arm);
            }
        }
        assert_close(&body.mul_motion(motion).0, &momentum.0, 1e-14);
    }
}

#[test]
fn principal_axes_reproduce_the_matrix() {
    let mut random = Random::at(13);
    for sample in 0..200 {
        let quat = random.quat();
        let mut values = random.numbers::<3>().map(f64::abs);
        // Equal, nearly equal and widely different eigenvalues.
        match sample % 5 {
            1 => values[1] = values[0],
            2 => values[2] = values[0] * (1.0 + 1e-12),
            3 => values[2] *= 1e-12,
            4 => values = [values[0]; 3],
            _ => {}
        }
        let rotation = quat.to_mat3();
        let matrix = rotation
            .mul(&Mat3::from_diagonal(Vec3(values)))
            .mul(&rotation.transpose());
        let (axes, found) = matrix.symmetric_eigen();
        let axes = axes.to_mat3();
        values.sort_by(|a, b| b.total_cmp(a));
        let mut sorted = found.0;
        sorted.sort_by(|a, b| b.total_cmp(a));
        assert_close(&sorted, &values, ROUNDING);
        assert_close(&sorted, &found.0, 1e-12);
        let rebuilt = axes.mul(&Mat3::from_diagonal(found)).mul(&axes.transpose());
        assert_close(&rebuilt.0, &matrix.0, 1e-14); // elements below that count as zero
        assert_close(&[axes.determinant()], &[1.0], ROUNDING);
    }
}

#[test]
fn principal_axes_leave_sorted_diagonals_alone() {
    for values in [[3.0, 2.0, 1.0], [2.0, 2.0, 1.0], [1.0, 1.0, 1.0], [0.0; 3]] {
        let (axes, found) = Mat3::from_diagonal(Vec3(values)).symmetric_eigen();
        assert_eq!((axes, found.0), (Quat::identity(), values));
    }
}

#[test]
fn principal_axes_follow_mujoco_where_they_are_a_convention() {
    // Numbers of MuJoCo 4.0 for full inertias with these elements: xx, yy, zz, xy.
    let half = 0.5_f64.sqrt();
    let cases = [
        ([1.0, 2.0, 2.5, 0.0], [0.0, half, 0.0, half]),
        ([2.0, 1.0, 2.0, 0.0], [half, half, 0.0, 0.0]),
        ([1.0, 1.0, 1.5, 0.0], [0.5, 0.5, -0.5, 0.5]),
        ([1.0, 1.5, 1.0, 0.0], [half, 0.0, 0.0, half]),
        ([1.0, 1.0 + 9e-13, 1.0, 0.0], [1.0, 0.0, 0.0, 0.0]),
        (
            [1e-4, 1e-4 * (1.0 + 2e-12), 1e-4, 0.0],
            [half, 0.0, 0.0, half],
        ),
        ([1.0, 1.0, 1.0, 3e-15], [1.0, 0.0, 0.0, 0.0]),
        (
            [1.0, 1.0, 1.0, 1e-13],
            [0.923_879_532_511_286_7, 0.0, 0.0, -0.382_683_432_365_089_8],
        ),
        ([3.0, 2.0, 1.5, 1e-8], [1.0, 0.0, 0.0, 5e-9]),
    ];
    for ([xx, yy, zz, xy], expected) in cases {
        let (axes, _) = Mat3([xx, xy, 0.0, xy, yy, 0.0, 0.0, 0.0, zz]).symmetric_eigen();
        assert_close(&axes.0, &expected, ROUNDING);
    }
}

#[test]
fn components_visit_every_number() {
    let mut inertia = SpatialInertia::default();
    for (i, number) in inertia.as_mut_slice().iter_mut().enumerate() {
        *number = i as f64;
    }
    let lifted: SpatialInertia<Dual<2>> = Components::map(&inertia, Dual::constant);
    assert_eq!(lifted.value(), inertia);
    assert_eq!(
        <[f64; 7] as Components<f64>>::LEN,
        [0.0; 7].as_slice().len()
    );
    assert_eq!(Components::map(&2.0, Dual::<1>::constant).value, 2.0);
}
