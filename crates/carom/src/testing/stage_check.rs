//! Is the backward twin of a stage the adjoint of its forward twin?
//!
//! A stage is a function y = f(x) of the model, the state, the input and the results of other stages. At a random point x,
//! for random directions ẋ in all of these at once and a random cotangent ȳ of the results,
//!
//!   ⟨ȳ, ẏ⟩ = ⟨x̄, ẋ⟩   with ẏ from dual numbers and from central differences
//!
//! to 1e-10 and 1e-6 of the length of the vector of products, and with dual numbers to 1e-12 of the sum of their magnitudes.
//!
//! ẋ moves the results of other stages independently of each other: each stage is checked on its own. Besides, ẋ is set
//! to zero but for one group at a time (a stage's results, a family of the model, …), so that a wrong cotangent cannot
//! hide behind large ones, and the group is named.

mod directions;
mod pairing;
mod points;
mod shared;

pub(crate) use directions::{
    groups, keep_only, moved_along, random_direction, two_sided, with_direction,
};
pub(crate) use pairing::pair_inputs;
pub(crate) use points::{check_random, constrained_points, points, points_and, random_point};

use carom_testing::at_most;

use directions::random_result_bar;
use pairing::pair_results;

use super::Random;
use crate::cotangent::Cotangents;
use crate::data::Data;
use crate::dynamics::At;
use crate::model::Model;
use crate::scalar::Scalar;
use crate::stages::constraint::{Block, BlockKind};
use crate::state::{Input, State};

/// Everything that stages read, with the results of all of them.
#[derive(Clone)]
pub(crate) struct Point<T: Scalar = f64> {
    pub(crate) model: Model<T>,
    pub(crate) state: State<T>,
    pub(crate) input: Input<T>,
    pub(crate) data: Data<T>,
}

impl Point {
    pub(crate) fn at(&self) -> At<'_> {
        At {
            model: &self.model,
            state: &self.state,
            input: &self.input,
            data: &self.data,
        }
    }
}

/// No cotangents, or a direction along which nothing moves.
pub(crate) fn zeros(point: &Point) -> Cotangents {
    let mut bar = Cotangents::zeros(&point.model);
    bar.data.start(&point.data);
    bar
}

/// A stage to check: its results are those whose name is in `RESULTS`.
pub(crate) trait Stage {
    /// Name of the field of [`Data`].
    const NAME: &'static str;
    /// Whether the points checked are away from kinks, so that differences make sense.
    const DIFFERENCES: bool = true;
    /// Contact laws of the random mechanisms it is checked on.
    const LAWS: &'static [&'static str] = &super::random_mjcf::LAWS;
    fn forward<T: Scalar>(point: &mut Point<T>);
    fn backward(point: &Point, bar: &mut Cotangents);
}

/// Calls `$action!(name)` for the results of every stage.
macro_rules! for_stages {
    ($action:ident) => {
        $action!(kinematics);
        $action!(tendon);
        $action!(inertia);
        $action!(transmission);
        $action!(velocity);
        $action!(passive);
        $action!(bias);
        $action!(actuation);
        $action!(learned);
        $action!(acceleration);
        $action!(sensing);
    };
}

use for_stages;

/// The factor of M follows M; work areas carry nothing.
fn is_dependent(stage: &str, field: &str) -> bool {
    matches!(
        (stage, field),
        ("inertia", "factor" | "diagonal_inverse")
            | ("passive" | "learned", "body_force")
            | (
                "learned",
                "room" | "contact_input" | "contact_output" | "contact_excess"
            )
            | ("actuation", "law_force")
    )
}

fn is_limit(block: &Block) -> bool {
    matches!(block.kind, BlockKind::JointLimit | BlockKind::TendonLimit)
}

/// Checks a stage at a point where all stages have run and which is away from kinks, group by group.
pub(crate) fn check<S: Stage>(point: &Point) -> Tally {
    let tally = check_near_kinks::<S>(point);
    assert_eq!(tally.kinks, 0, "{}: differences do not converge", S::NAME);
    tally
}

/// As [`check`] where kinks may be near: they are counted.
pub(crate) fn check_near_kinks<S: Stage>(point: &Point) -> Tally {
    examine::<S>(point, &fine_groups(&point.model)).unwrap_or_else(|why| panic!("{why}"))
}

