//! Task files (TOML): which model, what is to be small, what counts as success, and how it is planned.
//!
//! What is wrong with a file is answered with file, line and column, and with what would be right.

use std::ops::Range;
use std::path::{Path, PathBuf};

use carom::model::ContactsFromDistance;
use carom::{Dynamics, Error, ErrorKind, Model, Place, State};
use carom_spec::diagnostic::render_all;
use carom_spec::source::{DiskSource, FileSource};
use serde::Deserialize;
use toml::Spanned;

use super::cost::{Cost, CostTerm, Kind};
use super::decision::{Decision, DecisionEntry, DecisionSettings};
use super::method::{Planner, Ranges};
use super::mpc::{Condition, Control};
use super::quantity::{Quantity, Source, add_sensors, find};
use super::strike::{StrikeEntry, StrikeStart};
use super::{
    Descent, DisturbanceSettings, GradientSettings, Hybrid, HybridSettings, Ilqr, IlqrSettings,
    Sampling, SamplingSettings, Start,
};

/// How plans are made.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub enum Method {
    /// By gradients.
    Gradient,
    /// By sampling.
    Sampling,
    /// By both.
    #[default]
    Hybrid,
    /// By linear-quadratic regulators around the plan.
    Ilqr,
}

/// What a task file says.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TaskFile {
    model: Spanned<String>,
    /// Name or number of the keyframe where it begins.
    start: Option<Spanned<String>>,
    /// Steps of a horizon.
    #[serde(default = "default_horizon")]
    horizon: Spanned<usize>,
    /// Steps that are executed of a plan.
    #[serde(default = "default_execute")]
    execute: Spanned<usize>,
    /// Steps in all.
    duration: Option<Spanned<usize>>,
    /// How it is planned where nobody says otherwise.
    #[serde(default)]
    method: Method,
    #[serde(default, rename = "control")]
    controls: Vec<ControlEntry>,
    #[serde(default, rename = "cost")]
    costs: Vec<CostEntry>,
    #[serde(default)]
    success: Vec<SuccessEntry>,
    contacts_from_distance: Option<Spanned<DistanceEntry>>,
    #[serde(default)]
    gradient: GradientSettings,
    #[serde(default)]
    sampling: SamplingSettings,
    #[serde(default)]
    hybrid: HybridSettings,
    #[serde(default)]
    ilqr: IlqrSettings,
    strike: Option<StrikeEntry>,
    #[serde(default, rename = "decision")]
    decisions: Vec<DecisionEntry>,
    #[serde(default)]
    search: DecisionSettings,
    #[serde(default)]
    disturbance: Option<Spanned<DisturbanceSettings>>,
    #[serde(default)]
    variants: toml::Table,
}

fn default_horizon() -> Spanned<usize> {
    Spanned::new(0..0, 256)
}

fn default_execute() -> Spanned<usize> {
    Spanned::new(0..0, 16)
}

/// A control that is planned.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ControlEntry {
    name: Spanned<String>,
    range: Option<Spanned<[f64; 2]>>,
}

/// How a quantity becomes a number.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
enum KindWord {
    Square,
    #[default]
    Norm,
    SmoothNorm,
    Abs,
    SmoothAbs,
    Linear,
}

impl KindWord {
    fn kind(self, width: Option<f64>) -> Kind {
        let smooth = width.unwrap_or(0.01);
        match self {
            Self::Square => Kind::Square,
            Self::Norm => Kind::Norm { width: 0.0 },
            Self::SmoothNorm => Kind::Norm { width: smooth },
            Self::Abs => Kind::Abs { width: 0.0 },
            Self::SmoothAbs => Kind::Abs { width: smooth },
            Self::Linear => Kind::Linear,
        }
    }
}

#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
enum When {
    #[default]
    Every,
    Terminal,
}

/// A term of the cost.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct CostEntry {
    name: Option<String>,
    quantity: Spanned<String>,
    #[serde(default)]
    kind: KindWord,
    width: Option<Spanned<f64>>,
    weight: Option<Spanned<f64>>,
    #[serde(default)]
    at: When,
}

