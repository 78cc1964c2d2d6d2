//! Surfaces that move while their geoms do not: belts, treadmills, turntables.
//!
//! The surface of a geom with centre p and the field (v, ω), in its frame, moves at x with σ(x) = v + ω × (x − p). A
//! contact sees the difference of its two geoms, along its tangents and about its normal.

use super::Contact;
use crate::math::{Mat3, Vec3};
use crate::model::Model;
use crate::scalar::Scalar;
use crate::stages::kinematics::Kinematics;

/// Sets the relative surface velocities of all contacts.
pub(super) fn set<T: Scalar>(
    model: &Model<T>,
    kinematics: &Kinematics<T>,
    contacts: &mut [Contact<T>],
) {
    for contact in contacts {
        let [first, second] = contact
            .geoms
            .map(|geom| field_at(model, kinematics, geom, contact.position));
        let (linear, angular) = (second.0 - first.0, second.1 - first.1);
        let [normal, tangent1, tangent2] = [0, 1, 2].map(|row| contact.frame.row(row));
        contact.surface_velocity = [
            tangent1.dot(linear),
            tangent2.dot(linear),
            normal.dot(angular),
        ];
    }
}

/// Linear velocity of a geom's surface at a point, and its angular velocity, in the world.
fn field_at<T: Scalar>(
    model: &Model<T>,
    kinematics: &Kinematics<T>,
    geom: usize,
    point: Vec3<T>,
) -> (Vec3<T>, Vec3<T>) {
    let [vx, vy, vz, wx, wy, wz] = model.geoms.surface_velocity[geom];
    let rotation = &kinematics.geom_rotation[geom];
    let angular = rotation.mul_vec(Vec3([wx, wy, wz]));
    let offset = point - kinematics.geom_position[geom];
    let linear = rotation.mul_vec(Vec3([vx, vy, vz])) + angular.cross(offset);
    (linear, angular)
}

/// The twin of [`set`] for one contact: adds to the cotangents of its position and frame, of the geoms' poses and of
/// their fields.
pub(super) fn set_vjp(
    model: &Model,
    kinematics: &Kinematics,
    contact: &Contact,
    bar: &mut Contact,
    (kinematics_bar, model_bar): (&mut Kinematics, &mut Model),
) {
    let [first_bar, second_bar, spin_bar] = bar.surface_velocity;
    if [first_bar, second_bar, spin_bar] == [0.0; 3] {
        return;
    }
    let [normal, tangent1, tangent2] = [0, 1, 2].map(|row| contact.frame.row(row));
    let linear_bar = tangent1 * first_bar + tangent2 * second_bar;
    let angular_bar = normal * spin_bar;
    let (mut linear, mut angular) = (Vec3::ZERO, Vec3::ZERO);
    for (geom, sign) in contact.geoms.into_iter().zip([-1.0, 1.0]) {
        let (velocity, spin) = field_at(model, kinematics, geom, contact.position);
        linear += velocity * sign;
        angular += spin * sign;
        let [vx, vy, vz, wx, wy, wz] = model.geoms.surface_velocity[geom];
        let offset = contact.position - kinematics.geom_position[geom];
        let linear_bar = linear_bar * sign;
        let spin_bar = angular_bar * sign + offset.cross(linear_bar);
        let offset_bar = linear_bar.cross(spin);
        bar.position += offset_bar;
        kinematics_bar.geom_position[geom] -= offset_bar;
        let (mut constant_bar, mut turning_bar) = (Vec3::ZERO, Vec3::ZERO);
        let rotation = &kinematics.geom_rotation[geom];
        let rotation_bar = &mut kinematics_bar.geom_rotation[geom];
        rotation.mul_vec_vjp(
            Vec3([vx, vy, vz]),
            linear_bar,
            rotation_bar,
            &mut constant_bar,
        );
        rotation.mul_vec_vjp(Vec3([wx, wy, wz]), spin_bar, rotation_bar, &mut turning_bar);
        let field_bar = &mut model_bar.geoms.surface_velocity[geom];
        for axis in 0..3 {
            field_bar[axis] += constant_bar[axis];
            field_bar[3 + axis] += turning_bar[axis];
        }
    }
    bar.frame += Mat3::from_rows(angular * spin_bar, linear * first_bar, linear * second_bar);
}

#[cfg(test)]
mod tests {
    use crate::data::Data;
    use crate::dynamics;
    use crate::integrate::step;
    use crate::state::{Input, State};
    use crate::testing::model_from_mjcf;

    #[test]
    fn a_belt_carries_what_lies_on_it_at_its_speed() {
        let model = model_from_mjcf(
            r#"<mujoco><worldbody><geom type="plane" size="1 1 1" surfacevel=".5 0 .3" euler="0 0 90"/>
              <body pos="0 0 .1"><joint type="slide" axis="1 0 0"/><joint type="slide" axis="0 1 0"/>
                <joint type="slide" axis="0 0 1"/><geom size=".1"/></body></worldbody></mujoco>"#,
        );
        let (mut state, input) = (State::reference(&model), Input::zeros(&model));
        let mut data = Data::new(&model);
        for _ in 0..1000 {
            step(&model, &mut state, &input, &mut data);
        }
        assert!((state.qvel[1] - 0.5).abs() < 1e-6, "{:?}", state.qvel);
        assert!(state.qvel[0].abs() < 1e-6 && state.qvel[2].abs() < 1e-6);
    }

    #[test]
    fn fields_of_both_geoms_meet_in_the_frame_of_the_contact() {
        let model = model_from_mjcf(
            r#"<mujoco><worldbody><geom type="plane" size="1 1 1" surfacevel="0 0 0 0 0 2"/>
              <body pos="3 0 .1"><freejoint/><geom size=".1" surfacevel=".1 .2 0 0 0 .5"/></body></worldbody></mujoco>"#,
        );
        let (state, mut data) = (State::reference(&model), Data::new(&model));
        dynamics::forward_position(&model, &state, &mut data);
        let contact = &data.collision.contacts[0];
        // The table moves with (0, 6, 0) under the contact, the ball with (0.1, 0.2, 0).
        let along = |row: usize| {
            let axis = contact.frame.row(row);
            axis[0] * 0.1 + axis[1] * (0.2 - 6.0)
        };
        let [first, second, spin] = contact.surface_velocity;
        assert!((first - along(1)).abs() < 1e-14 && (second - along(2)).abs() < 1e-14);
        assert!((spin + 1.5).abs() < 1e-14);
    }
}
