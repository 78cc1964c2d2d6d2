//! The adjoint of θ → model, state.
//!
//!   θ̄ᵢ = Σₙ (∂xₙ/∂θᵢ)·x̄ₙ   over all numbers xₙ of model and initial state
//!
//! Numbers from which nothing follows have one term each, or one for each number that is tied to them. All others go
//! through the derivation over dual numbers, `LANES` directions at a time.

use super::layout::{Place, StateField};
use super::{ParameterProblem, Parameters, Unit};
use crate::compile::derive;
use crate::cotangent::{StateBar, quat_bar};
use crate::dual::{Dual, LANES};
use crate::error::Error;
use crate::integrate::vector_at;
use crate::math::{Quat, Vec3};
use crate::model::{Given, Model, Quantity};
use crate::rollout::Gradient;

/// Moments of a mesh in one pass: half of them.
const MOMENTS: usize = 5;

impl Parameters {
    /// The cotangent of θ from those of the model that [`apply`](Self::apply) gives for it, and of the initial state if
    /// any of its numbers is selected.
    ///
    /// Cotangents of unit quaternions and axes are tangential, and those of the state's rotations live in tangent space,
    /// as everywhere (see [`cotangent`](crate::cotangent)).
    ///
    /// # Errors
    ///
    /// When θ has the wrong length or gives no model, when a cotangent has the shape of another model's, or when that of
    /// the state is needed and missing.
    pub fn backward(
        &self,
        theta: &[f64],
        model_bar: &Model,
        state_bar: Option<&StateBar>,
    ) -> Result<Vec<f64>, Error> {
        self.check_length(theta.len())?;
        self.check_cotangents(model_bar, state_bar)?;
        let mut theta_bar = vec![0.0; self.len()];
        let bars = model_bar.flat();
        self.backward_direct(theta, &bars, &mut theta_bar);
        let bars = self.light.keep(bars);
        self.backward_derived(theta, &bars, &mut theta_bar)?;
        self.backward_meshes(theta, &bars, &mut theta_bar)?;
        if self.has_state() {
            let Some(state_bar) = state_bar else {
                let message = "numbers of the initial state are selected: give its cotangent";
                return Err(ParameterProblem::Value.error(message.to_owned()));
            };
            self.backward_state(theta, state_bar, &mut theta_bar);
        }
        Ok(theta_bar)
    }

    /// The cotangent of θ from the gradient of a trajectory of the model and the initial state that belong to it.
    ///
    /// # Errors
    ///
    /// As [`Self::backward`].
    pub fn pull_back(&self, theta: &[f64], gradient: &Gradient) -> Result<Vec<f64>, Error> {
        self.backward(theta, &gradient.model, Some(&gradient.start))
    }

    /// Refuses cotangents of another model, as far as their shapes tell.
    fn check_cotangents(
        &self,
        model_bar: &Model,
        state_bar: Option<&StateBar>,
    ) -> Result<(), Error> {
        let n = self.base.counts();
        let expected = [n.nv, n.nv, n.na, n.nmocap, n.nmocap];
        let fits = |bar: &StateBar| {
            let mocap = [bar.mocap_position.len(), bar.mocap_rotation.len()];
            [
                bar.qpos.len(),
                bar.qvel.len(),
                bar.act.len(),
                mocap[0],
                mocap[1],
            ] == expected
        };
        if model_bar.counts() == n && state_bar.is_none_or(fits) {
            return Ok(());
        }
        let message = "the gradient is that of another model than the parameters are of; choose parameters of the model that was \
                       simulated";
        Err(ParameterProblem::Value.error(message.to_owned()))
    }

    /// Numbers that go straight to the model.
    fn backward_direct(&self, theta: &[f64], bars: &[f64], theta_bar: &mut [f64]) {
        for (index, entry) in self.entries.iter().enumerate() {
            if !entry.direct || entry.targets.is_empty() {
                continue;
            }
            let slope = entry.value(Dual::<1>::variable(theta[index], 0)).tangent[0];
            for target in &entry.targets {
                if let Place::Given(place) = target.place {
                    theta_bar[index] += target.factor * slope * bars[place];
                }
            }
        }
    }

    /// Numbers from which others follow.
    fn backward_derived(
        &self,
        theta: &[f64],
        bars: &[f64],
        theta_bar: &mut [f64],
    ) -> Result<(), Error> {
        let derived: Vec<usize> = (0..self.len())
            .filter(|&index| !self.entries[index].direct)
            .collect();
        for chunk in derived.chunks(LANES) {
            let mut duals: Vec<Dual<LANES>> = theta.iter().copied().map(Dual::constant).collect();
            for (direction, &index) in chunk.iter().enumerate() {
                duals[index] = Dual::variable(theta[index], direction);
            }
            let sums = self.along_directions(&self.light_given(&duals), bars)?;
            for (&index, sum) in chunk.iter().zip(sums) {
                theta_bar[index] += sum;
            }
        }
        Ok(())
    }

    /// The derivative of the loss along the directions of given numbers.
    fn along_directions(
        &self,
        given: &Given<Dual<LANES>>,
        bars: &[f64],
    ) -> Result<[f64; LANES], Error> {
        let model = derive(&self.recipe, given).map_err(|error| self.singular(error))?;
        let mut sums = [0.0; LANES];
        let mut place = 0;
        model.for_each(|_, _, _, number: Dual<LANES>| {
            let bar = bars[place];
            place += 1;
            // Most numbers have none, and an infinite range times zero would not be a number.
            if bar != 0.0 {
                for (sum, tangent) in sums.iter_mut().zip(number.tangent) {
                    *sum += bar * tangent;
                }
            }
        });
        Ok(sums)
    }