/// Something that must hold at the end.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct SuccessEntry {
    name: Option<String>,
    quantity: Spanned<String>,
    #[serde(default)]
    kind: KindWord,
    below: Option<Spanned<f64>>,
    above: Option<Spanned<f64>>,
}

/// A width that stays, or goes from the first one to the last one while plans are made.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(untagged, expecting = "a number or two of them, as in [1.0, 0.2]")]
enum Width {
    Fixed(f64),
    Annealed([f64; 2]),
}

/// Contacts from distance in gradients.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct DistanceEntry {
    width: Option<Width>,
    near: Option<f64>,
    far: Option<f64>,
    midpoint: Option<f64>,
    power: Option<f64>,
    sharpness: Option<f64>,
    geoms: Option<Vec<String>>,
    pairs: Option<Vec<[String; 2]>>,
}

/// A task, ready to be planned.
#[derive(Clone, Debug)]
pub struct Task {
    /// The model, with the sensors that the task needs and, in its gradients, contacts from distance.
    pub model: Model,
    /// The model's file.
    pub model_file: PathBuf,
    /// What reader and compiler have to say about it; empty where that is nothing.
    pub warnings: String,
    /// What is to be controlled, and to what end.
    pub control: Control,
    /// How it is planned where nobody says otherwise.
    pub method: Method,
    /// What is decided once, if that is the task.
    pub decisions: Vec<Decision>,
    /// How that is searched for.
    pub search: DecisionSettings,
    /// How much goes wrong where that is wanted.
    pub disturbance: DisturbanceSettings,
    /// The model with contacts from ever less distance, first to last; none where the distance stays.
    annealed: Vec<Model>,
    gradient: GradientSettings,
    sampling: SamplingSettings,
    hybrid: HybridSettings,
    ilqr: IlqrSettings,
}

/// A file with its text, for messages.
pub(super) struct Text<'a> {
    path: &'a Path,
    text: &'a str,
}

impl Text<'_> {
    /// What is wrong at a place.
    pub(super) fn wrong(&self, place: &Range<usize>, why: impl std::fmt::Display) -> Error {
        let before = self.text.get(..place.start).unwrap_or(self.text);
        let line = before.matches('\n').count() + 1;
        let column = before.rsplit('\n').next().unwrap_or("").chars().count() + 1;
        let file = self.path.display();
        Error::new(
            ErrorKind::Settings,
            format!("task '{file}', line {line}, column {column}: {why}"),
        )
        .at(Place::Text {
            file: self.path.to_owned(),
            line,
            column,
        })
    }

    /// A number that must lie in a range.
    fn number(
        &self,
        number: &Spanned<f64>,
        name: &str,
        range: Range<f64>,
        remedy: &str,
    ) -> Result<f64, Error> {
        let value = *number.get_ref();
        if value.is_finite() && range.contains(&value) {
            return Ok(value);
        }
        let why = format!("{name} is {value}");
        Err(self.wrong(&number.span(), why).remedy(remedy))
    }
}

/// Most bytes of a task file.
const MAX_BYTES: u64 = 1 << 24;
/// Most steps of a horizon or a task: beyond it, memory for plans and motions ends.
const MAX_STEPS: usize = 1_000_000;
/// Most samples of a plan, steps of a descent and rounds.
const MAX_COUNT: usize = 1_000_000;
/// Widths between the first and the last one of contacts from distance, both of them counted.
const ANNEALING_STAGES: usize = 8;
/// The variable that names the folder of shared scenes.
const SHARED: &str = "CAROM_SHARED";

impl Task {
    /// Reads a task, from another start and in a variant if these are given.
    ///
    /// # Errors
    /// When a file cannot be read, or says what cannot be meant.
    pub fn read(path: &Path, start: Option<&Path>, variant: Option<&str>) -> Result<Self, Error> {
        let bytes = DiskSource::with_size_limit(MAX_BYTES).read(path)?;
        let text = String::from_utf8(bytes).map_err(|_| {
            let file = path.display();
            Error::new(
                ErrorKind::Settings,
                format!("task '{file}': not UTF-8 text"),
            )
            .at(Place::File(path.to_owned()))
            .remedy("a task is a TOML file")
        })?;
        Self::parse(&text, path, start, variant)
    }

