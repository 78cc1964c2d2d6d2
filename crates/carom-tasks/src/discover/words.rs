//! What laws are called.

use super::library::{Factor, Form, Unit};
use super::moments::Fitted;
use super::select::{Laws, Question};
use super::targets::{Kind, Place, Target, Variable};
use crate::evaluate::figure;

/// A number of a law.
#[derive(Clone, Debug, PartialEq)]
pub struct Number {
    /// What it is: `damping`.
    pub name: String,
    /// Its value.
    pub value: f64,
    /// Its standard error, where it is a factor of a function.
    pub error: Option<f64>,
    /// Its unit.
    pub unit: String,
}

/// A force that a model lacks.
#[derive(Clone, Debug, PartialEq)]
pub struct Term {
    /// Where it acts: `joint.elbow.force`.
    pub target: String,
    /// What it depends on: `joint.elbow.velocity`.
    pub inputs: Vec<String>,
    /// The law in short: `dry friction of 0.079 N·m`.
    pub reading: String,
    /// As a formula.
    pub formula: String,
    /// All of it in a sentence.
    pub sentence: String,
    /// The numbers of the law.
    pub numbers: Vec<Number>,
    /// What to write into the model file to have it, where there is an attribute or a text for it.
    pub remedy: Option<String>,
    /// Root mean square of the force.
    pub force: f64,
    /// Its share in all that the model fails to predict, where it was not fitted.
    pub share: f64,
    /// Part of the blocks of the recordings that are predicted better with it.
    pub better_in: f64,
}

/// A function with its coefficients.
struct Part<'a> {
    unit: &'a Unit,
    coefficients: Vec<f64>,
    errors: Vec<f64>,
}

/// The laws that were found, target by target.
pub(super) fn terms(question: &Question<'_>, laws: &Laws) -> Vec<Term> {
    let fitted = laws.moments.fit();
    let errors = laws.moments.errors(&fitted, question.measured.len());
    let nothing: f64 = question.nothing().left.iter().sum();
    let noise: f64 = laws.left.iter().sum();
    (0..question.targets.len())
        .filter_map(|target| {
            let mut next = 0;
            let mut parts = Vec::new();
            for placed in &laws.placed {
                let count = placed.unit.columns();
                if placed.target == target {
                    parts.push(Part {
                        unit: &placed.unit,
                        coefficients: fitted.coefficients[next..next + count].to_vec(),
                        errors: errors[next..next + count].to_vec(),
                    });
                }
                next += count;
            }
            (!parts.is_empty()).then(|| {
                let without = laws.kept(|placed| placed.target != target);
                let better = laws
                    .left
                    .iter()
                    .zip(&without.left)
                    .filter(|(with, without)| with < without);
                Term {
                    share: (without.left.iter().sum::<f64>() - noise)
                        / (nothing - noise).max(f64::MIN_POSITIVE),
                    better_in: better.count() as f64 / laws.left.len().max(1) as f64,
                    ..term((question, laws, &fitted), target, &parts)
                }
            })
        })
        .collect()
}

