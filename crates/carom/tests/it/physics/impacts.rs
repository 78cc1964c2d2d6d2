//! Collisions: restitution, momentum, and a cradle.

use carom::stages::solve;
use carom_contact_units::NormalContact;
use carom_testing::Random;

use super::{Scene, assert_near};

/// Two balls on a line without gravity, the first one moving.
fn two_balls(masses: [f64; 2], solref: [f64; 2]) -> Scene {
    let [first, second] = masses;
    let mut scene = Scene::new(
        r#"timestep="1e-5" gravity="0 0 0""#,
        &format!(
            r#"type="sphere" size="0.1" condim="1" solref="{} {}""#,
            solref[0], solref[1]
        ),
        &format!(
            r#"<body><freejoint/><geom mass="{first}"/></body>
               <body pos="0.2001 0 0"><freejoint/><geom mass="{second}"/></body>"#
        ),
    );
    scene.state.qvel[0] = 1.0;
    scene
}

#[test]
fn two_balls_part_with_the_predicted_restitution_and_keep_their_momentum() {
    let solimp = [0.9, 0.95, 0.001, 0.5, 2.0];
    for masses in [[1.0, 1.0], [0.1, 5.0], [20.0, 0.5]] {
        for solref in [[0.01, 0.1], [0.02, 0.6], [0.02, 1.5]] {
            let mut scene = two_balls(masses, solref);
            scene.run(0.2);
            let [first, second] = [0, 1].map(|ball| scene.velocity(ball)[0]);
            let mass = masses[0] * masses[1] / (masses[0] + masses[1]);
            let contact = NormalContact::new(solref, solimp, mass).unwrap();
            assert_near(second - first, contact.restitution(1.0), 2e-3);
            let momentum = masses[0] * first + masses[1] * second;
            assert_near(momentum, masses[0], 1e-12);
        }
    }
}

#[test]
fn an_elastic_collision_keeps_the_energy() {
    let mut scene = two_balls([1.0, 3.0], [-1e5, 0.0]);
    scene.run(0.05);
    // v₁ = (m₁ − m₂)/(m₁ + m₂), v₂ = 2·m₁/(m₁ + m₂).
    assert_near(scene.velocity(0)[0], -0.5, 1e-3);
    assert_near(scene.velocity(1)[0], 0.5, 1e-3);
}

/// Five elastic balls in a row, nearly touching; the first `moving` ones arrive from far.
fn cradle(moving: usize) -> [f64; 5] {
    let balls: Vec<String> = (0..5)
        .map(|ball| {
            let gap = 0.002 * f64::from(ball);
            let x = 0.2 * f64::from(ball) + gap;
            format!(r#"<body pos="{x} 0 0"><freejoint/><geom mass="1"/></body>"#)
        })
        .collect();
    let mut scene = Scene::new(
        r#"timestep="1e-5" gravity="0 0 0""#,
        r#"type="sphere" size="0.1" condim="1" solref="-1e8 0" solimp="0.9 0.9 0.001""#,
        &balls.concat(),
    );
    for ball in 0..moving {
        scene.state.qpos[7 * ball] -= 0.01;
        scene.state.qvel[6 * ball] = 1.0;
    }
    scene.run(0.05);
    std::array::from_fn(|ball| scene.velocity(ball)[0])
}

#[test]
fn a_newtons_cradle_sends_out_as_many_balls_as_come_in() {
    for moving in 1..=4 {
        let speeds = cradle(moving);
        for (ball, speed) in speeds.into_iter().enumerate() {
            let expected = if ball >= 5 - moving { 1.0 } else { 0.0 };
            assert!(
                (speed - expected).abs() < 0.02,
                "{moving} balls in: speeds {speeds:?}"
            );
        }
    }
}

#[test]
fn collisions_keep_linear_and_angular_momentum() {
    let mut random = Random(7);
    let balls: Vec<String> = (0..10)
        .map(|ball| {
            let position = [0; 3].map(|_| 0.4 * random.next());
            let (mass, size) = (0.5 + random.next().abs(), 0.08 + 0.02 * random.next());
            let [x, y, z] = position;
            let spread = 0.01 * f64::from(ball);
            format!(
                r#"<body pos="{} {y} {z}"><freejoint/><geom size="{size}" mass="{mass}"/></body>"#,
                x + spread
            )
        })
        .collect();
    let mut scene = Scene::new(
        r#"timestep="0.001" gravity="0 0 0" cone="elliptic""#,
        r#"type="sphere" condim="4" friction="0.7 0.01 0.001""#,
        &balls.concat(),
    );
    // Momentum is as exact as the solution for the forces.
    solve::tighten(&mut scene.model);
    for (dof, velocity) in scene.state.qvel.iter_mut().enumerate() {
        // All head for the middle, spinning.
        let position = scene.state.qpos[7 * (dof / 6) + (dof % 6).min(2)];
        *velocity = if dof % 6 < 3 {
            -2.0 * position
        } else {
            5.0 * random.next()
        };
    }
    let before = momenta(&scene);
    let mut touched = 0;
    for _ in 0..1000 {
        scene.step();
        touched += usize::from(scene.touches());
    }
    assert!(touched > 50, "the balls hardly met: {touched} steps");
    for (found, expected) in momenta(&scene).into_iter().zip(before) {
        assert!(
            (found - expected).abs() < 1e-10,
            "{found} instead of {expected}"
        );
    }
}

/// Linear momentum, and angular momentum about the origin, of free balls.
fn momenta(scene: &Scene) -> [f64; 6] {
    let mut sum = [0.0; 6];
    for ball in 0..scene.model.counts().nbody - 1 {
        let body = ball + 1;
        let momentum = scene.velocity(ball) * scene.model.bodies.mass[body];
        // A ball's inertia is the same about all axes, its spin is given in its own axes.
        let inertia = scene.model.bodies.inertia[body][0];
        let quat: [f64; 4] = std::array::from_fn(|k| scene.state.qpos[7 * ball + 3 + k]);
        let rotation = carom::math::Quat(quat).to_mat3();
        let spin = rotation.mul_vec(scene.spin(ball)) * inertia;
        let angular = scene.position(ball).cross(momentum) + spin;
        for k in 0..3 {
            sum[k] += momentum[k];
            sum[3 + k] += angular[k];
        }
    }
    sum
}