    /// A task from its text; `path` is where models are looked for, and what messages call it.
    ///
    /// # Errors
    /// As [`Self::read`].
    pub fn parse(
        text: &str,
        path: &Path,
        start: Option<&Path>,
        variant: Option<&str>,
    ) -> Result<Self, Error> {
        let place = Text { path, text };
        let file: TaskFile = toml::from_str(text).map_err(|cause| {
            let span = cause.span().unwrap_or(0..0);
            place.wrong(&span, cause.message().trim_end())
        })?;
        let given = given_start(&file, &place, start, variant)?;
        let model_file = find_model(file.model.get_ref(), path);
        let mut read = carom_spec::read_file(&model_file, &[]);
        if let Err(cause) = DiskSource::default().read(&model_file) {
            let remedy = format!("set {SHARED} to the folder of the shared scenes, or name a file");
            return Err(place.wrong(&file.model.span(), cause).remedy(remedy));
        }
        for quantity in quantities(&file) {
            add_sensors(quantity.get_ref(), &mut read.spec)
                .map_err(|why| place.wrong(&quantity.span(), why))?;
        }
        given.move_targets(&mut read.spec)?;
        let loaded = carom::load::compiled(read)?;
        let warnings = render_all(&loaded.diagnostics, &loaded.sources);
        let task = Self::new(&file, &place, &given, loaded.model, model_file)?;
        Ok(Self { warnings, ..task })
    }

    fn new(
        file: &TaskFile,
        place: &Text<'_>,
        given: &Start,
        model: Model,
        model_file: PathBuf,
    ) -> Result<Self, Error> {
        check_settings(file, place)?;
        let (start, first_control) = initial(file, place, given, &model)?;
        let ranges = ranges(file, place, &model, &first_control)?;
        let cost = Cost::new(
            file.costs
                .iter()
                .map(|entry| cost_term(entry, place, &model))
                .collect::<Result<_, _>>()?,
        );
        if file.costs.is_empty() {
            return Err(place
                .wrong(&file.model.span(), "nothing is to be made small")
                .remedy(
                    "add [[cost]] with a quantity, as in quantity = \"sensor.tip - sensor.target\"",
                ));
        }
        let success = file.success.iter();
        let success = success
            .map(|entry| condition(entry, place, &model))
            .collect::<Result<_, _>>()?;
        let horizon = *file.horizon.get_ref();
        let strike = file.strike.as_ref();
        let strike = strike
            .map(|entry| StrikeStart::new(entry, place, &model))
            .transpose()?;
        let decisions = file.decisions.iter();
        let decisions = decisions
            .map(|entry| {
                Decision::new(
                    entry,
                    place,
                    &model,
                    &start,
                    &first_control,
                    strike.as_ref(),
                )
            })
            .collect::<Result<_, _>>()?;
        let (model, annealed) = match &file.contacts_from_distance {
            Some(entry) => distant(entry, place, model)?,
            None => (model, Vec::new()),
        };
        Ok(Self {
            control: Control {
                start,
                first_control,
                ranges,
                cost,
                success,
                horizon,
                execute: *file.execute.get_ref(),
                steps: file
                    .duration
                    .as_ref()
                    .map_or(horizon, |steps| *steps.get_ref()),
            },
            model,
            model_file,
            warnings: String::new(),
            method: file.method,
            decisions,
            search: file.search.clone(),
            disturbance: (file.disturbance.as_ref())
                .map_or_else(Default::default, |table| table.get_ref().clone()),
            annealed,
            gradient: file.gradient.clone(),
            sampling: file.sampling.clone(),
            hybrid: file.hybrid.clone(),
            ilqr: file.ilqr.clone(),
        })
    }

    /// The model that a plan is made with, of so many.
    pub fn model_at(&self, plan: usize, of: usize) -> &Model {
        let stage = plan * self.annealed.len() / of.max(1);
        self.annealed.get(stage).unwrap_or(&self.model)
    }

