//! Rolling and spinning: balls and a top.

use super::{GRAVITY, Scene, assert_near};

const RADIUS: f64 = 0.1;

fn ball(option: &str, geom: &str) -> Scene {
    Scene::new(
        &format!(r#"timestep="0.001" {option}"#),
        geom,
        &format!(
            r#"<geom type="plane" size="5 5 1"/>
               <body pos="0 0 {RADIUS}"><freejoint/><geom type="sphere" size="{RADIUS}"/></body>"#
        ),
    )
}

#[test]
fn a_ball_rolls_down_a_slope_at_five_sevenths() {
    for cone in ["elliptic", "pyramidal"] {
        let angle = 0.2_f64;
        let (x, z) = (GRAVITY * angle.sin(), -GRAVITY * angle.cos());
        let option = format!(r#"cone="{cone}" gravity="{x} 0 {z}""#);
        let mut scene = ball(&option, r#"friction="0.8""#);
        scene.run(0.5);
        let before = scene.velocity(0)[0];
        scene.run(1.0);
        // It rolls on the point between the surfaces, half the penetration above the bottom.
        let lever = 1.0 - 0.5 * (1.0 - scene.position(0)[2] / RADIUS);
        let expected = x / (1.0 + 0.4 / (lever * lever));
        assert_near(expected, 5.0 / 7.0 * x, 2e-3);
        assert_near(scene.velocity(0)[0] - before, expected, 1e-5);
        // It rolls: the point of contact moves slowly against the plane.
        let slip = scene.velocity(0)[0] - RADIUS * scene.spin(0).norm();
        assert!(slip.abs() < 0.02, "{cone}: slips at {slip} m/s");
    }
}

#[test]
fn a_sliding_ball_ends_up_rolling_at_five_sevenths_of_its_speed() {
    for cone in ["elliptic", "pyramidal"] {
        let mut scene = ball(&format!(r#"cone="{cone}""#), r#"friction="0.3""#);
        scene.state.qvel[0] = 1.4;
        scene.run(0.1);
        // While it slides, friction slows it by μ·g.
        assert_near(1.4 - scene.velocity(0)[0], 0.3 * GRAVITY * 0.1, 2e-2);
        scene.run(1.0);
        assert_near(scene.velocity(0)[0], 1.0, 3e-3);
    }
}

#[test]
fn rolling_friction_slows_a_ball() {
    // The rolling torque c·N acts on the inertia about the contact, 7/5·m·r².
    let coefficient = 0.002;
    let geom = format!(r#"condim="6" friction="0.8 0.005 {coefficient}""#);
    let mut scene = ball(r#"cone="elliptic""#, &geom);
    scene.state.qvel[0] = 1.0;
    scene.state.qvel[4] = 1.0 / RADIUS;
    scene.run(0.2);
    let before = scene.velocity(0)[0];
    scene.run(1.0);
    let expected = 5.0 / 7.0 * GRAVITY * coefficient / RADIUS;
    assert_near(before - scene.velocity(0)[0], expected, 1e-2);
}

/// A top: a light rod with a round tip and a disc, spinning about the vertical.
struct Top {
    scene: Scene,
    /// Moment of inertia about the axis (kg·m²).
    axial: f64,
    /// Spin above which an upright top is stable (rad/s).
    critical: f64,
}

impl Top {
    const TORSION: f64 = 0.002;

    fn new(cone: &str) -> Self {
        let (mass, height, radius, tip) = (0.5, 0.08, 0.05, 0.005);
        let axial = 0.5 * mass * radius * radius;
        let side = 0.5 * axial;
        let scene = Scene::new(
            &format!(r#"timestep="0.0005" integrator="implicit" cone="{cone}""#),
            &format!(
                r#"condim="4" friction="0.8 {} 0.0001" solref="0.005 1""#,
                Self::TORSION
            ),
            &format!(
                r#"<geom type="plane" size="5 5 1"/>
                   <body pos="0 0 {tip}"><freejoint/>
                     <inertial pos="0 0 {height}" mass="{mass}" diaginertia="{side} {side} {axial}"/>
                     <geom type="sphere" size="{tip}"/></body>"#
            ),
        );
        // The tip rolls on the plane: the lever of gravity is the height above the middle of the tip.
        let pivot = side + mass * height * height;
        let critical = 2.0 * (mass * GRAVITY * height * pivot).sqrt() / axial;
        Self {
            scene,
            axial,
            critical,
        }
    }

    /// Starts the spin with a slight tilt.
    fn start(&mut self, spin: f64) {
        self.scene.state.qpos[3] = (0.005_f64).cos();
        self.scene.state.qpos[4] = (0.005_f64).sin();
        self.scene.state.qvel[5] = spin;
    }

    /// Angle from the vertical (rad).
    fn tilt(&self) -> f64 {
        self.scene.up(0)[2].clamp(-1.0, 1.0).acos()
    }
}

#[test]
fn torsional_friction_slows_a_spinning_top() {
    for cone in ["elliptic", "pyramidal"] {
        let mut top = Top::new(cone);
        top.start(2.0 * top.critical);
        top.scene.run(0.2);
        let before = top.scene.spin(0)[2];
        top.scene.run(0.5);
        let lost = before - top.scene.spin(0)[2];
        let expected = 0.5 * Top::TORSION * 0.5 * GRAVITY / top.axial;
        assert_near(lost, expected, 2e-2);
        assert!(
            top.tilt() < 0.1,
            "{cone}: a fast top sleeps, tilt {}",
            top.tilt()
        );
    }
}

#[test]
fn a_slow_top_falls() {
    let mut top = Top::new("elliptic");
    top.start(0.3 * top.critical);
    top.scene.run(1.0);
    assert!(top.tilt() > 0.5, "tilt {}", top.tilt());
}
