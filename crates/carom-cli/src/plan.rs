//! `carom plan`: plan controls, control by plans, or decide a few numbers.

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

use carom::Model;
use carom_tasks::plan::decision::{DecisionSettings, SearchMethod, decide};
use carom_tasks::plan::mpc::Executed;
use carom_tasks::plan::{
    Control, Disturbance, Episode, Live, Method, Outcome, Planner, Progress, Saved, Task, Timing,
    control,
};
use cpu_time::ProcessTime;
use serde_json::{Value, json};

use crate::command_line::Argument;
use crate::failure::{COMPUTATION, Failure, finish};
use crate::npz::{self, Array};
use crate::{interrupt, output, sim, stdio, values};

mod growth;
mod store;

/// Plans controls for a task, once or again and again while it goes on.
///
/// A task file says what is controlled, what is to be small and what counts as success; docs/control.md describes it. With --mpc, plans
/// are made over a horizon, their first steps executed, and the rest is where the next one begins. Without, one plan is made and
/// executed as a whole, or the numbers under [[decision]] are searched for. The exit code is 1 where the task was not achieved.
#[derive(clap::Args, Debug)]
#[allow(clippy::struct_excessive_bools, reason = "independent switches")]
#[command(
    after_help = "Examples:\n  carom plan tasks/cartpole_swing_up.toml --mpc\n  carom plan tasks/push_cube_finger.toml --mpc --method hybrid --seed 1 --json\n  carom plan tasks/myo_ball_swap.toml --mpc --start start.json --out run.npz\n  carom plan tasks/myo_ball_swap.toml --mpc --checkpoint swap.bin --resume\n  carom plan tasks/cartpole_swing_up.toml --mpc --disturb push,delay,model --seed 3\n  carom plan tasks/cartpole_swing_up.toml --mpc --real-time --method hybrid\n  carom plan tasks/billiard_shot.toml --json"
)]
pub(crate) struct Args {
    /// Task file (TOML).
    task: PathBuf,
    /// Plan again while the motion goes on.
    #[arg(long)]
    mpc: bool,
    /// How plans are made; the task file says it otherwise.
    #[arg(long, value_enum)]
    method: Option<MethodWord>,
    /// Begin elsewhere, or with other targets (JSON).
    #[arg(long, value_name = "FILE.json")]
    start: Option<PathBuf>,
    /// A variant of the task, or of the start file.
    #[arg(long, value_name = "NAME")]
    variant: Option<String>,
    /// What all random numbers depend on.
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// Threads for samples and gradients; all cores otherwise. Results do not depend on it.
    #[arg(long, value_parser = values::threads, allow_negative_numbers = true)]
    threads: Option<usize>,
    /// Record what was executed to this .npz file.
    #[arg(long)]
    out: Option<PathBuf>,
    /// What goes wrong: pushes, plans that come one plan late, a model whose numbers are off.
    #[arg(long, value_enum, value_delimiter = ',', requires = "mpc")]
    disturb: Vec<Trouble>,
    /// Plan while the motion goes on, so many times as fast as the clock; 1 if no number is given.
    #[arg(long, value_name = "SPEED", num_args = 0..=1, require_equals = true,
        default_missing_value = "1", value_parser = speed, requires = "mpc", conflicts_with = "checkpoint")]
    real_time: Option<f64>,
    /// Store here after every plan what is needed to go on.
    #[arg(long, requires = "mpc")]
    checkpoint: Option<PathBuf>,
    /// Go on from the checkpoint, if there is one.
    #[arg(long, requires = "checkpoint")]
    resume: bool,
    /// Say how the gradient of the first plan grows towards its start, instead of planning.
    #[arg(long, conflicts_with_all = ["mpc", "out"])]
    growth: bool,
    /// Print the outcome as JSON.
    #[arg(long)]
    json: bool,
}

/// Something that goes wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Trouble {
    Push,
    Delay,
    Model,
}

/// A speed: a number above zero.
fn speed(text: &str) -> Result<f64, String> {
    let number = text.parse().ok();
    let number = number.filter(|&number: &f64| number > 0.0 && number.is_finite());
    number.ok_or_else(|| "give a number above 0, 1 for real time".to_owned())
}

#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum MethodWord {
    Gradient,
    Sampling,
    Hybrid,
    Ilqr,
}

impl MethodWord {
    fn method(self) -> Method {
        match self {
            Self::Gradient => Method::Gradient,
            Self::Sampling => Method::Sampling,
            Self::Hybrid => Method::Hybrid,
            Self::Ilqr => Method::Ilqr,
        }
    }
}