    /// The planner of a method, with the settings of the file.
    pub fn planner<D: Dynamics>(&self, method: Method, seed: u64) -> Box<dyn Planner<D>> {
        match method {
            Method::Gradient => Box::new(Descent::new(self.gradient.clone())),
            Method::Sampling => Box::new(Sampling::new(self.sampling.clone(), seed)),
            Method::Hybrid => Box::new(Hybrid::new(
                self.hybrid.clone(),
                self.sampling.clone(),
                &self.gradient,
                seed,
            )),
            Method::Ilqr => Box::new(Ilqr::new(self.ilqr.clone())),
        }
    }
}

/// All quantities that a file names.
fn quantities(file: &TaskFile) -> impl Iterator<Item = &Spanned<String>> {
    let costs = file.costs.iter().map(|entry| &entry.quantity);
    costs.chain(file.success.iter().map(|entry| &entry.quantity))
}

/// The start file, and the variant that it or the task has.
fn given_start(
    file: &TaskFile,
    place: &Text<'_>,
    start: Option<&Path>,
    variant: Option<&str>,
) -> Result<Start, Error> {
    let (given, has_it) = match start {
        Some(path) => Start::read(path, variant)?,
        None => (Start::default(), false),
    };
    let Some(name) = variant else {
        return Ok(given);
    };
    let Some(own) = file.variants.get(name) else {
        if has_it {
            return Ok(given);
        }
        let known: Vec<&str> = file.variants.keys().map(String::as_str).collect();
        let remedy = match known.as_slice() {
            [] => "it has none; leave --variant out".to_owned(),
            known => format!("it has {}", known.join(", ")),
        };
        let message = format!(
            "the task '{}' has no variant '{name}'",
            place.path.display()
        );
        return Err(Error::new(ErrorKind::Name, message).remedy(remedy));
    };
    let wrong = |why: String| {
        let header = format!("[variants.{name}]");
        let at = place.text.find(&header).unwrap_or(0);
        place.wrong(&(at..at), format!("variant '{name}': {why}"))
    };
    let json = serde_json::to_value(own).map_err(|cause| wrong(cause.to_string()))?;
    let file = format!("{}, variant '{name}'", place.path.display());
    let (own, _) = Start::of_json(&json, None, &file).map_err(wrong)?;
    Ok(given.or(own))
}

/// `${CAROM_SHARED}` is the folder that the variable names, or `shared` beside the folder of the repository.
fn find_model(name: &str, task: &Path) -> PathBuf {
    let folder = task.parent().unwrap_or(Path::new(""));
    let marker = format!("${{{SHARED}}}/");
    let Some(rest) = name.strip_prefix(&marker) else {
        return folder.join(name);
    };
    let beside = PathBuf::from("../shared");
    let shared = match std::env::var_os(SHARED) {
        Some(shared) => PathBuf::from(shared),
        None if beside.is_dir() => beside,
        None => folder.join("../../shared"),
    };
    shared.join(rest)
}

