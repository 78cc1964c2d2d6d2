//! Deriving a model again gives the same bits.

use super::model;
use crate::compile::derive;
use crate::dual::Dual;
use crate::model::Model;

/// Every number by name.
fn numbers(model: &Model) -> Vec<(String, f64)> {
    let mut numbers = Vec::new();
    model.for_each(|quantity, element, component, number| {
        numbers.push((format!("{quantity} {element} {component}"), number));
    });
    numbers
}

/// Checks that a compiled model follows from its recipe, also over dual numbers.
fn check(model: &Model) {
    let recipe = model.recipe().expect("compiled models have one");
    let again = derive(recipe, &recipe.given).expect("it compiled");
    assert_eq!(again.structure, model.structure);
    for ((name, found), (_, expected)) in numbers(&again).into_iter().zip(numbers(model)) {
        assert_eq!(
            found.to_bits(),
            expected.to_bits(),
            "{name}: {found} for {expected}"
        );
    }
    let dual = derive(recipe, &recipe.given.map(Dual::<1>::constant)).expect("it compiled");
    let values = numbers(&dual.map(|number| number.value));
    for ((name, found), (_, expected)) in values.into_iter().zip(numbers(model)) {
        // Frames that coincide are copied over plain numbers and multiplied over dual numbers.
        let error = (found - expected).abs();
        assert!(
            error <= 1e-9 * expected.abs().max(1.0) || found.to_bits() == expected.to_bits(),
            "{name} over duals: {found} for {expected}"
        );
    }
}

#[test]
fn models_of_the_repository_follow_from_their_recipes() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../models");
    let files = std::fs::read_dir(folder).expect("the models are there");
    let mut count = 0;
    for file in files {
        let path = file.expect("readable").path();
        if path.extension().is_some_and(|kind| kind == "xml") {
            check(&crate::testing::model_from_file(&path));
            count += 1;
        }
    }
    assert!(count >= 8, "{count} models");
}

#[test]
fn aligned_fitted_and_scaled_models_follow_from_their_recipes() {
    check(&model(
        r#"<compiler settotalmass="7" inertiafromgeom="auto" boundmass="0.01" alignfree="true"/>
        <asset><mesh name="tetra" vertex="0 0 0 1 0 0 0 2 0 0 0 3"/></asset>
        <worldbody>
          <body name="free" pos="0 0 1" euler="10 20 30"><freejoint/>
            <geom type="box" size="0.1 0.2 0.3" pos="0.1 0 0"/>
            <geom type="capsule" size="0.1 0.2" pos="0 0.3 0" euler="0 30 0" mass="2"/>
            <site name="s" pos="0.1 0.2 0.3"/><camera name="c" pos="1 0 0"/>
          </body>
          <body name="meshes" pos="1 0 0"><joint name="h" axis="0 1 1" springdamper="0.3 0.7" damping="0.1"/>
            <geom type="mesh" mesh="tetra" pos="0.1 0 0" euler="0 0 20"/>
            <geom type="box" mesh="tetra" pos="0.5 0 0"/>
            <body mocap="false"><joint name="s" type="slide" range="-1 2" limited="true"/>
              <inertial pos="0.1 0 0" mass="1" fullinertia="0.3 0.2 0.25 0.01 0.02 0.03"/></body>
          </body>
          <body name="m" mocap="true" pos="3 0 0"/>
        </worldbody>
        <actuator>
          <position joint="s" kp="20" dampratio="0.8" inheritrange="0.5" armature="0.2" gear="3"/>
          <motor joint="h" damping="0.4" gear="2"/>
        </actuator>
        <keyframe><key qpos="1 2 3"/><key mpos="1 1 1" qpos="0 0 0 2 0 0 0"/></keyframe>"#,
    ));
}
