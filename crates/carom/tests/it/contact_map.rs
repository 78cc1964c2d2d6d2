//! A contact map of a user's own, from outside of the crate: a sphere on a plane moves, and is differentiated, as by the
//! engine's formula.

use std::sync::Arc;

use carom::linearize::{self, Linearization};
use carom::rollout::{Controls, RolloutBar, rollout};
use carom::stages::collision::{ContactMap, ContactPoint, MapInput, MapInputBar};
use carom::{Data, Input, Model, State};

use crate::models;

/// The plane is the first geom: in its frame heights are z.
#[derive(Debug)]
struct SphereOnPlane;

impl ContactMap for SphereOnPlane {
    fn contacts(&self, input: &MapInput, found: &mut dyn FnMut(ContactPoint)) {
        let radius = input.sizes[1][0];
        let distance = input.position[2] - radius;
        if distance <= input.reach {
            let mut point = ContactPoint {
                distance,
                position: input.position,
                ..ContactPoint::default()
            };
            point.position[2] -= radius + 0.5 * distance;
            point.normal[2] = 1.0;
            found(point);
        }
    }

    fn vjp(&self, _: &MapInput, points_bar: &[ContactPoint], input_bar: &mut MapInputBar) {
        for bar in points_bar {
            for axis in 0..2 {
                input_bar.position[axis] += bar.position[axis];
            }
            let height_bar = bar.distance + 0.5 * bar.position[2];
            input_bar.position[2] += height_bar;
            input_bar.sizes[1][0] -= height_bar;
        }
    }
}

fn model(law: &str) -> Model {
    let text = format!(
        r#"<mujoco><option timestep="0.002"/>
          <worldbody><geom type="plane" size="2 2 1" euler="3 5 0" friction="0.4"/>
            <body pos="0 0 0.12"><freejoint/><geom type="sphere" size="0.1"/></body></worldbody>
          <custom><text name="carom/contact" data="law={law}"/></custom></mujoco>"#
    );
    models::from_text(&text)
}

#[test]
fn rollouts_gradients_and_linearizations_are_those_of_the_formula() {
    for law in ["soft", "hunt_crossley", "complementarity"] {
        let plain = model(law);
        let mapped = plain.clone();
        let mapped = mapped
            .with_contact_map([0, 1], Arc::new(SphereOnPlane))
            .unwrap();
        let mut start = State::reference(&plain);
        start.qvel.copy_from_slice(&[0.3, -0.2, 0.0, 1.0, 2.0, 3.0]);
        let steps = 150;
        let results = [&plain, &mapped].map(|model| {
            let mut data = Data::new(model);
            let motion = rollout(model, &start, &Controls::Zero, steps, &mut data);
            let mut loss = RolloutBar::zeros(&motion);
            loss.qpos_mut(steps)
                .copy_from_slice(&[1.0, 0.5, -0.7, 0.1, 0.2, 0.3]);
            let gradient = motion.backward(model, &Controls::Zero, &mut loss).unwrap();
            let mut numbers = Vec::new();
            gradient
                .model
                .for_each(|_, _, _, number| numbers.push(number));
            let mut linear = Linearization::new(model);
            let mut state = start.clone();
            state.qpos.copy_from_slice(motion.qpos(steps));
            state.qvel.copy_from_slice(motion.qvel(steps));
            linearize::step(model, &state, &Input::zeros(model), &mut data, &mut linear);
            (
                motion.qpos(steps).to_vec(),
                gradient.start.qvel,
                numbers,
                linear.a,
            )
        });
        let [plain, mapped] = results;
        assert!(plain.2.iter().filter(|number| **number != 0.0).count() > 20);
        close(law, &plain.0, &mapped.0);
        close(law, &plain.1, &mapped.1);
        close(law, &plain.2, &mapped.2);
        close(law, &plain.3, &mapped.3);
    }
}

/// Rounding apart, which contacts let grow: 1e-9 of the greatest number.
fn close(law: &str, expected: &[f64], found: &[f64]) {
    assert_eq!(expected.len(), found.len());
    let scale = expected
        .iter()
        .fold(0.0_f64, |most, number| most.max(number.abs()));
    for (expected, found) in expected.iter().zip(found) {
        assert!(
            (expected - found).abs() <= 1e-9 * scale,
            "{law}: {expected} {found}"
        );
    }
}