fn check_settings(file: &TaskFile, place: &Text<'_>) -> Result<(), Error> {
    let model = file.model.span();
    let execute = *file.execute.get_ref();
    let steps = [
        ("horizon", Some(&file.horizon)),
        ("execute", Some(&file.execute)),
        ("duration", file.duration.as_ref()),
    ];
    for (name, steps) in steps {
        if let Some(steps) = steps.filter(|steps| !(1..=MAX_STEPS).contains(steps.get_ref())) {
            let why = format!("{name} is {}", steps.get_ref());
            let remedy = format!("give steps from 1 to {MAX_STEPS}");
            return Err(place.wrong(&steps.span(), why).remedy(remedy));
        }
    }
    if execute > *file.horizon.get_ref() {
        let why = format!(
            "{execute} steps of a plan cannot be executed: it has {}",
            file.horizon.get_ref()
        );
        return Err(place
            .wrong(&file.execute.span(), why)
            .remedy("execute at most the horizon"));
    }
    let (gradient, sampling, hybrid) = (&file.gradient, &file.sampling, &file.hybrid);
    let counts = [
        ("gradient.iterations", gradient.iterations, 1),
        ("sampling.samples", sampling.samples, 2),
        ("sampling.knots", sampling.knots, 2),
        ("sampling.rounds", sampling.rounds, 1),
        ("hybrid.samples", hybrid.samples, 1),
        ("hybrid.refined", hybrid.refined, 1),
        ("hybrid.iterations", hybrid.iterations, 0),
        ("ilqr.iterations", file.ilqr.iterations, 1),
        ("search.evaluations", file.search.evaluations, 1),
    ];
    for (name, count, least) in counts {
        if !(least..=MAX_COUNT).contains(&count) {
            return Err(place
                .wrong(&table_of(name, place, &model), format!("{name} is {count}"))
                .remedy(format!("give a number from {least} to {MAX_COUNT}")));
        }
    }
    if let Some(table) = &file.disturbance {
        check_disturbance(table.get_ref(), place, &table.span())?;
    }
    let numbers = [
        ("gradient.truncate", gradient.truncate, 1.0, f64::INFINITY),
        ("gradient.rate", gradient.rate, 0.0, 1.0),
        ("gradient.clip", gradient.clip, 0.0, f64::MAX),
        ("gradient.decay", gradient.decay[0], 0.0, 0.999_999),
        ("gradient.decay", gradient.decay[1], 0.0, 0.999_999),
        ("sampling.deviation", sampling.deviation, 0.0, 10.0),
        ("sampling.least_share", sampling.least_share, 0.0, 1.0),
        ("sampling.elite", sampling.elite, 0.0, 1.0),
        ("sampling.temperature", sampling.temperature, 0.0, f64::MAX),
    ];
    for (name, number, lower, upper) in numbers {
        let may_be_zero = name == "gradient.decay";
        let is_above = number > lower || (may_be_zero && number == lower);
        if !is_above || number > upper {
            return Err(place
                .wrong(
                    &table_of(name, place, &model),
                    format!("{name} is {number}"),
                )
                .remedy(format!("give a number above {lower}, at most {upper}")));
        }
    }
    Ok(())
}

fn check_disturbance(
    settings: &DisturbanceSettings,
    place: &Text<'_>,
    otherwise: &Range<usize>,
) -> Result<(), Error> {
    let numbers = [
        ("disturbance.push", settings.push, f64::MAX),
        ("disturbance.every", settings.every, f64::MAX),
        ("disturbance.off", settings.off, 0.99),
    ];
    for (name, number, upper) in numbers {
        if !(number > 0.0 && number <= upper) {
            let at = table_of(name, place, otherwise);
            return Err(place
                .wrong(&at, format!("{name} is {number}"))
                .remedy(format!("give a number above 0, at most {upper}")));
        }
    }
    Ok(())
}

/// Where a setting stands, as well as can be found.
fn table_of(name: &str, place: &Text<'_>, otherwise: &Range<usize>) -> Range<usize> {
    let (table, key) = name.split_once('.').unwrap_or((name, ""));
    let found = place.text.find(&format!("[{table}]")).and_then(|start| {
        let inside = place.text[start..].find(&format!("\n{key}"))?;
        Some(start + inside + 1)
    });
    found.map_or_else(|| otherwise.clone(), |at| at..at)
}

