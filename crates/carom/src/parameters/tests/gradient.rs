//! The backward pass against differences and dual numbers.

use super::{RICH, SELECTORS, numbers, parameters};
use crate::cotangent::{Cotangents, StateBar};
use crate::data::Data;
use crate::dual::{Dual, LANES};
use crate::integrate::{self, Retraced};
use crate::math::Quat;
use crate::model::{Model, Quantity};
use crate::parameters::{Parameters, layout};
use crate::quantity::Role;
use crate::scalar::Scalar;
use crate::state::{Input, State};
use crate::testing::{Random, model_from_mjcf};

/// Σ weight·number over all numbers of a model.
fn weighted(model: &Model, weights: &[f64]) -> f64 {
    let numbers = numbers(model).into_iter().zip(weights);
    numbers
        .filter(|(_, weight)| **weight != 0.0)
        .map(|((_, number), weight)| number * weight)
        .sum()
}

/// A model with the given numbers as cotangents.
fn bar_of(model: &Model, weights: &[f64]) -> Model {
    let mut bar = Model::zeros(model.structure.clone(), model.settings);
    let mut weights = weights.iter();
    bar.for_each_mut(|_, _, _, number| *number = weights.next().copied().unwrap_or(0.0));
    bar
}

/// Random weights of all numbers but very large ones, which would drown the others.
fn random_weights(model: &Model) -> Vec<f64> {
    let mut random = Random::new(3);
    let numbers = numbers(model).into_iter();
    numbers
        .map(|(name, number)| {
            if number.abs() < 1e3 && !name.contains("products") {
                random.next()
            } else {
                0.0
            }
        })
        .collect()
}

#[test]
fn gradients_are_those_of_differences_for_any_loss_of_the_model() {
    for selector in SELECTORS {
        let parameters = parameters(RICH, &[selector]);
        let theta = parameters.theta0().to_vec();
        let base = parameters.apply(&theta).unwrap();
        let weights = random_weights(&base);
        let gradient = parameters
            .backward(&theta, &bar_of(&base, &weights), None)
            .unwrap();
        for (index, name) in parameters.names().enumerate() {
            // The cube has equal moments, but its body has not.
            let step = 1e-5 * theta[index].abs().max(0.01);
            let ends = [1.0, -1.0].map(|sign| {
                let mut theta = theta.clone();
                theta[index] += sign * step;
                weighted(&parameters.apply(&theta).unwrap(), &weights)
            });
            let expected = (ends[0] - ends[1]) / (2.0 * step);
            let error = (gradient[index] - expected).abs();
            assert!(
                error <= 2e-6 * expected.abs().max(1.0),
                "{name}: {} for {expected}, {}",
                gradient[index],
                worst(&parameters, &theta, index, step)
            );
        }
    }
}

/// The number of the model whose derivative is off most.
fn worst(parameters: &Parameters, theta: &[f64], index: usize, step: f64) -> String {
    let moved = |sign: f64| {
        let mut theta = theta.to_vec();
        theta[index] += sign * step;
        numbers(&parameters.apply(&theta).unwrap())
    };
    let mut duals: Vec<Dual<LANES>> = theta.iter().copied().map(Dual::constant).collect();
    duals[index] = Dual::variable(theta[index], 0);
    let mut tangents = Vec::new();
    let model = parameters.apply(&duals).unwrap();
    model.for_each(|_, _, _, number| tangents.push(number.tangent[0]));
    let ends = moved(1.0).into_iter().zip(moved(-1.0)).zip(tangents);
    let errors = ends.map(|(((name, high), (_, low)), tangent)| {
        let quotient = (high - low) / (2.0 * step);
        let error = if quotient.is_finite() {
            (quotient - tangent).abs()
        } else {
            0.0
        };
        (error, format!("{name}: {tangent} for {quotient}"))
    });
    let worst = errors.max_by(|a, b| a.0.total_cmp(&b.0));
    worst.map_or(String::new(), |(_, text)| text)
}

#[test]
fn direct_numbers_are_direct() {
    let model = model_from_mjcf(RICH);
    let recipe = model.recipe().unwrap();
    let layout = layout::Layout::new(model.counts());
    for &quantity in Quantity::ALL {
        let field = layout.field(quantity);
        if field.length == 0 || quantity.row().role != Role::Direct {
            continue;
        }
        let mut place = 0;
        let given = recipe.given.map(|number| {
            let is_in = field.range().contains(&place);
            let direction = if is_in {
                (place - field.start) % LANES
            } else {
                LANES
            };
            place += 1;
            Dual::<LANES>::variable(number, direction)
        });
        let derived = crate::compile::derive(recipe, &given).unwrap();
        let mut place = 0;
        derived.for_each(|found, element, component, number| {
            // What is not selectable: it follows from the range of a joint.
            let is_inherited = (found, element) == (Quantity::ActuatorControlRange, 0);
            let is_in = field.range().contains(&place);
            let direction = if is_in {
                (place - field.start) % LANES
            } else {
                LANES
            };
            let expected: [f64; LANES] =
                std::array::from_fn(|i| f64::from(u8::from(i == direction)));
            // The flag of the fluid model and what follows from the size are not selected.
            let is_fixed = found == Quantity::GeomFluid && !(1..6).contains(&component);
            // A spring and damper gives these instead, and then they are refused.
            let is_refused = matches!(
                (found, element),
                (Quantity::JointStiffness, 2) | (Quantity::DofDamping, 7)
            );
            assert!(
                number.tangent == expected || is_fixed || is_refused || is_inherited,
                "{quantity} in {found} {element} {component}"
            );
            place += 1;
        });
    }
}

