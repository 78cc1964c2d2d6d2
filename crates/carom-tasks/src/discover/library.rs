//! Functions that laws are made of: products of one or two simple functions of one variable each.

use super::targets::{Kind, Place, Target, Variable};

/// Speeds of dry friction that are tried first, beside the root mean square of the velocity; the best is refined.
const SPEEDS: [f64; 7] = [0.002, 0.01, 0.03, 0.08, 0.2, 0.5, 1.2];
/// Speeds at which friction falls, in the same measure.
const FALLS: [f64; 3] = [0.06, 0.2, 0.6];
/// Highest number of periods in a turn.
const MOST_PERIODS: u32 = 24;
/// Most frequencies of a force that is periodic in time.
const MOST_FREQUENCIES: usize = 160;

/// A function of one variable.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Form {
    /// x.
    Linear,
    /// x·|x|.
    SignedSquare,
    /// x³.
    Cube,
    /// x².
    Square,
    /// |x|.
    Size,
    /// tanh(x/s).
    Dry(f64),
    /// tanh(x/s)·exp(−(x/r)²).
    Fall(f64, f64),
    /// sin(n·x) and cos(n·x).
    Wave(f64),
}

impl Form {
    /// Numbers of it that are not coefficients.
    fn numbers(self) -> Vec<f64> {
        match self {
            Self::Dry(speed) => vec![speed],
            Self::Fall(speed, fall) => vec![speed, fall],
            Self::Wave(n) => vec![n],
            _ => Vec::new(),
        }
    }

    fn columns(self) -> usize {
        if matches!(self, Self::Wave(_)) { 2 } else { 1 }
    }

    fn value(self, x: f64, column: usize) -> f64 {
        match self {
            Self::Linear => x,
            Self::SignedSquare => x * x.abs(),
            Self::Cube => x * x * x,
            Self::Square => x * x,
            Self::Size => x.abs(),
            Self::Dry(speed) => (x / speed).tanh(),
            Self::Fall(speed, fall) => (x / speed).tanh() * (-(x / fall).powi(2)).exp(),
            Self::Wave(n) if column == 0 => (n * x).sin(),
            Self::Wave(n) => (n * x).cos(),
        }
    }
}

/// A function of a variable, by its number.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Factor {
    pub(super) variable: usize,
    pub(super) form: Form,
}

/// A product of factors, with a coefficient for each of its columns. Without factors it is a constant.
#[derive(Clone, Debug, PartialEq, Default)]
pub(super) struct Unit {
    pub(super) factors: Vec<Factor>,
}

impl Unit {
    /// Its columns.
    pub(super) fn columns(&self) -> usize {
        self.factors
            .iter()
            .map(|factor| factor.form.columns())
            .product()
    }

    /// How much it takes to say it.
    pub(super) fn cost(&self) -> usize {
        let numbers: usize = self
            .factors
            .iter()
            .map(|factor| factor.form.numbers().len())
            .sum();
        self.columns() + numbers + self.factors.len()
    }

    /// Its variables, in order.
    pub(super) fn variables(&self) -> Vec<usize> {
        let mut variables: Vec<usize> = self.factors.iter().map(|factor| factor.variable).collect();
        variables.sort_unstable();
        variables.dedup();
        variables
    }

    /// The value of a column where variables have these values.
    pub(super) fn value(&self, values: impl Fn(usize) -> f64, column: usize) -> f64 {
        let mut rest = column;
        let mut value = 1.0;
        for factor in &self.factors {
            let columns = factor.form.columns();
            value *= factor.form.value(values(factor.variable), rest % columns);
            rest /= columns;
        }
        value
    }

    /// Numbers that are not coefficients and may be refined.
    pub(super) fn numbers(&self, variables: &[Variable]) -> Vec<f64> {
        let refined = |factor: &&Factor| !is_whole(factor, variables);
        let factors = self.factors.iter().filter(refined);
        factors.flat_map(|factor| factor.form.numbers()).collect()
    }

    /// The unit with other numbers.
    pub(super) fn with_numbers(&self, numbers: &[f64], variables: &[Variable]) -> Self {
        let mut unit = self.clone();
        let mut next = numbers.iter().copied();
        for factor in &mut unit.factors {
            if is_whole(factor, variables) {
                continue;
            }
            let mut number = |old: f64| next.next().unwrap_or(old);
            factor.form = match factor.form {
                Form::Dry(speed) => Form::Dry(number(speed)),
                Form::Fall(speed, fall) => {
                    let speed = number(speed);
                    Form::Fall(speed, number(fall))
                }
                Form::Wave(n) => Form::Wave(number(n)),
                other => other,
            };
        }
        unit
    }
}

/// Whether a factor repeats itself over a turn: its number of periods is whole.
fn is_whole(factor: &Factor, variables: &[Variable]) -> bool {
    matches!(factor.form, Form::Wave(_)) && variables[factor.variable].is_angle()
}

