//! When things meet.
//!
//! The distance of two convex shapes that move without turning is a convex function of time, so that Newton's method from its
//! start never passes the first impact. Where they turn, steps are as long as is safe, distance over the greatest speed with
//! which it may close, until Newton's method has little left to go.

use super::{Impact, Impacts, middle};
use crate::jacobian;
use crate::math::{Spatial, Vec3};
use crate::model::{GeomKind, ImpulsePair, Model};
use crate::scalar::Scalar;
use crate::stages::collision;
use crate::stages::kinematics::Kinematics;

/// Distances within this count as zero (m).
const ZERO_DISTANCE: f64 = 1e-13;

/// Maximum of evaluations of the distance of a pair.
const MAX_LOOKS: usize = 200;

/// Parts of the rest of the step after which geoms that touch and part are looked at again.
const RECHECK_FRACTION: f64 = 1.0 / 16.0;

/// The distance is seen this much farther (m) than it may close.
const SIGHT_MARGIN: f64 = 1e-6;

/// What two geoms do somewhere on the way.
struct Look {
    distance: f64,
    /// Its rate.
    rate: f64,
    /// The greatest speed with which it may close.
    bound: f64,
    /// Whether one of them turns.
    turns: bool,
    /// How far the surfaces are from the axes of that.
    size: f64,
}

impl<T: Scalar> Impacts<T> {
    /// The first impact in the rest of the step.
    pub(super) fn next_impact(&mut self, model: &Model<T>) -> Option<Impact<T>> {
        let pairs = &model.structure.laws.impulse_pairs;
        let mut rest = self.rest.value();
        let mut first = None;
        self.go(model, T::ZERO);
        for &pair in pairs {
            let Some(look) = self.look(model, pair, rest) else {
                continue;
            };
            if let Some((time, moves)) = self.time_of_impact(model, pair, look, rest) {
                rest = time;
                first = Some(Impact {
                    pair,
                    time: T::from(time),
                    moves,
                });
            }
            self.go(model, T::ZERO);
        }
        first
    }

    /// When a pair meets before a time, and whether that moves with the state; `look` is what it does at the start.
    fn time_of_impact(
        &mut self,
        model: &Model<T>,
        pair: ImpulsePair,
        mut look: Look,
        rest: f64,
    ) -> Option<(f64, bool)> {
        let (mut time, mut last_apart) = (0.0, None);
        if look.distance < -ZERO_DISTANCE && look.rate < 0.0 {
            return Some((0.0, false));
        }
        for _ in 0..MAX_LOOKS {
            let is_apart = look.distance > ZERO_DISTANCE;
            if look.distance.abs() <= ZERO_DISTANCE && look.rate < 0.0 {
                return (time < rest).then_some((time, true));
            }
            if !look.turns && look.rate >= 0.0 && last_apart.is_none_or(|_| is_apart) {
                return None;
            }
            time = match last_apart {
                // Near an impact from either side.
                _ if look.is_near() => time + look.distance / -look.rate,
                _ if is_apart => {
                    last_apart = Some(time);
                    time + look.distance / look.bound
                }
                // Beyond one, on the way out again.
                Some(before) => 0.5 * (before + time),
                None => time + RECHECK_FRACTION * rest,
            };
            if time.is_nan() || time >= rest {
                return None;
            }
            time = f64::max(time, 0.0);
            self.go(model, T::from(time));
            look = self.look(model, pair, rest - time)?;
        }
        None
    }

    /// What a pair does where the step is; none if it cannot meet within a time.
    fn look(&mut self, model: &Model<T>, pair: ImpulsePair, within: f64) -> Option<Look> {
        let kinematics = &self.place.kinematics;
        let centers = pair
            .geoms
            .map(|geom| kinematics.geom_position[geom].value());
        let apart = centers[0].distance(centers[1]);
        let bodies = pair.geoms.map(|geom| model.structure.geoms.body[geom]);
        let motions = bodies.map(|body| motion(model, kinematics, body, &self.state.qvel));
        let velocity_at = |side: usize, point: Vec3| -> Vec3 {
            let root = model.structure.bodies.root[bodies[side]];
            let offset = point - kinematics.subtree_com[root].value();
            jacobian::point_velocity(motions[side], offset)
        };
        let mut bound = (velocity_at(1, centers[1]) - velocity_at(0, centers[0])).norm();
        let mut size: f64 = 0.0;
        for (geom, motion) in pair.geoms.into_iter().zip(&motions) {
            let radius = match model.structure.geoms.kind[geom] {
                GeomKind::Plane | GeomKind::HeightField => apart,
                _ => model.geoms.bounding_radius[geom].value(),
            };
            bound += motion.angular().norm() * radius;
            size = size.max(radius);
        }
        let cutoff = bound * within + SIGHT_MARGIN;
        let work = &mut self.place.manifold;
        let found = collision::distance(model, kinematics, pair.geoms, cutoff, work)?;
        let point = middle(&found).value();
        let rate = found
            .normal
            .value()
            .dot(velocity_at(1, point) - velocity_at(0, point));
        Some(Look {
            distance: found.distance.value(),
            rate,
            bound,
            turns: motions.iter().any(|motion| motion.angular() != Vec3::ZERO),
            size,
        })
    }
}

impl Look {
    /// Whether Newton's method may go on from here.
    fn is_near(&self) -> bool {
        let step = self.distance / -self.rate;
        let way = self.bound * step;
        self.rate < 0.0 && (!self.turns || way * way <= 0.5 * self.distance.abs() * self.size)
    }
}

/// The motion of a body about the centre of mass of its tree.
fn motion<T: Scalar>(
    model: &Model<T>,
    kinematics: &Kinematics<T>,
    body: usize,
    velocity: &[T],
) -> Spatial {
    let mut sum = Spatial::ZERO;
    for &dof in jacobian::moving_dofs(model, body) {
        let axis = kinematics.dof_axis[dof];
        let axis = Spatial::new(axis.angular().value(), axis.linear().value());
        sum = sum.scale_add(axis, velocity[dof].value());
    }
    sum
}
