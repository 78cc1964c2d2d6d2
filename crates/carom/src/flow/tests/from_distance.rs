//! Contacts from distance in gradients of motions in continuous time.

use super::super::{Flow, FlowSettings, Tolerances};
use crate::cotangent::StateBar;
use crate::data::Data;
use crate::model::{ActsIn, ContactsFromDistance, Model};
use crate::rollout::{Controls, Loss, rollout};
use crate::state::State;
use crate::testing::{assert_close, model_from_mjcf};

/// Two balls in empty space, the first of which flies past the second or into it.
const BALLS: &str = r#"<mujoco><option timestep="1e-4" gravity="0 0 0"><flag refsafe="disable"/></option>
  <default><geom size="0.04" mass="0.2" solref="0.1 0.4" solimp="0.01 0.95 0.1" friction="0.2"/></default><worldbody>
    <body><joint type="slide" axis="1 0 0"/><joint type="slide" axis="0 1 0"/><geom name="first"/></body>
    <body pos="0.17 0 0"><joint type="slide" axis="1 0 0"/><joint type="slide" axis="0 1 0"/><geom name="second"/></body>
  </worldbody></mujoco>"#;

const SECONDS: f64 = 0.6;

/// Where the second ball is at the end, along a direction.
struct Second(usize);

impl Loss for Second {
    fn by_state(&mut self, step: usize, _: &State, bar: &mut StateBar) {
        if step == self.0 {
            bar.qpos[2] += 1.0;
            bar.qpos[3] += 0.3;
        }
    }
}

fn models() -> [Model; 2] {
    let plain = model_from_mjcf(BALLS);
    let distant = ContactsFromDistance::default();
    let distant = plain.clone().with_contacts_from_distance(distant).unwrap();
    [plain, distant]
}

/// The gradient by the start state, in time and in small steps.
fn gradients(model: &Model, start: &State) -> [Vec<f64>; 2] {
    let settings = FlowSettings {
        tolerances: Tolerances::all(1e-8),
        longest_step: 2e-3,
        ..FlowSettings::default()
    };
    let flow = Flow::new(model, settings).unwrap();
    let motion = flow.run(start, &Controls::Zero, SECONDS, 1);
    let in_time = motion
        .backward(&flow, &Controls::Zero, &mut Second(1))
        .unwrap();
    let steps = 6000;
    let motion = rollout(model, start, &Controls::Zero, steps, &mut Data::new(model));
    let in_steps = motion
        .backward(model, &Controls::Zero, &mut Second(steps))
        .unwrap();
    [in_time, in_steps].map(|gradient| [gradient.start.qpos, gradient.start.qvel].concat())
}

#[test]
fn misses_and_hits_have_the_gradient_of_small_steps() {
    let [plain, distant] = models();
    // Beside the second ball, and into it.
    for velocity in [[0.5, 0.4], [0.5, 0.12]] {
        let mut start = State::reference(&plain);
        start.qvel[..2].copy_from_slice(&velocity);
        let [in_time, in_steps] = gradients(&distant, &start);
        let scale = in_steps.iter().fold(0.0_f64, |most, x| most.max(x.abs()));
        let scaled = |numbers: &[f64]| -> Vec<f64> { numbers.iter().map(|x| x / scale).collect() };
        assert_close("gradient", &scaled(&in_time), &scaled(&in_steps), 5e-3);
        let misses = velocity[1] > 0.3;
        let [without, _] = gradients(&plain, &start);
        assert_eq!(misses, without[..2] == [0.0; 2], "{without:?}");
        assert!(in_time[1].abs() > 1e-3, "{in_time:?}");
    }
}

#[test]
fn motions_are_the_same_bits() {
    let [plain, distant] = models();
    let mut start = State::reference(&plain);
    start.qvel[..2].copy_from_slice(&[0.5, 0.12]);
    let [one, other] = [plain, distant].map(|model| {
        let flow = Flow::new(&model, FlowSettings::default()).unwrap();
        flow.run(&start, &Controls::Zero, SECONDS, 1)
    });
    assert_eq!(one.end(), other.end());
    assert_eq!(one.steps(), other.steps());
}

#[test]
fn motions_with_contacts_from_distance_are_for_fixed_steps() {
    let distant = ContactsFromDistance {
        acts_in: ActsIn::Motions,
        ..ContactsFromDistance::default()
    };
    let model = model_from_mjcf(BALLS);
    let model = model.with_contacts_from_distance(distant).unwrap();
    let refused = Flow::new(&model, FlowSettings::default()).unwrap_err();
    assert!(refused.to_string().contains("fixed steps"), "{refused}");
}
