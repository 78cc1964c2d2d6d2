//! Parameters of real models, and what gradients of trajectories do with them.

use carom::compile::derive;
use carom::parameters::Parameters;
use carom::rollout::{Controls, RolloutBar, rollout};
use carom::{Data, Model, State};

use crate::models;

/// Every number by name.
fn numbers(model: &Model) -> Vec<(String, f64)> {
    let mut numbers = Vec::new();
    model.for_each(|quantity, element, component, number| {
        numbers.push((format!("{quantity} {element} {component}"), number));
    });
    numbers
}

/// The largest difference of numbers, relative to their size, and where it is.
fn largest_difference(found: &Model, expected: &Model) -> (f64, String) {
    let pairs = numbers(found).into_iter().zip(numbers(expected));
    let errors = pairs.map(|((name, found), (_, expected))| {
        let same = found.to_bits() == expected.to_bits();
        let error = (found - expected).abs() / expected.abs().max(1e-3);
        (if same { 0.0 } else { error }, name)
    });
    let largest = errors.max_by(|a, b| a.0.total_cmp(&b.0));
    largest.unwrap_or_default()
}

#[test]
fn every_model_follows_from_its_recipe() {
    for path in models::shipped().into_iter().chain(models::shared()) {
        let model = models::load(&path);
        let recipe = model.recipe().unwrap();
        let again = derive(recipe, &recipe.given).unwrap();
        assert_eq!(again.structure, model.structure, "{}", path.display());
        let (error, place) = largest_difference(&again, &model);
        assert!(
            error == 0.0,
            "{}: {place} differs by {error:e}",
            path.display()
        );
    }
}

#[test]
fn every_model_has_parameters_that_give_it_back() {
    // Selectors that mean something in most models; where they do not, the refusal is a sentence.
    let selectors = [
        "geom.*.size",
        "geom.*.pos",
        "geom.*.density",
        "geom.*.friction",
        "body.*.mass log",
        "body.*.ipos",
        "body.*.inertia",
        "joint.*.damping",
        "joint.*.axis",
        "site.*.pos",
        "actuator.*.gear",
        "actuator.*.gain",
        "tendon.*.stiffness",
        "equality.*.solref",
        "option.gravity",
    ];
    let mut selected = 0;
    for path in models::shipped().into_iter().chain(models::shared()) {
        let model = models::load(&path);
        for selector in selectors {
            let parameters = match Parameters::select(&model, &[selector]) {
                Ok(parameters) => parameters,
                Err(error) => {
                    assert!(error.to_string().len() > 20, "{}: {error}", path.display());
                    continue;
                }
            };
            selected += 1;
            let found = parameters.apply(parameters.theta0()).unwrap();
            let (error, place) = largest_difference(&found, &model);
            // Inertias that geoms gave are written down and used again, which rounds.
            assert!(
                error <= 1e-9,
                "{}, {selector}: {place} differs by {error:e}",
                path.display()
            );
        }
    }
    println!("{selected} selections");
}

/// Half the squared distance of a trajectory to recorded heights, and its gradient by θ.
fn loss_and_gradient(parameters: &Parameters, theta: &[f64], heights: &[f64]) -> (f64, Vec<f64>) {
    let model = parameters.apply(theta).unwrap();
    let start = parameters
        .apply_state(theta, &State::reference(&model))
        .unwrap();
    let steps = heights.len() - 1;
    let trajectory = rollout(
        &model,
        &start,
        &Controls::Zero,
        steps,
        &mut Data::new(&model),
    );
    let mut bar = RolloutBar::zeros(&trajectory);
    let mut loss = 0.0;
    for (step, height) in heights.iter().enumerate() {
        let error = trajectory.qpos(step)[2] - height;
        loss += 0.5 * error * error;
        bar.qpos_mut(step)[2] = error;
    }
    let gradient = trajectory
        .backward(&model, &Controls::Zero, &mut bar)
        .unwrap();
    let theta_bar = parameters.pull_back(theta, &gradient).unwrap();
    (loss, theta_bar)
}

#[test]
fn the_damping_ratio_of_an_impact_is_found_by_descent() {
    let model = models::from_text(
        r#"<mujoco><option timestep="0.001"/><worldbody>
          <geom name="anvil" type="box" size="0.5 0.5 0.1" pos="0 0 -0.1"/>
          <body pos="0 0 0.15"><freejoint/><geom name="ball" size="0.1" solref="0.02 1" solimp="0 0.95 0.01" priority="1"/></body>
        </worldbody></mujoco>"#,
    );
    let parameters = Parameters::select(&model, &["geom.ball.solref[1] log"]).unwrap();
    let truth = 0.37;
    let mut theta = parameters.theta0().to_vec();
    parameters
        .set(&mut theta, "geom.ball.solref[1]", truth)
        .unwrap();
    let real = parameters.apply(&theta).unwrap();
    let start = State::reference(&real);
    let record = rollout(&real, &start, &Controls::Zero, 200, &mut Data::new(&real));
    let heights: Vec<f64> = (0..=200).map(|step| record.qpos(step)[2]).collect();

    let mut theta = parameters.theta0().to_vec();
    let (mut loss, mut gradient) = loss_and_gradient(&parameters, &theta, &heights);
    let mut rate = 0.1 / gradient[0].abs();
    for _ in 0..60 {
        let next = [theta[0] - rate * gradient[0]];
        let (next_loss, next_gradient) = loss_and_gradient(&parameters, &next, &heights);
        if next_loss < loss {
            // The secant of the gradient gives the next step.
            let curvature = (next_gradient[0] - gradient[0]) / (next[0] - theta[0]);
            rate = if curvature > 0.0 {
                1.0 / curvature
            } else {
                2.0 * rate
            };
            (theta[0], loss, gradient) = (next[0], next_loss, next_gradient);
        } else {
            rate *= 0.3;
        }
    }
    let found = parameters.get(&theta, "geom.ball.solref[1]").unwrap();
    assert!(
        (found / truth - 1.0).abs() < 1e-3,
        "{found} for {truth}, loss {loss:e}"
    );
}
