//! Experiment: what a gradient costs by the reverse pass, by dual numbers and by differences [Heiden 2021, Fig. 5].
//!
//! Three functions of many numbers with one result: a network by its 175 weights; the last angle of five links that fall onto the ground
//! under complementarity contact, 5,000 steps; and that of a double pendulum, 500 steps, both by all initial angles and speeds. All ways are
//! taken in turns, and medians of CPU times compared. Duals carry six directions at once, differences are centred.
//!
//! `cargo xtask bench --set neuralsim` runs this beside the wheel of Tiny Differentiable Simulator; by itself
//! `cargo run --release -p carom-tasks --example gradient_timing` prints a table. With `-- --json`, one line a case for the harness.
#![allow(
    clippy::print_stdout,
    reason = "the figures are what the experiment is for"
)]

#[path = "../../carom/examples/common/mod.rs"]
mod common;

use std::error::Error;
use std::fmt::Write as _;

use carom::parameters::Parameters;
use carom::rollout::{Controls, RolloutBar, rollout};
use carom::varied::{self, Varied};
use carom::{Data, Input, Model, State};
use carom_form::{Activation, Bars, Core, Form, Mlp, Numbers};
use carom_optimise::random::Random;
use cpu_time::ProcessTime;

/// Half a centred difference.
const STEP: f64 = 1e-6;
/// How far ways to the same gradient may be apart: reverse from duals, relative to the largest entry.
const AGREE: f64 = 1e-8;

/// A way to a gradient.
type Way<'a> = Box<dyn FnMut() -> Vec<f64> + 'a>;

/// A case: its name, and three ways to one gradient.
struct Case<'a> {
    name: &'static str,
    size: usize,
    /// What a peer needs to know of a motion, as more of a JSON object.
    motion: String,
    ways: [Way<'a>; 3],
}

fn main() -> Result<(), Box<dyn Error>> {
    let as_json = std::env::args().any(|argument| argument == "--json");
    // The harness makes rounds of its own.
    let rounds = if common::is_quick() || as_json { 3 } else { 9 };
    let (falling, swinging) = (
        common::model_from_text(chain(5, true))?,
        common::model_from_text(chain(2, false))?,
    );
    let mut rows = Vec::new();
    let steps = if common::is_quick() { 500 } else { 5000 };
    let cases = [
        network(),
        motion(
            "five links that fall",
            &falling,
            &[0.1, 0.2, -0.3, 0.2, 0.4],
            steps,
        )?,
        motion("double pendulum", &swinging, &[0.6, -0.4], 500)?,
    ];
    for mut case in cases {
        let mut times = [Vec::new(), Vec::new(), Vec::new()];
        let mut found = [Vec::new(), Vec::new(), Vec::new()];
        for _ in 0..rounds {
            for (way, (times, found)) in case.ways.iter_mut().zip(times.iter_mut().zip(&mut found))
            {
                let begin = ProcessTime::now();
                *found = way();
                times.push(begin.elapsed().as_secs_f64() * 1e6);
            }
        }
        let size = found[1].iter().fold(0.0, |most: f64, x| most.max(x.abs()));
        let apart = |other: &[f64]| {
            let pairs = found[1].iter().zip(other);
            pairs.fold(0.0, |most: f64, (a, b)| most.max((a - b).abs() / size))
        };
        let (exact, differences) = (apart(&found[0]), apart(&found[2]));
        let [reverse, duals, by_differences] = times.map(common::median);
        if as_json {
            println!(
                r#"{{"case": "{}", "numbers": {}, "reverse_us": {reverse}, "duals_us": {duals}, "differences_us": {by_differences}{}}}"#,
                case.name, case.size, case.motion
            );
        }
        rows.push(vec![
            case.name.to_owned(),
            case.size.to_string(),
            format!("{reverse:.1}"),
            format!("{:.2}", duals / reverse),
            format!("{:.2}", by_differences / reverse),
            format!("{exact:.1e}"),
            format!("{differences:.1e}"),
        ]);
        if exact.is_nan() || exact > AGREE {
            return Err(format!("{}: reverse is {exact:e} from duals", case.name).into());
        }
    }
    if !as_json {
        let head = [
            "gradient",
            "numbers",
            "reverse µs",
            "duals ×",
            "differences ×",
            "reverse off",
            "differences off",
        ];
        common::print_table(&head, &rows, 1);
    }
    Ok(())
}