/// Runs the command.
pub(crate) fn run(args: &Args) -> ExitCode {
    finish(args.json, answer(args))
}

fn answer(args: &Args) -> Result<ExitCode, Failure> {
    if let Some(out) = &args.out {
        check_out(out)?;
    }
    let (clock, cpu) = (Instant::now(), ProcessTime::now());
    let task = Task::read(&args.task, args.start.as_deref(), args.variant.as_deref())?;
    stdio::warn(&task.warnings);
    let outputs = args.out.iter().chain(&args.checkpoint);
    let outputs: Vec<&Path> = outputs.map(PathBuf::as_path).collect();
    let inputs = [args.task.as_path(), task.model_file.as_path()].into_iter();
    output::check_distinct(&outputs, inputs.chain(args.start.as_deref()))?;
    interrupt::watch();
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(args.threads.unwrap_or(0))
        .build()
        .map_err(|cause| Failure::sentence(COMPUTATION, format!("no threads: {cause}")))?;
    if args.growth {
        return growth::report(&task, args.json);
    }
    let answered = match (args.mpc, args.real_time) {
        (true, Some(speed)) => live(args, &task, speed, &pool)?,
        (true, None) => pool.install(|| controlled(args, &task))?,
        (false, _) => pool.install(|| match task.decisions.as_slice() {
            [_, ..] => decided(args, &task),
            [] => Ok(once(args, &task)),
        })?,
    };
    let used = [clock.elapsed().as_secs_f64(), cpu.elapsed().as_secs_f64()];
    answered.finish(args, &task, used)
}

fn check_out(out: &Path) -> Result<(), Failure> {
    if sim::extension(out).as_deref() != Some("npz") {
        let text = out.to_string_lossy();
        return Err(
            Argument::new("--out", &text).unfit("a run is an .npz file", "must end in .npz")
        );
    }
    output::check_target(out)?;
    Ok(())
}

/// What came out.
struct Answered {
    outcome: Outcome,
    document: Value,
    text: String,
}

impl Answered {
    fn tell_troubles(&mut self, args: &Args, disturbance: &Disturbance) {
        let troubles = args.disturb.iter();
        let troubles = troubles.map(|trouble| json!(format!("{trouble:?}").to_lowercase()));
        self.document["disturbances"] = troubles.collect();
        self.document["pushes"] = json!(disturbance.pushes.len());
    }

    fn tell_timing(&mut self, timing: &Timing, speed: f64) {
        let Timing {
            period,
            plans,
            missed,
            latency,
            longest,
            factor,
        } = *timing;
        self.document["real_time"] = json!({
            "speed": speed, "factor": factor, "period": period, "plans": plans, "missed": missed,
            "latency": latency, "longest_latency": longest,
        });
        let _ = write!(
            self.text,
            "\n{factor:.2} times real time; {missed} of {plans} plans came late, after {latency:.4} s on average and {longest:.4} s \
             at most, with {:.4} s for each",
            period / speed
        );
    }

    fn finish(mut self, args: &Args, task: &Task, used: [f64; 2]) -> Result<ExitCode, Failure> {
        if let Some(out) = &args.out {
            write(&self.outcome.executed, &task.model, &task.model_file, out)?;
        }
        let [seconds, cpu] = used;
        self.document["seconds"] = json!(seconds);
        self.document["cpu_seconds"] = json!(cpu);
        if args.json {
            crate::print(&self.document.to_string());
        } else {
            crate::print(&format!("{}, {seconds:.1} s ({cpu:.1} CPU s)", self.text));
        }
        let is_fine = self.outcome.success
            || (task.control.success.is_empty() && self.outcome.stopped.is_none());
        if self.outcome.interrupted {
            return Ok(interrupt::exit_code());
        }
        Ok(ExitCode::from(u8::from(!is_fine)))
    }
}

/// One plan that is executed as a whole.
fn once(args: &Args, task: &Task) -> Answered {
    let goal = Control {
        execute: task.control.horizon,
        steps: task.control.horizon,
        ..task.control.clone()
    };
    let mut planner = planner(args, task);
    let outcome = control(&task.model, &goal, planner.as_mut(), &mut |progress| {
        tell(progress);
        !interrupt::asked()
    });
    of_plans(args, task, outcome)
}

fn method(args: &Args, task: &Task) -> Method {
    args.method.map_or(task.method, MethodWord::method)
}

fn planner(args: &Args, task: &Task) -> Box<dyn Planner<Model>> {
    task.planner(method(args, task), args.seed)
}

