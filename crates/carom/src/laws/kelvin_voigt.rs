//! The normal force of a contact as a linear spring and damper, with regularised Coulomb friction.
//!
//! With δ the depth, δ̇ the speed of approach, μ(j) the coefficients of friction and u the sliding velocity of length v,
//!
//!   f = k·δ + d·δ̇  for δ > 0, never less than zero                                       (1)
//!   F(j) = −f·μ(j)·u(j)/√(v² + w²)                                                     (2)
//!
//! The simplest law that there is: two numbers for the normal force, and friction that reaches its full size well above
//! the transition speed w. The damper acts from the first touch on, so the force jumps there;
//! [`hunt_crossley`](super::hunt_crossley) has a continuous one.

use super::force::{ForceLaw, Touch, numbers};
use crate::math::Vec3;
use crate::model::LawNumbers;
use crate::scalar::Scalar;

/// The law at one contact.
#[derive(Clone, Copy, Debug)]
pub struct KelvinVoigtContact;

impl ForceLaw<3> for KelvinVoigtContact {
    numbers!(3: stiffness, viscous, transition_speed);

    #[inline]
    fn force<T: Scalar>([stiffness, viscous, transition_speed]: [T; 3], at: &Touch<T>) -> Vec3<T> {
        let velocity = at.velocity;
        let normal = -(stiffness * at.distance + viscous * velocity[0]); // (1)
        if at.distance >= T::ZERO || normal <= T::ZERO {
            return Vec3::ZERO;
        }
        if !at.has_friction {
            return Vec3([normal, T::ZERO, T::ZERO]);
        }
        let speed_squared = velocity[1] * velocity[1] + velocity[2] * velocity[2];
        let dry = normal / (speed_squared + transition_speed * transition_speed).sqrt();
        let tangent = |j: usize| -(dry * at.friction[j - 1] * velocity[j]); // (2)
        Vec3([normal, tangent(1), tangent(2)])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Data;
    use crate::integrate;
    use crate::parameters::Parameters;
    use crate::state::{Input, State};
    use crate::testing::model_from_mjcf;

    fn at(distance: f64, velocity: [f64; 3]) -> Touch {
        Touch {
            distance,
            friction: [0.5, 0.25],
            velocity: Vec3(velocity),
            has_friction: true,
        }
    }

    #[test]
    fn contacts_push_only_and_slide_at_the_coefficient() {
        let numbers = [1e4, 20.0, 1e-6];
        let force = |distance: f64, velocity: [f64; 3]| {
            KelvinVoigtContact::force(numbers, &at(distance, velocity))
        };
        assert_eq!(force(1e-3, [-1.0, 1.0, 0.0]), Vec3::ZERO);
        assert_eq!(force(-1e-3, [2.0, 1.0, 0.0]), Vec3::ZERO);
        let Vec3([normal, first, second]) = force(-1e-3, [-0.5, 3.0, -4.0]);
        assert_eq!(normal, 20.0);
        // Against the velocity, by μ(j)·f along each tangent.
        assert!((first + 0.5 * 20.0 * 0.6).abs() < 1e-9);
        assert!((second - 0.25 * 20.0 * 0.8).abs() < 1e-9);
    }

    /// A ball on a damped spring of its own: at rest its weight is k·δ, and its parameters are free by name.
    #[test]
    fn a_ball_comes_to_rest_in_the_spring() {
        let model = model_from_mjcf(
            r#"<mujoco><option timestep="0.0005" gravity="0 0 -10"/><worldbody><geom type="plane" size="1 1 1"/>
              <body pos="0 0 0.1"><freejoint/><geom size="0.1" mass="0.5"/></body></worldbody>
              <custom><text name="carom/contact" data="law=kelvin_voigt; stiffness=2e3; viscous=40"/></custom></mujoco>"#,
        );
        let (mut state, mut data) = (State::reference(&model), Data::new(&model));
        for _ in 0..4000 {
            integrate::step(&model, &mut state, &Input::zeros(&model), &mut data);
        }
        assert!((state.qpos[2] - (0.1 - 0.5 * 10.0 / 2e3)).abs() < 1e-9);
        for (name, value) in [
            ("stiffness", 2e3),
            ("viscous", 40.0),
            ("transition_speed", 0.01),
        ] {
            let free = Parameters::select(&model, &[&format!("law.{name}")]).unwrap();
            assert_eq!(free.theta0(), [value]);
        }
        assert!(Parameters::select(&model, &["law.exponent"]).is_err());
    }
}
