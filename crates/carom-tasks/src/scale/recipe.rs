//! Recipes: what runs are made of, as a TOML file.
//!
//! ```toml
//! model = "two_cubes_bowling.xml"    # laws, friction and time step; beside the recipe
//! runs = 3000
//! seed = 1
//! frames = 30
//! rate = 60                          # frames a second
//! runs_per_shard = 50
//! until = "rest"                     # or "time" (all frames), which it is unless told
//!
//! [bodies]                           # copies of bodies of the model; without it, its own bodies
//! templates = ["cube0"]              # the first one that moves unless told
//! count = [2, 4]
//! side = [0.04, 0.08]                # of boxes (m)
//! density = [600, 800]               # kg/m³; or mass
//! friction = [0.2, 0.25]
//!
//! [shot]                             # the first body slides at the others, which rest in rows
//! speed = [0.75, 1.4]
//!
//! [[draw]]                           # any parameter of the model or of its initial state
//! select = "geom.table.friction[0]"
//! range = [0.2, 0.3]                 # or mean and sd; log = true draws the logarithm
//! ```
//!
//! A range is two numbers, between which each value is as likely as any other, or one number.

use std::path::{Path, PathBuf};

use carom::{Error, ErrorKind, Place};
use carom_optimise::random::Random;
use serde::Deserialize;

/// What runs are made of.
#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct Recipe {
    /// The model file.
    pub model: PathBuf,
    /// How many runs.
    pub runs: usize,
    /// Of all random numbers.
    #[serde(default)]
    pub seed: u64,
    /// Frames of a run, the initial state included.
    pub frames: usize,
    /// Frames a second.
    pub rate: f64,
    /// Runs in a file.
    #[serde(default = "usual_shard")]
    pub runs_per_shard: usize,
    /// When a run ends.
    #[serde(default)]
    pub until: Until,
    /// Bodies that are made.
    pub bodies: Option<Bodies>,
    /// How they begin.
    pub shot: Option<Shot>,
    /// Numbers of the model that are drawn.
    #[serde(default, rename = "draw")]
    pub draws: Vec<Draw>,
}

fn usual_shard() -> usize {
    50
}

/// When a run ends before all of its frames.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub enum Until {
    /// It does not.
    #[default]
    Time,
    /// At the first frame at which nothing moves faster than 2 mm/s and 0.05 rad/s.
    Rest,
}

/// A number, or two between which it is drawn.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq)]
#[serde(untagged)]
pub enum Range {
    /// Always this.
    Number(f64),
    /// Any between these, as likely as any other.
    Between([f64; 2]),
}

impl Range {
    pub(super) fn ends(self) -> [f64; 2] {
        match self {
            Self::Number(number) => [number; 2],
            Self::Between(ends) => ends,
        }
    }

    pub(super) fn draw(self, random: &mut Random) -> f64 {
        let [low, high] = self.ends();
        low + (high - low) * random.uniform()
    }
}

/// Bodies that are made from bodies of the model.
#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct Bodies {
    /// Names of bodies of the model to copy, each as likely as the others.
    #[serde(default)]
    pub templates: Vec<String>,
    /// How many.
    pub count: Count,
    /// Side of boxes (m); that of the template unless told.
    pub side: Option<Range>,
    /// Density (kg/m³).
    pub density: Option<Range>,
    /// Mass (kg).
    pub mass: Option<Range>,
    /// Friction.
    pub friction: Option<Range>,
    /// Whether all bodies of a run are alike.
    #[serde(default)]
    pub alike: bool,
}

/// A count, or the least and the greatest.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(untagged)]
pub enum Count {
    /// Always so many.
    Number(usize),
    /// Any between these, both included.
    Between([usize; 2]),
}

impl Count {
    pub(super) fn ends(self) -> [usize; 2] {
        match self {
            Self::Number(number) => [number; 2],
            Self::Between(ends) => ends,
        }
    }
}