/// What moves, and what happens to it.
fn disturbed(args: &Args, task: &Task) -> Result<(Model, Disturbance), Failure> {
    let has = |trouble| args.disturb.contains(&trouble);
    let pushes = if has(Trouble::Push) {
        (task.disturbance).pushes(&task.model, task.control.steps, args.seed)?
    } else {
        Vec::new()
    };
    let plant = if has(Trouble::Model) {
        task.disturbance.off(&task.model, args.seed)?
    } else {
        task.model.clone()
    };
    let disturbance = Disturbance {
        pushes,
        is_delayed: has(Trouble::Delay),
    };
    Ok((plant, disturbance))
}

/// Plan, execute, shift, and plan again.
fn controlled(args: &Args, task: &Task) -> Result<Answered, Failure> {
    let (plant, disturbance) = disturbed(args, task)?;
    let mut planner = planner(args, task);
    let mut episode = Episode::new(&plant, &task.control, &disturbance);
    let question = store::question(args)?;
    if let Some(saved) = store::read(args, &question)? {
        episode.resume(&saved, planner.as_mut())?;
    }
    let of = episode.of();
    let mut goes_on = true;
    while goes_on && !episode.is_over() {
        let index = episode.done() / task.control.execute.max(1);
        tell(&episode.plan(task.model_at(index, of), planner.as_mut()));
        episode.execute(planner.as_mut());
        if let Some(path) = &args.checkpoint {
            store::write(path, &episode.saved(&question, planner.as_ref()))?;
        }
        goes_on = !interrupt::asked();
    }
    let is_interrupted = !goes_on && !episode.is_over();
    let mut answered = of_plans(args, task, episode.outcome(is_interrupted));
    answered.tell_troubles(args, &disturbance);
    Ok(answered)
}

/// Planning in the background.
fn live(
    args: &Args,
    task: &Task,
    speed: f64,
    pool: &rayon::ThreadPool,
) -> Result<Answered, Failure> {
    let (plant, disturbance) = disturbed(args, task)?;
    let live = Live {
        plant: &plant,
        model: &task.model,
        task: &task.control,
        disturbance: &disturbance,
        speed: Some(speed),
        pool,
    };
    let mut planner = planner(args, task);
    let (outcome, timing) = live.run(planner.as_mut(), &mut |progress| {
        tell(progress);
        !interrupt::asked()
    });
    let mut answered = of_plans(args, task, outcome);
    answered.tell_troubles(args, &disturbance);
    answered.tell_timing(&timing, speed);
    Ok(answered)
}

/// The answer of a run with plans.
fn of_plans(args: &Args, task: &Task, outcome: Outcome) -> Answered {
    let mut document = judged_json(&outcome);
    document["method"] = json!(format!("{:?}", method(args, task)).to_lowercase());
    document["seed"] = json!(args.seed);
    document["plans"] = json!(outcome.plan_costs.len());
    document["plan_costs"] = json!(outcome.plan_costs);
    document["cost"] = json!(outcome.cost);
    document["evaluations"] = json!(outcome.evaluations);
    document["gradients"] = json!(outcome.gradients);
    let fallbacks = outcome.fallbacks.iter();
    let fallbacks = fallbacks.map(|fallback| json!({"plan": fallback.plan, "why": fallback.why}));
    document["fallbacks"] = fallbacks.collect();
    let text = format!(
        "{}: {} plans, mean cost {:.5}",
        verdict(&outcome),
        outcome.plan_costs.len(),
        outcome.cost
    );
    Answered {
        outcome,
        document,
        text,
    }
}