/// A named part of a direction, and which groups belong to it.
type Part = (&'static str, Box<dyn Fn(&str) -> bool>);

/// One part for every group of the model, and everything.
fn fine_groups(model: &Model) -> Vec<Part> {
    let part = |name: &'static str| -> Part { (name, Box::new(move |group| group == name)) };
    let mut parts: Vec<Part> = groups(model).into_iter().map(part).collect();
    parts.push(("everything", Box::new(|_| true)));
    parts
}

/// State and input, the model's numbers, and the results of other stages.
fn coarse_groups() -> Vec<Part> {
    let is_state = |group: &str| {
        matches!(
            group,
            "qpos" | "qvel" | "act" | "mocap" | "time" | "history" | "input"
        )
    };
    let is_model = |group: &str| group.starts_with("model.");
    vec![
        ("state and input", Box::new(is_state)),
        ("the model", Box::new(is_model)),
        (
            "other stages",
            Box::new(move |group| !is_state(group) && !is_model(group)),
        ),
    ]
}

/// Compares along the parts of one random direction; the first disagreement is an error.
fn examine<S: Stage>(point: &Point, parts: &[Part]) -> Result<Tally, String> {
    let mut random = Random::new(0x00C0_FFEE);
    let result_bar = random_result_bar::<S>(point, &mut random);
    let mut bar = result_bar.clone();
    S::backward(point, &mut bar);
    let direction = random_direction::<S>(point, &mut random);
    let mut tally = Tally::default();
    for (name, belongs) in parts {
        let mut part = direction.clone();
        keep_only(&mut part, belongs);
        if is_still::<S>(&part) {
            continue;
        }
        compare::<S>(point, &result_bar, &bar, &part, &mut tally)
            .map_err(|why| format!("{} by {name}: {why}", S::NAME))?;
    }
    Ok(tally)
}

/// Whether nothing moves along a direction.
pub(super) fn is_still<S: Stage>(direction: &Cotangents) -> bool {
    pair_inputs::<S>(direction, direction).norm == 0.0
}

/// What comparisons found.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Tally {
    /// Directions along which results move.
    pub(crate) moving: usize,
    /// Directions along which differences do not converge.
    pub(crate) kinks: usize,
    /// Points left out since they have no solution.
    pub(super) unsolved: usize,
    /// Greatest relative error to dual numbers, of their pairing, and to differences.
    pub(super) worst: [f64; 3],
}

impl Tally {
    pub(crate) fn add(&mut self, other: &Self) {
        self.moving += other.moving;
        self.kinks += other.kinks;
        self.unsolved += other.unsolved;
        for (worst, other) in self.worst.iter_mut().zip(other.worst) {
            *worst = worst.max(other);
        }
    }

    /// Fails if the comparisons say nothing: few results moved, or more directions led over kinks, or more points were left
    /// out, than are recorded for these `models`.
    #[track_caller]
    pub(crate) fn assert_telling(&self, name: &str, models: &str, least: usize) {
        let [duals, pairing, differences] = self.worst;
        println!(
            "{name}: {} directions, {} with kinks, {} points unsolved, worst errors: duals {duals:.1e}, pairing {pairing:.1e}, differences {differences:.1e}",
            self.moving, self.kinks, self.unsolved
        );
        assert!(
            self.moving >= least,
            "{name}: only {} directions move anything",
            self.moving
        );
        at_most(&format!("kinks of {name}, {models}"), self.kinks);
        at_most(
            &format!("unsolved points of {name}, {models}"),
            self.unsolved,
        );
    }
}

/// Steps of differences: where numbers are small (inertias of balls) or large, the first ones are not the best.
const STEPS: [f64; 4] = [1e-6, 1e-7, 1e-5, 1e-8];

