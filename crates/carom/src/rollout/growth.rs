//! Where a gradient grows, and through what.
//!
//! Read backwards, a step turns the derivative x̄⁺ by the state after it into Aᵀ·x̄⁺ and adds what the loss itself says, l.
//! Steps that keep lengths would leave |x̄| at the sum of all |l| from there on at most; the *amplification* is how many
//! times longer x̄ is. Friction makes it fall, stiff contacts and instabilities make it grow, chaos by a constant factor a
//! step: then a gradient over more than a certain horizon is right, and of no use to descent.

use std::fmt::Write;

use super::{Controls, Loss, NoGradient, Rollout};
use crate::cotangent::{Cotangents, DataBar, StateBar};
use crate::dynamics::At;
use crate::dynamics::backward::Observer;
use crate::error::Error;
use crate::integrate::Retraced;
use crate::model::Model;
use crate::report::Element;
use crate::state::{Input, State};

/// How a gradient grows from the end of a trajectory to its start.
#[derive(Clone, Debug, PartialEq)]
pub struct Growth {
    /// Length of the derivative by the state before each step, and by the last one, in units of what the loss put in from
    /// there on.
    pub amplification: Vec<f64>,
    /// The steps that made it grow most, worst first.
    pub surges: Vec<Surge>,
    /// The step before which the derivative is not finite; steps before it were not looked at.
    pub exploded: Option<usize>,
}

/// A step that makes the derivative grow.
#[derive(Clone, Debug, PartialEq)]
pub struct Surge {
    /// The step.
    pub step: usize,
    /// Its time (s).
    pub time: f64,
    /// By how much, |Aᵀ·x̄⁺| / |x̄⁺|.
    pub factor: f64,
    /// What it grows through, most first: by which part of Aᵀ·x̄⁺ the derivative would change if the forces of a contact, a
    /// limit or another constraint did not depend on anything.
    pub through: Vec<(Element, f64)>,
}

impl Growth {
    /// How many of the last steps can be differentiated before the amplification exceeds a bound; all of them if none
    /// does. A thousand is a sensible bound for descent with normalised steps.
    pub fn horizon(&self, bound: f64) -> usize {
        let last = self.amplification.len() - 1;
        let is_beyond = |&amplification: &f64| amplification.is_nan() || amplification > bound;
        let beyond = self.amplification.iter().rposition(is_beyond);
        beyond.map_or(last, |state| last - state - 1)
    }

    /// A few sentences with the names of a model.
    pub fn describe(&self, model: &Model, bound: f64) -> String {
        let steps = self.amplification.len() - 1;
        let first = self.exploded.unwrap_or(0);
        let mut text = match self.exploded {
            Some(step) => {
                format!("The derivative by the state before step {step} is not finite.")
            }
            None => format!(
                "Over {steps} steps the gradient is amplified {:.3} times.",
                self.amplification[first]
            ),
        };
        for surge in &self.surges {
            let Surge {
                step,
                time,
                factor,
                through,
            } = surge;
            let _ = write!(
                text,
                "\nStep {step} (at {time:.4} s) makes it grow {factor:.3} times"
            );
            match through.first() {
                Some((element, share)) if *share > 0.01 => {
                    let element = element.describe(model).unwrap_or_default();
                    let _ = write!(text, ", mostly through {element} ({:.0} %).", 100.0 * share);
                }
                _ => text += ", not through a constraint.",
            }
        }
        let horizon = self.horizon(bound);
        if horizon < steps {
            let _ = write!(
                text,
                "\nThe last {horizon} steps ({:.4} s) keep the amplification below {bound}: try that as horizon.",
                horizon as f64 * model.option.timestep[0]
            );
        }
        text
    }
}

