//! Coulomb's law on a slope.

use super::{GRAVITY, Scene, assert_near};

const FRICTION: f64 = 0.4;

/// A flat box on a plane, with gravity tilted by `angle` (rad) towards `heading` (rad) in the plane.
fn slope(cone: &str, angle: f64, heading: f64) -> Scene {
    let (sin, cos) = angle.sin_cos();
    let [x, y, z] = [sin * heading.cos(), sin * heading.sin(), -cos].map(|g| g * GRAVITY);
    Scene::new(
        &format!(r#"timestep="0.002" cone="{cone}" gravity="{x} {y} {z}""#),
        &format!(r#"friction="{FRICTION}" condim="3""#),
        r#"<geom type="plane" size="5 5 1"/>
           <body pos="0 0 0.0499"><freejoint/><geom type="box" size="0.2 0.2 0.05"/></body>"#,
    )
}

/// Mean acceleration along the slope over a second, once the box has settled.
///
/// The box may hop a little while it slides. Friction is μ times the normal force at every instant, so what hopping
/// leaves of the normal velocity at the end is missing along the slope, μ times.
fn acceleration(mut scene: Scene, friction: f64) -> f64 {
    scene.run(0.3);
    let before = scene.velocity(0);
    scene.run(1.0);
    let gained = scene.velocity(0) - before;
    gained[0].hypot(gained[1]) + friction * gained[2]
}

#[test]
fn a_box_slides_beyond_the_friction_angle_as_coulomb_says() {
    for cone in ["elliptic", "pyramidal"] {
        for steepness in [1.05_f64, 1.3, 2.0] {
            let angle = (steepness * FRICTION).atan();
            let expected = GRAVITY * (angle.sin() - FRICTION * angle.cos());
            let found = acceleration(slope(cone, angle, 0.0), FRICTION);
            assert_near(found, expected, 1e-6);
        }
    }
}

#[test]
fn a_box_stays_below_the_friction_angle() {
    for cone in ["elliptic", "pyramidal"] {
        for steepness in [0.5_f64, 0.95] {
            let mut scene = slope(cone, (steepness * FRICTION).atan(), 0.0);
            let mut creep = [0; 3].map(|_| {
                let before = scene.position(0)[0];
                scene.run(1.0);
                scene.position(0)[0] - before
            });
            // A soft contact creeps, slowly and ever the same.
            assert!(creep[2] < 3e-3, "{cone}: creeps by {creep:?} m");
            creep[1] -= creep[2];
            assert!(creep[1].abs() < 1e-4, "{cone}: speeds up by {} m", creep[1]);
        }
    }
}

#[test]
fn only_a_pyramid_is_weaker_along_its_diagonal() {
    let diagonal = std::f64::consts::FRAC_PI_4;
    for (cone, friction) in [
        ("elliptic", FRICTION),
        // |f₁| + |f₂| ≤ μ·N bounds the diagonal by μ/√2.
        ("pyramidal", FRICTION / std::f64::consts::SQRT_2),
    ] {
        let angle = (1.3 * FRICTION).atan();
        let expected = GRAVITY * (angle.sin() - friction * angle.cos());
        let found = acceleration(slope(cone, angle, diagonal), friction);
        assert_near(found, expected, 1e-6);
    }
}