/// A network of 175 weights.
fn network() -> Case<'static> {
    let form = Form::new(Core::Mlp(Mlp::new(6, &[12], 7, Activation::Tanh)));
    let mut random = Random::new(1, 0);
    let (weights, inputs) = (random.normals(form.weights()), random.normals(6));
    let constants = form.plain_constants();
    let (size, outputs) = (form.weights(), form.outputs());
    let reverse = {
        let (form, weights, inputs, constants) = (
            form.clone(),
            weights.clone(),
            inputs.clone(),
            constants.clone(),
        );
        move || {
            let (mut gradient, mut of_inputs, mut of_constants) =
                (vec![0.0; size], vec![0.0; 6], vec![0.0; constants.len()]);
            let numbers = Numbers {
                weights: &weights,
                constants: &constants,
            };
            let mut bars = Bars {
                inputs: &mut of_inputs,
                weights: &mut gradient,
                constants: &mut of_constants,
            };
            let mut room = vec![0.0; form.room()];
            form.vjp(&inputs, numbers, &vec![1.0; outputs], &mut bars, &mut room);
            gradient
        }
    };
    let duals = {
        let (form, weights, inputs, constants) = (
            form.clone(),
            weights.clone(),
            inputs.clone(),
            constants.clone(),
        );
        move || {
            let inputs: Vec<Varied> = inputs.iter().map(|&x| Varied::from(x)).collect();
            let constants: Vec<Varied> = constants.iter().map(|&x| Varied::from(x)).collect();
            let (mut wide, mut room) = (
                vec![Varied::from(0.0); size],
                vec![Varied::from(0.0); form.room()],
            );
            let (mut gradient, mut out) = (Vec::new(), vec![Varied::from(0.0); outputs]);
            for first in (0..size).step_by(varied::LANES) {
                seed(&weights, first, &mut wide);
                let numbers = Numbers {
                    weights: &wide,
                    constants: &constants,
                };
                form.value(&inputs, numbers, &mut out, &mut room);
                let lanes = varied::LANES.min(size - first);
                gradient.extend(
                    (0..lanes).map(|lane| out.iter().map(|y| y.tangent[lane]).sum::<f64>()),
                );
            }
            gradient
        }
    };
    let differences = move || {
        let (mut out, mut room) = (vec![0.0; outputs], vec![0.0; form.room()]);
        let value = |weights: &[f64]| {
            form.value(
                &inputs,
                Numbers {
                    weights,
                    constants: &constants,
                },
                &mut out,
                &mut room,
            );
            out.iter().sum::<f64>()
        };
        centred(&weights, value)
    };
    Case {
        name: "network of 175 weights",
        size,
        motion: String::new(),
        ways: [Box::new(reverse), Box::new(duals), Box::new(differences)],
    }
}