fn term(
    (question, laws, fitted): (&Question<'_>, &Laws, &Fitted),
    index: usize,
    parts: &[Part<'_>],
) -> Term {
    let (target, variables) = (&question.targets[index], question.variables);
    let inputs: Vec<&Variable> = (Question::inputs(laws, index).iter())
        .map(|&k| &variables[k])
        .collect();
    let speaker = Speaker { target, variables };
    let formula = speaker.formula(parts);
    let mut numbers = Vec::new();
    let (mut readings, mut remedies) = (Vec::new(), Vec::new());
    for said in speaker.read(parts, &mut numbers) {
        readings.push(said.0);
        remedies.extend(said.1);
    }
    let reading = readings.join(" and ");
    let words: Vec<String> = inputs.iter().map(|input| input.words(target)).collect();
    let needs = match words.as_slice() {
        [] => "is off by a constant".to_owned(),
        [one] => format!("needs {one}, nothing else"),
        [others @ .., last] => format!("needs {} and {last}, nothing else", others.join(", ")),
    };
    let remedy = (!remedies.is_empty()).then(|| remedies.join("; "));
    let add = remedy.as_ref().map_or(String::new(), |remedy| {
        format!(". In the model file: {remedy}")
    });
    Term {
        target: target.name.clone(),
        inputs: inputs.iter().map(|input| input.name.clone()).collect(),
        sentence: format!(
            "{} {needs}; it looks like {formula}: {reading}{add}",
            target.words()
        ),
        reading,
        formula,
        numbers,
        remedy,
        force: question.force(laws, fitted, index),
        share: 0.0,
        better_in: 0.0,
    }
}

struct Speaker<'a> {
    target: &'a Target,
    variables: &'a [Variable],
}

impl Speaker<'_> {
    fn factor(&self, factor: &Factor) -> String {
        let x = self.variables[factor.variable].symbol(self.target);
        match factor.form {
            Form::Linear => x,
            Form::SignedSquare => format!("{x}·|{x}|"),
            Form::Cube => format!("{x}³"),
            Form::Square => format!("{x}²"),
            Form::Size => format!("|{x}|"),
            Form::Dry(speed) => format!("tanh({x}/{})", figure(speed)),
            Form::Fall(speed, fall) => {
                format!("tanh({x}/{})·exp(−({x}/{})²)", figure(speed), figure(fall))
            }
            Form::Wave(n) => format!("sin({}{x})", times(n)),
        }
    }

    /// The sum of all functions.
    fn formula(&self, parts: &[Part<'_>]) -> String {
        let mut text = String::new();
        for (coefficient, product) in parts.iter().flat_map(|part| self.pieces(part)) {
            let sign = match (coefficient < 0.0, text.is_empty()) {
                (true, true) => "−",
                (true, false) => " − ",
                (false, true) => "",
                (false, false) => " + ",
            };
            let dot = if product.is_empty() { "" } else { "·" };
            text = format!("{text}{sign}{}{dot}{product}", figure(coefficient.abs()));
        }
        text
    }

    /// Coefficients of a function with what they are of.
    fn pieces(&self, part: &Part<'_>) -> Vec<(f64, String)> {
        let factors = &part.unit.factors;
        let symbol = |factor: &Factor| self.variables[factor.variable].symbol(self.target);
        let is_wave = |factor: &&Factor| matches!(factor.form, Form::Wave(_));
        let words: Vec<String> = match factors.iter().filter(is_wave).count() {
            0 => factors.iter().map(|one| self.factor(one)).collect(),
            1 => {
                let [sine, cosine] = [part.coefficients[0], part.coefficients[1]];
                let phase = cosine.atan2(sine);
                let sign = if phase < 0.0 { "−" } else { "+" };
                let phase = figure(phase.abs());
                let word = |factor: &Factor| match factor.form {
                    Form::Wave(n) => format!("sin({}{} {sign} {phase})", times(n), symbol(factor)),
                    _ => self.factor(factor),
                };
                let words: Vec<String> = factors.iter().map(word).collect();
                return vec![(sine.hypot(cosine), words.join("·"))];
            }
            _ => {
                let waves = ["sin", "cos"];
                let [a, b] = [symbol(&factors[0]), symbol(&factors[1])];
                let word = |k: usize| format!("{}({a})·{}({b})", waves[k % 2], waves[k / 2]);
                return (0..4).map(|k| (part.coefficients[k], word(k))).collect();
            }
        };
        vec![(part.coefficients[0], words.join("·"))]
    }

    /// Whether a factor is the velocity, position or load of the target's own joint.
    fn is_own(&self, factor: &Factor) -> bool {
        super::library::belongs(self.target, &self.variables[factor.variable])
    }

    /// What the functions are called, what to write for them, and their numbers.
    fn read(&self, parts: &[Part<'_>], numbers: &mut Vec<Number>) -> Vec<Said> {
        let single = |part: &&Part<'_>, is_meant: &dyn Fn(&Factor) -> bool| matches!(part.unit.factors.as_slice(), [one] if self.is_own(one) && is_meant(one));
        let is_dry = |one: &Factor| matches!(one.form, Form::Dry(_));
        let is_spring =
            |one: &Factor| one.form == Form::Linear && self.variables[one.variable].is_position();
        let context = Context {
            has_dry: parts.iter().any(|part| single(&part, &is_dry)),
            constant: (parts.iter())
                .find(|part| part.unit.factors.is_empty())
                .map(|part| part.coefficients[0]),
        };
        let has_spring = parts.iter().any(|part| single(&part, &is_spring));
        let mut said = Vec::new();
        for part in parts {
            let (words, attribute, own) = match part.unit.factors.as_slice() {
                [] if has_spring => continue,
                [] => {
                    let (value, unit) = (part.coefficients[0], self.target.unit());
                    let words = format!("a constant offset of {} {unit}", figure(value));
                    (
                        words,
                        None,
                        vec![named("offset", value, part.errors[0], unit)],
                    )
                }
                [one] => self.single(part, one, &context),
                factors => self.product(part, factors),
            };
            numbers.extend(own);
            said.push((words, attribute));
        }
        said.dedup();
        said
    }

    /// The name of the joint, if a joint is the target and the force acts against the input.
    fn joint_against(&self, value: f64) -> Option<&str> {
        let is_joint = matches!(self.target.place, Place::Joint { .. });
        (is_joint && value < 0.0)
            .then(|| self.target.name.split('.').nth(1))
            .flatten()
    }

    /// A function of one input.
    fn single(&self, part: &Part<'_>, one: &Factor, context: &Context) -> Read {
        let variable = &self.variables[one.variable];
        let own = self.is_own(one);
        let (value, error) = (part.coefficients[0], part.errors[0]);
        let (unit, length) = (self.target.unit(), self.target.length());
        match one.form {
            Form::Linear if variable.is_velocity() && own => {
                let per = format!("{unit}·s/{length}");
                let what = if value < 0.0 {
                    "linear damping"
                } else {
                    "negative damping"
                };
                let attribute = (self.joint_against(value))
                    .map(|joint| format!("add {} to damping of joint {joint}", figure(-value)));
                let words = format!("{what} of {} {per}", figure(-value));
                (
                    words,
                    attribute,
                    vec![named("damping", -value, error, &per)],
                )
            }
            Form::Linear if variable.is_position() && own => self.spring(value, error, context),
            Form::SignedSquare if own => {
                let per = format!("{unit}·s²/{length}²");
                let words = format!("quadratic drag of {} {per}", figure(-value));
                (
                    words,
                    None,
                    vec![named("quadratic_drag", -value, error, &per)],
                )
            }
            Form::Dry(speed) if own => {
                let friction = figure(-value);
                let attribute = self.joint_against(value).map(|joint| {
                    format!(
                        "frictionloss=\"{friction}\" on joint {joint}, or <text name=\"carom/joint/{joint}_friction\" data=\"law=stribeck; joint={joint}; coulomb_friction={friction}; static_friction={friction}; smoothing_speed={}\"/>",
                        figure(speed)
                    )
                });
                let numbers = vec![
                    named("coulomb_friction", -value, error, unit),
                    inner("smoothing_speed", speed, &format!("{length}/s")),
                ];
                (
                    format!("a dry friction of {friction} {unit}"),
                    attribute,
                    numbers,
                )
            }
            Form::Fall(_, fall) if own && context.has_dry => {
                let (excess, speed) = (figure(-value), figure(fall));
                let attribute = self.joint_against(value).map(|joint| {
                    format!("static_friction larger by {excess} and stribeck_speed={speed} in the law of joint {joint}")
                });
                let numbers = vec![
                    named("static_friction_excess", -value, error, unit),
                    inner("stribeck_speed", fall, &format!("{length}/s")),
                ];
                let words = format!("Stribeck's fall of {excess} {unit} at {speed} {length}/s");
                (words, attribute, numbers)
            }
            Form::Wave(n) => self.wave(part, one, n),
            _ => {
                let kind = if own { "a force over" } else { "a coupling to" };
                let words = format!("{kind} {}", variable.words(self.target));
                (words, None, vec![named("coefficient", value, error, "")])
            }
        }
    }

    fn spring(&self, value: f64, error: f64, context: &Context) -> Read {
        let (unit, length) = (self.target.unit(), self.target.length());
        let rest = context.constant.map_or(0.0, |constant| -constant / value);
        let per = format!("{unit}/{length}");
        let (stiffness, at) = (figure(-value), figure(rest));
        let attribute = self
            .joint_against(value)
            .map(|joint| format!("stiffness=\"{stiffness}\" springref=\"{at}\" on joint {joint}"));
        let numbers = vec![
            named("stiffness", -value, error, &per),
            inner("springref", rest, length),
        ];
        let words = format!("a spring of {stiffness} {per} with its rest at {at} {length}");
        (words, attribute, numbers)
    }

    fn wave(&self, part: &Part<'_>, one: &Factor, n: f64) -> Read {
        let variable = &self.variables[one.variable];
        let unit = self.target.unit();
        let [sine, cosine] = [part.coefficients[0], part.coefficients[1]];
        let (amplitude, phase) = (sine.hypot(cosine), cosine.atan2(sine));
        let error = part.errors[0].hypot(part.errors[1]);
        let mut numbers = vec![
            named("amplitude", amplitude, error, unit),
            inner("phase", phase, "rad"),
        ];
        let size = figure(amplitude);
        if variable.kind == Kind::Time {
            numbers.push(inner("frequency", n, "rad/s"));
            let words = format!("a periodic force of {size} {unit} at {} rad/s", figure(n));
            return (words, None, numbers);
        }
        numbers.push(inner("periods", n, "1"));
        if !self.is_own(one) {
            let words = format!(
                "a coupling to {} of {size} {unit}",
                variable.words(self.target)
            );
            return (words, None, numbers);
        }
        // −A·sin(n·q + φ) of the law is A·sin(n·q + φ + π).
        let turned = (phase + std::f64::consts::PI).rem_euclid(std::f64::consts::TAU);
        let attribute = self.joint_against(-1.0).map(|joint| {
            format!(
                "<text name=\"carom/joint/{joint}_cogging\" data=\"law=cogging; joint={joint}; cogging={size}; cogging_periods={}; cogging_phase={}\"/>",
                figure(n),
                figure(turned)
            )
        });
        let words = format!(
            "a force over the position with {} periods a turn and amplitude {size} {unit}",
            figure(n)
        );
        (words, attribute, numbers)
    }

    /// A product of functions of two inputs.
    fn product(&self, part: &Part<'_>, factors: &[Factor]) -> Read {
        let [a, b] = [&factors[0], &factors[factors.len() - 1]];
        let (x, y) = (&self.variables[a.variable], &self.variables[b.variable]);
        let words = if x.is_velocity() && y.is_load() {
            "friction that depends on the load".to_owned()
        } else if x.is_velocity() && y.is_position() {
            "damping that depends on the position".to_owned()
        } else {
            format!(
                "a product of {} and {}",
                x.words(self.target),
                y.words(self.target)
            )
        };
        let numbers = part.coefficients.iter().zip(&part.errors).enumerate();
        let numbers = numbers.map(|(k, (&value, &error))| {
            named(&format!("coefficient_{}", k + 1), value, error, "")
        });
        (words, None, numbers.collect())
    }
}

/// Words, and what to write into a model file.
type Said = (String, Option<String>);
/// The same, with numbers.
type Read = (String, Option<String>, Vec<Number>);

/// What else acts at a target.
struct Context {
    has_dry: bool,
    constant: Option<f64>,
}

/// A coefficient.
fn named(name: &str, value: f64, error: f64, unit: &str) -> Number {
    Number {
        name: name.to_owned(),
        value,
        error: Some(error),
        unit: unit.to_owned(),
    }
}

/// A number inside of a function.
fn inner(name: &str, value: f64, unit: &str) -> Number {
    Number {
        error: None,
        ..named(name, value, 0.0, unit)
    }
}

/// A factor before a symbol.
fn times(n: f64) -> String {
    if (n - 1.0).abs() < 1e-12 {
        String::new()
    } else {
        format!("{}·", figure(n))
    }
}
