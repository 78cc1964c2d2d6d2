//! θ → model, and θ → initial state.

use std::sync::Arc;

use carom_spec::model_spec::MeshInertia;

use super::inertia::{self, from_log_cholesky};
use super::layout::{self, Place, StateField};
use super::{Entry, ParameterProblem, Parameters, Unit};
use crate::compile::{MovingMesh, Singular, derive};
use crate::error::Error;
use crate::math::{Quat, Vec3};
use crate::model::{GeomShape, Given, Model, Recipe};
use crate::ray;
use crate::scalar::Scalar;
use crate::state::State;

impl Parameters {
    /// The model for θ: numbers set, and derived what follows from them.
    ///
    /// Generic over the [`Scalar`]: with dual numbers the result carries derivatives. It holds no recipe;
    /// [`Self::bake`] gives a model from which parameters can be selected again.
    ///
    /// # Errors
    ///
    /// When θ has the wrong length, or makes a mechanism whose inertia cannot be inverted.
    pub fn apply<T: Scalar>(&self, theta: &[T]) -> Result<Model<T>, Error> {
        self.check_length(theta.len())?;
        if self.is_direct() {
            let mut model = self.base.map(T::from);
            model.recipe = None;
            let writes = self.direct_writes(theta);
            let mut write = layout::writer(&writes);
            model.for_each_mut(|_, _, _, number| write(number));
            self.follow_vertices(&mut model);
            return Ok(model);
        }
        let given = self.given(theta);
        derive(&self.recipe, &given).map_err(|error| self.singular(error))
    }

    /// The model for θ, as if it had been compiled so: parameters can be selected from it again.
    ///
    /// # Errors
    ///
    /// As [`Self::apply`].
    pub fn bake(&self, theta: &[f64]) -> Result<Model, Error> {
        let mut model = self.apply(theta)?;
        let mut recipe = Recipe::clone(&self.recipe);
        recipe.given = self.given(theta);
        model.recipe = Some(Arc::new(recipe));
        Ok(model)
    }

    /// The initial state for θ: `start` with the selected numbers replaced.
    ///
    /// # Errors
    ///
    /// When θ has the wrong length.
    pub fn apply_state<T: Scalar>(&self, theta: &[T], start: &State) -> Result<State<T>, Error> {
        self.check_length(theta.len())?;
        let mut state = start.map(T::from);
        for (entry, &theta) in self.entries.iter().zip(theta) {
            for target in &entry.targets {
                if let Place::State(field, index) = target.place {
                    *state_number(&mut state, field, index) = entry.value(theta) * target.factor;
                }
            }
        }
        for unit in &self.units {
            if let Place::State(field, start) = unit.place {
                let mut numbers = [T::ZERO; 4];
                for (offset, number) in numbers.iter_mut().enumerate() {
                    *number = *state_number(&mut state, field, start + offset);
                }
                for (offset, number) in Quat(numbers).normalized().0.into_iter().enumerate() {
                    *state_number(&mut state, field, start + offset) = number;
                }
            }
        }
        Ok(state)
    }

    /// Sets the numbers of θ that stand for the initial state to those of a state.
    ///
    /// # Errors
    ///
    /// When θ has the wrong length, or a transform does not admit a number.
    pub fn read_state(&self, theta: &mut [f64], state: &State) -> Result<(), Error> {
        self.check_length(theta.len())?;
        let mut state = state.clone();
        for (entry, theta) in self.entries.iter().zip(theta) {
            if let Some(target) = entry.targets.first()
                && let Place::State(field, index) = target.place
            {
                let number = *state_number(&mut state, field, index);
                *theta = entry
                    .transform
                    .invert(number / target.factor / entry.scale)?;
            }
        }
        Ok(())
    }

    /// Whether any number of the initial state is selected.
    pub fn has_state(&self) -> bool {
        let mut targets = self.entries.iter().flat_map(|entry| &entry.targets);
        targets.any(|target| matches!(target.place, Place::State(..)))
    }

    /// Whether nothing has to be derived.
    fn is_direct(&self) -> bool {
        let moves = |&mesh: &usize| self.recipe.meshes[mesh].moves;
        self.pseudo_inertias.is_empty()
            && !self.meshes.iter().any(moves)
            && self.entries.iter().all(|entry| entry.direct)
    }

    /// The given numbers for θ.
    pub(super) fn given<T: Scalar>(&self, theta: &[T]) -> Given<T> {
        let mut given = self.recipe.given.map(T::from);
        layout::write(&mut given, &self.writes(theta));
        self.follow(theta, &mut given);
        given
    }

    /// The given numbers for θ without those that are left out of passes of dual numbers.
    pub(super) fn light_given<T: Scalar>(&self, theta: &[T]) -> Given<T> {
        let mut given = self.light.given.map(T::from);
        let writes = self.writes(theta).into_iter();
        let writes = writes.filter_map(|(place, x)| Some((self.light.place(place)?, x)));
        layout::write(&mut given, &writes.collect::<Vec<_>>());
        self.follow(theta, &mut given);
        given
    }

    /// Sets the given numbers that θ does not stand for one by one.
    fn follow<T: Scalar>(&self, theta: &[T], given: &mut Given<T>) {
        for block in &self.pseudo_inertias {
            let numbers: &[T; inertia::COUNT] = match theta[block.start..].first_chunk() {
                Some(numbers) => numbers,
                None => continue,
            };
            let body = from_log_cholesky(numbers);
            let bodies = &mut given.model.bodies;
            bodies.mass[block.body] = body.mass;
            bodies.inertial_position[block.body] = Vec3(body.center);
            bodies.inertia[block.body] = Vec3(body.moments);
            bodies.inertia_products[block.body] = Vec3(body.products);
        }
        self.follow_vertices(&mut given.model);
        for &mesh in &self.meshes {
            if self.recipe.meshes[mesh].moves {
                self.follow_moments(given, mesh);
            }
        }
    }

