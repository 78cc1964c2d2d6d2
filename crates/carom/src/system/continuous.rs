//! A flow follows continuous motion: a step is an interval of it, however many steps that takes inside.

use super::{Dynamics, NoDerivative, Passing, Seen, Shape, StepBar};
use crate::cotangent::{ModelBar, StateBar};
use crate::dynamics::backward::Observer;
use crate::error::Error;
use crate::flow::{Flow, Motion};
use crate::report::{NotFinite, StepReport};
use crate::rollout::{Controls, Course, Gradient, Loss, NoGradient, Rollout};
use crate::state::{Input, State};

/// Derivatives of a loss that looks at the end of an interval alone.
struct AtEnd<'a>(&'a StateBar);

impl Loss for AtEnd<'_> {
    fn by_state(&mut self, step: usize, _: &State, bar: &mut StateBar) {
        if step == 1 {
            bar.add(self.0);
        }
    }
}

impl Dynamics for Flow {
    type Work = ();
    type Reverse = ModelBar;
    type Bar = ModelBar;
    type Trace = Option<Motion>;

    fn shape(&self) -> Shape {
        Shape {
            sensors: 0,
            ..self.model().shape()
        }
    }

    fn parameters(&self) -> usize {
        self.model().parameters()
    }

    fn reference(&self) -> State {
        State::reference(self.model())
    }

    fn input(&self) -> Input {
        Input::zeros(self.model())
    }

    fn work(&self) {}

    /// One interval by itself. Over several, [`Dynamics::rollout`] goes on with the steps it found.
    fn step(&self, state: &mut State, input: &Input, (): &mut ()) -> StepReport {
        let controls = Controls::Constant(input.ctrl.clone());
        let motion = self.run(state, &controls, input.timestep, 1);
        state.copy_from(motion.end());
        StepReport {
            not_finite: (!motion.status().is_done()).then_some(NotFinite::IN_MOTION),
            ..StepReport::default()
        }
    }

    fn reverse(&self) -> ModelBar {
        ModelBar::zeros(self.model())
    }

    /// The length of the interval is held.
    fn backward(
        &self,
        seen: Seen<'_>,
        passing: Passing<'_>,
        bar: &mut StepBar,
        reverse: &mut ModelBar,
    ) -> Result<(), NoDerivative> {
        let controls = Controls::Constant(seen.input.ctrl.clone());
        let motion = self.run(seen.state, &controls, seen.input.timestep, 1);
        let gradient = motion
            .backward(self, &controls, &mut AtEnd(passing.next))
            .map_err(|error| NoDerivative::Because(error.to_string()))?;
        bar.state = gradient.start;
        for (sum, term) in bar.input.ctrl.iter_mut().zip(&gradient.controls) {
            *sum += term;
        }
        *reverse += &gradient.model;
        Ok(())
    }

    fn take_bar(&self, reverse: &mut ModelBar, _: f64) -> ModelBar {
        std::mem::replace(reverse, ModelBar::zeros(self.model()))
    }

    fn add(&self, qpos: &mut [f64], tangent: &[f64], factor: f64) {
        self.model().add(qpos, tangent, factor);
    }

    fn difference(&self, from: &[f64], to: &[f64], tangent: &mut [f64]) {
        self.model().difference(from, to, tangent);
    }

    fn rollout(&self, start: &State, course: &Course<'_>, (): &mut ()) -> Rollout<Option<Motion>> {
        let interval = course.timestep.unwrap_or_else(|| self.input().timestep);
        let motion = self.run(start, course.controls, interval, course.steps);
        Rollout::of_states(motion.states(), course.timestep).with_trace(Some(motion))
    }

    fn stopped(&self, rollout: &Rollout<Option<Motion>>) -> Option<(usize, String)> {
        let motion = rollout.trace().as_ref()?;
        let last = motion.states().len().saturating_sub(2);
        (!motion.status().is_done()).then(|| (last, motion.status().to_string()))
    }

    fn gradient(
        &self,
        rollout: &Rollout<Option<Motion>>,
        controls: &Controls,
        loss: &mut dyn Loss,
        _: &mut dyn Observer,
    ) -> Result<Gradient, Error> {
        match rollout.trace() {
            Some(motion) => motion.backward(self, controls, loss),
            None => Err(NoGradient::refused(
                "the trajectory was not followed by this flow".to_owned(),
            )),
        }
    }
}
