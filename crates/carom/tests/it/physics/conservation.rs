//! Passive contacts take energy away, or lend it for a while.

use super::Scene;

/// Drops bodies and checks that the energy of free flight never grows. While bodies touch, the contacts hold energy, so
/// what is left is bounded by the last flight.
#[track_caller]
fn assert_energy_never_rises(mut scene: Scene, seconds: f64) {
    let scale = scene.energy();
    let mut bound = scale;
    let (mut flights, mut impacts) = (0, 0);
    while scene.state.time < seconds {
        scene.step();
        let energy = scene.energy();
        assert!(
            energy <= bound + 1e-3 * scale,
            "energy rose from {bound} J to {energy} J at {} s",
            scene.state.time
        );
        if scene.touches() {
            impacts += 1;
        } else {
            flights += 1;
            bound = bound.min(energy);
        }
    }
    assert!(flights > 0 && impacts > 0, "{flights} {impacts}");
}

#[test]
fn bouncing_bodies_gain_no_energy() {
    for geom in [
        r#"type="sphere" size="0.1""#,
        r#"type="capsule" size="0.05 0.1""#,
        r#"type="box" size="0.1 0.06 0.04""#,
        r#"type="cylinder" size="0.08 0.05""#,
        r#"type="ellipsoid" size="0.1 0.06 0.04""#,
    ] {
        for cone in ["elliptic", "pyramidal"] {
            let scene = Scene::new(
                &format!(r#"timestep="0.0005" cone="{cone}""#),
                r#"solref="0.02 0.2" friction="0.5""#,
                &format!(
                    r#"<geom type="plane" size="5 5 1"/>
                       <body pos="0 0 0.5" euler="30 20 10"><freejoint/><geom {geom}/></body>"#
                ),
            );
            assert_energy_never_rises(scene, 1.0);
        }
    }
}

#[test]
fn bodies_that_hit_each_other_gain_no_energy() {
    let scene = Scene::new(
        r#"timestep="0.0005""#,
        r#"solref="0.01 0.3" friction="0.5""#,
        r#"<geom type="plane" size="5 5 1"/>
           <body pos="0 0 0.4"><freejoint/><geom type="box" size="0.1 0.1 0.1"/></body>
           <body pos="0.03 0.02 0.7" euler="40 10 0"><freejoint/><geom type="box" size="0.08 0.08 0.08"/></body>
           <body pos="0.01 -0.05 1"><freejoint/><geom type="sphere" size="0.08"/></body>
           <body pos="0.02 0 1.3" euler="0 70 0"><freejoint/><geom type="capsule" size="0.05 0.1"/></body>"#,
    );
    assert_energy_never_rises(scene, 1.0);
}
