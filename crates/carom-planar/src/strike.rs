//! Whole strikes: impact, slide, rest.

use crate::contact::Command;
use crate::motion::{Bodies, COARSE, Course, FINE, FRICTION, LOOK, Moving, Room};
use crate::table::TableLaw;
use crate::{ContactLaw, Laws};

/// A striker that has not touched after this time misses (s).
const MISS: f64 = 0.1;
/// No motion is followed longer (s).
const LONGEST: f64 = 4.0;

/// A planar state: x, y, yaw and their rates.
pub type Planar = [f64; 6];

/// What a strike does.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Strike {
    /// The struck body when contact ends.
    pub post: Planar,
    /// The striker at that instant.
    pub post_striker: Planar,
    /// How long they touched (s); not a number for a miss.
    pub duration: f64,
    /// Deepest that the bodies were in each other (m).
    pub depth: f64,
    /// Where the struck body comes to rest.
    pub rest: [f64; 3],
}

impl Bodies {
    /// What happens to the body at rest in this pose when the striker comes in this state.
    pub fn strike(&self, laws: &Laws, pose: [f64; 3], striker: Planar, to_rest: bool) -> Strike {
        let [x, y, yaw, u, v, rate] = striker;
        let mut course = Course {
            body: Moving {
                pose,
                rate: [0.0; 3],
            },
            held: Moving {
                pose: [x, y, yaw],
                rate: [u, v, rate],
            },
            command: Command::none(),
        };
        let mut room = self.room();
        self.spread(&laws.table, &mut room);
        let mut found = self.impact(&laws.contact, &mut course, &mut room);
        let mut time = 0.0;
        while to_rest && found.duration.is_finite() && time < LONGEST {
            time += COARSE;
            if self.are_apart(&course, COARSE) {
                let is_rest = self.slide_both(&laws.contact, &mut course, COARSE, &room);
                if is_rest && course.command.clock > self.arm_time(&course.command) {
                    break;
                }
            } else {
                self.advance(laws, &mut course, COARSE, &mut room);
            }
        }
        found.rest = course.body.pose;
        found
    }

    /// The time after the first touch from which the arm does not come forward any more (s).
    fn arm_time(&self, command: &Command) -> f64 {
        let speed = command.velocity[0].hypot(command.velocity[1]);
        if self.arm.brake > 0.0 {
            self.arm.delay + speed / self.arm.brake
        } else {
            LONGEST
        }
    }

    /// Follows the bodies until contact has ended for good, or did not come.
    fn impact(&self, law: &ContactLaw, course: &mut Course, room: &mut Room) -> Strike {
        let mut post: Option<(Planar, Planar, f64)> = None;
        let (mut last, mut depth, mut time) = (0.0, 0.0f64, 0.0);
        let mut steps = 0;
        let mut friction = [0.0; 3];
        while time < LONGEST {
            if steps % LOOK == 0 {
                self.look(course, LOOK as f64 * FINE, room);
            }
            if steps % FRICTION == 0 {
                friction = self.friction(&course.body, room);
            }
            steps += 1;
            let touches = self.fine_step(law, course, (FINE, friction), room);
            time += FINE;
            if touches {
                last = time;
                post = None;
                depth = depth.max(self.depth_bound(course));
            } else if course.command.has_begun() {
                let _ = post.get_or_insert_with(|| {
                    (flat(&course.body), flat(&course.held), course.command.clock)
                });
                if time - last > self.quiet {
                    break;
                }
            } else if time > MISS {
                break;
            }
        }
        let (post, post_striker, duration) =
            post.unwrap_or((flat(&course.body), flat(&course.held), f64::NAN));
        Strike {
            post,
            post_striker,
            duration,
            depth,
            rest: course.body.pose,
        }
    }

    /// Positions of the body at these times (s, in order) of a slide without contact, and where it rests.
    pub fn slide_through(
        &self,
        table: &TableLaw,
        start: Planar,
        times: &[f64],
    ) -> (Vec<[f64; 3]>, [f64; 3]) {
        let mut room = self.room();
        self.spread(table, &mut room);
        let [a, b, c, d, e, f] = start;
        let mut course = Course {
            body: Moving {
                pose: [a, b, c],
                rate: [d, e, f],
            },
            held: Moving {
                pose: [0.0; 3],
                rate: [0.0; 3],
            },
            command: Command::none(),
        };
        let (mut time, mut places) = (0.0, Vec::with_capacity(times.len()));
        while time < LONGEST {
            let Moving { pose, rate } = course.body;
            let is_rest = self.slide(&mut course, COARSE, &room);
            let next = course.body.rate;
            while let Some(&at) = times.get(places.len()).filter(|&&at| at < time + COARSE) {
                let (past, part) = (at - time, (at - time) / COARSE);
                places.push(
                    [0, 1, 2]
                        .map(|k| pose[k] + past * (rate[k] + 0.5 * part * (next[k] - rate[k]))),
                );
            }
            time += COARSE;
            if is_rest {
                break;
            }
        }
        places.resize(times.len(), course.body.pose);
        (places, course.body.pose)
    }
}

fn flat(moving: &Moving) -> Planar {
    let ([a, b, c], [d, e, f]) = (moving.pose, moving.rate);
    [a, b, c, d, e, f]
}