fn compare<S: Stage>(
    point: &Point,
    result_bar: &Cotangents,
    bar: &Cotangents,
    direction: &Cotangents,
    tally: &mut Tally,
) -> Result<(), String> {
    let backward = pair_inputs::<S>(bar, direction);
    let mut dual = with_direction(point, direction);
    S::forward(&mut dual);
    let forward = pair_results::<S, _>(&result_bar.data, &dual.data, |number| number.tangent[0])
        .ok_or("results appear or vanish")?;
    let scale = 1e-3 + forward.norm.max(backward.norm);
    let difference = (forward.sum - backward.sum).abs();
    let error = difference / scale;
    let pairing = difference / (1e-3 + forward.magnitude.max(backward.magnitude));
    tally.moving += usize::from(forward.norm > 0.0);
    tally.worst[0] = tally.worst[0].max(error);
    tally.worst[1] = tally.worst[1].max(pairing);
    if error.is_nan() || error >= 1e-10 || pairing >= 1e-12 {
        return Err(format!(
            "backward {:e}, duals {:e}, relative error {error:e}, of the pairing {pairing:e}",
            backward.sum, forward.sum
        ));
    }
    if !S::DIFFERENCES {
        return Ok(());
    }
    let direction = two_sided(point, direction);
    let backward = pair_inputs::<S>(bar, &direction).sum;
    let values = pair_results::<S, _>(&result_bar.data, &point.data, |number| number)
        .ok_or("results appear or vanish")?
        .norm;
    let scale = scale + values * 1e-2;
    let mut quotients: Vec<f64> = Vec::new();
    for step in STEPS {
        // Two step sizes cancel the quadratic error, which is large where numbers are small.
        let quotient = |step| central_difference::<S>(point, result_bar, &direction, step);
        let (Some(coarse), Some(fine)) = (quotient(step), quotient(0.5 * step)) else {
            continue;
        };
        let found = (4.0 * fine - coarse) / 3.0;
        let error = (found - backward).abs() / scale;
        if error < 1e-6 {
            tally.worst[2] = tally.worst[2].max(error);
            return Ok(());
        }
        quotients.push(found);
    }
    // Differences know better if they agree with each other, and see no kink: there the slopes of both sides differ by
    // much the same however small the step.
    let agree = |pair: &[f64]| (pair[0] - pair[1]).abs() < 1e-6 * scale;
    let is_sure = quotients.is_empty() || quotients.windows(2).any(agree);
    let off = |least: f64, found: &f64| least.min((found - backward).abs());
    let off = quotients.iter().fold(f64::INFINITY, off);
    let [near, far] = [1e-7, 1e-6].map(|step| jump::<S>(point, result_bar, &direction, step));
    let is_smooth = near < 1e-3 * off || near < 0.3 * far && far < 0.5 * off;
    if is_sure && is_smooth {
        return Err(format!("backward {backward:e}, differences {quotients:?}"));
    }
    tally.kinks += 1;
    Ok(())
}

/// The difference between the slopes ahead and behind.
fn jump<S: Stage>(
    point: &Point,
    result_bar: &Cotangents,
    direction: &Cotangents,
    step: f64,
) -> f64 {
    let value = |step: f64| {
        let mut moved = moved_along(point, direction, step);
        S::forward(&mut moved);
        let paired = pair_results::<S, _>(&result_bar.data, &moved.data, |number| number);
        paired.map_or(f64::INFINITY, |pairing| pairing.sum)
    };
    ((value(step) - 2.0 * value(0.0) + value(-step)) / step).abs()
}

/// The derivative of ⟨ȳ, y⟩ along a direction by differences; none if results appear or vanish.
fn central_difference<S: Stage>(
    point: &Point,
    result_bar: &Cotangents,
    direction: &Cotangents,
    step: f64,
) -> Option<f64> {
    let [ahead, behind] = [step, -step].map(|step| {
        let mut moved = moved_along(point, direction, step);
        S::forward(&mut moved);
        pair_results::<S, _>(&result_bar.data, &moved.data, |number| number)
    });
    Some((ahead?.sum - behind?.sum) / (2.0 * step))
}

/// Declares the tests of a stage, on points of its own and on random mechanisms, and `Checked` for those on the shared
/// models; `forward` and `backward` as in [`Stage`]. The laws are those of the random mechanisms, all unless given.
macro_rules! check_stage {
    ($name:ident, |$point:ident| $forward:expr, |$at:ident, $bar:ident| $backward:expr) => {
        $crate::testing::stage_check::check_stage!(
            $name,
            $crate::testing::stage_check::points(),
            |$point| $forward,
            |$at, $bar| $backward
        );
    };
    ($name:ident, $points:expr, |$point:ident| $forward:expr, |$at:ident, $bar:ident| $backward:expr) => {
        $crate::testing::stage_check::check_stage!(
            $name,
            &$crate::testing::random_mjcf::LAWS,
            $points,
            |$point| $forward,
            |$at, $bar| $backward
        );
    };
    ($name:ident, $laws:expr, $points:expr, |$point:ident| $forward:expr, |$at:ident, $bar:ident| $backward:expr) => {
        /// The stage and its twin.
        pub(crate) struct Checked;

        impl $crate::testing::stage_check::Stage for Checked {
            const NAME: &'static str = stringify!($name);
            const LAWS: &'static [&'static str] = $laws;
            fn forward<T: $crate::scalar::Scalar>(
                $point: &mut $crate::testing::stage_check::Point<T>,
            ) {
                $forward
            }
            fn backward(
                $at: &$crate::testing::stage_check::Point,
                $bar: &mut $crate::cotangent::Cotangents,
            ) {
                $backward
            }
        }

        #[test]
        fn backward_is_the_adjoint_of_forward() {
            for (name, point) in $points {
                println!("{name}");
                $crate::testing::stage_check::check::<Checked>(&point);
            }
        }

        #[test]
        fn backward_is_the_adjoint_of_forward_in_random_mechanisms() {
            $crate::testing::stage_check::check_random::<Checked>();
        }
    };
}

pub(crate) use check_stage;