/// A loss of the state after a step and of the sensors, and its gradient.
struct Loss {
    qpos: Vec<f64>,
    qvel: Vec<f64>,
    sensors: Vec<f64>,
}

impl Loss {
    fn random(model: &Model) -> Self {
        let (n, mut random) = (model.counts(), Random::new(11));
        Self {
            qpos: random.vector(n.nv),
            qvel: random.vector(n.nv),
            sensors: random.vector(n.nsensor_value),
        }
    }

    /// The loss relative to the end of a reference step, for the parameters θ.
    fn value<T: Scalar>(
        &self,
        parameters: &Parameters,
        theta: &[T],
        start: &State,
        reference: &State,
    ) -> T {
        let model = parameters.apply(theta).unwrap();
        let mut state = parameters.apply_state(theta, start).unwrap();
        let input = input(&model);
        let mut data = Data::new(&model);
        integrate::step(&model, &mut state, &input, &mut data);
        let mut moved = vec![T::ZERO; model.counts().nv];
        let reference = reference.map(T::from);
        integrate::difference(&model, &reference.qpos, &state.qpos, &mut moved);
        let sum = |weights: &[f64], numbers: &[T]| {
            let terms = weights.iter().zip(numbers);
            terms.fold(T::ZERO, |sum, (&weight, &number)| sum + number * weight)
        };
        sum(&self.qpos, &moved)
            + sum(&self.qvel, &state.qvel)
            + sum(&self.sensors, &data.sensing.values)
    }

    /// The gradient by the backward passes of the step and of the parameters.
    fn gradient(&self, parameters: &Parameters, theta: &[f64], start: &State) -> (Vec<f64>, State) {
        let model = parameters.apply(theta).unwrap();
        let start = parameters.apply_state(theta, start).unwrap();
        let input = input(&model);
        let mut end = start.clone();
        integrate::step(&model, &mut end, &input, &mut Data::new(&model));
        let mut retraced = Retraced::new(&model);
        assert!(retraced.retrace(&model, &start, &input, &end.warmstart));
        retraced.sense(&model, &input);
        let mut bar = Cotangents::zeros(&model);
        bar.data.start(retraced.data());
        bar.data.sensing.values.copy_from_slice(&self.sensors);
        let mut next = StateBar::zeros(&model);
        next.qpos.copy_from_slice(&self.qpos);
        next.qvel.copy_from_slice(&self.qvel);
        retraced.backward(&model, &input, &next, &mut bar);
        bar.give_timestep_to_model();
        let gradient = parameters
            .backward(theta, &bar.model, Some(&bar.state))
            .unwrap();
        (gradient, end)
    }
}

fn input<T: Scalar>(model: &Model<T>) -> Input<T> {
    let mut input = Input::zeros(model);
    for (index, control) in input.ctrl.iter_mut().enumerate() {
        *control = T::from(0.3 + 0.1 * index as f64);
    }
    input
}

/// A state with velocities.
fn moving(model: &Model) -> State {
    let mut random = Random::new(5);
    let mut state = State::reference(model);
    state.qvel = random.vector(model.counts().nv);
    state
}

/// Checks the gradient of a loss of one step.
fn check_step(text: &str, selectors: &[&str], tolerance: f64) {
    let parameters = parameters(text, selectors);
    let start = moving(parameters.base());
    let mut theta = parameters.theta0().to_vec();
    parameters.read_state(&mut theta, &start).unwrap();
    let loss = Loss::random(parameters.base());
    let (gradient, end) = loss.gradient(&parameters, &theta, &start);
    for (index, name) in parameters.names().enumerate() {
        let mut duals: Vec<Dual<LANES>> = theta.iter().copied().map(Dual::constant).collect();
        duals[index] = Dual::variable(theta[index], 0);
        let expected = loss.value(&parameters, &duals, &start, &end).tangent[0];
        let error = (gradient[index] - expected).abs();
        assert!(
            error <= 1e-9 * expected.abs().max(1.0),
            "{name}: {} for {expected} by dual numbers",
            gradient[index]
        );
        let quotient = |step: f64| {
            let ends = [1.0, -1.0].map(|sign| {
                let mut theta = theta.clone();
                theta[index] += sign * step;
                loss.value(&parameters, &theta, &start, &end)
            });
            (ends[0] - ends[1]) / (2.0 * step)
        };
        let size = theta[index].abs().max(0.1);
        let errors = [1e-4, 1e-5, 1e-6].map(|step| (quotient(step * size) - gradient[index]).abs());
        let error = errors.into_iter().fold(f64::INFINITY, f64::min);
        let expected = quotient(1e-5 * size);
        assert!(
            error <= tolerance * expected.abs().max(1.0),
            "{name}: {} for {expected}",
            gradient[index]
        );
    }
}