/// One body slides at the others, which rest in rows of 1, 2, 3, … that point at it.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct Shot {
    /// Its speed (m/s).
    pub speed: Range,
    /// Its spin about the vertical (rad/s).
    #[serde(default = "none")]
    pub spin: Range,
    /// Headings of all bodies from the direction of the shot (rad).
    #[serde(default = "any_heading")]
    pub yaw: Range,
    /// How far it is off the middle, in mean sides.
    #[serde(default = "none")]
    pub aside: Range,
    /// Free way before the first body (m).
    #[serde(default = "usual_way")]
    pub way: Range,
    /// Gaps between bodies that rest (m).
    #[serde(default = "usual_gap")]
    pub gap: Range,
    /// Whether runs without an impact are drawn again.
    #[serde(default = "yes")]
    pub impact: bool,
}

fn none() -> Range {
    Range::Number(0.0)
}

fn any_heading() -> Range {
    let eighth = std::f64::consts::FRAC_PI_4;
    Range::Between([-eighth, eighth])
}

fn usual_way() -> Range {
    Range::Between([0.02, 0.1])
}

fn usual_gap() -> Range {
    Range::Between([0.002, 0.015])
}

fn yes() -> bool {
    true
}

/// A number of the model that is drawn for every run.
#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct Draw {
    /// Which: a parameter as `--free` of `carom identify` takes it.
    pub select: String,
    /// Between which values.
    pub range: Option<Range>,
    /// Or its mean …
    pub mean: Option<f64>,
    /// … and standard deviation.
    pub sd: Option<f64>,
    /// Whether its logarithm is drawn.
    #[serde(default)]
    pub log: bool,
}

impl Draw {
    pub(super) fn value(&self, random: &mut Random) -> f64 {
        let change = |value: f64| if self.log { value.ln() } else { value };
        let drawn = match (self.range, self.mean, self.sd) {
            (Some(range), ..) => {
                let ends = range.ends().map(change);
                Range::Between(ends).draw(random)
            }
            // The standard deviation of a logarithm is relative.
            (None, Some(mean), Some(sd)) => {
                let sd = if self.log { sd / mean } else { sd };
                change(mean) + sd * random.normal()
            }
            _ => 0.0,
        };
        if self.log { drawn.exp() } else { drawn }
    }
}

/// Most runs of a recipe, frames of a run, bodies, and runs in a file.
const MAX: [usize; 4] = [10_000_000, 100_000, 200, 10_000];

impl Recipe {
    /// Reads a recipe; its model is looked for beside it.
    ///
    /// # Errors
    /// When it cannot be read, or says what cannot be meant, with line and column.
    pub fn read(path: &Path) -> Result<(Self, String), Error> {
        let text = std::fs::read_to_string(path).map_err(|cause| {
            Error::new(
                ErrorKind::Read,
                format!("cannot read the recipe '{}'", path.display()),
            )
            .because(cause)
            .at(Place::File(path.to_owned()))
        })?;
        let mut recipe = Self::parse(&text, path)?;
        if let Some(folder) = path.parent() {
            recipe.model = folder.join(&recipe.model);
        }
        Ok((recipe, text))
    }

    /// A recipe from its text; `path` is what messages call it.
    ///
    /// # Errors
    /// When it says what cannot be meant, with line and column.
    pub fn parse(text: &str, path: &Path) -> Result<Self, Error> {
        let wrong = |at: usize, why: &str| {
            let before = text.get(..at).unwrap_or(text);
            let line = before.matches('\n').count() + 1;
            let column = at - before.rfind('\n').map_or(0, |end| end + 1) + 1;
            Error::new(
                ErrorKind::Settings,
                format!("recipe '{}', line {line}: {why}", path.display()),
            )
            .at(Place::Text {
                file: path.to_owned(),
                line,
                column,
            })
        };
        let recipe: Self = toml::from_str(text).map_err(|cause| {
            let at = cause.span().map_or(0, |span| span.start);
            wrong(at, cause.message().trim_end())
        })?;
        recipe.check().map_err(|(key, why)| {
            // The first line that says it.
            let says = |line: &str| {
                line.trim_start().strip_prefix(key).is_some_and(|rest| {
                    rest.trim_start().starts_with(['=', ']']) || key.starts_with('[')
                })
            };
            let mut at = 0;
            for line in text.split_inclusive('\n') {
                if says(line) {
                    break;
                }
                at += line.len();
            }
            wrong(if at < text.len() { at } else { 0 }, &why)
        })?;
        Ok(recipe)
    }

