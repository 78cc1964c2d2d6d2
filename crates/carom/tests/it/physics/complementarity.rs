//! Rigid contact: no energy from nowhere, and a billiard break.

use std::fmt::Write as _;

use super::Scene;
use carom::stages::solve::SolveStatus;

fn rigid_scene(option: &str, defaults: &str, world: &str, law: &str) -> Scene {
    Scene::from_mjcf(&format!(
        r#"<mujoco><option {option}/><default><geom {defaults}/></default><worldbody>{world}</worldbody>
          <custom><text name="carom/contact" data="law=complementarity; {law}"/></custom></mujoco>"#
    ))
}

/// Impulses store nothing, so the energy of every step bounds that of the next. Tumbling is integrated with an error
/// of its own, which the time step bounds.
#[test]
fn rigid_bodies_gain_no_energy() {
    for (geom, law, allowed) in [
        (r#"type="sphere" size="0.1""#, "restitution=0.7", 1e-9),
        (r#"type="sphere" size="0.1""#, "", 1e-9),
        (r#"type="capsule" size="0.05 0.1""#, "", 1e-4),
        (r#"type="box" size="0.1 0.06 0.04""#, "", 1e-4),
    ] {
        // Corrections of penetrations would lift bodies.
        let law = format!("baumgarte=0 1; mixing=0; {law}");
        let mut scene = rigid_scene(
            r#"timestep="0.0005""#,
            r#"friction="0.5""#,
            &format!(
                r#"<geom type="plane" size="5 5 1"/>
                   <body pos="0 0 0.3" euler="30 20 10"><freejoint/><geom {geom}/></body>
                   <body pos="0.02 0.03 0.65" euler="50 0 80"><freejoint/><geom {geom}/></body>"#
            ),
            &law,
        );
        let (scale, mut impacts) = (scene.energy(), 0);
        let mut before = scale;
        for _ in 0..1600 {
            scene.step();
            let energy = scene.energy();
            assert!(
                energy <= before + allowed * scale,
                "{geom}, {law}: from {before} J to {energy} J at {} s",
                scene.state.time
            );
            before = energy;
            impacts += usize::from(scene.touches());
        }
        assert!(impacts > 0 && before < scale);
    }
}

/// The margin lets contacts be seen a step ahead. Fifteen balls in a rack and one that hits them: momentum stays, energy does not rise, no ball enters another, and the
/// picture stays symmetric.
#[test]
fn a_billiard_break_keeps_momentum_and_symmetry() {
    let radius = 0.03;
    let mut balls = String::new();
    let mut ball = |x: f64, y: f64| {
        let _ = write!(
            balls,
            r#"<body pos="{x} {y} 0"><joint type="slide" axis="1 0 0"/><joint type="slide" axis="0 1 0"/>
               <geom size="{radius}" mass="0.17" condim="1" margin="0.02"/></body>"#
        );
    };
    ball(-0.5, 0.0);
    let pitch = 2.0 * radius + 1e-6;
    for row in 0..5_i32 {
        for place in 0..=row {
            let y = f64::from(place) - 0.5 * f64::from(row);
            ball(f64::from(row) * pitch * 0.75_f64.sqrt(), y * pitch);
        }
    }
    for restitution in [0.0, 0.9, 1.0] {
        let law = format!("restitution={restitution}; baumgarte=0 1; mixing=0; tolerance=1e-12");
        let mut scene = rigid_scene(r#"gravity="0 0 0""#, "", &balls, &law);
        scene.state.qvel[0] = 5.0;
        let square = |scene: &Scene| scene.state.qvel.iter().map(|v| v * v).sum::<f64>();
        let mut before = square(&scene);
        for _ in 0..150 {
            scene.step();
            assert_eq!(scene.data.solve.report.status, SolveStatus::Converged);
            let energy = square(&scene);
            assert!(energy <= before * (1.0 + 1e-9), "{before} {energy}");
            before = energy;
            for contact in &scene.data.collision.contacts {
                assert!(contact.distance > -1e-9, "{}", contact.distance);
            }
        }
        let velocity = &scene.state.qvel;
        let momentum = |axis: usize| velocity[axis..].iter().step_by(2).sum::<f64>();
        assert!((momentum(0) - 5.0).abs() < 1e-9 && momentum(1).abs() < 1e-9);
        assert!(before < 25.0 * (1.0 + 1e-9), "{before}");
        // The corners of the last row fly apart, each as the image of the other.
        let (left, right) = (11, 15);
        assert!(velocity[2 * right + 1].abs() > 0.1, "{velocity:?}");
        assert!((velocity[2 * left] - velocity[2 * right]).abs() < 1e-6);
        assert!((velocity[2 * left + 1] + velocity[2 * right + 1]).abs() < 1e-6);
    }
}