/// The last coordinate of a motion by all of its initial coordinates and speeds.
fn motion<'a>(
    name: &'static str,
    model: &'a Model,
    angles: &[f64],
    steps: usize,
) -> Result<Case<'a>, Box<dyn Error>> {
    let mut start = State::reference(model);
    start.qpos[..angles.len()].copy_from_slice(angles);
    let none = Parameters::select(model, &[] as &[&str])?;
    let wide_model = varied::model(&none, &[])?;
    let n = model.counts().nv;
    let last = n - 1;
    let reverse = {
        let start = start.clone();
        let mut data = Data::new(model);
        move || {
            let trajectory = rollout(model, &start, &Controls::Zero, steps, &mut data);
            let mut loss = RolloutBar::zeros(&trajectory);
            loss.qpos_mut(steps)[last] = 1.0;
            let gradient = trajectory.backward(model, &Controls::Zero, &mut loss);
            gradient.map_or_else(
                |_| vec![f64::NAN; 2 * n],
                |gradient| [gradient.start.qpos, gradient.start.qvel].concat(),
            )
        }
    };
    let numbers = [&start.qpos[..], &start.qvel[..]].concat();
    let duals = {
        let (start, numbers) = (start.clone(), numbers.clone());
        let mut data = varied::data(&wide_model);
        let input = Input::zeros(&wide_model);
        move || {
            let mut gradient = Vec::new();
            for first in (0..2 * n).step_by(varied::LANES) {
                let mut state = start.map(Varied::from);
                let mut wide = vec![Varied::from(0.0); 2 * n];
                seed(&numbers, first, &mut wide);
                state.qpos.copy_from_slice(&wide[..n]);
                state.qvel.copy_from_slice(&wide[n..]);
                for _ in 0..steps {
                    varied::step(&wide_model, &mut state, &input, &mut data);
                }
                let lanes = varied::LANES.min(2 * n - first);
                gradient.extend(&state.qpos[last].tangent[..lanes]);
            }
            gradient
        }
    };
    let differences = {
        let (mut data, input) = (Data::new(model), Input::zeros(model));
        move || {
            let value = |numbers: &[f64]| {
                let mut state = start.clone();
                state.qpos.copy_from_slice(&numbers[..n]);
                state.qvel.copy_from_slice(&numbers[n..]);
                for _ in 0..steps {
                    carom::step(model, &mut state, &input, &mut data);
                }
                state.qpos[last]
            };
            centred(&numbers, value)
        }
    };
    Ok(Case {
        name,
        size: 2 * n,
        motion: format!(
            r#", "angles": {angles:?}, "steps": {steps}, "ground": {}"#,
            model.counts().ngeom > angles.len()
        ),
        ways: [Box::new(reverse), Box::new(duals), Box::new(differences)],
    })
}

/// The numbers, of which those from `first` on are the directions.
fn seed(numbers: &[f64], first: usize, wide: &mut [Varied]) {
    for (place, (wide, &number)) in wide.iter_mut().zip(numbers).enumerate() {
        *wide = match place.checked_sub(first) {
            Some(lane) if lane < varied::LANES => Varied::variable(number, lane),
            _ => Varied::from(number),
        };
    }
}

fn centred(numbers: &[f64], mut value: impl FnMut(&[f64]) -> f64) -> Vec<f64> {
    let mut moved = numbers.to_vec();
    let mut slope = |place: usize| {
        let mut at = |change: f64| {
            moved[place] = numbers[place] + change;
            value(&moved)
        };
        let slope = (at(STEP) - at(-STEP)) / (2.0 * STEP);
        moved[place] = numbers[place];
        slope
    };
    (0..numbers.len()).map(&mut slope).collect()
}

/// So many links that hang together, all of them points of 1 kg at their ends; over a ground that they fall onto, where their joints have
/// some damping, or free.
fn chain(links: usize, has_ground: bool) -> String {
    let mut text = String::from(
        r#"<mujoco model="chain">
  <option timestep="0.001" integrator="Euler"/>
  <custom><text name="carom/contact" data="law=complementarity"/></custom>
  <worldbody>
"#,
    );
    let mut damping = 0.0;
    if has_ground {
        // As the URDF of the five links says.
        damping = 1.0;
        text.push_str(
            "    <geom name=\"ground\" type=\"plane\" size=\"0 0 1\" pos=\"0 0 -0.6\"/>\n",
        );
    }
    for link in 0..links {
        let at = if link == 0 { "0 0 0" } else { "0 0.5 0" };
        let _ = writeln!(
            text,
            r#"    <body name="link{link}" pos="{at}"><joint name="joint{link}" axis="1 0 0" damping="{damping}"/><geom type="sphere" size="0.05" pos="0 0.5 0" mass="1" condim="3"/>"#
        );
    }
    text.push_str(&"</body>".repeat(links));
    text.push_str("\n  </worldbody>\n</mujoco>\n");
    text
}
