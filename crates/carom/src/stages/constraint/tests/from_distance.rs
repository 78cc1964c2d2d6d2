//! Contacts that act from a distance: their curve, and the adjoint of the system that has them.

use crate::data::Data;
use crate::dynamics;
use crate::model::{ActsIn, Attracting, ContactsFromDistance, Integrator, Model};
use crate::stages::constraint::Reference;
use crate::stages::solve;
use crate::state::State;
use crate::testing::stage_check::{Point, check_stage, constrained_points, random_point};
use crate::testing::{Random, assert_close, model_from_mjcf, step_check};

fn in_motions(width: f64, sharpness: f64) -> ContactsFromDistance {
    ContactsFromDistance {
        near_impedance: 0.2,
        width,
        midpoint: 0.6,
        sharpness,
        acts_in: ActsIn::Motions,
        ..ContactsFromDistance::default()
    }
}

#[test]
fn impedance_falls_smoothly_with_distance_and_is_as_ever_in_touch() {
    let (solref, solimp) = ([0.02, 1.0], [0.3, 0.9, 0.01, 0.5, 2.0]);
    let reference = Reference::unlimited(solref, solimp);
    for (midpoint, power) in [(1.0, 2.0), (0.5, 2.0), (0.4, 3.0), (1.0, 4.0), (0.5, 1.0)] {
        let distant = ContactsFromDistance {
            midpoint,
            power,
            ..in_motions(0.1, 50.0)
        };
        let at = |distance: f64| reference.at_or_from(Some(&distant), distance);
        assert_eq!(at(-0.004), reference.at(-0.004));
        assert_close("near", &[at(0.0).value], &[0.2], 1e-12);
        assert!(at(0.1 - 1e-9).value < 1e-7);
        let mut last = at(0.0).value;
        for step in 1..100 {
            let distance = 0.1 * f64::from(step) / 100.0 - 1e-5;
            let found = at(distance);
            assert!(found.value < last, "power {power}, step {step}");
            last = found.value;
            let [ahead, behind] = [1e-7, -1e-7].map(|h| at(distance + h).value);
            assert_close("slope", &[found.slope], &[(ahead - behind) / 2e-7], 1e-5);
        }
    }
}

#[test]
fn soft_distances_are_those_of_a_softplus() {
    let distant = in_motions(0.1, 30.0);
    for distance in [-50.0, -0.2, -0.01, 0.0, 0.02, 0.3, 50.0_f64] {
        let (value, slope) = distant.soften(distance);
        if distance.abs() < 1.0 {
            let plain = -(1.0 + (-30.0 * distance).exp()).ln() / 30.0;
            assert_close("softplus", &[value], &[plain], 1e-12);
        }
        assert!(value <= distance.min(0.0) && value.is_finite());
        let [ahead, behind] = [1e-6, -1e-6].map(|h| distant.soften(distance + h).0);
        assert_close("slope", &[slope], &[(ahead - behind) / 2e-6], 1e-7);
    }
}

/// Random rows of which some are out of touch, by up to 5 cm.
fn points() -> Vec<(String, Point)> {
    let mut points = constrained_points(0);
    for (
        name,
        Point {
            model,
            state,
            input,
            data,
        },
    ) in &mut points
    {
        let mut random = Random::new(name.len() as u64);
        for contact in &mut data.collision.contacts {
            contact.distance += 0.03 * (1.0 + random.next());
        }
        model.from_distance = Some(in_motions(0.09, 40.0).into());
        dynamics::constrain(model, state, input, data);
        let rows = data.constraint.contact_blocks().iter();
        let is_distant = |row: usize| data.constraint.rows[row].position > 0.02;
        assert!(
            rows.filter(|block| is_distant(block.row)).count() > 0,
            "{name}"
        );
    }
    points
}

check_stage!(
    constraint,
    points(),
    |point| dynamics::constraint_rows(&point.model, &point.state, &point.input, &mut point.data),
    |point, bar| crate::stages::constraint::backward(point.at(), bar)
);

const NEAR_EACH_OTHER: &str = r#"<mujoco><option timestep="0.002"/><worldbody>
    <geom name="floor" type="plane" size="1 1 1" friction="0.7"/>
    <body pos="0 0 0.13"><freejoint/><geom name="ball" size="0.1" friction="0.8"/></body>
    <body pos="0.3 0.02 0.12"><joint axis="0 1 0" pos="0 0 0.3" damping="0.2"/><joint type="slide" axis="0 0 1"/>
      <geom name="rod" type="capsule" size="0.08 0.1" quat="1 0.1 1 0" friction="0.9" solimp="0.3 0.9 0.02"/></body>
    <body pos="1 0 0.05" euler="4 7 10"><freejoint/>
      <geom name="slab" type="box" size="0.1 0.05 0.02" friction="1.1 0.01 0.0002" condim="4" solref="0.03 0.8"/></body>
    <body pos="1.02 0.16 0.05"><freejoint/><geom name="egg" type="ellipsoid" size="0.04 0.05 0.03"/></body>
  </worldbody></mujoco>"#;

