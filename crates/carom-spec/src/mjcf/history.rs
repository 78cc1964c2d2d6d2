//! History buffers of actuators and sensors: read, checked and refused.

use super::attribute::Attributes;
use super::codes;
use super::problems::Problems;
use crate::model_spec::HistorySpec;
use crate::span::Span;

pub(super) fn read(a: &Attributes<'_, '_>, history: &mut HistorySpec) {
    a.set("nsample", &mut history.samples);
    a.set("interp", &mut history.interpolation);
    a.set("delay", &mut history.delay);
    a.set_leading("interval", &mut history.interval);
}

pub(super) fn refuse(history: &mut HistorySpec, span: Span, problems: &Problems<'_>) {
    if *history != HistorySpec::default() {
        let message =
            "delays and history buffers (nsample, interp, delay, interval) are not supported";
        problems.unsupported(codes::HISTORY, span, message);
        *history = HistorySpec::default();
    }
}
