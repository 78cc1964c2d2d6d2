//! Bounds on what a backward pass carries.
//!
//! A gradient that passes a stiff contact many times may grow beyond use. Clipping keeps every cotangent at chosen places
//! within a bound: the result is no longer the gradient, but mostly still a direction of descent. It is the last resort;
//! a shorter horizon ([`Growth`](super::Growth)) keeps the gradient right.

use crate::cotangent::{DataBar, StateBar};
use crate::dynamics::At;
use crate::dynamics::backward::Observer;
use crate::error::{Error, ErrorKind};
use crate::history::HistoryBar;
use crate::math::Components;
use crate::stages::constraint::RowBar;

/// Where cotangents can be bounded: between steps, and in front of each stage with results of its own.
const PLACES: [&str; 13] = [
    STATE,
    "solve",
    "constraint",
    "acceleration",
    "actuation",
    "bias",
    "passive",
    "velocity",
    "transmission",
    "collision",
    "inertia",
    "tendon",
    "kinematics",
];

const STATE: &str = "state";

/// Bounds on cotangents, to be passed to [`Rollout::observe_backward`](super::Rollout::observe_backward) or
/// [`observe_gradient`](super::observe_gradient).
///
/// ```
/// # use carom::rollout::Clipping;
/// let clipping = Clipping::default().at("state", 1e3)?.at("collision", 1e4)?;
/// # Ok::<(), carom::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Clipping {
    bounds: Vec<(&'static str, f64)>,
    clipped: usize,
}

impl Clipping {
    /// Keeps the cotangents of a stage's results, or those of the `state` between steps, within ±`bound`.
    ///
    /// # Errors
    /// When there is no such stage, or the bound is not positive.
    pub fn at(mut self, place: &str, bound: f64) -> Result<Self, Error> {
        if bound.is_nan() || bound <= 0.0 {
            let message = format!("the bound must be a positive number, not {bound}");
            return Err(Error::new(ErrorKind::Value, message));
        }
        let known = PLACES.into_iter().find(|&known| known == place);
        let known = known.ok_or_else(|| {
            let message = format!("cotangents cannot be clipped at '{place}'");
            let remedy = format!("choose one of {}", PLACES.join(", "));
            Error::new(ErrorKind::Name, message).remedy(remedy)
        })?;
        self.bounds.push((known, bound));
        Ok(self)
    }

    /// How many numbers were beyond their bound so far. Zero: the gradient is exact.
    pub fn clipped(&self) -> usize {
        self.clipped
    }

    fn bound(&self, place: &str) -> Option<f64> {
        let bounds = self.bounds.iter().filter(|(at, _)| *at == place);
        bounds.map(|&(_, bound)| bound).reduce(f64::min)
    }
}

impl Observer for Clipping {
    fn before_step(&mut self, next: &mut StateBar) {
        let Some(bound) = self.bound(STATE) else {
            return;
        };
        let mut clip = Clip::new(bound, &mut self.clipped);
        let numbers = (next.qpos.iter_mut())
            .chain(&mut next.qvel)
            .chain(&mut next.act)
            .chain([&mut next.time])
            .chain((next.history.iter_mut()).flat_map(HistoryBar::numbers_mut));
        numbers.for_each(|number| clip.number(number));
        let vectors = (next.mocap_position.iter_mut()).chain(&mut next.mocap_rotation);
        let numbers = vectors.flat_map(|vector| vector.as_mut_slice().iter_mut());
        numbers.for_each(|number| clip.number(number));
    }

    fn before_stage(&mut self, stage: &'static str, _: At<'_>, bar: &mut DataBar) {
        let Some(bound) = self.bound(stage) else {
            return;
        };
        let mut clip = Clip::new(bound, &mut self.clipped);
        macro_rules! arrays {
            ($($stage:ident)*) => {
                match stage {
                    $(stringify!($stage) => bar.$stage.for_each_mut(|_, _, _, number| clip.number(number)),)*
                    "solve" => {
                        let solve = &mut bar.solve;
                        let lists = [&mut solve.qacc, &mut solve.force_constraint, &mut solve.residual, &mut solve.force];
                        lists.into_iter().flatten().for_each(|number| clip.number(number));
                    }
                    "constraint" => {
                        let constraint = &mut bar.constraint;
                        constraint.jacobian.iter_mut().for_each(|number| clip.number(number));
                        let numbers = constraint.rows.iter_mut().flat_map(RowBar::numbers_mut);
                        numbers.for_each(|number| clip.number(number));
                    }
                    "collision" => {
                        for contact in &mut bar.contacts {
                            *contact = contact.map(|number| clip.of(number));
                        }
                    }
                    _ => {}
                }
            };
        }
        arrays! {
            acceleration actuation bias passive velocity transmission inertia tendon kinematics
        }
    }
}

