//! Every `_vjp` against duals.

use super::{SAMPLES, assert_close};
use crate::dual::Dual;
use crate::math::{BodyInertiaBar, Components, Mat3, Quat, Spatial, SpatialInertia, Vec3};
use crate::scalar::Scalar;
use crate::testing::Random;

/// Compares the cotangents of `vjp` with barᵀ·J, where J comes from duals one input at a time.
#[track_caller]
fn check_vjp<const I: usize, const O: usize>(
    input: [f64; I],
    bar: [f64; O],
    function: impl Fn([Dual<1>; I]) -> [Dual<1>; O],
    vjp: impl Fn([f64; I], [f64; O]) -> [f64; I],
) {
    let expected: [f64; I] = std::array::from_fn(|direction| {
        let output = function(std::array::from_fn(|i| Dual {
            value: input[i],
            tangent: [if i == direction { 1.0 } else { 0.0 }],
        }));
        output
            .iter()
            .zip(bar)
            .map(|(output, bar)| output.tangent[0] * bar)
            .sum()
    });
    assert_close(&vjp(input, bar), &expected, 1e-12);
}

/// The numbers `from..from + N`.
fn part<T: Scalar, const N: usize>(numbers: &[T], from: usize) -> [T; N] {
    std::array::from_fn(|i| numbers[from + i])
}

/// Two containers one after the other.
fn join<T: Scalar, const N: usize>(a: &impl Components<T>, b: &impl Components<T>) -> [T; N] {
    assert_eq!(a.as_slice().len() + b.as_slice().len(), N);
    let mut numbers = a.as_slice().iter().chain(b.as_slice());
    std::array::from_fn(|_| numbers.next().copied().unwrap())
}

#[test]
fn vector_twins_match_duals() {
    let mut random = Random::at(1);
    for _ in 0..SAMPLES {
        check_vjp::<6, 3>(
            random.numbers(),
            random.numbers(),
            |x| Vec3(part(&x, 0)).cross(Vec3(part(&x, 3))).0,
            |x, bar| {
                let (mut a_bar, mut b_bar) = (Vec3::ZERO, Vec3::ZERO);
                Vec3(part(&x, 0)).cross_vjp(Vec3(part(&x, 3)), Vec3(bar), &mut a_bar, &mut b_bar);
                join(&a_bar, &b_bar)
            },
        );
        check_vjp::<3, 4>(
            random.numbers(),
            random.numbers(),
            |x| {
                let (unit, length) = Vec3(x).normalized();
                join(&unit, &length)
            },
            |x, bar| {
                let mut x_bar = Vec3::ZERO;
                Vec3(x).normalized_vjp(Vec3(part(&bar, 0)), bar[3], &mut x_bar);
                x_bar.0
            },
        );
    }
}

#[test]
fn matrix_twins_match_duals() {
    let mut random = Random::at(2);
    for _ in 0..SAMPLES {
        check_vjp::<12, 3>(
            random.numbers(),
            random.numbers(),
            |x| Mat3(part(&x, 0)).mul_vec(Vec3(part(&x, 9))).0,
            |x, bar| {
                let (mut m_bar, mut v_bar) = (Mat3::ZERO, Vec3::ZERO);
                Mat3(part(&x, 0)).mul_vec_vjp(Vec3(part(&x, 9)), Vec3(bar), &mut m_bar, &mut v_bar);
                join(&m_bar, &v_bar)
            },
        );
        check_vjp::<12, 3>(
            random.numbers(),
            random.numbers(),
            |x| Mat3(part(&x, 0)).transpose_mul_vec(Vec3(part(&x, 9))).0,
            |x, bar| {
                let (mut m_bar, mut v_bar) = (Mat3::ZERO, Vec3::ZERO);
                Mat3(part(&x, 0)).transpose_mul_vec_vjp(
                    Vec3(part(&x, 9)),
                    Vec3(bar),
                    &mut m_bar,
                    &mut v_bar,
                );
                join(&m_bar, &v_bar)
            },
        );
        check_vjp::<18, 9>(
            random.numbers(),
            random.numbers(),
            |x| Mat3(part(&x, 0)).mul(&Mat3(part(&x, 9))).0,
            |x, bar| {
                let (mut a_bar, mut b_bar) = (Mat3::ZERO, Mat3::ZERO);
                Mat3(part(&x, 0)).mul_vjp(&Mat3(part(&x, 9)), &Mat3(bar), &mut a_bar, &mut b_bar);
                join(&a_bar, &b_bar)
            },
        );
    }
}