    /// A mesh of the base as the sums over its triangles see it.
    pub(super) fn moving_mesh(&self, mesh: usize) -> MovingMesh<'_> {
        let meshes = &self.base.structure.meshes;
        let inertia = self.recipe.meshes[mesh].inertia;
        let faces = &meshes.face[meshes.faces[mesh].clone()];
        MovingMesh {
            inertia,
            faces,
            solid: match inertia {
                MeshInertia::Convex => &meshes.hull_face[meshes.hull_faces[mesh].clone()],
                _ => faces,
            },
        }
    }

    /// Lets volume, centre and inertia of a mesh follow its vertices. The compiler found these before it rounded the
    /// vertices, so what is added is the difference.
    fn follow_moments<T: Scalar>(&self, given: &mut Given<T>, mesh: usize) {
        let range = self.base.structure.meshes.vertices[mesh].clone();
        let moving = self.moving_mesh(mesh);
        let before = moving.moments(&self.recipe.given.model.meshes.vertex[range.clone()]);
        let after = moving.moments(&given.model.meshes.vertex[range]);
        let moments = given.sources.mesh_moments[mesh].iter_mut();
        for ((moment, before), after) in moments.zip(before).zip(after) {
            *moment += after - before;
        }
    }

    /// What θ writes among the given numbers, in increasing order.
    fn writes<T: Scalar>(&self, theta: &[T]) -> Vec<(usize, T)> {
        let mut writes = Vec::new();
        for (entry, &theta) in self.entries.iter().zip(theta) {
            let value = entry.value(theta);
            for target in &entry.targets {
                if let Place::Given(place) = target.place {
                    writes.push((place, value * target.factor));
                }
            }
        }
        // Stable, so that normalised numbers come after those that they replace.
        for unit in &self.units {
            if let Place::Given(place) = unit.place {
                let numbers = unit.numbers(&self.entries, theta);
                writes.extend(numbers.into_iter().enumerate().map(|(i, x)| (place + i, x)));
            }
        }
        writes.sort_by_key(|&(place, _)| place);
        writes
    }

    /// As [`Self::writes`], for numbers that go straight to the model: those to which something was added keep that.
    fn direct_writes<T: Scalar>(&self, theta: &[T]) -> Vec<(usize, T)> {
        let mut writes = self.writes(theta);
        let given = layout::flat(&self.recipe.given);
        let model = self.base.flat();
        for (place, number) in &mut writes {
            if model[*place] != given[*place] {
                *number = *number - given[*place] + model[*place];
            }
        }
        writes
    }

    /// Lets boxes and bounds of meshes follow vertices that are selected.
    fn follow_vertices<T: Scalar>(&self, model: &mut Model<T>) {
        if self.meshes.is_empty() {
            return;
        }
        ray::refit(model);
        let structure = Arc::clone(&model.structure);
        for (geom, shape) in structure.geoms.shape.iter().enumerate() {
            let GeomShape::Mesh(mesh) = *shape else {
                continue;
            };
            if self.meshes.contains(&mesh) {
                let vertices = &model.meshes.vertex[structure.meshes.vertices[mesh].clone()];
                let pick = |axis: usize, choose: fn(T, T) -> T| {
                    let coordinates = vertices.iter().map(|vertex| vertex[axis]);
                    coordinates.reduce(choose).unwrap_or(T::ZERO)
                };
                let low = [0, 1, 2].map(|axis| pick(axis, T::min));
                let high = [0, 1, 2].map(|axis| pick(axis, T::max));
                let size = Vec3([0, 1, 2].map(|axis| low[axis].abs().max(high[axis].abs())));
                model.geoms.size[geom] = size;
                model.geoms.bounding_radius[geom] = size.norm();
                model.geoms.bounding_box[geom] = crate::compile::box_between(low, high);
            }
        }
    }

    /// A sentence about a mechanism without inertia.
    pub(super) fn singular(&self, singular: Singular) -> Error {
        let structure = &self.base.structure;
        let joint = singular.dof.map(|dof| structure.dofs.joint[dof]);
        let message = match joint {
            Some(joint) => format!(
                "with these parameters joint '{}' moves nothing that has inertia",
                structure.names.joints[joint]
            ),
            None => "with these parameters the inertia matrix is singular".to_owned(),
        };
        ParameterProblem::Value.error(message)
    }
}

impl Unit {
    /// The numbers for θ, of length one.
    pub(super) fn numbers<T: Scalar>(&self, entries: &[Entry], theta: &[T]) -> Vec<T> {
        let numbers = self.sources.iter().zip(&self.base);
        let numbers: Vec<T> = numbers
            .map(|(source, &base)| match *source {
                Some((index, factor)) => entries[index].value(theta[index]) * factor,
                None => T::from(base),
            })
            .collect();
        match numbers[..] {
            [w, x, y, z] => Quat([w, x, y, z]).normalized().0.to_vec(),
            [x, y, z] => Vec3([x, y, z]).normalized().0.0.to_vec(),
            _ => numbers,
        }
    }
}

/// A number of a state.
pub(super) fn state_number<T: Scalar>(
    state: &mut State<T>,
    field: StateField,
    index: usize,
) -> &mut T {
    match field {
        StateField::Qpos => &mut state.qpos[index],
        StateField::Qvel => &mut state.qvel[index],
        StateField::Act => &mut state.act[index],
        StateField::MocapPosition => &mut state.mocap_position[index / 3].0[index % 3],
        StateField::MocapQuat => &mut state.mocap_quat[index / 4].0[index % 4],
    }
}
