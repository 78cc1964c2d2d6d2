use super::{assert_close, assert_refused, model};

const ARM: &str = r#"<worldbody>
    <body pos="0 0 1"><joint name="a" axis="0 1 0" armature=".1"/>
      <geom type="capsule" size=".05" fromto="0 0 0 .5 0 0"/>
      <body pos=".5 0 0"><joint name="b" axis="0 1 0" springdamper=".1 .7"/>
        <geom type="capsule" size=".04" fromto="0 0 0 .4 0 .1"/><site name="s" pos=".3 .1 .1"/></body></body>
    <body pos="2 0 0"><joint type="slide" axis="0 0 1" armature="3"/><geom size=".1" mass="2"/></body>
    <body pos="3 0 0"><freejoint/><geom type="box" size=".1 .2 .3" pos=".1 0 0"/></body>
    <site name="w" pos="0 0 1.5"/></worldbody>
  <tendon><fixed name="f" armature=".2"><joint joint="a" coef="1"/><joint joint="b" coef="-.7"/></fixed>
    <spatial name="t"><site site="w"/><site site="s"/></spatial></tendon>
  <actuator><position joint="a" kp="100" dampratio="1"/>
    <position tendon="t" kp="30" dampratio=".5"/></actuator>"#;

#[test]
fn weights_and_references_are_those_of_the_reference_configuration() {
    let model = model(ARM);
    let bodies = &model.bodies;
    assert_close(
        &bodies.subtree_mass,
        &[
            56.79117110063831,
            6.791171100638301,
            2.34058150805276,
            2.0,
            48.0,
        ],
    );
    assert_close(
        bodies.inverse_weight.as_flattened(),
        &[
            0.0,
            0.0,
            0.012522540613261907,
            0.2003606498121905,
            0.10955855444125732,
            1.3838272108113958,
            0.5,
            0.0,
            0.02083333333333333,
            0.7852564102564102,
        ],
    );
    let (translation, rotation) = ([0.027083333333333338; 3], [0.7852564102564102; 3]);
    let weights = [
        [0.6010819494365716, 4.732891516008997, 0.5],
        translation,
        rotation,
    ];
    assert_close(&model.dofs.inverse_weight, weights.as_flattened());
    assert_close(
        &model.dofs.inertia_reference,
        &[
            1.6967346634763083,
            0.14288719659639282,
            5.0,
            48.0,
            48.0,
            48.0,
            2.08,
            2.08,
            1.28,
        ],
    );
    assert_close(&model.tendons.length_reference, &[0.0, 0.9]);
    assert_close(
        &model.tendons.inverse_weight,
        &[3.747943075388947, 0.23566595791271724],
    );
    assert_close(
        model.tendons.spring_length.as_flattened(),
        &[0.0, 0.0, 0.9, 0.9],
    );
    let accelerations = [0.8431318068505798, 0.8005725941654914];
    assert_close(&model.actuators.acceleration_reference, &accelerations);
    assert_close(&model.actuators.length_reference, &[0.0, 0.9]);
}

#[test]
fn ratios_become_stiffness_and_damping() {
    let model = model(ARM);
    assert_close(&[model.joints.stiffness[1]], &[43.11986276523674]);
    assert_close(&[model.dofs.damping[1]], &[4.2257465509932]);
    let damping: Vec<f64> = model.actuators.bias.iter().map(|bias| bias[2]).collect();
    assert_close(&damping, &[-25.796640566724186, -11.282678182684725]);
}

/// An arm with two muscles.
fn muscles(settings: &str) -> String {
    format!(
        r#"<compiler><lengthrange {settings}/></compiler><worldbody>
        <body pos="0 0 1"><joint name="a" axis="0 1 0" range="-60 70"/>
          <geom type="capsule" size=".05" fromto="0 0 0 .5 0 0"/><site name="s" pos=".2 0 .1"/></body>
        <site name="w" pos="0 0 1.2"/></worldbody>
        <tendon><spatial name="t"><site site="w"/><site site="s"/></spatial></tendon>
        <actuator><muscle tendon="t"/><muscle name="j" joint="a"/></actuator>"#
    )
}

#[test]
fn muscles_get_the_range_that_limits_allow() {
    let ranges = |settings: &str| model(&muscles(settings)).actuators.length_range;
    let close = |found: &[f64], expected: &[f64]| {
        for (found, expected) in found.iter().zip(expected) {
            assert!((found - expected).abs() < 1e-6, "{found} is not {expected}");
        }
    };
    // The limits are soft: they give way under the pull.
    let simulated = [
        0.02673813583084147,
        0.38927061415753894,
        -1.0477674895499682,
        1.2223004147494012,
    ];
    close(ranges("").as_flattened(), &simulated);
    let exact = [-1.0471975511965976, 1.2217304763960306];
    close(&ranges(r#"uselimit="true""#)[1], &exact);
    assert_eq!(ranges(r#"mode="none""#), [[0.0; 2]; 2]);
}

#[test]
fn ranges_that_do_not_settle_are_refused() {
    let swinging = muscles(r#"inttotal=".3" interval=".3""#);
    assert!(super::refusals(&swinging)[0].contains("did not converge"));
    assert_refused(
        &muscles(r#"timestep="1e-9""#).replacen(r#"<muscle tendon="t"/>"#, "", 1),
        "length range of actuator 'j' would need more than 10000000 steps",
    );
}
