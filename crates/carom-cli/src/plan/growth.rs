//! How the gradient of a plan grows from the end of its horizon to its start.

use std::fmt::Write;
use std::process::ExitCode;

use carom::Dynamics;
use carom_tasks::plan::{Horizon, Task};
use serde_json::json;

use crate::failure::Failure;

/// Growth up to which descent with steps of fixed length makes sense.
const BOUND: f64 = 1000.0;
/// Steps that are named.
const NAMED: usize = 5;
/// Rows of the table.
const ROWS: usize = 16;

/// Reports on the plan that comes first: the control of the start, held.
pub(super) fn report(task: &Task, as_json: bool) -> Result<ExitCode, Failure> {
    let control = &task.control;
    let horizon = Horizon {
        dynamics: &task.model,
        start: &control.start,
        cost: &control.cost,
        steps: control.horizon,
    };
    let mut plan = control.first_control.repeat(control.horizon);
    control.ranges.clamp(&mut plan);
    let growth = horizon.growth(&plan, NAMED)?;
    let found = horizon.derivatives(&plan, &mut task.model.work())?;
    if as_json {
        let surges = growth.surges.iter();
        let surges = surges
            .map(|surge| json!({"step": surge.step, "time": surge.time, "factor": surge.factor}));
        let document = json!({
            "cost": found.value, "norms": found.norms, "amplification": growth.amplification,
            "surges": surges.collect::<serde_json::Value>(), "bound": BOUND, "horizon": growth.horizon(BOUND),
        });
        crate::print(&document.to_string());
        return Ok(ExitCode::SUCCESS);
    }
    let mut text = "step   derivative with respect to the state   amplification\n".to_owned();
    let every = found.norms.len().div_ceil(ROWS).max(1);
    let rows = found.norms.iter().zip(&growth.amplification).enumerate();
    for (step, (norm, amplification)) in rows.step_by(every) {
        let _ = writeln!(text, "{step:4}   {norm:36.3e}   {amplification:13.3e}");
    }
    crate::print(&format!("{text}{}", growth.describe(&task.model, BOUND)));
    Ok(ExitCode::SUCCESS)
}
