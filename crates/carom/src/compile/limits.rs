//! Ranges with a switch: `range` with `limited`, `ctrlrange` with `ctrllimited`, and so on.
//!
//! A switch left out is on when the range holds an interval. With `autolimits="false"` a range without its switch
//! is an error, so that no range is ignored by accident.

use carom_spec::span::Span;

use super::report::{Report, code};

/// A range and its switch as the file gives them.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limit {
    /// The attribute of the range.
    pub(super) range_attribute: &'static str,
    /// The attribute of the switch.
    pub(super) switch_attribute: &'static str,
    /// The switch; none when the file leaves it out.
    pub(super) switch: Option<bool>,
    /// The range; zeros when the file leaves it out.
    pub(super) range: [f64; 2],
}

impl Limit {
    /// Whether the limit is on.
    pub(super) fn is_on(&self) -> bool {
        self.switch.unwrap_or(self.range[0] < self.range[1])
    }

    /// Whether the limit is on; reports a range that is empty or lacks its switch. `owner` names the element.
    pub(super) fn check(
        &self,
        auto_limits: bool,
        owner: &str,
        span: Span,
        report: &mut Report,
    ) -> bool {
        let (range, switch) = (self.range_attribute, self.switch_attribute);
        if self.switch.is_none() && !auto_limits && self.range != [0.0; 2] {
            report.error_help(
                code::RANGE,
                span,
                format!("{owner} has '{range}' but not '{switch}'"),
                format!("set {switch} to true or false, or autolimits of the compiler to true"),
            );
        }
        let is_on = self.is_on();
        if is_on && self.range[0] >= self.range[1] {
            let [low, high] = self.range;
            report.error_help(
                code::RANGE,
                span,
                format!("{range} {low} {high} of {owner} is not an interval"),
                format!("{switch} needs a lower bound below the upper one"),
            );
        }
        is_on
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limit(switch: Option<bool>, range: [f64; 2]) -> Limit {
        Limit {
            range_attribute: "ctrlrange",
            switch_attribute: "ctrllimited",
            switch,
            range,
        }
    }

    /// Whether the limit is on, and the messages of its check.
    fn outcome(limit: Limit, auto_limits: bool) -> (bool, Vec<String>) {
        let mut report = Report::default();
        let is_on = limit.check(auto_limits, "actuator 'a'", Span::default(), &mut report);
        let messages = report.into_diagnostics().into_iter().map(|d| d.message);
        (is_on, messages.collect())
    }

    #[test]
    fn a_missing_switch_follows_the_range() {
        assert_eq!(outcome(limit(None, [0.0; 2]), true), (false, vec![]));
        assert_eq!(outcome(limit(None, [-1.0, 1.0]), true), (true, vec![]));
        // As in MuJoCo an inverted range without a switch is no limit and no error.
        assert_eq!(outcome(limit(None, [1.0, -1.0]), true), (false, vec![]));
        assert_eq!(
            outcome(limit(Some(false), [-1.0, 1.0]), false),
            (false, vec![])
        );
    }

    #[test]
    fn empty_ranges_and_forgotten_switches_are_errors() {
        let (_, messages) = outcome(limit(Some(true), [0.0; 2]), true);
        assert_eq!(
            messages,
            ["ctrlrange 0 0 of actuator 'a' is not an interval"]
        );
        let (_, messages) = outcome(limit(None, [-1.0, 1.0]), false);
        assert_eq!(
            messages,
            ["actuator 'a' has 'ctrlrange' but not 'ctrllimited'"]
        );
    }
}
