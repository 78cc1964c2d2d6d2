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
                let without = question.kept(laws, |placed| placed.target != target);
                let better = laws.left.iter().zip(&without.left).filter(|(with, without)| with < without);
                Term {
                    share: (without.left.iter().sum::<f64>() - noise) / (nothing - noise).max(f64::MIN_POSITIVE),
                    better_in: better.count() as f64 / laws.left.len().max(1) as f64,
                    ..term((question, laws, &fitted), target, &parts)
                }
            })
        })
        .collect()
}

fn term((question, laws, fitted): (&Question<'_>, &Laws, &Fitted), index: usize, parts: &[Part<'_>]) -> Term {
    let (target, variables) = (&question.targets[index], question.variables);
    let inputs: Vec<&Variable> = (Question::inputs(laws, index).iter()).map(|&k| &variables[k]).collect();
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
    let add = remedy.as_ref().map_or(String::new(), |remedy| format!(". In the model file: {remedy}"));
    Term {
        target: target.name.clone(),
        inputs: inputs.iter().map(|input| input.name.clone()).collect(),
        sentence: format!("{} {needs}; it looks like {formula}: {reading}{add}", target.words()),
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
        for part in parts {
            let waves = part.unit.factors.iter().filter(|one| matches!(one.form, Form::Wave(_))).count();
            let pieces: Vec<(f64, String)> = match waves {
                1 => {
                    let [sine, cosine] = [part.coefficients[0], part.coefficients[1]];
                    let phase = cosine.atan2(sine);
                    let product: Vec<String> = (part.unit.factors.iter())
                        .map(|factor| match factor.form {
                            Form::Wave(n) => {
                                let x = self.variables[factor.variable].symbol(self.target);
                                let sign = if phase < 0.0 { "−" } else { "+" };
                                format!("sin({}{x} {sign} {})", times(n), figure(phase.abs()))
                            }
                            _ => self.factor(factor),
                        })
                        .collect();
                    vec![(sine.hypot(cosine), product.join("·"))]
                }
                2 => {
                    let names: Vec<String> = (part.unit.factors.iter())
                        .map(|factor| self.variables[factor.variable].symbol(self.target))
                        .collect();
                    let waves = ["sin", "cos"];
                    (0..4)
                        .map(|k| {
                            let product = format!("{}({})·{}({})", waves[k % 2], names[0], waves[k / 2], names[1]);
                            (part.coefficients[k], product)
                        })
                        .collect()
                }
                _ => {
                    let product: Vec<String> = part.unit.factors.iter().map(|one| self.factor(one)).collect();
                    vec![(part.coefficients[0], product.join("·"))]
                }
            };
            for (coefficient, product) in pieces {
                let sign = match (coefficient < 0.0, text.is_empty()) {
                    (true, true) => "−",
                    (true, false) => " − ",
                    (false, true) => "",
                    (false, false) => " + ",
                };
                let dot = if product.is_empty() { "" } else { "·" };
                text.push_str(&format!("{sign}{}{dot}{product}", figure(coefficient.abs())));
            }
        }
        text
    }

    /// Whether a factor is the velocity, position or load of the target's own joint.
    fn is_own(&self, factor: &Factor) -> bool {
        super::library::belongs(self.target, &self.variables[factor.variable])
    }

    /// What the functions are called, what to write for them, and their numbers.
    fn read(&self, parts: &[Part<'_>], numbers: &mut Vec<Number>) -> Vec<(String, Option<String>)> {
        let unit = self.target.unit();
        let joint = self.target.name.split('.').nth(1).unwrap_or_default();
        let is_joint = matches!(self.target.place, Place::Joint { .. });
        let constant = parts.iter().find(|part| part.unit.factors.is_empty());
        let spring = parts.iter().find(|part| {
            matches!(part.unit.factors.as_slice(), [one] if one.form == Form::Linear
                && self.variables[one.variable].is_position() && self.is_own(one))
        });
        let dry = parts.iter().find(|part| {
            matches!(part.unit.factors.as_slice(), [Factor { form: Form::Dry(_), .. }] if self.is_own(&part.unit.factors[0]))
        });
        let mut said = Vec::new();
        for part in parts {
            let (value, error) = (part.coefficients[0], part.errors[0]);
            let mut number = |name: &str, value: f64, error: Option<f64>, unit: String| {
                numbers.push(Number { name: name.to_owned(), value, error, unit });
            };
            let other = |factor: &Factor| self.variables[factor.variable].words(self.target);
            let one = match part.unit.factors.as_slice() {
                [] if spring.is_some() => continue,
                [] => {
                    number("offset", value, Some(error), unit.to_owned());
                    (format!("a constant offset of {} {unit}", figure(value)), None)
                }
                [one] => {
                    let variable = &self.variables[one.variable];
                    let own = self.is_own(one);
                    match one.form {
                        Form::Linear if variable.is_velocity() && own => {
                            let (name, what) = if value < 0.0 { ("damping", "linear damping") } else { ("damping", "negative damping") };
                            number(name, -value, Some(error), format!("{unit}·s"));
                            (
                                format!("{what} of {} {unit}·s", figure(-value)),
                                (is_joint && value < 0.0).then(|| format!("add {} to damping of joint {joint}", figure(-value))),
                            )
                        }
                        Form::Linear if variable.is_position() && own => {
                            number("stiffness", -value, Some(error), format!("{unit}/rad"));
                            let rest = constant.map_or(0.0, |constant| -constant.coefficients[0] / value);
                            number("springref", rest, None, "rad".to_owned());
                            (
                                format!("a spring of {} {unit}/rad with its rest at {}", figure(-value), figure(rest)),
                                (is_joint && value < 0.0).then(|| {
                                    format!("stiffness=\"{}\" springref=\"{}\" on joint {joint}", figure(-value), figure(rest))
                                }),
                            )
                        }
                        Form::SignedSquare if variable.is_velocity() && own => {
                            number("quadratic_drag", -value, Some(error), format!("{unit}·s²"));
                            (format!("quadratic drag of {} {unit}·s²", figure(-value)), None)
                        }
                        Form::Dry(speed) if own => {
                            number("coulomb_friction", -value, Some(error), unit.to_owned());
                            number("smoothing_speed", speed, None, "rad/s".to_owned());
                            (
                                format!("a dry friction of {} {unit}", figure(-value)),
                                (is_joint && value < 0.0).then(|| {
                                    format!(
                                        "frictionloss=\"{f}\" on joint {joint}, or <text name=\"carom/joint/{joint}_friction\" data=\"law=stribeck; joint={joint}; coulomb_friction={f}; static_friction={f}; smoothing_speed={}\"/>",
                                        figure(speed),
                                        f = figure(-value),
                                    )
                                }),
                            )
                        }
                        Form::Fall(_, fall) if own && dry.is_some() => {
                            number("static_friction_excess", -value, Some(error), unit.to_owned());
                            number("stribeck_speed", fall, None, "rad/s".to_owned());
                            (
                                format!("Stribeck's fall of {} {unit} at {} rad/s", figure(-value), figure(fall)),
                                is_joint.then(|| format!("law=stribeck of joint {joint} with static_friction larger by {} and stribeck_speed={}", figure(-value), figure(fall))),
                            )
                        }
                        Form::Wave(n) => {
                            let amplitude = value.hypot(part.coefficients[1]);
                            let phase = part.coefficients[1].atan2(value);
                            let spread = part.errors[0].hypot(part.errors[1]);
                            number("amplitude", amplitude, Some(spread), unit.to_owned());
                            number("phase", phase, None, "rad".to_owned());
                            if variable.kind == Kind::Time {
                                number("frequency", n, None, "rad/s".to_owned());
                                (format!("a periodic force of {} {unit} at {} rad/s", figure(amplitude), figure(n)), None)
                            } else if own {
                                number("cogging_periods", n, None, "1".to_owned());
                                // −A·sin(n·q + φ) of the law is A·sin(n·q + φ + π).
                                let turned = (phase + std::f64::consts::PI).rem_euclid(std::f64::consts::TAU);
                                (
                                    format!("a force over the position with {} periods a turn and amplitude {} {unit}", figure(n), figure(amplitude)),
                                    is_joint.then(|| format!(
                                        "<text name=\"carom/joint/{joint}_cogging\" data=\"law=cogging; joint={joint}; cogging={}; cogging_periods={}; cogging_phase={}\"/>",
                                        figure(amplitude), figure(n), figure(turned)
                                    )),
                                )
                            } else {
                                (format!("a coupling to {} of {} {unit}", other(one), figure(amplitude)), None)
                            }
                        }
                        _ => {
                            number("coefficient", value, Some(error), String::new());
                            let kind = if own { "a force over" } else { "a coupling to" };
                            (format!("{kind} {}", other(one)), None)
                        }
                    }
                }
                factors => {
                    for (k, (&value, &error)) in part.coefficients.iter().zip(&part.errors).enumerate() {
                        number(&format!("coefficient_{}", k + 1), value, Some(error), String::new());
                    }
                    let [a, b] = [&factors[0], &factors[factors.len() - 1]];
                    let (x, y) = (&self.variables[a.variable], &self.variables[b.variable]);
                    let what = if x.is_velocity() && y.is_load() {
                        "friction that depends on the load".to_owned()
                    } else if x.is_velocity() && y.is_position() {
                        "damping that depends on the position".to_owned()
                    } else {
                        format!("a product of {} and {}", other(a), other(b))
                    };
                    (what, None)
                }
            };
            said.push(one);
        }
        said.dedup();
        said
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
