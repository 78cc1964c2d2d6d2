//! CPU time of gradients in continuous time.

use carom::cotangent::StateBar;
use carom::flow::{Flow, FlowSettings, Method, Tolerances};
use carom::parameters::Parameters;
use carom::rollout::{Controls, Loss};
use carom::{Model, State};
use cpu_time::ThreadTime;
use serde_json::Value;

use super::Case;

/// The question: a position at the end of a motion, by a velocity at its start and perhaps by parameters too.
#[derive(Clone, Debug)]
pub(super) struct Motion {
    settings: FlowSettings,
    seconds: f64,
    loss: usize,
    by: usize,
    parameters: Option<Parameters>,
}

/// What a run took, and what it found.
pub(super) struct Measured {
    pub(super) microseconds: f64,
    pub(super) derivative: f64,
}

/// A position of the last state.
struct Position(usize);

impl Loss for Position {
    fn by_state(&mut self, step: usize, _: &State, bar: &mut StateBar) {
        if step == 1 {
            bar.qpos[self.0] += 1.0;
        }
    }
}

impl Motion {
    /// `"method"`, `"tolerance"`, `"seconds"`, `"loss"` and `"by"` (numbers of a position and of a velocity), and
    /// optionally `"parameters": [selectors]`.
    pub(super) fn from_request(request: &Value, model: &Model) -> Result<Self, String> {
        let number = |name: &str| {
            request[name]
                .as_f64()
                .ok_or_else(|| format!("the request has no {name}"))
        };
        let place = |name: &str, count: usize| {
            let place = request[name].as_u64().and_then(|n| usize::try_from(n).ok());
            place
                .filter(|&place| place < count)
                .ok_or_else(|| format!("{name} is not the number of a coordinate"))
        };
        let method = (Method::ALL.iter())
            .find(|(name, _)| Some(*name) == request["method"].as_str())
            .ok_or("the request names no method")?;
        let selectors: Vec<&str> = (request["parameters"].as_array().into_iter().flatten())
            .filter_map(Value::as_str)
            .collect();
        let parameters = if selectors.is_empty() {
            None
        } else {
            let chosen = Parameters::select(model, &selectors);
            Some(chosen.map_err(|error| error.to_string())?)
        };
        Ok(Self {
            settings: FlowSettings {
                method: method.1,
                tolerances: Tolerances::all(number("tolerance")?),
                ..FlowSettings::default()
            },
            seconds: number("seconds")?,
            loss: place("loss", model.counts().nv)?,
            by: place("by", model.counts().nv)?,
            parameters,
        })
    }

    /// How many parameters there are derivatives by.
    pub(super) fn parameters(&self) -> usize {
        self.parameters.as_ref().map_or(0, Parameters::len)
    }

    /// CPU time of the motion with its gradient.
    pub(super) fn measure(&self, case: &Case) -> Result<Measured, String> {
        let begin = ThreadTime::now();
        let flow = Flow::new(&case.model, self.settings).map_err(|error| error.to_string())?;
        let motion = flow.run(&case.start, &Controls::Zero, self.seconds, 1);
        let gradient = motion
            .backward(&flow, &Controls::Zero, &mut Position(self.loss))
            .map_err(|error| error.to_string())?;
        if let Some(parameters) = &self.parameters {
            let by_parameters = parameters.pull_back(parameters.theta0(), &gradient);
            std::hint::black_box(by_parameters.map_err(|error| error.to_string())?);
        }
        Ok(Measured {
            microseconds: begin.elapsed().as_secs_f64() * 1e6,
            derivative: gradient.start.qvel[self.by],
        })
    }
}

#[cfg(test)]
mod tests {
    use super::{Case, Motion};
    use serde_json::{Value, json};

    /// A tossed cube that is still in the air at the end.
    fn request() -> Value {
        let model = concat!(env!("CARGO_MANIFEST_DIR"), "/../../models/cube.xml");
        json!({
            "model": model, "steps": 1, "method": "bosh3", "tolerance": 1e-6, "seconds": 0.1, "loss": 2, "by": 2,
            "parameters": ["geom.*.friction"],
        })
    }

    #[test]
    fn flight_has_the_derivative_of_flight() {
        let case = Case::from_request(&request()).unwrap();
        let motion = Motion::from_request(&request(), &case.model).unwrap();
        let measured = motion.measure(&case).unwrap();
        assert!((measured.derivative - 0.1).abs() < 1e-9);
        assert!(measured.microseconds > 0.0);
        assert_eq!(motion.parameters(), 6);
    }

    #[test]
    fn what_cannot_be_asked_is_said() {
        let case = Case::from_request(&request()).unwrap();
        for (name, wrong, word) in [
            ("method", json!("unheard of"), "method"),
            ("tolerance", Value::Null, "tolerance"),
            ("by", json!(6), "by"),
            ("parameters", json!(["geom.cube.colour"]), "colour"),
        ] {
            let mut request = request();
            request[name] = wrong;
            let error = Motion::from_request(&request, &case.model).unwrap_err();
            assert!(error.contains(word), "{error}");
        }
    }
}