/// All functions for a target; `sizes` are root mean squares of the variables, 0 where one never changes.
pub(super) fn units(
    target: &Target,
    variables: &[Variable],
    sizes: &[f64],
    clock: Clock,
) -> Vec<Unit> {
    let one = |variable: usize, form: Form| Unit {
        factors: vec![Factor { variable, form }],
    };
    let mut units = vec![Unit::default()];
    let moving: Vec<usize> = (0..variables.len()).filter(|&k| sizes[k] > 0.0).collect();
    for &k in &moving {
        let variable = &variables[k];
        let size = sizes[k];
        units.push(one(k, Form::Linear));
        if variable.is_velocity() {
            units.extend(
                [Form::SignedSquare, Form::Cube, Form::Square, Form::Size].map(|form| one(k, form)),
            );
            units.extend(SPEEDS.map(|speed| one(k, Form::Dry(speed * size))));
            for fall in FALLS {
                units.push(one(k, Form::Fall(0.1 * fall * size, fall * size)));
            }
        }
        if variable.is_position() {
            units.extend([Form::Square, Form::Cube].map(|form| one(k, form)));
        }
        if variable.is_angle() {
            units.extend((1..=MOST_PERIODS).map(|n| one(k, Form::Wave(f64::from(n)))));
        }
        if variable.kind == Kind::Time {
            units.extend(
                clock
                    .frequencies()
                    .into_iter()
                    .map(|rate| one(k, Form::Wave(rate))),
            );
        }
    }
    for (place, &first) in moving.iter().enumerate() {
        for &second in &moving[place + 1..] {
            if belongs(target, &variables[first])
                || belongs(target, &variables[second])
                || moving.len() <= 10
            {
                units.extend(products((first, second), variables, sizes));
            }
        }
    }
    units
}

/// Whether a variable is of the target's own element.
pub(super) fn belongs(target: &Target, variable: &Variable) -> bool {
    match target.place {
        Place::Joint { joint, .. } => variable.joint() == Some(joint),
        Place::Body { body, .. } => {
            matches!(variable.kind, Kind::BodyVelocity { body: of, .. } | Kind::Up { body: of, .. } if of == body)
        }
    }
}

/// Products of functions of two variables.
fn products((first, second): (usize, usize), variables: &[Variable], sizes: &[f64]) -> Vec<Unit> {
    let unit = |[a, b]: [(usize, Form); 2]| Unit {
        factors: [a, b]
            .map(|(variable, form)| Factor { variable, form })
            .to_vec(),
    };
    let mut units = Vec::new();
    for (a, b) in [(first, second), (second, first)] {
        let (x, y) = (&variables[a], &variables[b]);
        if x.is_velocity() {
            let dry = |part: f64| Form::Dry(part * sizes[a]);
            let leads = [
                Form::Linear,
                Form::SignedSquare,
                dry(0.01),
                dry(0.08),
                dry(0.4),
            ];
            if y.is_position() {
                let mut others = vec![Form::Linear, Form::Square];
                if y.is_angle() {
                    others.extend([1.0, 2.0, 3.0].map(Form::Wave));
                }
                for other in others {
                    units.extend(leads.map(|lead| unit([(a, lead), (b, other)])));
                }
            }
            if y.is_load() {
                units.extend(leads.map(|lead| unit([(a, lead), (b, Form::Size)])));
            }
            if y.is_velocity() {
                units.push(unit([(a, Form::Linear), (b, Form::Size)]));
                units.push(unit([(a, dry(0.05)), (b, Form::Size)]));
                if a < b {
                    units.push(unit([(a, Form::Linear), (b, Form::Linear)]));
                }
            }
            if y.kind == Kind::Time {
                units.push(unit([(a, Form::Linear), (b, Form::Linear)]));
            }
        }
        if a < b && x.is_position() && y.is_position() {
            units.push(unit([(a, Form::Linear), (b, Form::Linear)]));
            if x.is_angle() && y.is_angle() {
                units.push(unit([(a, Form::Wave(1.0)), (b, Form::Wave(1.0))]));
            }
        }
    }
    units
}

/// Times of the recordings.
#[derive(Clone, Copy, Debug)]
pub(super) struct Clock {
    /// Length of the longest trajectory (s).
    pub(super) span: f64,
    /// Time between frames (s).
    pub(super) gap: f64,
}

impl Clock {
    /// Frequencies that can be told apart (rad/s).
    fn frequencies(self) -> Vec<f64> {
        let step = std::f64::consts::PI / self.span.max(1e-9);
        let highest = 0.4 * std::f64::consts::PI / self.gap.max(1e-9);
        let all = (2..).map(|k| f64::from(k) * step);
        all.take_while(|rate| *rate <= highest)
            .take(MOST_FREQUENCIES)
            .collect()
    }
}
