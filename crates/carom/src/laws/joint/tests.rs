//! What holds for every law of joints: a new one is tested here as soon as it is listed.

use super::*;
use crate::compile::compile;
use crate::data::Data;
use crate::dynamics;
use crate::model::Integrator;
use crate::parameters::Parameters;
use crate::stages::solve::tighten;
use crate::testing::stage_check::random_point;
use crate::testing::{every_joint_law, model_from_mjcf, step_check};
use carom_spec::mjcf::{self, ReadSettings};
use carom_spec::{MemorySource, SourceMap};

/// The list of laws and their declaration agree.
#[test]
fn laws_have_the_numbers_of_their_declaration() {
    for &kind in JointLawKind::ALL {
        let (mut count, numbers) = (0, kind.defaults());
        by_parameters(kind, [0.3, 0.2], &numbers, |_, _| count += 1);
        assert_eq!(count, numbers.len(), "{kind:?}");
    }
}

#[test]
fn the_damping_of_implicit_integrators_is_the_derivative_by_the_velocity() {
    for &kind in JointLawKind::ALL {
        let own = kind.description().numbers.iter();
        let p: Vec<f64> = own.map(|number| 1.3 * number.default + 0.25).collect();
        for x in [[0.4, -1.3], [-0.2, 0.0], [1.0, 0.05]] {
            let [_, expected] = by_inputs(kind, x, &p);
            let found = rate_derivative(kind, x, &p);
            let bound = 1e-12 * expected.abs().max(1.0);
            assert!(
                (found - expected).abs() < bound,
                "{kind:?} at {x:?}: {found} {expected}"
            );
        }
    }
}

/// Cotangents of a whole step against dual numbers, with respect to state, controls and every parameter.
#[test]
fn steps_are_differentiated_through_laws_of_joints() {
    use Integrator::{Euler, Implicit, ImplicitFast, RungeKutta4};
    for integrator in [Euler, Implicit, ImplicitFast, RungeKutta4] {
        for seed in 0..3 {
            let mut point = random_point(model_from_mjcf(&every_joint_law("")), seed);
            point.model.settings.integrator = integrator;
            tighten(&mut point.model);
            point.data = Data::new(&point.model);
            dynamics::forward_and_sense(&point.model, &point.state, &point.input, &mut point.data);
            step_check::check(&point);
        }
    }
}

#[test]
fn their_numbers_are_parameters_of_the_joint() {
    let model = model_from_mjcf(&every_joint_law(""));
    for &kind in JointLawKind::ALL {
        for number in kind.description().numbers {
            let name = format!("joint.lift.{}", number.name);
            let parameters = Parameters::select(&model, &[name.as_str()]).unwrap();
            let value = 1.3 * number.default + 0.25;
            assert!((parameters.theta0()[0] - value).abs() < 1e-15, "{name}");
            let changed = parameters.apply(&[value + 0.5]).unwrap();
            let numbers = &changed.joint_laws.parameter;
            let differ = |(a, b): (&f64, &f64)| a.to_bits() != b.to_bits();
            let moved = numbers.iter().zip(&model.joint_laws.parameter);
            assert_eq!(moved.filter(|&pair| differ(pair)).count(), 1, "{name}");
        }
    }
    let none = model_from_mjcf(
        r#"<mujoco><worldbody><body><joint name="lift"/><geom size=".1"/></body></worldbody></mujoco>"#,
    );
    let name = JointLawKind::ALL[0].description().numbers[0].name;
    let refused = Parameters::select(&none, &[format!("joint.lift.{name}").as_str()]);
    let message = refused.unwrap_err().to_string();
    assert!(message.contains("has no law with that number"), "{message}");
}

/// Messages and advice about a text, each with its line.
fn refusals(text: &str) -> Vec<String> {
    let model = format!(
        r#"<mujoco><worldbody><body><joint name="j"/><geom size=".1"/>
          <body><joint name="ball" type="ball"/><geom size=".1"/></body></body></worldbody>
          <custom>
            {text}</custom></mujoco>"#
    );
    let source = MemorySource::new().with("model.xml", model);
    let mut sources = SourceMap::new();
    let path = "model.xml".as_ref();
    let (spec, problems) = mjcf::read(path, &source, &ReadSettings::default(), &mut sources);
    assert!(problems.is_empty(), "{problems:?}");
    let (model, problems) = compile(&spec);
    assert!(model.is_none());
    let said = |problem: &carom_spec::Diagnostic| problem.render(&sources);
    problems.iter().map(said).collect()
}

#[test]
fn numbers_out_of_their_range_are_refused_with_place_and_remedy() {
    let mut tried = 0;
    for &kind in JointLawKind::ALL {
        let description = kind.description();
        for number in description.numbers {
            let wrong = [-1.0, 0.0]
                .into_iter()
                .find(|&value| !number.range.contains(value));
            let Some(wrong) = wrong else {
                continue;
            };
            tried += 1;
            let (law, name) = (description.name, number.name);
            let text = format!(
                r#"<text name="carom/joint/wrong" data="law={law}; joint=j; {name}={wrong}"/>"#
            );
            let found = refusals(&text);
            let range = number.range.words();
            let said = format!("{name} of law 'wrong' must be {range}, not {wrong}");
            assert!(found.len() == 1 && found[0].contains(&said), "{found:?}");
            let help = format!("without it, {name} is {}", number.default);
            assert!(
                found[0].contains("model.xml:4:13") && found[0].contains(&help),
                "{found:?}"
            );
        }
    }
    assert!(tried > 1);
}

#[test]
fn laws_that_fit_no_joint_are_refused() {
    let name = JointLawKind::ALL[0].description().name;
    let law = |label: &str, joint: &str| {
        format!(r#"<text name="carom/joint/{label}" data="law={name}; joint={joint}"/>"#)
    };
    let ball = refusals(&law("a", "ball"));
    assert!(
        ball.concat()
            .contains("which neither slides nor turns about one axis"),
        "{ball:?}"
    );
    let missing = refusals(&law("a", "k"));
    assert!(
        missing
            .concat()
            .contains("refers to a joint 'k' that does not exist"),
        "{missing:?}"
    );
    let twice = refusals(&(law("a", "j") + &law("b", "j")));
    assert!(
        twice.concat().contains("gives joint 'j' a second"),
        "{twice:?}"
    );
}