fn near_each_other(seed: u64, integrator: Integrator) -> Point {
    let mut model = model_from_mjcf(NEAR_EACH_OTHER);
    model.settings.integrator = integrator;
    solve::tighten(&mut model);
    model.from_distance = Some(in_motions(0.1, 60.0).into());
    let mut point = random_point(model, seed);
    point.state = State::reference(&point.model);
    point.state.qvel = Random::new(seed).vector(point.model.counts().nv);
    point.data = Data::new(&point.model);
    dynamics::forward_and_sense(&point.model, &point.state, &point.input, &mut point.data);
    let pushing = |point: &Point| {
        let blocks = point.data.constraint.contact_blocks().iter();
        blocks
            .filter(|block| point.data.solve.force[block.row] > 0.0)
            .count()
    };
    assert!(pushing(&point) > 3);
    point
}

#[test]
fn steps_have_the_adjoint_of_steps() {
    for integrator in [
        Integrator::Euler,
        Integrator::ImplicitFast,
        Integrator::RungeKutta4,
    ] {
        for seed in 0..2 {
            println!("{integrator:?} {seed}");
            step_check::check(&near_each_other(seed, integrator));
        }
    }
}

#[test]
fn only_the_geoms_asked_for_act_from_a_distance() {
    let model = model_from_mjcf(NEAR_EACH_OTHER);
    let count = |distant: ContactsFromDistance| {
        let model = model.clone().with_contacts_from_distance(distant).unwrap();
        let (state, mut data) = (State::reference(&model), Data::new(&model));
        dynamics::forward_position(&model, &state, &mut data);
        let mut pairs: Vec<[String; 2]> = (data.collision.contacts.iter())
            .filter(|contact| !contact.excluded)
            .map(|contact| {
                contact
                    .geoms
                    .map(|geom| model.structure.names.geoms[geom].clone())
            })
            .collect();
        pairs.dedup();
        pairs
    };
    let names = |pairs: &[[&str; 2]]| -> Vec<[String; 2]> {
        pairs.iter().map(|pair| pair.map(str::to_owned)).collect()
    };
    let distant = in_motions(0.1, 60.0);
    let all = count(distant.clone());
    assert!(all.len() >= 6, "{all:?}");
    let ball = distant.clone().of_geoms(&model, &["ball"]).unwrap();
    assert_eq!(count(ball), names(&[["floor", "ball"], ["ball", "rod"]]));
    let pair = distant
        .clone()
        .of_pairs(&model, &[["egg", "slab"]])
        .unwrap();
    assert_eq!(pair.attracting, Attracting::Pairs(vec![[3, 4]]));
    assert_eq!(count(pair), names(&[["egg", "slab"]]));
    let off = ContactsFromDistance {
        acts_in: ActsIn::Gradients,
        ..distant.clone()
    };
    assert!(count(off).is_empty());
    let unknown = distant.of_geoms(&model, &["bal"]).unwrap_err().to_string();
    assert!(
        unknown.contains("'bal'") && unknown.contains("ball"),
        "{unknown}"
    );
}

#[test]
fn numbers_out_of_range_and_impulses_are_refused() {
    let refused = |model: &Model, distant: ContactsFromDistance| {
        let refused = model.clone().with_contacts_from_distance(distant);
        refused.unwrap_err().to_string()
    };
    let model = model_from_mjcf(NEAR_EACH_OTHER);
    let good = ContactsFromDistance::default();
    for (wrong, word) in [
        (
            ContactsFromDistance {
                width: 0.0,
                ..good.clone()
            },
            "w_c",
        ),
        (
            ContactsFromDistance {
                width: f64::NAN,
                ..good.clone()
            },
            "w_c",
        ),
        (
            ContactsFromDistance {
                far_impedance: -0.1,
                ..good.clone()
            },
            "d_c",
        ),
        (
            ContactsFromDistance {
                near_impedance: 1.0,
                ..good.clone()
            },
            "d_0",
        ),
        (
            ContactsFromDistance {
                midpoint: 1.5,
                ..good.clone()
            },
            "m_c",
        ),
        (
            ContactsFromDistance {
                power: 0.5,
                ..good.clone()
            },
            "p_c",
        ),
        (
            ContactsFromDistance {
                sharpness: 0.0,
                ..good.clone()
            },
            "sharpness",
        ),
    ] {
        let message = refused(&model, wrong);
        assert!(message.contains(word), "{message}");
    }
    let rigid = NEAR_EACH_OTHER.replace(
        "<worldbody>",
        r#"<custom><text name="carom/contact" data="law=complementarity"/></custom><worldbody>"#,
    );
    let message = refused(&model_from_mjcf(&rigid), good);
    assert!(message.contains("complementarity"), "{message}");
}