#[test]
fn quaternion_product_and_rotation_twins_match_duals() {
    let mut random = Random::at(3);
    for _ in 0..SAMPLES {
        check_vjp::<8, 4>(
            random.numbers(),
            random.numbers(),
            |x| Quat(part(&x, 0)).mul(Quat(part(&x, 4))).0,
            |x, bar| {
                let (mut a_bar, mut b_bar) = (Quat::default(), Quat::default());
                Quat(part(&x, 0)).mul_vjp(Quat(part(&x, 4)), Quat(bar), &mut a_bar, &mut b_bar);
                join(&a_bar, &b_bar)
            },
        );
        check_vjp::<7, 3>(
            random.numbers(),
            random.numbers(),
            |x| Quat(part(&x, 0)).rotate(Vec3(part(&x, 4))).0,
            |x, bar| {
                let (mut q_bar, mut v_bar) = (Quat::default(), Vec3::ZERO);
                Quat(part(&x, 0)).rotate_vjp(Vec3(part(&x, 4)), Vec3(bar), &mut q_bar, &mut v_bar);
                join(&q_bar, &v_bar)
            },
        );
        check_vjp::<7, 3>(
            random.numbers(),
            random.numbers(),
            |x| Quat(part(&x, 0)).rotate_inverse(Vec3(part(&x, 4))).0,
            |x, bar| {
                let (mut q_bar, mut v_bar) = (Quat::default(), Vec3::ZERO);
                Quat(part(&x, 0)).rotate_inverse_vjp(
                    Vec3(part(&x, 4)),
                    Vec3(bar),
                    &mut q_bar,
                    &mut v_bar,
                );
                join(&q_bar, &v_bar)
            },
        );
        check_vjp::<4, 9>(
            random.numbers(),
            random.numbers(),
            |x| Quat(x).to_mat3().0,
            |x, bar| {
                let mut q_bar = Quat::default();
                Quat(x).to_mat3_vjp(&Mat3(bar), &mut q_bar);
                q_bar.0
            },
        );
    }
}

#[test]
fn quaternion_map_twins_match_duals() {
    let mut random = Random::at(4);
    for sample in 0..SAMPLES {
        // Also vanishing, tiny and large arguments, and unit quaternions as they are met in practice.
        let size = [0.0, 1e-16, 1e-9, 1e-4, 0.03, 1.0, 5.0][sample % 7];
        let quat = if sample % 2 == 0 {
            random.quat()
        } else {
            Quat(random.numbers())
        };
        let rotation = random.vec3() * size;
        check_vjp::<4, 4>(
            quat.0,
            random.numbers(),
            |x| Quat(x).normalized().0,
            |x, bar| {
                let mut q_bar = Quat::default();
                Quat(x).normalized_vjp(Quat(bar), &mut q_bar);
                q_bar.0
            },
        );
        let [.., dt]: [f64; 2] = random.numbers();
        let mut input = [dt; 8];
        input[..4].copy_from_slice(&quat.0);
        input[4..7].copy_from_slice(&rotation.0);
        check_vjp::<8, 4>(
            input,
            random.numbers(),
            |x| Quat(part(&x, 0)).integrate(Vec3(part(&x, 4)), x[7]).0,
            |x, bar| {
                let (mut q_bar, mut v_bar, mut dt_bar) = (Quat::default(), Vec3::ZERO, 0.0);
                Quat(part(&x, 0)).integrate_vjp(
                    Vec3(part(&x, 4)),
                    x[7],
                    Quat(bar),
                    &mut q_bar,
                    &mut v_bar,
                    &mut dt_bar,
                );
                join(&join::<f64, 7>(&q_bar, &v_bar), &dt_bar)
            },
        );
        check_vjp::<3, 4>(
            rotation.0,
            random.numbers(),
            |x| Quat::exp(Vec3(x)).0,
            |x, bar| {
                let mut x_bar = Vec3::ZERO;
                Quat::exp_vjp(Vec3(x), Quat(bar), &mut x_bar);
                x_bar.0
            },
        );
        let other = quat.mul(Quat::exp(rotation));
        check_vjp::<8, 3>(
            join(&other, &quat),
            random.numbers(),
            |x| Quat(part(&x, 0)).difference(Quat(part(&x, 4))).0,
            |x, bar| {
                let (mut a_bar, mut b_bar) = (Quat::default(), Quat::default());
                let (a, b) = (Quat(part(&x, 0)), Quat(part(&x, 4)));
                a.difference_vjp(b, Vec3(bar), &mut a_bar, &mut b_bar);
                join(&a_bar, &b_bar)
            },
        );
    }
}