fn initial(
    file: &TaskFile,
    place: &Text<'_>,
    given: &Start,
    model: &Model,
) -> Result<(State, Vec<f64>), Error> {
    let n = model.counts();
    let (mut state, mut control) = (State::reference(model), vec![0.0; n.nu]);
    let of_task = file
        .start
        .as_ref()
        .map(|name| (name.get_ref(), Some(name.span())));
    let of_given = given.keyframe.as_ref().map(|name| (name, None));
    if let Some((name, span)) = of_given.or(of_task) {
        let names = model.structure.names.keyframes.iter().map(String::as_str);
        let wanted = name.as_str();
        let numbered = wanted
            .parse()
            .ok()
            .filter(|&index: &usize| index < n.nkeyframe);
        let index = match numbered {
            Some(index) => index,
            None => find(wanted, "keyframe", "start", names).map_err(|why| match &span {
                Some(span) => place.wrong(span, why),
                None => given.wrong(why),
            })?,
        };
        state = State::keyframe(model, index).unwrap_or(state);
        control = model.keyframes.ctrl[index * n.nu..][..n.nu].to_vec();
    }
    for (key, numbers, place) in [
        ("qpos", &given.qpos, &mut state.qpos),
        ("qvel", &given.qvel, &mut state.qvel),
        ("act", &given.act, &mut state.act),
        ("ctrl", &given.ctrl, &mut control),
    ] {
        let Some(numbers) = numbers else { continue };
        if numbers.len() != place.len() {
            let why = format!(
                "'{key}' has {} numbers, the model {}",
                numbers.len(),
                place.len()
            );
            return Err(given
                .wrong(why)
                .remedy("give all of them, in the model's order"));
        }
        place.clone_from(numbers);
    }
    Ok((state, control))
}

fn ranges(
    file: &TaskFile,
    place: &Text<'_>,
    model: &Model,
    first: &[f64],
) -> Result<Ranges, Error> {
    let names = model.structure.control_names();
    // Of each control that is planned, the range that the file gives and where it stands.
    let all = file.controls.is_empty().then(|| (None, file.model.span()));
    let mut chosen = vec![all; names.len()];
    for entry in &file.controls {
        let name = entry.name.get_ref();
        let known = names.iter().map(String::as_str);
        let index = find(name, "actuator", name, known)
            .map_err(|why| place.wrong(&entry.name.span(), why))?;
        let range = match &entry.range {
            Some(range) => {
                let [lower, upper] = *range.get_ref();
                if !(lower.is_finite() && upper.is_finite() && lower < upper) {
                    let why = format!("the range of '{name}' is from {lower} to {upper}");
                    return Err(place
                        .wrong(&range.span(), why)
                        .remedy("give two finite numbers, the lower one first"));
                }
                Some([lower, upper])
            }
            None => None,
        };
        chosen[index] = Some((range, entry.name.span()));
    }
    let (mut lower, mut upper) = (first.to_vec(), first.to_vec());
    for (index, chosen) in chosen.into_iter().enumerate() {
        let Some((range, span)) = chosen else {
            continue;
        };
        let own = model.control_range(index);
        let Some([low, high]) = range
            .or(own)
            .filter(|ends| ends.iter().all(|n| n.is_finite()))
        else {
            let why = format!("the control '{}' has no range", names[index]);
            let remedy = "give it one: [[control]] with name and range, or ctrlrange in the model";
            return Err(place.wrong(&span, why).remedy(remedy));
        };
        let [own_low, own_high] = own.unwrap_or([f64::NEG_INFINITY, f64::INFINITY]);
        (lower[index], upper[index]) = (low.max(own_low), high.min(own_high));
        if lower[index] > upper[index] {
            let why = format!(
                "the range of '{}' lies outside that of the model",
                names[index]
            );
            let remedy = format!("the model's is from {own_low} to {own_high}");
            return Err(place.wrong(&span, why).remedy(remedy));
        }
    }
    Ok(Ranges { lower, upper })
}

fn cost_term(entry: &CostEntry, place: &Text<'_>, model: &Model) -> Result<CostTerm, Error> {
    let quantity = quantity(&entry.quantity, place, model)?;
    let weight = match &entry.weight {
        Some(weight) => place.number(
            weight,
            "the weight",
            0.0..f64::MAX,
            "give a finite number from 0 on",
        )?,
        None => 1.0,
    };
    let width = match &entry.width {
        Some(width) => Some(place.number(
            width,
            "the width",
            f64::MIN_POSITIVE..f64::MAX,
            "give a finite number above 0",
        )?),
        None => None,
    };
    Ok(CostTerm {
        name: (entry.name.clone()).unwrap_or_else(|| entry.quantity.get_ref().clone()),
        quantity,
        kind: entry.kind.kind(width),
        weight,
        is_terminal: entry.at == When::Terminal,
    })
}