/// Clips numbers and counts.
struct Clip<'a> {
    bound: f64,
    clipped: &'a mut usize,
}

impl<'a> Clip<'a> {
    fn new(bound: f64, clipped: &'a mut usize) -> Self {
        Self { bound, clipped }
    }

    fn number(&mut self, number: &mut f64) {
        *number = self.of(*number);
    }

    fn of(&mut self, number: f64) -> f64 {
        *self.clipped += usize::from(number.abs() > self.bound);
        number.clamp(-self.bound, self.bound)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Data;
    use crate::model::Model;
    use crate::rollout::{Controls, Gradient, RolloutBar, rollout};
    use crate::state::State;
    use crate::testing::model_from_mjcf;

    /// Something for every stage to do.
    fn machine() -> Model {
        model_from_mjcf(
            r#"<mujoco><option viscosity="0.1" density="1"/><worldbody><geom type="plane" size="1 1 1"/>
              <body pos="0 0 0.099"><freejoint/><geom size="0.1"/>
                <body pos="0.2 0 0.1"><joint name="elbow" stiffness="1"/><geom size="0.03 0.1" type="capsule"/></body></body>
              </worldbody>
              <tendon><fixed name="string" stiffness="2" damping="0.05"><joint joint="elbow" coef="1"/></fixed></tendon>
              <actuator><position kp="3" tendon="string"/></actuator></mujoco>"#,
        )
    }

    fn gradient(model: &Model, clipping: &mut Clipping) -> Gradient {
        let (start, controls) = (State::reference(model), Controls::Constant(vec![0.3]));
        let run = rollout(model, &start, &controls, 20, &mut Data::new(model));
        let mut loss = RolloutBar::zeros(&run);
        loss.qpos_mut(20).fill(1.0);
        run.observe_backward(model, &controls, &mut loss, clipping)
            .unwrap()
    }

    #[test]
    fn bounds_that_are_not_met_change_nothing() {
        let model = machine();
        let mut wide = Clipping::default();
        for place in PLACES {
            wide = wide.at(place, f64::INFINITY).unwrap();
        }
        assert_eq!(
            gradient(&model, &mut wide),
            gradient(&model, &mut Clipping::default())
        );
        assert_eq!(wide.clipped(), 0);
    }

    #[test]
    fn every_place_can_be_clipped() {
        let model = machine();
        let exact = gradient(&model, &mut Clipping::default());
        for place in PLACES {
            let mut narrow = Clipping::default().at(place, 1e-6).unwrap();
            let clipped = gradient(&model, &mut narrow);
            assert!(narrow.clipped() > 0, "{place}");
            assert_ne!(clipped.start, exact.start, "{place}");
        }
    }

    #[test]
    fn the_state_between_steps_keeps_within_its_bound() {
        let model = machine();
        let mut clipping = Clipping::default().at(STATE, 0.01).unwrap();
        let exact = gradient(&model, &mut Clipping::default());
        let clipped = gradient(&model, &mut clipping);
        let dofs = model.counts().nv as f64;
        // One step of growth beyond the bound is left, for the state before the first step.
        let one_step = exact.norms.windows(2).map(|pair| pair[0] / pair[1]);
        let growth = one_step.fold(1.0, f64::max);
        assert!(clipped.norms[0] < growth * 0.01 * (2.0 * dofs).sqrt());
        assert!(exact.norms[0] > 1.0);
    }

    #[test]
    fn what_cannot_be_kept_is_refused() {
        let text = Clipping::default()
            .at("colision", 1.0)
            .unwrap_err()
            .to_string();
        assert!(
            text.contains("'colision'") && text.contains("collision"),
            "{text}"
        );
        for bound in [0.0, -1.0, f64::NAN] {
            assert!(Clipping::default().at(STATE, bound).is_err());
        }
    }
}
