//! Values of elements after defaults, shortcuts, units and frames; the numbers are MuJoCo's.

use std::f64::consts::{FRAC_PI_2, PI};
use std::path::Path;

use carom_spec::mjcf::{ReadSettings, read};
use carom_spec::model_spec::{
    ActuatorDynamics, ActuatorSpec, BiasKind, GainKind, TendonPath, Transmission, WrapSpec,
};
use carom_spec::{MemorySource, ModelSpec, SourceMap};

fn model(text: &str) -> ModelSpec {
    let files = MemorySource::new().with("main.xml", text);
    let mut sources = SourceMap::new();
    let path = Path::new("main.xml");
    let (model, diagnostics) = read(path, &files, &ReadSettings::default(), &mut sources);
    assert!(diagnostics.is_empty(), "{diagnostics:?}");
    model
}

/// An actuator on a joint, with defaults.
fn actuator(defaults: &str, element: &str) -> ActuatorSpec {
    let text = format!(
        "<mujoco><default>{defaults}</default><worldbody><body name='b'><joint name='j'/>\
         <geom size='1'/></body></worldbody><actuator>{element}</actuator></mujoco>"
    );
    model(&text).actuators.remove(0)
}

fn assert_close(found: &[f64], expected: &[f64]) {
    assert_eq!(found.len(), expected.len());
    let close = found
        .iter()
        .zip(expected)
        .all(|(a, b)| (a - b).abs() < 1e-14);
    assert!(close, "found {found:?}, expected {expected:?}");
}

/// Gain parameter 0 and bias parameters 0 to 2.
fn servo(actuator: &ActuatorSpec) -> [f64; 4] {
    let bias = &actuator.bias_parameters;
    [actuator.gain_parameters[0], bias[0], bias[1], bias[2]]
}

#[test]
fn shortcuts_inherit_only_from_their_own_kind() {
    let position = "<position kp='5' kv='2' ctrlrange='-1 1'/>";
    assert_eq!(
        servo(&actuator(position, "<position joint='j'/>")),
        [5.0, 0.0, -5.0, -2.0]
    );
    let motor = actuator(position, "<motor joint='j'/>");
    assert_eq!(servo(&motor), [1.0, 0.0, 0.0, 0.0]);
    assert_eq!(motor.control_range, [-1.0, 1.0]);
    assert_eq!(
        servo(&actuator(position, "<velocity joint='j'/>")),
        [1.0, 0.0, 0.0, -1.0]
    );
    let integrated = actuator(position, "<intvelocity joint='j' actrange='-1 1'/>");
    assert_eq!(servo(&integrated), [1.0, 0.0, -1.0, 0.0]);
    assert_eq!(integrated.dynamics, ActuatorDynamics::Integrator);
    // The general form takes whatever is there.
    let general = actuator(position, "<general joint='j'/>");
    assert_eq!(
        (servo(&general), general.bias),
        ([5.0, 0.0, -5.0, -2.0], BiasKind::Affine)
    );
}

#[test]
fn shortcuts_look_up_the_class_hierarchy() {
    let nested =
        |inner: &str| format!("<position kp='5' kv='2'/><default class='c'>{inner}</default>");
    let position = "<position class='c' joint='j'/>";
    assert_eq!(
        servo(&actuator(&nested("<velocity/>"), position)),
        [5.0, 0.0, -5.0, -2.0]
    );
    let general = nested("<general gainprm='9'/>");
    assert_eq!(servo(&actuator(&general, position)), [9.0, 0.0, -9.0, -2.0]);
    let ratio = nested("<position dampratio='0.5'/>");
    assert_eq!(servo(&actuator(&ratio, position)), [5.0, 0.0, -5.0, 0.5]);
    // A later shortcut in the same class replaces an earlier one.
    let both = "<position kp='5'/><velocity kv='3'/>";
    assert_eq!(
        servo(&actuator(both, "<position joint='j'/>")),
        [1.0, 0.0, -1.0, 0.0]
    );
    let general = "<general gainprm='4' dynprm='7' biasprm='1 2 3'/>";
    assert_eq!(
        servo(&actuator(general, "<cylinder joint='j'/>")),
        [4.0, 1.0, 2.0, 3.0]
    );
    assert_eq!(
        servo(&actuator(general, "<motor joint='j'/>")),
        [1.0, 0.0, 0.0, 0.0]
    );
}