fn decided(args: &Args, task: &Task) -> Result<Answered, Failure> {
    let method = match args.method {
        None => task.search.method,
        Some(MethodWord::Gradient | MethodWord::Ilqr) => SearchMethod::Gradient,
        Some(MethodWord::Sampling) => match task.search.method {
            SearchMethod::Cma => SearchMethod::Cma,
            _ => SearchMethod::Cem,
        },
        Some(MethodWord::Hybrid) => SearchMethod::Both,
    };
    let settings = DecisionSettings {
        method,
        ..task.search.clone()
    };
    let found = decide(
        &task.model,
        &task.control,
        &task.decisions,
        &settings,
        args.seed,
    )?;
    // The motion that follows, as one plan that is executed as it is.
    let goal = Control {
        start: found.start.clone(),
        execute: task.control.horizon,
        steps: task.control.horizon,
        ..task.control.clone()
    };
    let mut as_it_is = AsItIs(found.plan.clone());
    let mut outcome = control(&task.model, &goal, &mut as_it_is, &mut |_| true);
    outcome.interrupted = interrupt::asked();
    let numbers = task.decisions.iter().zip(&found.decision);
    let named: serde_json::Map<String, Value> = numbers
        .clone()
        .map(|(decision, number)| (decision.name.clone(), json!(number)))
        .collect();
    let mut document = judged_json(&outcome);
    document["decision"] = Value::Object(named);
    document["cost"] = json!(found.cost);
    document["evaluations"] = json!(found.evaluations);
    document["gradients"] = json!(found.gradients);
    document["method"] = json!(format!("{method:?}").to_lowercase());
    document["seed"] = json!(args.seed);
    document["end"] = json!(found.end);
    let listed: Vec<String> = numbers
        .map(|(decision, number)| format!("{} = {number:.6}", decision.name))
        .collect();
    let text = format!(
        "{}\ncost {:.6} after {} evaluations ({} gradients); {}",
        listed.join("\n"),
        found.cost,
        found.evaluations,
        found.gradients,
        verdict(&outcome)
    );
    Ok(Answered {
        outcome,
        document,
        text,
    })
}

/// Executes a plan as it is.
struct AsItIs(Vec<f64>);

impl Planner<Model> for AsItIs {
    fn refine(
        &mut self,
        _: &carom_tasks::plan::Horizon<'_, Model>,
        _: &carom_tasks::plan::Ranges,
        _: &[f64],
    ) -> carom_tasks::plan::Planned {
        carom_tasks::plan::Planned {
            plan: self.0.clone(),
            cost: 0.0,
            evaluations: 0,
            gradients: 0,
        }
    }
}

/// A line for each plan, for those who watch.
fn tell(progress: &Progress<'_>) {
    let Progress {
        plans,
        of,
        cost,
        state,
        fallback,
        ..
    } = progress;
    stdio::warn(&format!(
        "plan {plans}/{of} at {:.3} s: cost {cost:.5}\n",
        state.time
    ));
    if let Some(why) = fallback {
        stdio::warn(&format!("warning: plan {plans}: {why}\n"));
    }
}

fn verdict(outcome: &Outcome) -> String {
    if let Some(why) = &outcome.stopped {
        return format!("the motion did not come to its end: {why}");
    }
    if outcome.interrupted {
        return "interrupted".to_owned();
    }
    let numbers = outcome.judged.iter();
    let numbers: Vec<String> = numbers
        .map(|judged| format!("{} {:.4}", judged.name, judged.value))
        .collect();
    match (outcome.success, numbers.is_empty()) {
        (_, true) => "done".to_owned(),
        (true, _) => format!("success ({})", numbers.join(", ")),
        (false, _) => format!("not achieved ({})", numbers.join(", ")),
    }
}

fn judged_json(outcome: &Outcome) -> Value {
    let judged = outcome.judged.iter();
    let conditions = judged
        .map(|judged| json!({"name": judged.name, "value": judged.value, "holds": judged.holds}));
    json!({
        "success": outcome.success,
        "distance": outcome.distance(),
        "conditions": conditions.collect::<Value>(),
        "stopped": outcome.stopped,
        "interrupted": outcome.interrupted,
    })
}

/// Writes a run as `carom sim` does.
fn write(run: &Executed, model: &Model, model_file: &Path, out: &Path) -> Result<(), Failure> {
    let n = model.counts();
    let rows = run.time.len();
    let table = |width: usize, numbers: &[f64]| {
        let mut numbers = numbers.to_vec();
        numbers.resize(rows * width, f64::NAN);
        Array::numbers(&[rows, width], numbers)
    };
    let strings = |list: &[String]| Array {
        shape: vec![list.len()],
        values: npz::Values::Strings(list.to_vec()),
    };
    let names = &model.structure.names;
    let arrays = [
        ("time", Array::numbers(&[rows], run.time.clone())),
        ("qpos", table(n.nq, &run.qpos)),
        ("qvel", table(n.nv, &run.qvel)),
        ("act", table(n.na, &run.act)),
        ("ctrl", table(n.nu, &run.ctrl)),
        ("sensordata", table(n.nsensor_value, &run.sensors)),
        ("joint_names", strings(&names.joints)),
        ("actuator_names", strings(&names.actuators)),
        ("sensor_names", strings(&names.sensors)),
        ("model", strings(&[model_file.display().to_string()])),
    ];
    let arrays: Vec<(&str, &Array)> = arrays.iter().map(|(name, array)| (*name, array)).collect();
    Ok(output::write_whole(out, |file| npz::write(file, &arrays))?)
}