impl Rollout {
    /// Follows the gradient of a loss over this trajectory, and names the `count` steps that make it grow most and what it
    /// grows through. Takes somewhat more than twice the time of [`Self::backward`].
    ///
    /// # Errors
    /// As [`Self::backward`], except that a derivative that is not finite is part of the answer.
    ///
    /// # Panics
    /// When the controls do not fit the model.
    pub fn growth(
        &self,
        model: &Model,
        controls: &Controls,
        loss: &mut dyn Loss,
        count: usize,
    ) -> Result<Growth, Error> {
        self.check_finite()?;
        controls.assert_fit(model.counts().nu);
        let steps = self.steps();
        let mut walk = Walk::new(self, model, controls);
        let mut growth = Growth {
            amplification: vec![f64::NAN; steps + 1],
            surges: Vec::new(),
            exploded: None,
        };
        let mut after = StateBar::zeros(model);
        loss.by_state(steps, &self.end, &mut after);
        let mut put_in = after.norm();
        growth.amplification[steps] = 1.0;
        // The surges so far, each with the derivative after its step.
        let mut worst: Vec<(Surge, StateBar)> = Vec::new();
        for step in (0..steps).rev() {
            walk.go_to(step, loss.uses_sensors())?;
            let carried = walk.carry(&after, &mut ()).clone();
            let factor = carried.norm() / after.norm();
            // Nothing to carry yet is no growth.
            if !factor.is_nan() || !carried.norm().is_finite() {
                let surge = Surge {
                    step,
                    time: self.time(step),
                    factor,
                    through: Vec::new(),
                };
                worst.push((surge, after.clone()));
                worst.sort_by(|(a, _), (b, _)| b.factor.total_cmp(&a.factor));
                worst.truncate(count);
            }
            let own = walk.own(step, loss);
            put_in += own.norm();
            after.clone_from(own);
            after.add(&carried);
            if !after.norm().is_finite() {
                growth.exploded = Some(step);
                break;
            }
            if put_in > 0.0 {
                growth.amplification[step] = after.norm() / put_in;
            }
        }
        for (mut surge, after) in worst {
            walk.go_to(surge.step, false)?;
            surge.through = walk.shares(&after);
            growth.surges.push(surge);
        }
        Ok(growth)
    }
}

/// Goes to steps of a trajectory and carries derivatives back through them.
struct Walk<'a> {
    trajectory: &'a Rollout,
    model: &'a Model,
    controls: &'a Controls,
    input: Input,
    state: State,
    retraced: Retraced,
    bar: Cotangents,
    nothing: StateBar,
}

impl<'a> Walk<'a> {
    fn new(trajectory: &'a Rollout, model: &'a Model, controls: &'a Controls) -> Self {
        Self {
            trajectory,
            model,
            controls,
            input: Input::zeros(model),
            state: trajectory.end.clone(),
            retraced: Retraced::new(model),
            bar: Cotangents::zeros(model),
            nothing: StateBar::zeros(model),
        }
    }

    fn go_to(&mut self, step: usize, senses: bool) -> Result<(), Error> {
        let (model, input) = (self.model, &mut self.input);
        let tape = self.trajectory.states();
        tape.read(step, &mut self.state);
        self.controls.write(step, &mut input.ctrl);
        let acceleration = tape.acceleration(step + 1);
        if !(self.retraced).retrace(model, &self.state, input, acceleration) {
            return Err(NoGradient::NotUnique.at(step));
        }
        if senses {
            self.retraced.sense(model, input);
        }
        Ok(())
    }

    /// Aᵀ·x̄⁺.
    fn carry(&mut self, after: &StateBar, observer: &mut dyn Observer) -> &StateBar {
        let bar = &mut self.bar;
        bar.data.start(self.retraced.data());
        (self.retraced).observe_backward(self.model, &self.input, after, bar, observer);
        &bar.state
    }

    /// What the loss itself says of the state before a step, by way of the results of the step too.
    fn own(&mut self, step: usize, loss: &mut dyn Loss) -> &StateBar {
        let (model, input, bar) = (self.model, &self.input, &mut self.bar);
        bar.data.start(self.retraced.data());
        let at = At {
            model,
            state: &self.state,
            input,
            data: self.retraced.data(),
        };
        loss.by_results(step, at, &mut bar.data);
        self.retraced.backward(model, input, &self.nothing, bar);
        loss.by_state(step, &self.state, &mut bar.state);
        &bar.state
    }

    /// How much of Aᵀ·x̄⁺ passes through each constraint, most first.
    fn shares(&mut self, after: &StateBar) -> Vec<(Element, f64)> {
        let data = self.retraced.data();
        let contacts = &data.collision.contacts;
        let mut elements = Vec::new();
        let blocks = data.constraint.blocks.iter();
        let of_blocks = blocks.map(|block| Element::of_block(block, contacts));
        let of_laws = contacts.iter().filter(|contact| contact.law.is_some());
        for element in of_blocks.chain(of_laws.map(|contact| Element::Contact(contact.geoms))) {
            if !elements.contains(&element) {
                elements.push(element);
            }
        }
        let whole = self.carry(after, &mut ()).clone();
        let mut shares: Vec<_> = (elements.into_iter())
            .map(|element| {
                let without = self.carry(after, &mut Without(element));
                (element, distance(&whole, without) / whole.norm())
            })
            .collect();
        shares.sort_by(|(_, a), (_, b)| b.total_cmp(a));
        shares
    }
}

