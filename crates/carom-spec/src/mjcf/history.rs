//! History buffers of actuators and sensors.

use super::attribute::Attributes;
use crate::model_spec::HistorySpec;

pub(super) fn read(a: &Attributes<'_, '_>, history: &mut HistorySpec) {
    a.set("nsample", &mut history.samples);
    a.set("interp", &mut history.interpolation);
    a.set("delay", &mut history.delay);
    a.set_leading("interval", &mut history.interval);
}
