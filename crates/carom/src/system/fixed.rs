//! A model takes the fixed steps of its integrator.

use super::{Dynamics, Linear, NoDerivative, Passing, Seen, Shape, StepBar};
use crate::cotangent::{Cotangents, ModelBar};
use crate::data::Data;
use crate::dynamics::{self, At};
use crate::integrate::{self, Retraced};
use crate::linearize::{self, Linearization};
use crate::model::Model;
use crate::report::{NotFinite, StepReport};
use crate::state::{Input, State};

/// Memory for backward passes through the steps of a model.
#[derive(Clone, Debug)]
pub struct Reverse {
    retraced: Retraced,
    bar: Cotangents,
    /// Room for linear maps; none while nobody asked for one.
    linear: Option<Box<(Data, Linearization)>>,
}

impl Dynamics for Model {
    type Work = Data;
    type Reverse = Reverse;
    type Bar = ModelBar;
    type Trace = ();

    fn shape(&self) -> Shape {
        let n = self.counts();
        Shape {
            nq: n.nq,
            nv: n.nv,
            na: n.na,
            nu: n.nu,
            sensors: n.nsensor_value,
        }
    }

    fn parameters(&self) -> usize {
        self.flat().len()
    }

    fn reference(&self) -> State {
        State::reference(self)
    }

    fn input(&self) -> Input {
        Input::zeros(self)
    }

    fn work(&self) -> Data {
        Data::new(self)
    }

    fn step(&self, state: &mut State, input: &Input, work: &mut Data) -> StepReport {
        integrate::step(self, state, input, work)
    }

    fn sensors<'w>(&self, work: &'w Data) -> &'w [f64] {
        &work.sensing.values
    }

    fn reverse(&self) -> Reverse {
        Reverse {
            retraced: Retraced::new(self),
            bar: Cotangents::zeros(self),
            linear: None,
        }
    }

    fn backward(
        &self,
        seen: Seen<'_>,
        passing: Passing<'_>,
        bar: &mut StepBar,
        reverse: &mut Reverse,
    ) -> Result<(), NoDerivative> {
        let (retraced, all) = (&mut reverse.retraced, &mut reverse.bar);
        let Seen { state, input, .. } = seen;
        if !retraced.retrace(self, state, input, seen.warmstart) {
            return Err(NoDerivative::NotUnique);
        }
        if passing.loss.uses_sensors() {
            retraced.sense(self, input);
        }
        all.data.start(retraced.data());
        let at = At {
            model: self,
            state,
            input,
            data: retraced.data(),
        };
        passing.loss.by_results(seen.step, at, &mut all.data);
        // The adjoint of a step adds to all cotangents in one place.
        std::mem::swap(&mut all.input, &mut bar.input);
        retraced.observe_backward(self, input, passing.next, all, passing.observer);
        std::mem::swap(&mut all.input, &mut bar.input);
        std::mem::swap(&mut all.state, &mut bar.state);
        Ok(())
    }

    fn take_bar(&self, reverse: &mut Reverse, timestep: f64) -> ModelBar {
        let mut bar = std::mem::replace(&mut reverse.bar.model, ModelBar::zeros(self));
        bar.option.timestep[0] += timestep;
        bar
    }

    fn linearize(
        &self,
        seen: Seen<'_>,
        out: &mut Linear,
        reverse: &mut Reverse,
    ) -> Result<(), NoDerivative> {
        let room = (reverse.linear)
            .get_or_insert_with(|| Box::new((Data::new(self), Linearization::new(self))));
        let (data, linear) = &mut **room;
        dynamics::forward(self, seen.state, seen.input, data);
        linearize::step(self, seen.state, seen.input, data, linear);
        out.a.clone_from(&linear.a);
        out.b.clone_from(&linear.b);
        Ok(())
    }

    fn add(&self, qpos: &mut [f64], tangent: &[f64], factor: f64) {
        integrate::integrate_positions(self, qpos, tangent, factor);
    }

    fn difference(&self, from: &[f64], to: &[f64], tangent: &mut [f64]) {
        integrate::difference(self, from, to, tangent);
    }

    fn describe(&self, place: NotFinite) -> String {
        place.describe(self)
    }
}
