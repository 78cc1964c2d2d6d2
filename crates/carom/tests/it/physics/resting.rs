//! Things that lie, stand and pile up.

use carom_contact_units::{NormalContact, pyramid_ratio};
use carom_testing::Random;

use super::{GRAVITY, Scene, assert_near};

const SOLREF: [f64; 2] = [0.02, 1.0];
const SOLIMP: [f64; 5] = [0.9, 0.95, 0.001, 0.5, 2.0];

#[test]
fn resting_bodies_sink_in_as_predicted() {
    // Each of n equal contact points carries its part of the weight.
    for (geom, points) in [
        (r#"type="sphere" size="0.1""#, 1.0),
        (r#"type="capsule" size="0.1 0.2" euler="0 90 0""#, 2.0),
        (r#"type="box" size="0.1 0.1 0.1""#, 4.0),
    ] {
        for (cone, mass) in [("elliptic", 0.2), ("pyramidal", 30.0)] {
            let friction = 0.6;
            let mut scene = Scene::new(
                &format!(r#"timestep="0.002" cone="{cone}""#),
                &format!(r#"friction="{friction}""#),
                &format!(
                    r#"<geom type="plane" size="5 5 1"/>
                       <body pos="0 0 0.1"><freejoint/><geom {geom} mass="{mass}"/></body>"#
                ),
            );
            scene.run(1.0);
            let ratio = match cone {
                "elliptic" => 1.0,
                _ => pyramid_ratio(friction, 1.0, 3),
            };
            let contact = NormalContact::new(SOLREF, SOLIMP, mass).unwrap();
            let contact = contact.with_ratio(ratio).unwrap();
            let expected = contact.rest_penetration(mass * GRAVITY / points);
            assert_near(0.1 - scene.position(0)[2], expected, 1e-6);
        }
    }
}

fn boxes(positions: impl Iterator<Item = [f64; 3]>, rotate: &mut dyn FnMut() -> String) -> String {
    let bodies: Vec<String> = positions
        .map(|[x, y, z]| {
            let euler = rotate();
            format!(
                r#"<body pos="{x} {y} {z}" {euler}><freejoint/>
                     <geom type="box" size="0.05 0.05 0.05" density="500"/></body>"#
            )
        })
        .collect();
    bodies.concat()
}

#[test]
fn a_tower_of_ten_boxes_stands() {
    let heights = (0..10).map(|level| [0.0, 0.0, 0.05 + 0.1 * f64::from(level)]);
    let world = boxes(heights, &mut String::new);
    let world = format!(r#"<geom type="plane" size="5 5 1"/>{world}"#);
    let mut scene = Scene::new(r#"timestep="0.002""#, "", &world);
    scene.run(10.0);
    for level in 0..10 {
        let position = scene.position(level);
        let aside = position[0].hypot(position[1]);
        assert!(aside < 1e-3, "box {level} went aside by {aside}");
        assert!(scene.up(level)[2] > 1.0 - 1e-6, "box {level} is tilted");
        let sunk = 0.05 + 0.1 * level as f64 - position[2];
        assert!((0.0..0.01).contains(&sunk), "box {level} sank by {sunk}");
    }
    let speed = scene.greatest_speed();
    assert!(speed < 1e-4, "still moves at {speed} m/s");
}

#[test]
fn a_pile_of_a_hundred_boxes_comes_to_rest() {
    let mut random = Random(3);
    let places = (0..100).map(|index| {
        let [i, j, level] = [index % 5, index / 5 % 5, index / 25].map(f64::from);
        [0.13 * (i - 2.0), 0.13 * (j - 2.0), 0.1 + 0.15 * level]
    });
    let mut rotate = || {
        let [a, b, c] = [0; 3].map(|_| 40.0 * random.next());
        format!(r#"euler="{a} {b} {c}""#)
    };
    let world = boxes(places, &mut rotate);
    let world = format!(r#"<geom type="plane" size="5 5 1"/>{world}"#);
    let mut scene = Scene::new(r#"timestep="0.004""#, "", &world);
    scene.run(3.0);
    let speed = scene.greatest_speed();
    assert!(speed < 0.05, "still moves at {speed} m/s");
    for index in 0..100 {
        let height = scene.position(index)[2];
        assert!(
            (0.03..0.6).contains(&height),
            "box {index} is at height {height}"
        );
    }
}