#[test]
fn shortcuts_become_the_general_form() {
    let filtered = actuator("", "<position joint='j' timeconst='0.1'/>");
    assert_eq!(filtered.dynamics, ActuatorDynamics::FilterExact);
    assert_eq!(filtered.dynamics_parameters[0], 0.1);
    let damper = actuator("", "<damper joint='j' ctrlrange='0 1' kv='2'/>");
    assert_eq!(
        (damper.gain, damper.gain_parameters[2]),
        (GainKind::Affine, -2.0)
    );
    assert_eq!(damper.control_limited, Some(true));
    let cylinder = actuator(
        "",
        "<cylinder joint='j' diameter='2' bias='1 2 3' timeconst='3'/>",
    );
    assert_close(&servo(&cylinder), &[PI, 1.0, 2.0, 3.0]);
    assert_eq!(cylinder.dynamics, ActuatorDynamics::Filter);
    let muscle = actuator(
        "<muscle force='5'/>",
        "<muscle joint='j' lengthrange='0 1'/>",
    );
    let expected = [0.75, 1.05, 5.0, 200.0, 0.5, 1.6, 1.5, 1.3, 1.2];
    assert_eq!(muscle.gain_parameters[..9], expected);
    assert_eq!(muscle.bias_parameters[..9], expected);
    assert_eq!(muscle.dynamics_parameters[..3], [0.01, 0.04, 0.0]);
    let adhesion = actuator("", "<adhesion body='b' ctrlrange='0 1' gain='3'/>");
    assert_eq!(adhesion.gain_parameters[0], 3.0);
    assert!(matches!(adhesion.transmission, Some(Transmission::Body(_))));
}

#[test]
fn written_ranges_override_inherited_ones() {
    let inherits = "<position inheritrange='1'/>";
    assert_eq!(
        actuator(inherits, "<position joint='j'/>").inherit_range,
        1.0
    );
    let written = actuator(inherits, "<position joint='j' ctrlrange='0 1'/>");
    assert_eq!(
        (written.inherit_range, written.control_range),
        (0.0, [0.0, 1.0])
    );
    let ranged = "<position ctrlrange='0 1'/>";
    let inherited = actuator(ranged, "<position joint='j' inheritrange='1'/>");
    assert_eq!(
        (inherited.inherit_range, inherited.control_range),
        (1.0, [0.0, 0.0])
    );
}

#[test]
fn angles_of_limited_hinges_become_radians() {
    let model = model(
        "<mujoco><worldbody><body>\
         <joint range='-90 90' ref='180' springref='90'/>\
         <joint range='-90 90' limited='false'/>\
         <joint type='slide' range='-1 1' ref='2'/>\
         </body><body><joint type='ball' range='0 90'/></body></worldbody></mujoco>",
    );
    let joints = &model.bodies[1].joints;
    assert_close(&joints[0].range, &[-FRAC_PI_2, FRAC_PI_2]);
    assert_close(
        &[joints[0].reference_value, joints[0].spring_reference],
        &[PI, FRAC_PI_2],
    );
    assert_eq!(joints[1].range, [-90.0, 90.0]);
    assert_eq!(
        (joints[2].range, joints[2].reference_value),
        ([-1.0, 1.0], 2.0)
    );
    assert_close(&model.bodies[2].joints[0].range, &[0.0, FRAC_PI_2]);
}

#[test]
fn classes_are_copied_when_they_are_defined() {
    let model = model(
        "<mujoco>\
         <default><geom size='.1'/>\
         <default class='p'><geom size='.2'/><default class='q'><geom density='2'/></default>\
         </default></default>\
         <default><geom size='.3'/></default>\
         <worldbody><geom/><geom class='p'/><geom class='q'/>\
         <body childclass='q'><geom/><geom class='main'/>\
         <body><frame childclass='p'><geom/><body><geom/></body></frame></body></body>\
         </worldbody></mujoco>",
    );
    let sizes: Vec<f64> = model
        .bodies
        .iter()
        .flat_map(|body| &body.geoms)
        .map(|geom| geom.size[0])
        .collect();
    assert_eq!(sizes, [0.3, 0.2, 0.2, 0.2, 0.3, 0.2, 0.2]);
}

#[test]
fn frames_move_their_content() {
    let model = model(
        "<mujoco><worldbody><frame pos='1 0 0' euler='0 0 90'><frame pos='0 0 2'>\
         <geom type='capsule' size='.1' fromto='0 0 0 2 0 0'/>\
         <body pos='1 0 0'><frame euler='90 0 0'><joint axis='0 0 1' pos='0 0 1'/></frame>\
         <geom size='1'/></body>\
         </frame></frame></worldbody></mujoco>",
    );
    let geom = &model.bodies[0].geoms[0];
    assert_eq!(geom.fromto, None);
    assert_close(&geom.position, &[1.0, 1.0, 2.0]);
    assert_close(&geom.size[..2], &[0.1, 1.0]);
    let body = &model.bodies[1];
    assert_close(&body.position, &[1.0, 1.0, 2.0]);
    let half = 0.5_f64.sqrt();
    assert_close(&body.quaternion, &[half, 0.0, 0.0, half]);
    assert_close(&body.joints[0].axis, &[0.0, -1.0, 0.0]);
    assert_close(&body.joints[0].position, &[0.0, -1.0, 0.0]);
}