#[test]
fn spatial_twins_match_duals() {
    type Twin = fn(Spatial, Spatial, Spatial, &mut Spatial, &mut Spatial);
    type Shift = fn(Spatial, Vec3, Spatial, &mut Spatial, &mut Vec3);
    type DualShift = fn(Spatial<Dual<1>>, Vec3<Dual<1>>) -> Spatial<Dual<1>>;
    type DualCross = fn(Spatial<Dual<1>>, Spatial<Dual<1>>) -> Spatial<Dual<1>>;
    let crosses: [(DualCross, Twin); 1] = [(Spatial::cross_force, Spatial::cross_force_vjp)];
    let shifts: [(DualShift, Shift); 2] = [
        (Spatial::shift_motion, Spatial::shift_motion_vjp),
        (Spatial::shift_force, Spatial::shift_force_vjp),
    ];
    let mut random = Random::at(5);
    for _ in 0..SAMPLES {
        for (function, twin) in crosses {
            check_vjp::<12, 6>(
                random.numbers(),
                random.numbers(),
                |x| function(Spatial(part(&x, 0)), Spatial(part(&x, 6))).0,
                |x, bar| {
                    let (mut a_bar, mut b_bar) = (Spatial::ZERO, Spatial::ZERO);
                    let (a, b) = (Spatial(part(&x, 0)), Spatial(part(&x, 6)));
                    twin(a, b, Spatial(bar), &mut a_bar, &mut b_bar);
                    join(&a_bar, &b_bar)
                },
            );
        }
        for (function, twin) in shifts {
            check_vjp::<9, 6>(
                random.numbers(),
                random.numbers(),
                |x| function(Spatial(part(&x, 0)), Vec3(part(&x, 6))).0,
                |x, bar| {
                    let (mut a_bar, mut b_bar) = (Spatial::ZERO, Vec3::ZERO);
                    let (a, b) = (Spatial(part(&x, 0)), Vec3(part(&x, 6)));
                    twin(a, b, Spatial(bar), &mut a_bar, &mut b_bar);
                    join(&a_bar, &b_bar)
                },
            );
        }
    }
}

#[test]
fn inertia_twins_match_duals() {
    let mut random = Random::at(6);
    for _ in 0..SAMPLES {
        check_vjp::<16, 6>(
            random.numbers(),
            random.numbers(),
            |x| {
                SpatialInertia(part(&x, 0))
                    .mul_motion(Spatial(part(&x, 10)))
                    .0
            },
            |x, bar| {
                let (mut i_bar, mut v_bar) = (SpatialInertia::ZERO, Spatial::ZERO);
                let (inertia, motion) = (SpatialInertia(part(&x, 0)), Spatial(part(&x, 10)));
                inertia.mul_motion_vjp(motion, Spatial(bar), &mut i_bar, &mut v_bar);
                join(&i_bar, &v_bar)
            },
        );
        check_vjp::<16, 10>(
            random.numbers(),
            random.numbers(),
            |x| {
                let rotation = Mat3(part(&x, 3));
                SpatialInertia::from_body(Vec3(part(&x, 0)), &rotation, Vec3(part(&x, 12)), x[15]).0
            },
            |x, bar| {
                let (mut inertia, mut rotation) = (Vec3::ZERO, Mat3::ZERO);
                let (mut offset, mut mass) = (Vec3::ZERO, 0.0);
                let mut cotangents = BodyInertiaBar {
                    inertia: &mut inertia,
                    rotation: &mut rotation,
                    offset: &mut offset,
                    mass: &mut mass,
                };
                SpatialInertia::from_body_vjp(
                    Vec3(part(&x, 0)),
                    &Mat3(part(&x, 3)),
                    Vec3(part(&x, 12)),
                    x[15],
                    SpatialInertia(bar),
                    &mut cotangents,
                );
                join(
                    &join::<f64, 12>(&inertia, &rotation),
                    &join::<f64, 4>(&offset, &mass),
                )
            },
        );
    }
}