fn quantity(text: &Spanned<String>, place: &Text<'_>, model: &Model) -> Result<Quantity, Error> {
    let found = Quantity::parse(text.get_ref(), model);
    found.map_err(|why| place.wrong(&text.span(), why))
}

fn condition(entry: &SuccessEntry, place: &Text<'_>, model: &Model) -> Result<Condition, Error> {
    let bound = |bound: &Option<Spanned<f64>>| {
        let number = |bound| {
            let all = f64::MIN..f64::MAX;
            place.number(bound, "the bound", all, "give a finite number")
        };
        bound.as_ref().map(number).transpose()
    };
    let (below, above) = (bound(&entry.below)?, bound(&entry.above)?);
    if below.is_none() && above.is_none() {
        return Err(place
            .wrong(&entry.quantity.span(), "success has no bound")
            .remedy("add below or above"));
    }
    Ok(Condition {
        name: (entry.name.clone()).unwrap_or_else(|| entry.quantity.get_ref().clone()),
        quantity: quantity(&entry.quantity, place, model)?,
        kind: entry.kind.kind(None),
        below,
        above,
    })
}

/// The model with contacts from distance, and where their width changes, one for each stage of it.
fn distant(
    entry: &Spanned<DistanceEntry>,
    place: &Text<'_>,
    model: Model,
) -> Result<(Model, Vec<Model>), Error> {
    let own = entry.get_ref();
    let standard = ContactsFromDistance::default();
    let (width, last) = match own.width {
        None => (standard.width, None),
        Some(Width::Fixed(width)) => (width, None),
        Some(Width::Annealed([first, last])) => (first, Some(last)),
    };
    let mut distant = ContactsFromDistance {
        far_impedance: own.far.unwrap_or(standard.far_impedance),
        near_impedance: own.near.unwrap_or(standard.near_impedance),
        width,
        midpoint: own.midpoint.unwrap_or(standard.midpoint),
        power: own.power.unwrap_or(standard.power),
        sharpness: own.sharpness.unwrap_or(standard.sharpness),
        ..standard
    };
    let wrong = |cause: Error| place.wrong(&entry.span(), cause);
    if let Some(geoms) = &own.geoms {
        let names: Vec<&str> = geoms.iter().map(String::as_str).collect();
        distant = distant.of_geoms(&model, &names).map_err(wrong)?;
    }
    if let Some(pairs) = &own.pairs {
        let names: Vec<[&str; 2]> = pairs
            .iter()
            .map(|[a, b]| [a.as_str(), b.as_str()])
            .collect();
        distant = distant.of_pairs(&model, &names).map_err(wrong)?;
    }
    let stages = last.map_or(0, |_| ANNEALING_STAGES);
    let annealed = (0..stages).map(|stage| {
        // From the first width to the last one, evenly in the logarithm.
        let share = stage as f64 / (stages - 1) as f64;
        let width = width * (last.unwrap_or(width) / width).powf(share);
        let narrower = ContactsFromDistance {
            width,
            ..distant.clone()
        };
        model.clone().with_contacts_from_distance(narrower)
    });
    let annealed = annealed.collect::<Result<Vec<_>, Error>>().map_err(wrong)?;
    let model = model.with_contacts_from_distance(distant).map_err(wrong)?;
    Ok((model, annealed))
}

/// A place of a state or a control that a name stands for, for decisions.
pub(super) fn single(
    text: &Spanned<String>,
    place: &Text<'_>,
    model: &Model,
) -> Result<Source, Error> {
    let found = quantity(text, place, model)?;
    match found.places() {
        Some(
            [
                source @ (Source::Position { .. }
                | Source::Velocity(_)
                | Source::Activation(_)
                | Source::Control(_)),
            ],
        ) => Ok(*source),
        _ => Err(place
            .wrong(
                &text.span(),
                format!("'{}' cannot be decided", text.get_ref()),
            )
            .remedy(
                "name one number of qpos, qvel, act or ctrl, as in joint.cue_x.qvel or ctrl.swing",
            )),
    }
}
