//! Impacts and slides against what mechanics says, and laws that are found again.

mod in_the_engine;

use super::fit;
use super::strikes::Recorded;
use super::{
    Bodies, CollisionMap, ContactLaw, Laws, Limits, Outline, Planar, Score, StrikeMapping,
    TableLaw, relative_error,
};
use carom::Model;
use carom::plan_view::standing;

const GRAVITY: f64 = 9.81;
const CONTACT: ContactLaw = ContactLaw {
    stiffness: 17.5,
    dissipation: -0.5,
    friction: 0.3,
    arm_mass: 1.0,
    arm_rate: 4.2,
    arm_inertia: -3.4,
    slip: -5.0,
    power: 1.0,
};
const TABLE: TableLaw = TableLaw {
    friction: 0.3,
    stribeck: 0.05,
    stribeck_speed: 0.1,
    ploughing: 0.02,
    grain: [0.0; 2],
    lean: 1.0,
    crown: 1.0,
};

const LAWS: Laws = Laws {
    contact: CONTACT,
    table: TABLE,
};

fn model(shape: &str) -> Model {
    let file = format!("../../datasets/clash_{shape}.xml");
    carom::load::file(file.as_ref(), &[])
        .expect("the scene")
        .model
}

fn mapping() -> StrikeMapping {
    StrikeMapping::read("../../datasets/clash_strikes.toml".as_ref()).expect("the mapping")
}

fn bodies(shape: &str) -> Bodies {
    super::bodies(&model(shape), &mapping(), None).expect("the bodies")
}

/// A strike at the face that looks along x, `point` off its middle.
fn striker(apothem: f64, point: f64, speed: f64, deflection: f64) -> Planar {
    let heading = std::f64::consts::PI + deflection;
    let (sin, cos) = heading.sin_cos();
    let back = 1e-4;
    let nose = [apothem + 0.015 - back * cos, point - back * sin];
    [nose[0], nose[1], heading, speed * cos, speed * sin, 0.0]
}

fn map(shape: &str) -> CollisionMap {
    CollisionMap {
        bodies: bodies(shape),
        laws: LAWS,
        limits: Limits::NONE,
    }
}

#[test]
fn outlines_have_the_moments_of_their_prisms() {
    for (shape, gyration) in [
        ("semi_cylinder", 0.02544),
        ("square", 0.02449),
        ("triangle", 0.02598),
    ] {
        let body = standing(&model(shape), "prism").expect("a prism");
        assert!(
            (body.gyration - gyration).abs() < 1e-5,
            "{shape}: {}",
            body.gyration
        );
        assert!(
            (body.height - 0.02).abs() < 1e-6,
            "{shape}: {}",
            body.height
        );
    }
}

#[test]
fn hulls_leave_out_what_is_inside_or_on_a_side() {
    let square = [[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]];
    let mut points = square.to_vec();
    points.extend([[0.5, 0.5], [0.5, 0.0], [1.0, 0.25], [1.0, 1.0]]);
    let outline = Outline::of_points(&points).expect("a square");
    assert_eq!(outline.corners.len(), 4);
    assert!((outline.separation([0.5, 0.75]) + 0.25).abs() < 1e-15);
    assert!((outline.separation([1.5, 0.5]) - 0.5).abs() < 1e-15);
    assert!(Outline::of_points(&[[0.0, 0.0], [1.0, 1.0], [2.0, 2.0]]).is_none());
}

#[test]
fn a_slide_without_spin_goes_as_far_as_coulomb_says() {
    let law = TableLaw {
        stribeck: 0.0,
        ploughing: 0.0,
        lean: 0.0,
        ..TABLE
    };
    let speed = 0.6;
    let (_, rest) = bodies("square").slide_through(&law, [0.0, 0.0, 0.3, speed, 0.0, 0.0], &[]);
    let expected = speed * speed / (2.0 * law.friction * GRAVITY);
    assert!(
        (rest[0] - expected).abs() < 2e-3 * expected,
        "{rest:?} {expected}"
    );
    assert!(
        rest[1].abs() < 1e-6 && (rest[2] - 0.3).abs() < 1e-6,
        "{rest:?}"
    );
}

#[test]
fn momentum_balances_energy_falls_and_friction_stays_in_its_cone() {
    let bodies = bodies("square");
    let (mass, gyration) = (bodies.struck.mass, bodies.struck.gyration);
    // Without a servo behind it the striker is a free body.
    let law = ContactLaw {
        arm_rate: -20.0,
        ..CONTACT
    };
    let laws = Laws {
        contact: law,
        table: TABLE,
    };
    let arm = law.arm_mass.exp();
    for (point, speed, deflection) in [(0.0, 0.5, 0.4), (0.012, 0.9, -0.7), (-0.015, 0.25, 0.2)] {
        let coming = striker(0.03, point, speed, deflection);
        let found = bodies.strike(&laws, [0.0; 3], coming, false);
        let [.., x, y, spin] = found.post;
        let [.., u, v, _] = found.post_striker;
        let after = mass * (x * x + y * y + (gyration * spin).powi(2)) + arm * (u * u + v * v);
        let before = arm * speed * speed;
        assert!(after < before, "{after} of {before}");
        assert!(
            x < 0.0,
            "the prism goes away from the striker: {:?}",
            found.post
        );
        // The table adds at most its friction times the time of contact.
        let table = 0.4 * mass * GRAVITY * found.duration;
        for (here, there, came) in [(x, u, coming[3]), (y, v, coming[4])] {
            let off = mass * here + arm * there - arm * came;
            assert!(off.abs() <= table, "{off} of {table}");
        }
        // The face looks along x.
        let most = law.friction * mass * x.abs() + 2.0 * table;
        assert!(mass * y.abs() <= most, "{:?}", found.post);
        assert!(
            found.duration > 1e-3 && found.duration < 6e-3,
            "{}",
            found.duration
        );
    }
}