fn distance(a: &StateBar, b: &StateBar) -> f64 {
    let mut difference = b.clone();
    difference.scale(-1.0);
    difference.add(a);
    difference.norm()
}

/// Takes the force of one constraint as given.
struct Without(Element);

impl Observer for Without {
    fn before_stage(&mut self, stage: &'static str, at: At<'_>, bar: &mut DataBar) {
        let contacts = &at.data.collision.contacts;
        match stage {
            "constraint" => {
                for block in &at.data.constraint.blocks {
                    if Element::of_block(block, contacts) == self.0 {
                        bar.constraint.clear_block(block);
                    }
                }
            }
            "collision" => {
                for (contact, bar) in contacts.iter().zip(&mut bar.contacts) {
                    if Element::Contact(contact.geoms) == self.0 {
                        *bar = bar.map(|_| 0.0);
                    }
                }
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Data;
    use crate::rollout::{RolloutBar, rollout};
    use crate::testing::model_from_mjcf;

    fn last_position(model: &Model, start: &State, steps: usize) -> Growth {
        let run = rollout(model, start, &Controls::Zero, steps, &mut Data::new(model));
        let mut loss = RolloutBar::zeros(&run);
        loss.qpos_mut(steps)[0] = 1.0;
        run.growth(model, &Controls::Zero, &mut loss, 3).unwrap()
    }

    #[test]
    fn a_free_mass_amplifies_by_the_time_it_moves() {
        let model = model_from_mjcf(
            r#"<mujoco><option timestep="0.1" gravity="0 0 0"/><worldbody>
              <body><joint type="slide"/><geom size="0.1"/></body></worldbody></mujoco>"#,
        );
        let growth = last_position(&model, &State::reference(&model), 20);
        for (state, &amplification) in growth.amplification.iter().enumerate() {
            let time = (20 - state) as f64 * 0.1;
            let expected = time.hypot(1.0);
            assert!(
                (amplification - expected).abs() < 1e-12,
                "{amplification} instead of {expected}"
            );
        }
        assert_eq!((growth.horizon(1e3), growth.horizon(1.5)), (20, 11));
        assert_eq!(growth.surges.len(), 3);
        assert!(
            growth
                .surges
                .iter()
                .all(|surge| surge.through.is_empty() && surge.factor < 1.1)
        );
    }

    #[test]
    fn a_loss_along_the_way_is_no_growth() {
        let model = model_from_mjcf(
            r#"<mujoco><option timestep="0.01" gravity="0 0 0"/><worldbody>
              <body><joint type="slide" damping="100"/><geom size="0.1"/></body></worldbody></mujoco>"#,
        );
        let start = State::reference(&model);
        let run = rollout(&model, &start, &Controls::Zero, 50, &mut Data::new(&model));
        let mut loss = RolloutBar::zeros(&run);
        for state in 0..=50 {
            loss.qpos_mut(state)[0] = 1.0;
        }
        let growth = run.growth(&model, &Controls::Zero, &mut loss, 1).unwrap();
        let most = growth.amplification.iter().copied().fold(0.0, f64::max);
        assert!(most < 1.01, "{most}");
    }

    #[test]
    fn the_contact_that_makes_it_grow_is_named() {
        let model = model_from_mjcf(
            r#"<mujoco><option timestep="0.002"/><worldbody><geom name="floor" type="plane" size="1 1 1"/>
              <body pos="0 0 0.105"><freejoint/><geom name="ball" size="0.1" solref="0.004 0.1"/></body>
              <body pos="5 0 0.1"><freejoint/><geom name="far" size="0.1"/></body></worldbody></mujoco>"#,
        );
        let mut start = State::reference(&model);
        start.qvel[2] = -2.0;
        let run = rollout(&model, &start, &Controls::Zero, 20, &mut Data::new(&model));
        let mut loss = RolloutBar::zeros(&run);
        loss.qpos_mut(20)[2] = 1.0;
        let growth = run.growth(&model, &Controls::Zero, &mut loss, 2).unwrap();
        let worst = &growth.surges[0];
        assert!(worst.factor > 1.5, "{}", worst.factor);
        assert_eq!(worst.through[0].0, Element::Contact([0, 1]));
        assert!(worst.through[0].1 > 0.5, "{:?}", worst.through);
        let text = growth.describe(&model, 1.01);
        for part in ["geom 'floor' and geom 'ball'", "try that as horizon"] {
            assert!(text.contains(part), "{part}: {text}");
        }
        assert!(!text.contains("far"), "{text}");
    }
}
