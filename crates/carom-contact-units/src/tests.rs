//! Identities of the law, round trips, and predictions against the simulation.

use super::{
    ContactDesign, NormalContact, damping_ratio_of_restitution, impact_duration_of_damping_ratio,
    metres, newtons, pyramid_ratio, restitution_of_damping_ratio, seconds, survey,
};
use carom::{Data, Error, Input, Model, State};

fn model_from_mjcf(text: &str) -> Model {
    let name = std::path::Path::new("test.xml");
    let files = carom_spec::MemorySource::new().with(name, text);
    let settings = carom_spec::mjcf::ReadSettings::default();
    let read = carom_spec::read::read(name, &files, &settings);
    carom::load::compiled(read).unwrap().model
}

const DEFAULT_SOLIMP: [f64; 5] = [0.9, 0.95, 0.001, 0.5, 2.0];
const STEEP_SOLIMP: [f64; 5] = [0.1, 0.98, 0.004, 0.3, 3.0];

fn constant(impedance: f64) -> [f64; 5] {
    [impedance, impedance, 0.001, 0.5, 2.0]
}

#[track_caller]
fn assert_near(found: f64, expected: f64, relative: f64) {
    let error = (found - expected).abs() / expected.abs().max(1e-300);
    assert!(
        error <= relative,
        "{found} instead of {expected}: {error:e}"
    );
}

#[test]
fn a_standard_solref_is_time_constant_and_damping_ratio() {
    let contact = NormalContact::new([0.03, 0.7], constant(0.8), 5.0).unwrap();
    assert_near(contact.time_constant(0.01), 0.03, 1e-14);
    assert_near(contact.damping_ratio(0.01), 0.7, 1e-14);
    assert_near(contact.frequency(0.01), 1.0 / (0.03 * 0.7), 1e-14);
    // p = (1 − d)·g/ω² for the own weight.
    let expected = 0.2 * 9.81 * (0.03_f64 * 0.7).powi(2);
    assert_near(contact.rest_penetration(5.0 * 9.81), expected, 1e-12);
}

#[test]
fn restitution_at_landmarks_and_back() {
    assert_eq!(restitution_of_damping_ratio(0.0), 1.0);
    assert_near(restitution_of_damping_ratio(1.0), (-2.0_f64).exp(), 1e-15);
    for ratio in [1e-3, 0.1, 0.5, 0.99, 0.999_999, 1.0, 1.000_001, 1.5, 10.0] {
        let restitution = restitution_of_damping_ratio(ratio);
        assert_near(damping_ratio_of_restitution(restitution), ratio, 1e-8);
    }
    // Both branches meet smoothly at critical damping.
    let [below, above] = [1.0 - 1e-6, 1.0 + 1e-6].map(restitution_of_damping_ratio);
    assert_near(below / above, 1.0, 3e-6);
}

#[test]
fn the_closed_form_is_the_integral_of_the_law() {
    for ratio in [0.05, 0.4, 0.9, 1.0, 1.3, 4.0] {
        let contact = NormalContact::new([0.02, ratio], constant(0.9), 3.0).unwrap();
        let impact = contact.impact(2.0, 0.0);
        assert_near(impact.restitution, contact.restitution(2.0), 1e-6);
        let duration = impact_duration_of_damping_ratio(ratio) / contact.frequency(0.0);
        assert_near(impact.duration, duration, 1e-6);
    }
}

#[test]
fn an_undamped_impact_is_that_of_a_spring() {
    let design = ContactDesign::constant(2.0, 0.6).unwrap();
    let contact = design.stiffness_damping(5e4, 0.0).unwrap();
    let impact = contact.impact(1.5, 0.0);
    let mass = contact.mass() + contact.inertance(0.0);
    let frequency = (5e4 / mass).sqrt();
    assert_near(impact.restitution, 1.0, 1e-6);
    assert_near(impact.duration, std::f64::consts::PI / frequency, 1e-6);
    assert_near(impact.depth, 1.5 / frequency, 1e-3);
    // The bodies feel m·a; the rest of the spring's force moves the inerter.
    assert_near(impact.peak_force, 2.0 * 1.5 * frequency, 1e-3);
}

