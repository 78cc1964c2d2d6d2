//! Checks that several modules share.

use carom_spec::Diagnostic;
use carom_spec::model_spec::ModelSpec;
use carom_spec::span::Span;

use super::report::{Checked, Report, called, code};
use crate::model::{Family, Model, Quantity};

impl Checked<'_> {
    /// Reports numbers that are not finite; true when all are.
    pub(super) fn finite(&mut self, attribute: &str, numbers: &[f64]) -> bool {
        let all = numbers.iter().all(|number| number.is_finite());
        if !all {
            self.error(
                code::BAD_NUMBER,
                format!("{attribute} of {self} is not finite"),
            );
        }
        all
    }

    /// As [`Self::finite`], for several attributes.
    pub(super) fn all_finite(&mut self, attributes: &[(&str, &[f64])]) -> bool {
        let finite = |all: bool, (attribute, numbers): &(&str, &[f64])| {
            self.finite(attribute, numbers) && all
        };
        attributes.iter().fold(true, finite)
    }

    /// Decides whether a range limits: as the file says, or by the presence of a range.
    ///
    /// `autolimits="false"` makes a range without a word on whether it limits ambiguous, which is an error.
    pub(super) fn is_limited(
        &mut self,
        attribute: &str,
        limited: Option<bool>,
        range: [f64; 2],
        auto_limits: bool,
    ) -> bool {
        let given = range != [0.0, 0.0];
        if limited.is_none() && !auto_limits && given {
            self.error_help(
                code::RANGE,
                format!("{self} has {attribute}range but does not say whether it limits"),
                format!("set {attribute}limited, or compiler autolimits=\"true\""),
            );
        }
        let [low, high] = range;
        let is_ordered = low < high;
        let limits = limited.unwrap_or(is_ordered);
        if limited.is_none() && given && !is_ordered {
            self.warning(
                code::RANGE,
                format!("{attribute}range of {self} is empty, so it does not limit"),
            );
        }
        if limits && !is_ordered {
            self.error_help(
                code::RANGE,
                format!("{attribute}range of {self} is empty: {low} to {high}"),
                "the first number must be smaller than the second",
            );
        }
        limits
    }
}

/// Reports computed numbers that are not finite, one a field; true when there are none.
///
/// Every number of the file is finite by now, but products of very large or very small ones need not be. Ranges may be
/// infinite.
pub(super) fn results_are_finite(spec: &ModelSpec, model: &Model, report: &mut Report) -> bool {
    let mut bad: Vec<(Quantity, usize)> = Vec::new();
    model.for_each(|quantity, element, _, number| {
        let is_new = bad.last().is_none_or(|last| last.0 != quantity);
        let is_bad = if quantity.row().may_be_infinite {
            number.is_nan()
        } else {
            !number.is_finite()
        };
        if is_bad && is_new {
            bad.push((quantity, element));
        }
    });
    for &(quantity, element) in &bad {
        let (name, span) = element_of(spec, quantity.family(), element);
        let field = quantity.row().field.replace('_', " ");
        let message = format!("{field} of {name} is not finite");
        let diagnostic = Diagnostic::error(code::BAD_NUMBER, message)
            .help("some numbers are too large or too small to compute with");
        report.push(match span {
            Some(span) => diagnostic.at(span),
            None => diagnostic,
        });
    }
    bad.is_empty()
}

/// How an element of a family of numbers is called, and where it is.
fn element_of(spec: &ModelSpec, family: Family, element: usize) -> (String, Option<Span>) {
    macro_rules! find {
        ($kind:literal, $elements:expr) => {
            ($elements.nth(element)).map(|found| (called($kind, &found.name), Some(found.span)))
        };
    }
    let mut bodies = spec.bodies.iter();
    let found = match family {
        Family::Bodies => find!("body", bodies),
        Family::Joints => find!("joint", bodies.flat_map(|body| &body.joints)),
        Family::Geoms => find!("geom", bodies.flat_map(|body| &body.geoms)),
        Family::Sites => find!("site", bodies.flat_map(|body| &body.sites)),
        Family::Cameras => find!("camera", bodies.flat_map(|body| &body.cameras)),
        Family::Equalities => find!("equality constraint", spec.equalities.iter()),
        Family::Tendons => find!("tendon", spec.tendons.iter()),
        Family::Actuators => find!("actuator", spec.actuators.iter()),
        Family::Sensors => find!("sensor", spec.sensors.iter()),
        _ => None,
    };
    found.unwrap_or_else(|| (family.name().replace('_', " "), None))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whether the range limits, and the messages of the check.
    fn outcome(limited: Option<bool>, range: [f64; 2], auto_limits: bool) -> (bool, Vec<String>) {
        let mut report = Report::default();
        let mut actuator = report.checked("actuator", "a", Span::default());
        let limits = actuator.is_limited("ctrl", limited, range, auto_limits);
        let messages = report.into_diagnostics().into_iter().map(|d| d.message);
        (limits, messages.collect())
    }

    #[test]
    fn a_missing_switch_follows_the_range() {
        assert_eq!(outcome(None, [0.0; 2], true), (false, vec![]));
        assert_eq!(outcome(None, [-1.0, 1.0], true), (true, vec![]));
        // As in MuJoCo an inverted range without a switch is no limit and no error, but it is worth a word.
        let (limits, messages) = outcome(None, [1.0, -1.0], true);
        assert!(!limits);
        assert_eq!(
            messages,
            ["ctrlrange of actuator 'a' is empty, so it does not limit"]
        );
        assert_eq!(outcome(Some(false), [-1.0, 1.0], false), (false, vec![]));
    }

    #[test]
    fn empty_ranges_and_forgotten_switches_are_errors() {
        let (_, messages) = outcome(Some(true), [0.0; 2], true);
        assert_eq!(messages, ["ctrlrange of actuator 'a' is empty: 0 to 0"]);
        let (_, messages) = outcome(None, [-1.0, 1.0], false);
        assert_eq!(
            messages,
            ["actuator 'a' has ctrlrange but does not say whether it limits"]
        );
    }
}