    /// Vertices on which the inertia of bodies depends: through volume, centre and inertia of their mesh.
    fn backward_meshes(
        &self,
        theta: &[f64],
        bars: &[f64],
        theta_bar: &mut [f64],
    ) -> Result<(), Error> {
        if self.meshes.is_empty() {
            return Ok(());
        }
        let field = self.layout.field(Quantity::MeshVertex);
        let given = self.light_given(theta);
        let mut vertices_bar = vec![Vec3::ZERO; given.model.meshes.vertex.len()];
        for &mesh in &self.meshes {
            if !self.recipe.meshes[mesh].moves {
                continue;
            }
            let mut moments_bar = [0.0; 10];
            for (half, bar) in moments_bar.chunks_mut(MOMENTS).enumerate() {
                let mut duals = given.map(Dual::constant);
                let moments = &mut duals.sources.mesh_moments[mesh][half * MOMENTS..][..MOMENTS];
                for (direction, moment) in moments.iter_mut().enumerate() {
                    *moment = Dual::variable(moment.value, direction);
                }
                bar.copy_from_slice(&self.along_directions(&duals, bars)?[..MOMENTS]);
            }
            let range = self.base.structure.meshes.vertices[mesh].clone();
            self.moving_mesh(mesh).moments_vjp(
                &given.model.meshes.vertex[range.clone()],
                &moments_bar,
                &mut vertices_bar[range],
            );
        }
        for (index, (entry, slope)) in self.entries.iter().zip(self.slopes(theta)).enumerate() {
            for target in &entry.targets {
                if let Place::Given(place) = target.place
                    && field.range().contains(&place)
                {
                    let inside = place - field.start;
                    theta_bar[index] +=
                        target.factor * slope * vertices_bar[inside / 3][inside % 3];
                }
            }
        }
        Ok(())
    }

    /// Numbers of the initial state.
    fn backward_state(&self, theta: &[f64], bar: &StateBar, theta_bar: &mut [f64]) {
        for (index, entry) in self.entries.iter().enumerate() {
            let slope = entry.value(Dual::<1>::variable(theta[index], 0)).tangent[0];
            for target in &entry.targets {
                if let Place::State(field, at) = target.place
                    && let Some(number_bar) = self.plain_state_bar(field, at, bar)
                {
                    theta_bar[index] += target.factor * slope * number_bar;
                }
            }
        }
        for unit in &self.units {
            let Place::State(field, start) = unit.place else {
                continue;
            };
            let turn_bar = match field {
                StateField::MocapQuat => bar.mocap_rotation[start / 4],
                _ => self.turn_bar(start, bar),
            };
            self.backward_unit(unit, theta, turn_bar, theta_bar);
        }
    }

    /// The cotangent of a number of the state that is not part of a rotation.
    fn plain_state_bar(&self, field: StateField, index: usize, bar: &StateBar) -> Option<f64> {
        match field {
            StateField::Qvel => Some(bar.qvel[index]),
            StateField::Act => Some(bar.act[index]),
            StateField::MocapPosition => Some(bar.mocap_position[index / 3][index % 3]),
            StateField::MocapQuat => None,
            StateField::Qpos => {
                let mut straight = self.base.structure.joints.straight();
                let (_, dof) = straight.find(|&(position, _)| position == index)?;
                Some(bar.qpos[dof])
            }
        }
    }

    /// The cotangent of the turn of the quaternion that starts at a coordinate.
    fn turn_bar(&self, start: usize, bar: &StateBar) -> Vec3 {
        let mut rotations = self.base.structure.joints.rotations();
        let found = rotations.find(|&(position, _)| position == start);
        found.map_or(Vec3::ZERO, |(_, dof)| vector_at(&bar.qpos, dof))
    }

    /// Through the normalisation of a quaternion: its numbers over dual numbers, against the tangential cotangent.
    fn backward_unit(&self, unit: &Unit, theta: &[f64], turn_bar: Vec3, theta_bar: &mut [f64]) {
        let plain = unit.numbers(&self.entries, theta);
        let [w, x, y, z] = plain[..] else {
            return;
        };
        let Quat(bars) = quat_bar(Quat([w, x, y, z]), turn_bar);
        let mut sources: Vec<usize> = unit
            .sources
            .iter()
            .flatten()
            .map(|source| source.0)
            .collect();
        sources.dedup();
        for index in sources {
            let mut duals: Vec<Dual<1>> = theta.iter().copied().map(Dual::constant).collect();
            duals[index] = Dual::variable(theta[index], 0);
            let numbers = unit.numbers(&self.entries, &duals);
            let terms = numbers.iter().zip(bars);
            theta_bar[index] += terms
                .map(|(number, bar)| bar * number.tangent[0])
                .sum::<f64>();
        }
    }

    /// The derivatives of what each number of θ stands for, by that number.
    pub fn slopes(&self, theta: &[f64]) -> Vec<f64> {
        let entries = self.entries.iter().zip(theta);
        entries
            .map(|(entry, &theta)| entry.value(Dual::<1>::variable(theta, 0)).tangent[0])
            .collect()
    }
}