#[test]
fn mirrored_strikes_have_mirrored_outcomes() {
    let map = map("square");
    let found = map.strike([0.0; 3], striker(0.03, 0.011, 0.7, 0.3));
    let mirrored = map.strike([0.0; 3], striker(0.03, -0.011, 0.7, -0.3));
    let signs = [1.0, -1.0, -1.0, 1.0, -1.0, -1.0];
    for (k, sign) in signs.into_iter().enumerate() {
        let off = found.post[k] - sign * mirrored.post[k];
        assert!(
            off.abs() < 1e-9,
            "{k}: {:?} {:?}",
            found.post,
            mirrored.post
        );
    }
    assert!((found.rest[1] + mirrored.rest[1]).abs() < 1e-6);
    assert!((found.rest[2] + mirrored.rest[2]).abs() < 1e-5);
}

#[test]
fn a_miss_is_no_contact() {
    let found = map("square").strike([0.0; 3], striker(0.3, 0.3, 0.5, 0.0));
    assert!(found.duration.is_nan());
    assert_eq!(found.rest, [0.0; 3]);
}

fn recorded(map: &CollisionMap, coming: Planar) -> Recorded {
    let found = map.strike([0.0; 3], coming);
    Recorded {
        pose: [0.0; 3],
        striker: coming,
        post: found.post,
        post_striker: found.post_striker,
        rest: found.rest,
        separation: found.duration,
        duration: found.duration,
        frames: Vec::new(),
    }
}

#[test]
fn a_contact_law_is_found_from_five_strikes() {
    let truth = map("square");
    let comings = [
        (0.0, 0.5, 0.5),
        (0.012, 0.9, -0.4),
        (-0.015, 0.3, 0.2),
        (0.018, 0.7, 0.6),
        (-0.006, 0.4, -0.7),
    ];
    let strikes = comings.map(|(a, b, c)| recorded(&truth, striker(0.03, a, b, c)));
    let shots: Vec<(&Recorded, Planar)> = strikes.iter().map(|one| (one, one.post)).collect();
    let law = fit::contact(&truth.bodies, &TABLE, &shots, None).expect("a law");
    assert!((law.friction - CONTACT.friction).abs() < 0.02, "{law:?}");
    let fresh = recorded(&truth, striker(0.03, 0.007, 0.6, -0.2));
    let laws = Laws {
        contact: law,
        table: TABLE,
    };
    let found = (truth.bodies).strike(&laws, fresh.pose, fresh.striker, false);
    let off = relative_error(&found.post, &fresh.post, truth.bodies.struck.gyration);
    assert!(off < 0.01, "{off} with {law:?}");
}

#[test]
fn scores_are_those_of_the_metric() {
    let map = map("square");
    let strike = recorded(&map, striker(0.03, 0.007, 0.6, -0.2));
    let mut predictions = map.predict(std::slice::from_ref(&strike));
    let gyration = map.bodies.struck.gyration;
    let exact = Score::of(&predictions, std::slice::from_ref(&strike), gyration);
    assert!(exact.median() < 1e-12 && exact.position < 1e-12 && exact.yaw < 1e-12);
    for k in 3..6 {
        predictions[0].post[k] *= 1.15;
    }
    predictions[0].rest[2] += std::f64::consts::TAU + 0.25;
    let off = Score::of(&predictions, std::slice::from_ref(&strike), gyration);
    assert!((off.median() - 0.15).abs() < 1e-9 && (off.yaw - 0.25).abs() < 1e-9);
    assert!(off.accuracy(0.1) == 0.0 && off.accuracy(0.2) == 1.0);
}

#[test]
fn recordings_that_lack_something_say_what() {
    let path = std::env::temp_dir().join(format!("carom-strikes-{}.npz", std::process::id()));
    let array = crate::npz::Array::numbers(&[2, 3], vec![0.0; 6]);
    let file = std::fs::File::create(&path).expect("a file");
    crate::npz::write(file, &[("pre_prism", &array)]).expect("written");
    let error = super::read(&path, &mapping()).expect_err("arrays are absent");
    let _ = std::fs::remove_file(&path);
    assert!(
        error.to_string().contains("no array 'pre_block'"),
        "{error}"
    );
    let few = super::learn(bodies("square"), &[]).expect_err("no shots");
    assert!(few.to_string().contains("too few"), "{few}");
}
