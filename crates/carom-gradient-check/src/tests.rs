//! The check agrees where gradients are right, finds planted errors, and names kinks.
#![allow(
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "tests fail by panicking and say what they measure"
)]

#[allow(dead_code, reason = "the engine's tests draw more of it")]
#[path = "../../carom/tests/shared/random_mjcf.rs"]
mod random_mjcf;

use carom::math::Spatial;
use carom::varied::{self, Varied};
use carom_testing::Random;

use super::*;
use random_mjcf::{CONES, INTEGRATORS, LAWS, Part, Plan};

fn model_from_mjcf(text: &str) -> Model {
    let name = std::path::Path::new("test.xml");
    let files = carom_spec::MemorySource::new().with(name, text);
    let settings = carom_spec::mjcf::ReadSettings::default();
    let read = carom_spec::read::read(name, &files, &settings);
    carom::load::compiled(read).unwrap().model
}

/// Where the check is tried: the models that ship and random smooth mechanisms, at random states with random inputs, such that
/// all that remains is smooth.
fn points() -> Vec<(String, Model, State, Input)> {
    let shipped = (carom_testing::shipped_models().into_iter())
        .filter(|(_, path)| path.extension().is_some_and(|end| end == "xml"))
        .map(|(name, path)| (name, carom::load::file(&path, &[]).unwrap().model, 7));
    let drawn = (0..6_u64)
        .zip(INTEGRATORS.into_iter().cycle())
        .zip(CONES.into_iter().cycle());
    let drawn = drawn.map(|((seed, integrator), cone)| {
        let plan = Plan {
            seed,
            bodies: 4,
            parts: vec![Part::Springs, Part::Medium, Part::Actuators],
            integrator,
            cone,
            law: LAWS[0],
            is_aligned: false,
        };
        (
            format!("mechanism {seed}"),
            model_from_mjcf(&plan.mjcf()),
            seed,
        )
    });
    let at_random = |(name, model, seed): (String, Model, u64)| {
        let model = comparable(&model);
        let mut random = Random::new(seed ^ 0x5EED);
        let (mut state, mut input) = (State::reference(&model), Input::zeros(&model));
        let displacement = random.vector(model.counts().nv);
        carom::integrate_positions(&model, &mut state.qpos, &displacement, 1.5);
        state.qvel = random.vector(model.counts().nv);
        let mut random = Random::new(seed);
        state.act.fill_with(|| 0.5 + 0.4 * random.next());
        input.ctrl.fill_with(|| 0.5 * random.next());
        input.force.fill_with(|| random.next());
        (input.body_force).fill_with(|| Spatial(random.numbers()));
        (name, model, state, input)
    };
    shipped.chain(drawn).map(at_random).collect()
}

const BALL: &str = r#"<mujoco><worldbody><geom name="floor" type="plane" size="1 1 1"/>
  <body pos="0 0 0.099"><freejoint/><geom name="ball" size="0.1"/></body></worldbody></mujoco>"#;

#[test]
fn gradients_of_a_ball_on_the_floor_agree() {
    let report = check(&model_from_mjcf(BALL), Settings::default()).unwrap();
    let named = |name: &str| report.rows.iter().find(|row| row.quantity == name);
    for name in ["state.qpos", "state.qvel", "geoms.size", "geoms.solref"] {
        let row = named(name).unwrap_or_else(|| panic!("no row for {name}"));
        assert!(row.dual_error < 1e-9, "{row:?}");
        assert!(row.difference_error < 1e-5, "{row:?}");
    }
    assert!(report.without_effect.contains(&"option.wind".to_owned()));
    assert!(report.linear_error < 1e-9, "{}", report.linear_error);
    assert!(report.cost_ratio > 0.0);
}

