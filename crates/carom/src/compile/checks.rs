//! Checks that several modules share.

use carom_spec::diagnostic::Diagnostic;
use carom_spec::span::Span;

use super::report::{Report, code};
use crate::model::Model;

/// Reports numbers that are not finite; true when all are.
pub(super) fn finite(
    report: &mut Report,
    span: Span,
    element: &str,
    attribute: &str,
    numbers: &[f64],
) -> bool {
    let all = numbers.iter().all(|number| number.is_finite());
    if !all {
        report.error(
            code::BAD_NUMBER,
            span,
            format!("{attribute} of {element} is not finite"),
        );
    }
    all
}

/// Reports numbers that are not a number, one for each kind: whatever they came from, no motion follows from them.
pub(super) fn refuse_nan(model: &Model, report: &mut Report) {
    let mut last = None;
    model.for_each(|family, field, element, _, number| {
        if number.is_nan() && last != Some((family, field)) {
            last = Some((family, field));
            let message = format!("{field} of number {element} of the {family} is not a number");
            report.push(Diagnostic::error(code::BAD_NUMBER, message));
        }
    });
}

/// Decides whether a range limits: as the file says, or by the presence of a range.
///
/// `autolimits="false"` makes a range without a word on whether it limits ambiguous, which is an error.
pub(super) fn is_limited(
    limited: Option<bool>,
    range: [f64; 2],
    auto_limits: bool,
    report: &mut Report,
    (span, element, attribute): (Span, &str, &str),
) -> bool {
    let given = range != [0.0, 0.0];
    if limited.is_none() && !auto_limits && given {
        report.error_help(
            code::RANGE,
            span,
            format!("{element} has {attribute}range but does not say whether it limits"),
            format!("set {attribute}limited, or compiler autolimits=\"true\""),
        );
    }
    let is_ordered = range[0] < range[1];
    let limits = limited.unwrap_or(is_ordered);
    if limited.is_none() && given && !is_ordered {
        report.warning(
            code::RANGE,
            span,
            format!("{attribute}range of {element} is empty, so it does not limit"),
        );
    }
    if limits && !is_ordered {
        report.error_help(
            code::RANGE,
            span,
            format!(
                "{attribute}range of {element} is empty: {} to {}",
                range[0], range[1]
            ),
            "the first number must be smaller than the second",
        );
    }
    limits
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whether the range limits, and the messages of the check.
    fn outcome(limited: Option<bool>, range: [f64; 2], auto_limits: bool) -> (bool, Vec<String>) {
        let mut report = Report::default();
        let place = (Span::default(), "actuator 'a'", "ctrl");
        let limits = is_limited(limited, range, auto_limits, &mut report, place);
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
