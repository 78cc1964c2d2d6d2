//! Nothing moved: bits of forward steps and numbers of derivatives, as recorded before.
//!
//! Every shipped model, in every integrator and under every contact law that it admits: a hash over all bits of 1,000
//! steps, and derivatives of the ten steps after them, projected on fixed random directions. A change that is meant to
//! keep the physics must keep these. One that is not records them anew and says so:
//!
//! ```text
//! CAROM_GOLDEN=record cargo test -p carom --test it golden
//! ```
//!
//! Bits depend on the C library's sine and exponential; where those differ from the recording machine's, which a
//! fingerprint in the files tells, trajectories are compared by nothing here and the test says that it skipped them.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::PathBuf;

use carom::linearize::{self, Linearization};
use carom::rollout::{Controls, RolloutBar, rollout};
use carom::{Data, Input, Model, State};
use carom_spec::model_spec::{
    ComplementaritySpec, ContactLaw, ContactLawSpec, HuntCrossleySpec, ImpulseSpec, Integrator,
};
use carom_testing::Random;

use crate::models;

/// Steps whose bits are recorded.
const STEPS: usize = 1000;
/// Steps whose derivatives are.
const GRADIENT_STEPS: usize = 10;
/// Derivatives agree to this fraction of their own size, or of a thousandth of the largest of the same steps.
const TOLERANCE: f64 = 1e-12;

const LAWS: [&str; 4] = ["soft", "complementarity", "hunt-crossley", "impulse"];

fn law(name: &str) -> ContactLaw {
    match name {
        "soft" => ContactLaw::Soft,
        "complementarity" => ContactLaw::Complementarity(ComplementaritySpec::default()),
        "hunt-crossley" => ContactLaw::HuntCrossley(HuntCrossleySpec::default()),
        _ => ContactLaw::Impulse(ImpulseSpec::default()),
    }
}

/// A running hash over bits (FNV-1a).
struct Hash(u64);

impl Hash {
    fn new() -> Self {
        Self(0xCBF2_9CE4_8422_2325)
    }

    fn add(&mut self, numbers: &[f64]) {
        self.add_bytes((numbers.iter()).flat_map(|number| number.to_bits().to_le_bytes()));
    }

    fn add_bytes(&mut self, bytes: impl Iterator<Item = u8>) {
        for byte in bytes {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x0100_0000_01B3);
        }
    }
}

/// What the C library makes of elementary functions, on which all bits rest.
fn fingerprint() -> String {
    let (mut hash, mut random) = (Hash::new(), Random::new(7));
    for _ in 0..20_000 {
        let (x, y) = (random.between(-10.0, 10.0), random.unit());
        let results = [
            x.sin(),
            x.cos(),
            x.tan(),
            x.exp(),
            x.tanh(),
            x.atan2(y),
            y.asin(),
            y.acos(),
            y.ln(),
            y.powf(x),
        ];
        hash.add(&results);
    }
    format!("{:016x}", hash.0)
}

/// What is recorded of one model in one integrator under one law, by name; or why there is nothing.
fn record(model: &Model) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    let mut state = State::keyframe(model, 0).unwrap_or_else(|| State::reference(model));
    let mut random = Random::new(11);
    for velocity in &mut state.qvel {
        *velocity += 0.1 * random.next();
    }
    let (mut input, mut data) = (Input::zeros(model), Data::new(model));
    let mut hash = Hash::new();
    for step in 0..STEPS {
        for (actuator, control) in input.ctrl.iter_mut().enumerate() {
            *control = 0.3 * (0.01 * step as f64 + actuator as f64).sin();
        }
        let before = state.clone();
        let report = carom::step(model, &mut state, &input, &mut data);
        if report.not_finite.is_some() {
            found.insert("not_finite".into(), step.to_string());
            state = before;
            break;
        }
        hash.add(&state.qpos);
        hash.add(&state.qvel);
        hash.add(&state.act);
        hash.add(&data.sensing.values);
    }
    found.insert("bits".into(), format!("{:016x}", hash.0));
    gradient(model, &state, &input, &mut found);
    found
}

/// Derivatives of steps from a state, each projected on a random direction.
fn gradient(model: &Model, start: &State, input: &Input, found: &mut BTreeMap<String, String>) {
    let controls = Controls::Constant(input.ctrl.clone());
    let mut data = Data::new(model);
    let trajectory = rollout(model, start, &controls, GRADIENT_STEPS, &mut data);
    let (mut loss, mut random) = (RolloutBar::zeros(&trajectory), Random::new(13));
    let mut fill = |numbers: &mut [f64]| numbers.iter_mut().for_each(|x| *x = random.next());
    for step in 0..=GRADIENT_STEPS {
        fill(loss.qpos_mut(step));
        fill(loss.qvel_mut(step));
        fill(loss.act_mut(step));
    }
    let mut sums: BTreeMap<String, (f64, f64)> = BTreeMap::new();
    // Weights depend on the place alone, so that numbers which models get later leave those of others as they are.
    let mut add = |name: &str, element: usize, component: usize, number: f64| {
        let mut hash = Hash::new();
        hash.add_bytes(name.bytes());
        hash.add_bytes(
            [element, component]
                .into_iter()
                .flat_map(usize::to_le_bytes),
        );
        let sum = sums.entry(name.to_owned()).or_default();
        sum.0 += number * Random::new(hash.0).next();
        sum.1 += number * number;
    };
    match trajectory.backward(model, &controls, &mut loss) {
        Err(error) => {
            found.insert("gradient".into(), error.to_string());
        }
        Ok(gradient) => {
            (gradient.model).for_each(|quantity, element, component, number| {
                add(quantity.name(), element, component, number);
            });
            let places = [
                ("start.qpos", &gradient.start.qpos),
                ("start.qvel", &gradient.start.qvel),
                ("start.act", &gradient.start.act),
                ("controls", &gradient.controls),
            ];
            for (name, numbers) in places {
                for (place, &number) in numbers.iter().enumerate() {
                    add(name, place, 0, number);
                }
            }
        }
    }
    let mut linear = Linearization::new(model);
    linearize::step(model, start, input, &mut data, &mut linear);
    for (name, numbers) in [("a", &linear.a), ("b", &linear.b)] {
        for (place, &number) in numbers.iter().enumerate() {
            add(name, place, 0, number);
        }
    }
    for (name, (sum, squares)) in sums {
        found.insert(name, format!("{sum:e} {:e}", squares.sqrt()));
    }
}