#[test]
fn replicas_turn_and_move_on() {
    let model = model(
        "<mujoco><worldbody><replicate count='3' offset='1 0 0' euler='0 0 90'>\
         <site name='s'/></replicate></worldbody></mujoco>",
    );
    let sites = &model.bodies[0].sites;
    for (site, expected) in sites
        .iter()
        .zip([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [1.0, 1.0, 0.0]])
    {
        assert_close(&site.position, &expected);
    }
    assert_close(&sites[2].quaternion, &[0.0, 0.0, 0.0, 1.0]);
}

/// MuJoCo 4.0.0 copies sensors that refer to nothing with each replica, and copies of copies with the next one.
#[test]
fn sensors_of_replicas_are_those_of_mujoco() {
    let model = model(
        "<mujoco><worldbody><site name='w'/><replicate count='2' offset='1 0 0'>\
         <body><joint name='j'/><geom size='1'/></body></replicate></worldbody>\
         <sensor><user name='user' dim='2'/><clock name='clock'/><jointpos name='angle' joint='j'/>\
         <framepos name='place' objtype='site' objname='w'/></sensor></mujoco>",
    );
    let names: Vec<_> = model
        .sensors
        .iter()
        .map(|sensor| sensor.name.as_str())
        .collect();
    assert_eq!(
        names,
        [
            "user", "clock", "place", "user0", "clock0", "angle0", "user1", "clock1", "angle1",
            "user01", "clock01",
        ]
    );
}

#[test]
fn paths_and_lengths_of_tendons() {
    let model = model(
        "<mujoco><worldbody><body><joint name='j'/><geom name='g' size='1'/><site name='a'/>\
         <site name='b' pos='1 0 0'/></body></worldbody>\
         <tendon><spatial springlength='1'><site site='a'/><geom geom='g' sidesite='b'/>\
         <pulley divisor='2'/><site site='b'/></spatial>\
         <fixed springlength='-1 -1'><joint joint='j' coef='3'/></fixed></tendon></mujoco>",
    );
    assert_eq!(model.tendons[0].spring_length, Some([1.0, 1.0]));
    let TendonPath::Spatial(path) = &model.tendons[0].path else {
        panic!("spatial")
    };
    assert!(matches!(
        path[1],
        WrapSpec::Geom {
            side_site: Some(_),
            ..
        }
    ));
    assert!(matches!(path[2], WrapSpec::Pulley { divisor: 2.0, .. }));
    assert_eq!(model.tendons[1].spring_length, None);
    let TendonPath::Fixed(terms) = &model.tendons[1].path else {
        panic!("fixed")
    };
    assert_eq!((terms[0].0.name.as_str(), terms[0].1), ("j", 3.0));
}

#[test]
fn height_fields_start_at_the_bottom() {
    let model = model(
        "<mujoco><asset><hfield name='h' nrow='2' ncol='3' size='1 1 1 1' \
         elevation='1 2 3  4 5 6'/></asset></mujoco>",
    );
    assert_eq!(
        model.height_fields[0].elevation,
        [4.0, 5.0, 6.0, 1.0, 2.0, 3.0]
    );
}

#[test]
fn keyframes_of_attached_models_set_what_was_attached() {
    let parent = "<mujoco><asset><model name='c' file='c.xml'/></asset><worldbody>\
         <body><joint ref='180'/><geom size='1'/></body><attach model='c' body='r' prefix='x_'/>\
         </worldbody><keyframe><key qpos='4'/></keyframe></mujoco>";
    let child = "<mujoco><worldbody><body name='q'><joint/><geom size='1'/></body>\
         <body name='r'><freejoint/><geom size='1'/></body></worldbody>\
         <keyframe><key name='k' qpos='9 1 2 3 1 0 0 0'/></keyframe></mujoco>";
    let files = MemorySource::new()
        .with("main.xml", parent)
        .with("c.xml", child);
    let mut sources = SourceMap::new();
    let path = Path::new("main.xml");
    let (model, diagnostics) = read(path, &files, &ReadSettings::default(), &mut sources);
    assert!(diagnostics.is_empty(), "{diagnostics:?}");
    assert_close(
        &model.keyframes[0].qpos,
        &[4.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0],
    );
    assert_eq!(model.keyframes[1].name, "x_k");
    assert_close(
        &model.keyframes[1].qpos,
        &[PI, 1.0, 2.0, 3.0, 1.0, 0.0, 0.0, 0.0],
    );
}