#[test]
fn designs_are_met() {
    for solimp in [constant(0.5), DEFAULT_SOLIMP, STEEP_SOLIMP] {
        for (mass, ratio) in [(0.1, 1.0), (40.0, 0.3)] {
            let design = ContactDesign::new(mass, solimp).unwrap();
            let design = design.with_ratio(ratio).unwrap();
            let full = |contact: &NormalContact| contact.full_depth();

            let contact = design.stiffness_damping(2e4, 30.0).unwrap();
            assert_near(contact.stiffness(full(&contact)), 2e4, 1e-12);
            assert_near(contact.damping(full(&contact)), 30.0, 1e-12);

            let weight = 9.81 * mass;
            let load = (weight, 2e-4);
            let contact = design.penetration_restitution(load, 0.4, 1.0).unwrap();
            assert_near(contact.rest_penetration(weight), 2e-4, 1e-12);
            assert_near(contact.restitution(1.0), 0.4, 1e-9);

            let contact = design.stiffness_restitution(1e5, 0.8, 0.5).unwrap();
            assert_near(contact.stiffness(full(&contact)), 1e5, 1e-12);
            assert_near(contact.restitution(0.5), 0.8, 1e-9);

            let contact = design.time_constant_restitution(0.015, 0.2, 2.0).unwrap();
            assert_near(contact.time_constant(full(&contact)), 0.015, 1e-12);
            assert_near(contact.restitution(2.0), 0.2, 1e-9);

            let contact = design.time_constant_damping_ratio(0.05, 0.6).unwrap();
            assert_near(contact.time_constant(full(&contact)), 0.05, 1e-12);
            assert_near(contact.damping_ratio(full(&contact)), 0.6, 1e-12);
        }
    }
}

#[test]
fn both_forms_of_solref_are_the_same_contact() {
    let contact = NormalContact::new([0.02, 0.8], STEEP_SOLIMP, 3.0).unwrap();
    for solref in [contact.solref(), contact.direct_solref()] {
        let again = NormalContact::new(solref, contact.solimp(), 3.0).unwrap();
        for depth in [0.0, 1e-3, 1e-2] {
            assert_near(again.stiffness(depth), contact.stiffness(depth), 1e-13);
            assert_near(again.damping(depth), contact.damping(depth), 1e-13);
        }
    }
    let elastic = ContactDesign::constant(1.0, 0.9).unwrap();
    let elastic = elastic.stiffness_restitution(1e4, 1.0, 1.0).unwrap();
    assert_eq!(elastic.solref()[1], 0.0);
    assert_eq!(elastic.restitution(3.0), 1.0);
}

#[test]
fn what_makes_no_contact_is_refused_with_a_sentence() {
    let design = ContactDesign::constant(1.0, 0.9).unwrap();
    let says = |problem: Result<NormalContact, Error>| problem.unwrap_err().to_string();
    assert!(says(design.stiffness_damping(-1.0, 1.0)).contains("stiffness must be a positive"));
    assert!(says(design.stiffness_restitution(1.0, 1.5, 1.0)).contains("found 1.5"));
    assert!(says(design.time_constant_restitution(0.1, 1.0, 1.0)).contains("restitution"));
    assert!(NormalContact::new([0.02, 1.0], DEFAULT_SOLIMP, f64::NAN).is_err());
    assert!(ContactDesign::constant(1.0, 1.0).is_err());
}

/// A sphere in the air above a plane, in a scene of its own.
struct Drop {
    model: Model,
    radius: f64,
    timestep: f64,
}

impl Drop {
    fn new(mass: f64, contact: &str, option: &str, gravity: f64) -> Self {
        Self::with_timestep(1e-5, mass, contact, option, gravity)
    }

    fn with_timestep(timestep: f64, mass: f64, contact: &str, option: &str, gravity: f64) -> Self {
        let model = model_from_mjcf(&format!(
            r#"<mujoco>
              <option timestep="{timestep}" gravity="0 0 {}" {option}/>
              <default><geom {contact}/></default>
              <worldbody><geom type="plane" size="1 1 1"/>
                <body pos="0 0 1"><freejoint/><geom type="sphere" size="0.1" mass="{mass}"/></body>
              </worldbody></mujoco>"#,
            -gravity
        ));
        Self {
            model,
            radius: 0.1,
            timestep,
        }
    }

    /// Speed after an impact over the speed before.
    fn restitution(&self, speed: f64) -> f64 {
        let mut state = State::reference(&self.model);
        state.qpos[2] = self.radius + 0.5 * speed * self.timestep;
        state.qvel[2] = -speed;
        let (input, mut data) = (Input::zeros(&self.model), Data::new(&self.model));
        for _ in 0..40_000 {
            carom::step(&self.model, &mut state, &input, &mut data);
            if state.qpos[2] > self.radius {
                return state.qvel[2] / speed;
            }
        }
        0.0
    }