    /// What cannot be meant, and the key that says it.
    fn check(&self) -> Result<(), (&'static str, String)> {
        let counts = [
            ("runs", self.runs, 1, MAX[0]),
            ("frames", self.frames, 2, MAX[1]),
            ("runs_per_shard", self.runs_per_shard, 1, MAX[3]),
        ];
        for (key, count, least, most) in counts {
            if !(least..=most).contains(&count) {
                return Err((key, format!("{key} = {count}: give {least} to {most}")));
            }
        }
        if !(self.rate.is_finite() && self.rate > 0.0) {
            return Err((
                "rate",
                format!("rate = {}: give frames a second, above 0", self.rate),
            ));
        }
        if let Some(bodies) = &self.bodies {
            bodies.check()?;
        }
        if let Some(shot) = &self.shot {
            shot.check()?;
        }
        for draw in &self.draws {
            draw.check()?;
        }
        Ok(())
    }

    /// Seconds between frames.
    pub fn dt(&self) -> f64 {
        1.0 / self.rate
    }

    /// How many files the runs fill.
    pub fn shards(&self) -> usize {
        self.runs.div_ceil(self.runs_per_shard)
    }
}

fn check_range(key: &'static str, range: Range, least: f64) -> Result<(), (&'static str, String)> {
    let [low, high] = range.ends();
    if low.is_finite() && high.is_finite() && low <= high && low >= least {
        return Ok(());
    }
    let bound = if least > f64::MIN {
        format!(", not below {least}")
    } else {
        String::new()
    };
    Err((
        key,
        format!(
            "{key} = [{low}, {high}]: give one number, or the lower and the greater one{bound}"
        ),
    ))
}

impl Bodies {
    fn check(&self) -> Result<(), (&'static str, String)> {
        let [low, high] = self.count.ends();
        if low < 1 || low > high || high > MAX[2] {
            let most = MAX[2];
            return Err((
                "count",
                format!(
                    "count = [{low}, {high}]: give one number, or two that grow, from 1 to {most}"
                ),
            ));
        }
        if self.mass.is_some() && self.density.is_some() {
            return Err(("mass", "mass and density exclude each other".to_owned()));
        }
        for (key, range, least) in [
            ("side", self.side, 1e-4),
            ("density", self.density, 1e-3),
            ("mass", self.mass, 1e-9),
            ("friction", self.friction, 0.0),
        ] {
            if let Some(range) = range {
                check_range(key, range, least)?;
            }
        }
        Ok(())
    }
}

impl Shot {
    fn check(&self) -> Result<(), (&'static str, String)> {
        for (key, range, least) in [
            ("speed", self.speed, 0.0),
            ("spin", self.spin, f64::MIN),
            ("yaw", self.yaw, f64::MIN),
            ("aside", self.aside, f64::MIN),
            ("way", self.way, 0.0),
            ("gap", self.gap, 0.0),
        ] {
            check_range(key, range, least)?;
        }
        Ok(())
    }
}

impl Draw {
    fn check(&self) -> Result<(), (&'static str, String)> {
        let positive = if self.log {
            f64::MIN_POSITIVE
        } else {
            f64::MIN
        };
        match (self.range, self.mean, self.sd) {
            (Some(range), None, None) => check_range("range", range, positive),
            (None, Some(mean), Some(sd)) if sd >= 0.0 && mean >= positive && mean.is_finite() => {
                Ok(())
            }
            _ => Err((
                "select",
                format!(
                    "'{}' is drawn from nothing that can be meant: give range = [low, high], or mean and sd",
                    self.select
                ),
            )),
        }
    }
}