/// The numbers are those that MuJoCo 4.0.0 finds.
#[test]
fn motors_take_their_numbers_from_data_sheets_and_defaults() {
    let gain = |defaults: &str, attributes: &str| {
        let text = format!("<dcmotor joint='j' {attributes}/>");
        let motor = actuator(defaults, &text);
        [0, 1].map(|place| motor.gain_parameters[place])
    };
    let near = |found: [f64; 2], expected: [f64; 2]| {
        let pairs = found.into_iter().zip(expected);
        for (found, expected) in pairs {
            assert!((found - expected).abs() < 1e-14, "{found} {expected}");
        }
    };
    let point = "nominal='12 .5 100'";
    near(gain("", point), [2.88, 0.12]);
    near(gain("", &format!("{point} damping='.001'")), [2.304, 0.096]);
    near(
        gain("", &format!("{point} damping='.001' resistance='2'")),
        [2.0, 0.1],
    );
    near(
        gain("", &format!("{point} damping='1' resistance='2'")),
        [2.0, 0.12],
    );
    near(gain("", "nominal='12 .5' motorconst='.1'"), [2.4, 0.1]);
    near(
        gain("", "motorconst='.1 .2' resistance='2'"),
        [2.0, 0.141_421_356_237_309_53],
    );

    let class = "<dcmotor motorconst='.1' resistance='2' inductance='.1' thermal='1 2 0 .1 20 30' \
        lugre='1 2 3 4 5' cogging='1 2 3' controller='1 2 3 4 5 6' saturation='0 2 3' input='pos vel'/>";
    let motor = actuator(
        class,
        "<dcmotor joint='j' motorconst='.3' controller='7' input='pos' lugre='9' thermal='3'/>",
    );
    let (gain, bias) = (motor.gain_parameters, motor.bias_parameters);
    assert_eq!(gain, [2.0, 0.3, 0.1, 20.0, 7.0, 2.0, 3.0, 6.0, 0.0, 0.0]);
    assert_eq!(bias, [1.0, 2.0, 3.0, 3.0, 4.0, 5.0, 0.0, 0.0, 0.0, 0.0]);
    let dynamics = motor.dynamics_parameters;
    assert_eq!(
        dynamics,
        [0.05, 3.0, 3.0, 2.0, 30.0, 9.0, 2.0, 4.0, 5.0, 0.0]
    );
    assert_eq!(motor.force_range, [-0.2, 0.2]);
    assert_eq!((motor.control_count(), motor.natural_state_count()), (1, 5));
    let thermal = actuator(
        "",
        "<dcmotor joint='j' motorconst='1' resistance='1' thermal='1 2 4'/>",
    );
    assert_eq!(thermal.dynamics_parameters[2..4], [1.0, 4.0]);
}

#[test]
fn servos_with_set_points_inherit_from_their_own_kind() {
    let class = "<pid kp='3' kv='1' ki='2' imax='.5' slewmax='1' velrange='-1 1' posrange='-2 2' input='pos vel ff'/>";
    let pid = actuator(class, "<pid joint='j'/>");
    assert_eq!(
        (
            pid.gain_parameters[0],
            pid.dynamics_parameters[..2].to_vec()
        ),
        (2.0, vec![0.5, 1.0])
    );
    assert_eq!(pid.bias_parameters[..3], [0.0, -3.0, -1.0]);
    assert_eq!(
        (pid.control_range, pid.velocity_range),
        ([-2.0, 2.0], [-1.0, 1.0])
    );
    assert_eq!(pid.control_count(), 3);
    let without_integral = actuator(class, "<pid joint='j' ki='0'/>");
    assert_eq!(without_integral.dynamics_parameters[..2], [0.0, 1.0]);
    let position = actuator(class, "<position joint='j'/>");
    assert_eq!(servo(&position), [1.0, 0.0, -1.0, 0.0]);
    assert_eq!(
        (position.control_range, position.control_count()),
        ([-2.0, 2.0], 1)
    );
    let plain = actuator("<position kp='3' kv='1'/>", "<pid joint='j'/>");
    assert_eq!(plain.bias_parameters[..3], [0.0, -1.0, 0.0]);
    assert_eq!(plain.control_count(), 2);
    let turned = actuator(
        "<orientation kp='3' kv='1' input='quat'/>",
        "<orientation joint='j'/>",
    );
    assert_eq!(
        (servo(&turned), turned.control_count()),
        ([3.0, 0.0, -3.0, -1.0], 4)
    );
}
