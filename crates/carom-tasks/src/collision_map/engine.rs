//! Recorded strikes, followed by the engine: with its own contacts, or with a map.

use carom::{Dynamics, Error, ErrorKind, Model, State, plan_view};
use carom_planar::{Command, ContactLaw, Course, Laws, Moving, Planar};
use rayon::prelude::*;

use super::score::Prediction;
use super::strikes::Recorded;
use super::{CollisionMap, StrikeMapping};

/// No strike is followed longer (s).
const LONGEST: f64 = 2.0;
/// A body that is slower is at rest (m/s, and rad/s times its radius of gyration),
const REST: f64 = 1e-4;
/// after it has been so for so long (s): a second strike may come.
const WAIT: f64 = 0.12;
/// Rate at which an arm that does not yield follows its command (rad/s), as a logarithm.
const UNYIELDING: f64 = 6.5;

/// A model that follows strikes.
#[derive(Debug)]
pub struct Engine<'a> {
    model: &'a Model,
    map: &'a CollisionMap,
    ids: [usize; 2],
    free: [usize; 2],
    held: [[usize; 2]; 3],
    origin: [f64; 2],
}

/// A strike on its way.
struct Way {
    state: State,
    course: Course,
    touched: bool,
    apart: f64,
    still: f64,
    post: Option<Planar>,
}

impl<'a> Engine<'a> {
    /// The model of a scene; its arm moves as that of the map, and yields only where the model has the map itself.
    ///
    /// # Errors
    /// When the two bodies do not move as they must.
    pub fn new(
        model: &'a Model,
        mapping: &StrikeMapping,
        map: &'a CollisionMap,
    ) -> Result<Self, Error> {
        let scene = &mapping.scene;
        let struck = plan_view::body(model, &scene.struck)?;
        let striker = plan_view::body(model, &scene.striker)?;
        let wrong = |name: &str, needs: &str| {
            let why = format!("body '{name}' {needs}");
            Error::new(ErrorKind::Unsupported, why)
                .remedy("the page on maps of collisions says what scenes need")
        };
        let free = plan_view::free_joint(model, struck)
            .ok_or_else(|| wrong(&scene.struck, "has no free joint"))?;
        let held = plan_view::held_joints(model, striker).ok_or_else(|| {
            let needs = "does not move by slides along x and y and a hinge about z";
            wrong(&scene.striker, needs)
        })?;
        let origin = model.bodies.position[striker];
        Ok(Self {
            model,
            map,
            ids: [struck, striker],
            free,
            held,
            origin: [origin[0], origin[1]],
        })
    }

    /// Predictions of recorded strikes.
    pub fn predict(&self, strikes: &[Recorded]) -> Vec<Prediction> {
        strikes
            .par_iter()
            .map(|strike| self.follow(strike))
            .collect()
    }

    fn follow(&self, strike: &Recorded) -> Prediction {
        let (mut work, input) = (self.model.work(), self.model.input());
        let mut way = self.start(strike);
        let yields = self.model.strike.is_some();
        let laws = Laws {
            contact: ContactLaw {
                arm_rate: UNYIELDING,
                ..self.map.laws.contact
            },
            table: self.map.laws.table,
        };
        let steps = LONGEST / input.timestep;
        let mut step = 0.0;
        while step < steps && way.still < WAIT {
            step += 1.0;
            if !yields {
                let course = &mut way.course;
                self.map
                    .bodies
                    .advance_striker(&laws, course, input.timestep);
                self.hold(&mut way);
            }
            self.model.step(&mut way.state, &input, &mut work);
            let touches = match &work.integration.strikes {
                Some(strikes) if work.collision.is_mapped => strikes.touched,
                _ => self.touch(&work),
            };
            self.note(&mut way, touches, input.timestep);
        }
        let [x, y, yaw, ..] = self.planar(&way.state);
        Prediction {
            post: way.post.unwrap_or_else(|| self.planar(&way.state)),
            rest: [x, y, yaw],
        }
    }

    fn start(&self, strike: &Recorded) -> Way {
        let mut state = State::reference(self.model);
        let [free, _] = self.free;
        let [x, y, yaw] = strike.pose;
        let (sin, cos) = (0.5 * yaw).sin_cos();
        let centre = self.model.bodies.inertial_position[self.ids[0]];
        let (s, c) = yaw.sin_cos();
        state.qpos[free] = x - (c * centre[0] - s * centre[1]);
        state.qpos[free + 1] = y - (s * centre[0] + c * centre[1]);
        state.qpos[free + 3..free + 7].copy_from_slice(&[cos, 0.0, 0.0, sin]);
        let [x, y, yaw, u, v, rate] = strike.striker;
        let course = Course {
            body: Moving {
                pose: strike.pose,
                rate: [0.0; 3],
            },
            held: Moving {
                pose: [x, y, yaw],
                rate: [u, v, rate],
            },
            command: Command::none(),
        };
        let mut way = Way {
            state,
            course,
            touched: false,
            apart: 0.0,
            still: 0.0,
            post: None,
        };
        self.hold(&mut way);
        way
    }

    /// Puts the striker where its arm is.
    fn hold(&self, way: &mut Way) {
        let Moving { pose, rate } = way.course.held;
        let origin = [self.origin[0], self.origin[1], 0.0];
        for (k, [qpos, dof]) in self.held.into_iter().enumerate() {
            way.state.qpos[qpos] = pose[k] - origin[k];
            way.state.qvel[dof] = rate[k];
        }
    }

    fn touch(&self, work: &<Model as Dynamics>::Work) -> bool {
        let body = |geom: usize| self.model.structure.geoms.body[geom];
        let [struck, striker] = self.ids;
        work.collision.contacts.iter().any(|contact| {
            let bodies = contact.geoms.map(body);
            contact.distance <= 0.0 && bodies.contains(&struck) && bodies.contains(&striker)
        })
    }

    /// Notes when contact ends for good, and how long all is still.
    fn note(&self, way: &mut Way, touches: bool, timestep: f64) {
        let now = self.planar(&way.state);
        if touches {
            if !way.touched {
                way.touched = true;
                way.course.command = Command {
                    clock: timestep,
                    from: way.course.held.pose,
                    velocity: [way.course.held.rate[0], way.course.held.rate[1]],
                };
            }
            if way.apart <= self.map.bodies.quiet {
                way.post = None;
                way.apart = 0.0;
            }
        } else if way.touched {
            let _ = way.post.get_or_insert(now);
            way.apart += timestep;
        }
        let [.., u, v, spin] = now;
        let speed = u.hypot(v).hypot(self.map.bodies.struck.gyration * spin);
        way.still = if way.touched && speed < REST {
            way.still + timestep
        } else {
            0.0
        };
    }

    /// Pose of the centre of mass and its rates.
    fn planar(&self, state: &State) -> Planar {
        let [free, dof] = self.free;
        let number = |k: usize| state.qpos[free + k];
        let turn = carom::math::Quat([3, 4, 5, 6].map(number)).normalized();
        let vector = |k: usize| carom::math::Vec3([0, 1, 2].map(|axis| state.qvel[k + axis]));
        let centre = self.model.bodies.inertial_position[self.ids[0]];
        let (spin, offset) = (turn.rotate(vector(dof + 3)), turn.rotate(centre));
        let moves = vector(dof) + spin.cross(offset);
        let x = turn.rotate(carom::math::Vec3([1.0, 0.0, 0.0]));
        [
            number(0) + offset[0],
            number(1) + offset[1],
            x[1].atan2(x[0]),
            moves[0],
            moves[1],
            spin[2],
        ]
    }
}