    /// Penetration after this time, from first touch.
    fn penetration_after(&self, seconds: f64) -> f64 {
        let mut state = State::reference(&self.model);
        // At zero distance the contact does not act yet.
        state.qpos[2] = self.radius - 1e-12;
        let (input, mut data) = (Input::zeros(&self.model), Data::new(&self.model));
        while state.time < seconds {
            carom::step(&self.model, &mut state, &input, &mut data);
        }
        self.radius - state.qpos[2]
    }
}

fn attributes(solref: [f64; 2], solimp: [f64; 5]) -> String {
    let list = |numbers: &[f64]| {
        let texts: Vec<_> = numbers.iter().map(f64::to_string).collect();
        texts.join(" ")
    };
    format!(r#"solref="{}" solimp="{}""#, list(&solref), list(&solimp))
}

#[test]
fn a_dropped_sphere_bounces_as_predicted() {
    for (mass, solref, solimp) in [
        (0.05, [0.02, 1.0], DEFAULT_SOLIMP),
        (1.0, [0.02, 0.3], constant(0.9)),
        (1.0, [0.05, 0.5], STEEP_SOLIMP),
        (30.0, [-2e3, -10.0], DEFAULT_SOLIMP),
    ] {
        let scene = attributes(solref, solimp) + r#" condim="1""#;
        let drop = Drop::new(mass, &scene, "", 0.0);
        let contact = NormalContact::in_model(&drop.model, solref, solimp, mass).unwrap();
        for speed in [0.3, 2.0] {
            assert_near(drop.restitution(speed), contact.restitution(speed), 2e-3);
        }
    }
}

#[test]
fn friction_pyramids_change_the_stiffness_as_predicted() {
    let (solref, solimp, mass) = ([0.02, 0.4], constant(0.7), 2.0);
    for (friction, impratio, dimension) in [(1.0, 1.0, 3), (0.4, 1.0, 3), (0.7, 4.0, 4)] {
        let contact = NormalContact::new(solref, solimp, mass).unwrap();
        for cone in ["elliptic", "pyramidal"] {
            let ratio = match cone {
                "elliptic" => 1.0,
                _ => pyramid_ratio(friction, impratio, dimension),
            };
            let contact = contact.with_ratio(ratio).unwrap();
            let parameters = attributes(solref, solimp);
            let scene =
                format!(r#"{parameters} condim="{dimension}" friction="{friction} 0.1 0.1""#);
            let option = format!(r#"cone="{cone}" impratio="{impratio}""#);
            let drop = Drop::new(mass, &scene, &option, 0.0);
            assert_near(drop.restitution(1.0), contact.restitution(1.0), 2e-3);
        }
    }
}

#[test]
fn a_resting_sphere_sinks_in_as_predicted() {
    for (mass, solref, solimp) in [
        (0.05, [0.02, 1.0], DEFAULT_SOLIMP),
        (2.0, [0.01, 1.0], STEEP_SOLIMP),
        (50.0, [-4e4, -200.0], constant(0.5)),
    ] {
        let scene = attributes(solref, solimp) + r#" condim="1""#;
        let drop = Drop::with_timestep(1e-3, mass, &scene, "", 9.81);
        let contact = NormalContact::in_model(&drop.model, solref, solimp, mass).unwrap();
        let expected = contact.rest_penetration(9.81 * mass);
        assert_near(drop.penetration_after(1.0), expected, 1e-8);
    }
}

#[test]
fn settling_takes_the_predicted_time() {
    // Critically damped: p(t) = p∞·(1 − (1 + t/τ)·exp(−t/τ)).
    let (solref, solimp, mass) = ([0.02, 1.0], constant(0.9), 2.0);
    let scene = attributes(solref, solimp) + r#" condim="1""#;
    let drop = Drop::new(mass, &scene, "", 9.81);
    let contact = NormalContact::in_model(&drop.model, solref, solimp, mass).unwrap();
    let (rest, constant) = (
        contact.rest_penetration(9.81 * mass),
        contact.time_constant(0.0),
    );
    for time in [0.02, 0.05, 0.1] {
        let t: f64 = time / constant;
        let expected = rest * (1.0 - (1.0 + t) * (-t).exp());
        assert_near(drop.penetration_after(time), expected, 2e-3);
    }
}

#[test]
fn an_arm_has_a_third_of_the_inverse_mass() {
    // The engine's inverse mass of a body is a mean over three axes, of which the arm's tip moves along one.
    let (solref, solimp) = ([0.02, 0.5], constant(0.6));
    let model = model_from_mjcf(&format!(
        r#"<mujoco><option timestep="1e-5" gravity="0 0 0"/>
          <default><geom {} condim="1"/></default>
          <worldbody><geom type="plane" size="1 1 1" pos="0 0 -0.1"/>
            <body><joint type="hinge" axis="0 -1 0"/>
              <geom type="sphere" pos="2 0 0" size="0.1" mass="3"/></body>
          </worldbody></mujoco>"#,
        attributes(solref, solimp)
    ));
    let inertia = 3.0 * (2.0 * 2.0 + 0.4 * 0.1 * 0.1);
    let mass = inertia / 4.0;
    let ratio = model.bodies.inverse_weight[1][0] * mass;
    assert_near(ratio, 1.0 / 3.0, 1e-12);
    let contact = NormalContact::new(solref, solimp, mass).unwrap();
    let contact = contact.with_ratio(ratio).unwrap();
    let mut state = State::reference(&model);
    state.qvel[0] = -0.1;
    let (input, mut data) = (Input::zeros(&model), Data::new(&model));
    while state.qvel[0] < 0.0 || state.qpos[0] < 0.0 {
        carom::step(&model, &mut state, &input, &mut data);
    }
    assert_near(state.qvel[0] / 0.1, contact.restitution(0.2), 2e-3);
}

#[test]
fn steps_that_are_too_long_bounce_otherwise() {
    let contact = NormalContact::new([0.02, 0.2], constant(0.9), 1.0).unwrap();
    let exact = contact.restitution(1.0);
    let [low, high] = contact.stepped_restitution(1.0, 1e-6);
    assert_near(low, exact, 1e-3);
    assert_near(high, exact, 1e-3);
    let [low, high] = contact.stepped_restitution(1.0, 0.01);
    assert!(high - low > 0.1, "{low} … {high}");
}

#[test]
fn gravity_keeps_slow_bodies_and_slows_fast_ones() {
    let (solref, solimp, mass) = ([0.02, 0.8], DEFAULT_SOLIMP, 2.0);
    let contact = NormalContact::new(solref, solimp, mass).unwrap();
    assert_eq!(contact.impact(0.05, 9.81 * mass).restitution, 0.0);
    let scene = attributes(solref, solimp) + r#" condim="1""#;
    let drop = Drop::new(mass, &scene, "", 9.81);
    for speed in [1.0, 20.0] {
        let impact = contact.impact(speed, 9.81 * mass);
        assert!(impact.restitution < contact.restitution(speed));
        assert_near(drop.restitution(speed), impact.restitution, 2e-3);
    }
}

#[test]
fn a_survey_groups_pairs_by_law() {
    let model = model_from_mjcf(
        r#"<mujoco><option timestep="0.002" cone="elliptic"/>
          <default><geom type="sphere" size="0.1"/></default>
          <worldbody><geom type="plane" size="1 1 1"/>
            <body pos="0 0 1"><freejoint/><geom mass="1"/></body>
            <body pos="1 0 1"><freejoint/><geom mass="3"/></body>
            <body pos="2 0 1"><freejoint/><geom mass="2" solref="0.001 1" priority="1"/></body>
            <body pos="3 0 1"><freejoint/>
              <geom mass="2" solref="-1e7 -1e5" priority="2"/></body>
          </worldbody></mujoco>"#,
    );
    let kinds = survey(&model);
    let counts: Vec<_> = kinds.iter().map(|kind| kind.pairs).collect();
    assert_eq!(counts, [4, 3, 3]);
    let default = kinds
        .iter()
        .find(|kind| kind.parameters.solref == [0.02, 1.0]);
    let default = default.unwrap();
    assert_eq!(default.concerns, Vec::<String>::new());
    assert_near(default.time_constant, 0.02, 1e-12);
    // Of two spheres the lighter lies on the other, with the effective mass of both.
    assert_near(default.weight, 9.81, 1e-12);
    assert_near(default.contact.mass(), 0.75, 1e-12);
    let says = |solref: f64| {
        let kind = kinds
            .iter()
            .find(|kind| kind.parameters.solref[0] == solref);
        kind.unwrap().concerns.join("\n")
    };
    assert!(says(0.001).contains("is raised to 4 ms; a time step of at most 500 µs"));
    assert!(says(-1e7).contains("unstable"));
}

#[test]
fn units_read_well() {
    assert_eq!(seconds(0.02), "20 ms");
    assert_eq!(seconds(1.5), "1.5 s");
    assert_eq!(metres(3.672e-4), "367 µm");
    assert_eq!(metres(0.0), "0 nm");
    assert_eq!(newtons(706.32), "706 N");
    assert_eq!(newtons(125_013.0), "125 kN");
}