fn file(integrator: &str) -> PathBuf {
    models::root().join(format!("crates/carom/tests/golden/{integrator}.txt"))
}

/// Everything for one integrator: (model, law) to what is recorded.
fn record_all(integrator: Integrator) -> BTreeMap<String, BTreeMap<String, String>> {
    let mut all = BTreeMap::new();
    for path in models::shipped() {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        for name_of_law in LAWS {
            let mut spec = carom_spec::read_file(&path, &[]).spec;
            spec.option.integrator = integrator;
            if name_of_law != "soft" {
                spec.contact_laws = vec![ContactLawSpec {
                    law: law(name_of_law),
                    ..ContactLawSpec::default()
                }];
            }
            let Some(model) = carom::compile::compile(&spec).0 else {
                all.insert(
                    format!("{name} {name_of_law}"),
                    BTreeMap::from([("refused".into(), "yes".into())]),
                );
                continue;
            };
            all.insert(format!("{name} {name_of_law}"), record(&model));
        }
    }
    all
}

/// Sum and size of a derivative.
fn derivative(text: &str) -> Option<[f64; 2]> {
    let (sum, size) = text.split_once(' ')?;
    Some([sum.parse().ok()?, size.parse().ok()?])
}

/// Whether two recorded values are the same: derivatives to a tolerance, everything else to the letter. `largest` is the
/// greatest size among the derivatives of the same steps; those below a thousandth of it are compared by that.
fn agree(recorded: &str, found: &str, largest: f64) -> bool {
    match (derivative(recorded), derivative(found)) {
        (Some([sum, size]), Some([found_sum, found_size])) => {
            let bound = TOLERANCE * size.max(1e-3 * largest);
            (sum - found_sum).abs() <= bound && (size - found_size).abs() <= bound
        }
        _ => recorded == found,
    }
}

/// The model and the law that a key speaks of.
fn steps_of(key: &str) -> String {
    key.split(' ').take(2).collect::<Vec<_>>().join(" ")
}

fn check(name: &str, integrator: Integrator) {
    let all = record_all(integrator);
    let mut text = format!("libm {}\n", fingerprint());
    for (model, values) in &all {
        for (value, number) in values {
            writeln!(text, "{model} {value} = {number}").unwrap();
        }
    }
    if std::env::var("CAROM_GOLDEN").is_ok_and(|value| value == "record") {
        std::fs::write(file(name), text).unwrap();
        return;
    }
    let recorded = std::fs::read_to_string(file(name)).unwrap();
    let key = |line: &'_ str| {
        line.split_once(" = ")
            .map(|(key, value)| (key.to_owned(), value.to_owned()))
    };
    let mut lines = recorded.lines();
    if lines.next() != text.lines().next() {
        carom_testing::skip(format_args!(
            "the bits of {name} were recorded with another C library"
        ));
        return;
    }
    let recorded: BTreeMap<_, _> = lines.filter_map(key).collect();
    let found: BTreeMap<_, _> = text.lines().skip(1).filter_map(key).collect();
    let mut largest: BTreeMap<String, f64> = BTreeMap::new();
    for (key, value) in &recorded {
        let size = derivative(value).map_or(0.0, |[_, size]| size);
        let most = largest.entry(steps_of(key)).or_default();
        *most = most.max(size);
    }
    let same = |key: &String, value: &String| {
        let largest = largest[&steps_of(key)];
        (found.get(key)).is_some_and(|found| agree(value, found, largest))
    };
    let moved: Vec<_> = (recorded.iter())
        .filter(|(key, value)| !same(key, value))
        .map(|(key, value)| format!("{key}: {value} -> {:?}", found.get(key)))
        .collect();
    assert!(
        moved.is_empty(),
        "{} of {} moved:\n{}",
        moved.len(),
        recorded.len(),
        moved.join("\n")
    );
    assert!(
        recorded.len() > 500,
        "only {} values are recorded",
        recorded.len()
    );
}

#[test]
fn golden_euler() {
    check("euler", Integrator::Euler);
}

#[test]
fn golden_implicit() {
    check("implicit", Integrator::Implicit);
}

#[test]
fn golden_implicitfast() {
    check("implicitfast", Integrator::ImplicitFast);
}

#[test]
fn golden_runge_kutta() {
    check("runge_kutta", Integrator::RungeKutta4);
}
