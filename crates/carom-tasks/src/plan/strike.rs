//! Strikes as decisions: where a held body begins so that it touches another one at a point, with a speed, from a direction.

use std::sync::Arc;

use carom::cotangent::StateBar;
use carom::math::{Quat, Vec3};
use carom::{Dual, Model, State, plan_view};
use carom_planar::{Approach, Outline};
use serde::Deserialize;
use toml::Spanned;

use super::task::Text;

/// What of a strike may be decided, as quantities call it.
const PARTS: [&str; 3] = ["strike.point", "strike.speed", "strike.deflection"];

/// Who strikes what, as a task file has it.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StrikeEntry {
    /// The body that is struck: it has a free joint.
    struck: Spanned<String>,
    /// The body that strikes: it has slides along x and y, and a hinge about z.
    striker: Spanned<String>,
    /// Way to go before the bodies touch (m).
    #[serde(default = "default_way")]
    way: Spanned<f64>,
    /// What is not decided: metres along the outline from where it meets the body's x axis,
    #[serde(default)]
    point: f64,
    /// metres a second,
    #[serde(default = "default_speed")]
    speed: f64,
    /// radians against the inward normal.
    #[serde(default)]
    deflection: f64,
}

fn default_way() -> Spanned<f64> {
    Spanned::new(0..0, 1e-3)
}

fn default_speed() -> f64 {
    0.5
}

/// How strikes of a task begin.
#[derive(Clone, Debug, PartialEq)]
pub struct StrikeStart {
    struck: Outline,
    striker: Outline,
    /// First coordinate of the struck body.
    free: usize,
    /// Coordinates and dofs of the striker.
    held: [[usize; 2]; 3],
    centre: Vec3,
    origin: [f64; 2],
    way: f64,
    given: [f64; 3],
}

/// One of the numbers of a strike.
#[derive(Clone, Debug, PartialEq)]
pub struct StrikePart {
    /// The strike.
    pub strike: Arc<StrikeStart>,
    /// Which number: point, speed, deflection.
    pub index: usize,
}

impl StrikePart {
    /// The number that a quantity means, if it is one of a strike.
    pub(super) fn find(
        quantity: &Spanned<String>,
        strike: Option<&Arc<StrikeStart>>,
        place: &Text<'_>,
    ) -> Result<Option<Self>, carom::Error> {
        let name = quantity.get_ref().as_str();
        if !name.starts_with("strike.") {
            return Ok(None);
        }
        let Some(index) = PARTS.iter().position(|part| *part == name) else {
            let why = format!("'{name}' is no number of a strike");
            let all = PARTS.join(", ");
            return Err(place
                .wrong(&quantity.span(), why)
                .remedy(format!("there are {all}")));
        };
        let Some(strike) = strike else {
            let why = "the task does not say what strikes what";
            return Err(place
                .wrong(&quantity.span(), why)
                .remedy("add [strike] with struck and striker, two bodies"));
        };
        Ok(Some(Self {
            strike: Arc::clone(strike),
            index,
        }))
    }

    /// What it is where nobody says otherwise.
    pub(super) fn given(&self) -> f64 {
        self.strike.given[self.index]
    }
}