#[test]
fn gradients_of_a_step_reach_every_parameter() {
    for selector in SELECTORS {
        // Friction takes no part where nothing touches; here the gradient is zero on both sides.
        check_step(RICH, &[selector], 2e-6);
    }
}

#[test]
fn gradients_reach_vertices_through_shape_and_inertia() {
    check_step(RICH, &["mesh.wedge.vertex"], 2e-6);
    let text = r#"<mujoco><asset><mesh name="stone" inertia="KIND"
      vertex="-0.1 -0.1 -0.1 0.12 -0.1 -0.1 -0.1 0.13 -0.1 0.1 0.1 -0.1 0.02 0.01 0.1"/></asset>
      <option tolerance="0"/><worldbody><geom type="plane" size="1 1 1"/>
      <body pos="0 0 0.09" euler="2 3 0"><freejoint/><geom type="mesh" mesh="stone" density="500"/></body></worldbody></mujoco>"#;
    for kind in ["legacy", "exact", "convex", "shell"] {
        check_step(&text.replace("KIND", kind), &["mesh.stone.vertex"], 5e-6);
    }
}

#[test]
fn gradients_reach_the_initial_state() {
    check_step(RICH, &["state.qpos", "state.qvel"], 2e-6);
    check_step(RICH, &["state.knee.qpos", "state.root.qvel[3]"], 2e-6);
}

#[test]
fn gradients_reach_contacts() {
    let text = r#"<mujoco><option tolerance="0"/><worldbody><geom name="floor" type="plane" size="1 1 1"/>
      <body name="b" pos="0 0 0.095" euler="3 5 0"><freejoint/><geom name="cube" type="box" size="0.1 0.1 0.1" condim="4"/></body>
      </worldbody><sensor><framelinvel objtype="geom" objname="cube"/></sensor></mujoco>"#;
    for selector in [
        "geom.cube.size",
        "geom.cube.size tied log",
        "geom.*.friction[0] tied",
        "geom.cube.solref",
        "geom.cube.density",
        "geom.cube.solimp[0:3]",
        "body.b.mass",
        "body.b.mass log",
        "body.b.mass_only",
        "body.b.inertia",
        "option.timestep",
    ] {
        check_step(text, &[selector], 5e-6);
    }
    check_step(text, &["body.b.mass", "body.b.inertia[1]"], 5e-6);
}

#[test]
fn inertias_with_equal_moments_have_all_their_gradients() {
    let text = r#"<mujoco><worldbody><body name="b" pos="0 0 1"><freejoint/>
      <geom name="cube" type="box" size="0.1 0.1 0.1"/></body>
      <body name="arm" pos="1 0 0"><joint axis="1 1 0"/><inertial pos="0.1 0 0" mass="1" diaginertia="0.1 0.2 0.15" euler="10 20 30"/>
      <body pos="0.2 0 0"><joint axis="0 1 0"/><geom size="0.1" pos="0.2 0 0"/></body></body>
      </worldbody><sensor><accelerometer site="s"/></sensor></mujoco>"#
        .replace("<sensor><accelerometer site=\"s\"/></sensor>", "");
    check_step(&text, &["body.*.pseudo_inertia"], 2e-6);
    // Two cubes side by side: turning one gives products of inertia between equal moments.
    let text = r#"<mujoco><worldbody><body name="b" pos="0 0 1"><freejoint/>
      <geom name="one" type="box" size="0.1 0.1 0.1" pos="0.2 0 0"/><geom name="two" type="box" size="0.1 0.1 0.1" pos="-0.2 0 0"/>
      </body></worldbody></mujoco>"#;
    check_step(
        text,
        &["geom.one.pos", "geom.two.size", "geom.one.quat"],
        2e-6,
    );
}

#[test]
fn quaternions_need_not_be_normalised() {
    let parameters = parameters(RICH, &["geom.hull.quat"]);
    let theta = [2.0, 0.1, -0.3, 0.4];
    let found = parameters.apply(&theta).unwrap().geoms.quat[1];
    let expected = Quat(theta).normalized();
    assert_eq!(found, expected);
}