/// Looks at the reference state of a model, and hands over what to compare there.
fn look<R>(model: &Model, look: impl FnOnce(&mut Point<'_>, &mut Probe, &mut Noise) -> R) -> R {
    let (state, input) = (State::reference(model), Input::zeros(model));
    let given = Given {
        model,
        state: &state,
        input: &input,
    };
    let mut noise = Noise(3);
    let (mut point, _) = Point::new(given, &mut noise, 0).unwrap();
    look(&mut point, &mut Probe::new(model), &mut noise)
}

fn named(model: &Model, name: &str) -> Variable {
    let mut quantities = directions::variables(model).into_iter();
    quantities.find(|quantity| quantity.name() == name).unwrap()
}

#[test]
fn a_gradient_that_is_wrong_is_found() {
    let model = comparable(&model_from_mjcf(BALL));
    let size = named(&model, "geoms.size");
    look(&model, |point, probe, noise| {
        let directions::Place::Model(_, range) = &size.place else {
            panic!("sizes are numbers of the model")
        };
        point.gradient.model[range.start + 3] *= 1.001;
        let mut sums = Sums::default();
        point.compare(&size, probe, noise, &mut sums);
        let errors = [sums.dual_error, sums.difference_error];
        let is_found = errors.iter().all(|error| (1e-4..1e-2).contains(error));
        assert!(is_found, "{errors:?}");
    });
}

#[test]
fn dual_numbers_make_the_same_step_to_the_last_bit() {
    for (name, model, mut state, _) in points() {
        let over = model.map(Varied::constant);
        let input = Input::zeros(&model);
        let over_input = Input::zeros(&over);
        let (mut data, mut over_data) = (Data::new(&model), Data::new(&over));
        for step in 0..5 {
            let mut over_state = state.map(Varied::constant);
            carom::step(&model, &mut state, &input, &mut data);
            varied::step(&over, &mut over_state, &over_input, &mut over_data);
            let same = |plain: &[f64], dual: &[Varied]| {
                let values = dual.iter().map(|number| number.value.to_bits());
                plain.iter().map(|number| number.to_bits()).eq(values)
            };
            let (rows, over_rows) = (&data.constraint.rows, &over_data.constraint.rows);
            let references = rows.iter().map(|row| row.reference_acceleration);
            let over_references = over_rows.iter().map(|row| row.reference_acceleration);
            let context = format!("{name}, step {step}");
            assert_eq!(data.solve.phase, over_data.solve.phase, "{context}");
            let jacobians = (&data.constraint.jacobian, &over_data.constraint.jacobian);
            assert!(same(jacobians.0, jacobians.1), "{context}: jacobian");
            let references = (
                references.collect::<Vec<_>>(),
                over_references.collect::<Vec<_>>(),
            );
            assert!(same(&references.0, &references.1), "{context}: references");
            assert!(
                same(&data.solve.qacc, &over_data.solve.qacc),
                "{context}: qacc"
            );
        }
    }
}

// Off by a thousandth, in everything that the repository ships.
#[test]
fn no_excuse_hides_a_gradient_that_is_off() {
    let (mut rows, mut seen, mut below) = (0, 0, 0);
    for (name, model, state, input) in points() {
        let given = Given {
            model: &model,
            state: &state,
            input: &input,
        };
        let mut noise = Noise(5);
        let (mut point, _) = Point::new(given, &mut noise, 0).unwrap();
        let mut probe = Probe::new(&model);
        point.find_edge(&mut probe, &mut noise);
        let quantities = directions::variables(&model);
        let effective = point.effective(&quantities, &mut probe, &mut noise);
        // The gradient is linear in the loss.
        point.gradient = point.gradient_by(1.001).unwrap();
        let effective = quantities.iter().zip(effective);
        for (quantity, _) in effective.filter(|(_, effective)| *effective) {
            let mut sums = Sums::default();
            point.compare(quantity, &mut probe, &mut noise, &mut sums);
            if sums.slope == 0.0 {
                continue;
            }
            if 5e-4 * sums.slope < point.least_noise() {
                below += 1;
                continue;
            }
            rows += 1;
            let error = sums.dual_error;
            assert!(error > 5e-4, "{name}: {}: {error}", quantity.name());
            // Along two directions only, whose slopes may be smaller than the largest.
            if sums.difference_error > DIFFERENCE_BAR {
                seen += 1;
            } else {
                let Sums {
                    kinks, undecided, ..
                } = sums;
                println!(
                    "{name}: {}: {kinks} kinks, {undecided} undecided",
                    quantity.name()
                );
            }
        }
    }
    println!("{seen} of {rows} are seen by differences alone, {below} are below rounding");
    carom_testing::at_least("planted errors that duals see", rows);
    carom_testing::at_most("planted errors that differences miss", rows - seen);
    carom_testing::at_most("planted errors below rounding", below);
}

fn kink(mjcf: &str, quantity: &str) -> Option<String> {
    let model = comparable(&model_from_mjcf(mjcf));
    let quantity = named(&model, quantity);
    look(&model, |point, probe, noise| {
        point.compare(&quantity, probe, noise, &mut Sums::default())
    })
}

#[test]
fn contacts_that_begin_are_named() {
    // On the floor, so that every difference reaches down to it.
    let kink = kink(&BALL.replace("0.099", "0.1"), "state.qpos").unwrap_or_default();
    assert!(kink.contains("'floor' and 'ball'"), "{kink}");
}

/// Controls and a sensor with delays of every interpolation.
const DELAYED: &str = r#"<mujoco><option timestep=".01"/>
  <worldbody>
    <body> <joint name="a" axis="0 1 0" damping=".3"/> <geom type="capsule" fromto="0 0 0 .3 0 -.2" size=".05"/>
      <body pos=".3 0 -.2"> <joint name="b" axis="1 1 0"/> <geom size=".1" pos=".1 .2 0"/> </body> </body>
  </worldbody>
  <actuator>
    <motor joint="a" nsample="4" delay=".017"/>
    <motor joint="b" nsample="5" delay=".023" interp="linear" ctrlrange="-.3 .3"/>
    <position joint="b" nsample="5" delay=".026" interp="cubic" kp="3"/>
  </actuator>
  <sensor> <jointvel joint="b" nsample="3" interval=".033 -.011" interp="linear"/> </sensor></mujoco>"#;

#[test]
fn delays_and_the_past_agree() {
    let settings = Settings {
        states: 2,
        ..Settings::default()
    };
    let report = check(&model_from_mjcf(DELAYED), settings).unwrap();
    for name in ["state.history", "input.ctrl", "actuators.delay"] {
        let row = report.rows.iter().find(|row| row.quantity == name);
        let row = row.unwrap_or_else(|| panic!("no row for {name}"));
        assert!(row.dual_error < 1e-10, "{row:?}");
        assert!(row.difference_error < 1e-6, "{row:?}");
    }
}

#[test]
fn slopes_that_jump_are_found() {
    // Both geoms have the same friction, of which the greater counts.
    let sliding = BALL.replace("<freejoint/>", r#"<joint type="slide" axis="1 0 -1"/>"#);
    let kink = kink(&sliding, "geoms.friction").unwrap_or_default();
    assert!(kink.contains("the slope jumps"), "{kink}");
}

#[test]
fn equalities_that_share_loads_have_gradients() {
    let model = model_from_mjcf(
        r#"<mujoco><worldbody><geom type="plane" size="2 2 1" friction="0.3"/>
          <body name="ball" pos="0 0 0.098"><freejoint/><geom size="0.1" friction="0.4"/><site name="ball" pos="0 0 0.1"/></body>
          <body name="arm" pos="0.4 0 0.3"><joint name="a" axis="0 1 0" damping="0.1"/><geom size="0.05" pos="0.1 0 0"/>
            <body name="hand" pos="0.3 0 0"><joint name="b" axis="0 1 0.2"/><joint name="c" type="slide" axis="1 0 0"/>
              <geom size="0.1" pos="0.1 0.1 0"/></body></body>
          <body name="box" pos="-0.6 0.1 0.5"><freejoint/><geom type="box" size="0.1 0.2 0.1"/></body></worldbody>
          <equality><weld body1="arm"/><connect body1="hand" body2="box" anchor="0 0.1 0"/>
            <connect body1="hand" body2="box" anchor="0.1 0.1 0"/><joint joint1="a"/></equality>
          <custom><text name="carom/contact" data="law=complementarity; restitution=0.3; mixing=1e-2"/></custom></mujoco>"#,
    );
    let settings = Settings {
        states: 1,
        steps_between: 3,
        ..Settings::default()
    };
    let report = check(&model, settings).unwrap();
    for row in &report.rows {
        // Products of inertia move by one: terms as large cancel.
        assert!(row.dual_error < 1e-7, "{row:?}");
    }
}