impl StrikeStart {
    /// The strikes of a task.
    pub(super) fn new(
        entry: &StrikeEntry,
        place: &Text<'_>,
        model: &Model,
    ) -> Result<Arc<Self>, carom::Error> {
        let wrong = |name: &Spanned<String>, why: String, remedy: &str| {
            place.wrong(&name.span(), why).remedy(remedy)
        };
        let find = |name: &Spanned<String>| {
            plan_view::body(model, name.get_ref())
                .map_err(|error| wrong(name, error.to_string(), "name a body of the model"))
        };
        let (struck, striker) = (find(&entry.struck)?, find(&entry.striker)?);
        let shape = "give it meshes, boxes or cylinders";
        let standing = plan_view::standing(model, entry.struck.get_ref())
            .map_err(|error| wrong(&entry.struck, error.to_string(), shape))?;
        let held_outline = plan_view::held(model, entry.striker.get_ref())
            .map_err(|error| wrong(&entry.striker, error.to_string(), shape))?;
        let Some([free, _]) = plan_view::free_joint(model, struck) else {
            let why = format!("body '{}' has no free joint", entry.struck.get_ref());
            return Err(wrong(&entry.struck, why, "name a body that moves freely"));
        };
        let Some(held) = plan_view::held_joints(model, striker) else {
            let name = entry.striker.get_ref();
            let why =
                format!("body '{name}' does not move by slides along x and y and a hinge about z");
            return Err(wrong(
                &entry.striker,
                why,
                "give it these three joints, in this order",
            ));
        };
        let way = *entry.way.get_ref();
        if !(way.is_finite() && way >= 0.0) {
            let why = format!("the way is {way}");
            return Err(place
                .wrong(&entry.way.span(), why)
                .remedy("give metres from 0 on"));
        }
        let origin = model.bodies.position[striker];
        Ok(Arc::new(Self {
            struck: standing.outline,
            striker: held_outline,
            free,
            held,
            centre: model.bodies.inertial_position[struck],
            origin: [origin[0], origin[1]],
            way,
            given: [entry.point, entry.speed, entry.deflection],
        }))
    }

    /// Where the centre of mass is, and how far the body is turned.
    fn pose(&self, state: &State) -> ([f64; 2], f64) {
        let number = |k: usize| state.qpos[self.free + k];
        let turn = Quat([3, 4, 5, 6].map(number)).normalized();
        let at = Vec3([0, 1, 2].map(number)) + turn.rotate(self.centre);
        let x = turn.rotate(Vec3([1.0, 0.0, 0.0]));
        ([at[0], at[1]], x[1].atan2(x[0]))
    }

    /// Coordinates of the striker and their rates over dual numbers of point, speed and deflection.
    fn numbers(&self, numbers: [f64; 3], state: &State) -> [[Dual<3>; 3]; 2] {
        let [point, speed, deflection] = [0, 1, 2].map(|k| Dual::variable(numbers[k], k));
        let approach = Approach {
            point,
            speed,
            deflection,
        };
        let ([x, y, heading], [u, v, rate]) = approach.place(&self.struck, &self.striker, self.way);
        let ([at_x, at_y], yaw) = self.pose(state);
        let (sin, cos) = yaw.sin_cos();
        [
            [
                x * cos - y * sin + (at_x - self.origin[0]),
                x * sin + y * cos + (at_y - self.origin[1]),
                heading + yaw,
            ],
            [u * cos - v * sin, u * sin + v * cos, rate],
        ]
    }

    /// Lets the striker of a state begin so.
    pub fn place(&self, numbers: [f64; 3], state: &mut State) {
        let [places, rates] = self.numbers(numbers, state);
        for (k, [qpos, dof]) in self.held.into_iter().enumerate() {
            state.qpos[qpos] = places[k].value;
            state.qvel[dof] = rates[k].value;
        }
    }

    /// Derivatives with respect to point, speed and deflection, from those with respect to the state that follows.
    pub fn slopes(&self, numbers: [f64; 3], state: &State, bar: &StateBar) -> [f64; 3] {
        let [places, rates] = self.numbers(numbers, state);
        let mut slopes = [0.0; 3];
        for (k, [_, dof]) in self.held.into_iter().enumerate() {
            for (slope, lane) in slopes.iter_mut().zip(0..) {
                *slope += places[k].tangent[lane] * bar.qpos[dof]
                    + rates[k].tangent[lane] * bar.qvel[dof];
            }
        }
        slopes
    }

    /// What is not decided.
    pub fn given(&self) -> [f64; 3] {
        self.given
    }
}

#[cfg(test)]
mod tests;
