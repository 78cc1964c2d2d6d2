use super::Tendon;
use super::path::{Around, Step, steps};
use super::wrap::{Obstacle, wrap};
use crate::math::{Spatial, Vec3};
use crate::model::{Model, Wrap};
use crate::scalar::Scalar;
use crate::stages::kinematics::Kinematics;
use crate::state::State;

/// Computes tendon lengths and Jacobians.
pub fn forward<T: Scalar>(
    model: &Model<T>,
    state: &State<T>,
    kinematics: &Kinematics<T>,
    out: &mut Tendon<T>,
) {
    let tendons = &model.structure.tendons;
    out.jacobian.fill(T::ZERO);
    let mut points = 0;
    for tendon in 0..out.length.len() {
        out.path_start[tendon] = points;
        if tendons.spatial[tendon] {
            let mut tracer = Tracer {
                model,
                kinematics,
                out,
                points,
                scale: T::ONE,
            };
            let length = tracer.trace(tendon);
            points = tracer.points;
            out.length[tendon] = length;
        } else {
            out.length[tendon] = fixed(model, state, tendon, &mut out.jacobian);
        }
        out.path_length[tendon] = points - out.path_start[tendon];
    }
}

/// A linear combination of joint positions.
fn fixed<T: Scalar>(model: &Model<T>, state: &State<T>, tendon: usize, jacobian: &mut [T]) -> T {
    let structure = &model.structure;
    let tendons = &structure.tendons;
    let mut length = T::ZERO;
    for position in tendons.wraps[tendon].clone() {
        if let Wrap::Joint(joint) = tendons.path[position] {
            let coefficient = model.wraps.coefficient[position];
            length += coefficient * state.qpos[structure.joints.qpos[joint]];
            jacobian[tendons.joint_entry[position]] += coefficient;
        }
    }
    length
}

/// A point of a path and the body that carries it.
#[derive(Clone, Copy)]
struct PathPoint<T> {
    position: Vec3<T>,
    body: usize,
}

/// Marks a pulley among the path points.
pub(crate) const PULLEY: usize = usize::MAX;

/// Walks along a spatial path, leg by leg.
struct Tracer<'a, T: Scalar> {
    model: &'a Model<T>,
    kinematics: &'a Kinematics<T>,
    out: &'a mut Tendon<T>,
    /// Path points written so far, over all tendons.
    points: usize,
    /// One over the pulley's divisor.
    scale: T,
}

impl<T: Scalar> Tracer<'_, T> {
    /// Walks the whole path; returns its length.
    fn trace(&mut self, tendon: usize) -> T {
        let model = self.model;
        let mut length = T::ZERO;
        for step in steps(&model.structure.tendons, tendon) {
            match step {
                Step::Pulley(position) => {
                    self.scale = model.wraps.coefficient[position].recip();
                    self.push(&PathPoint {
                        position: Vec3::ZERO,
                        body: PULLEY,
                    });
                }
                Step::Leg(leg) => {
                    let ends = [self.site(leg.sites[0]), self.site(leg.sites[1])];
                    let [start, end] = &ends;
                    self.push(start);
                    let part = match &leg.around {
                        Some(around) => self.around(leg.position, around, [start, end]),
                        None => self.straight(3 * leg.position, start, end),
                    };
                    length += part * self.scale;
                    if leg.is_last {
                        self.push(end);
                    }
                }
            }
        }
        length
    }

    /// A leg with a wrapping geom in between; returns its length.
    fn around(
        &mut self,
        position: usize,
        &Around { shape, geom, side }: &Around,
        [start, end]: [&PathPoint<T>; 2],
    ) -> T {
        let obstacle = Obstacle {
            shape,
            center: self.kinematics.geom_position[geom],
            rotation: &self.kinematics.geom_rotation[geom],
            radius: self.model.geoms.size[geom][0],
        };
        let side = side.map(|site| self.kinematics.site_position[site]);
        let Some(contact) = wrap(&obstacle, start.position, end.position, side) else {
            return self.straight(3 * position, start, end);
        };
        let body = self.model.structure.geoms.body[geom];
        let [enter, leave] = &contact.points.map(|position| PathPoint { position, body });
        self.push(enter);
        self.push(leave);
        let before = self.straight(3 * position + 1, start, enter);
        let after = self.straight(3 * position + 2, leave, end);
        before + contact.length + after
    }

    /// A straight leg: adds its part of the Jacobian, returns its length.
    ///
    /// A unit force at both ends along the leg, pulling them apart, does the power of the length's rate of change.
    fn straight(&mut self, leg: usize, start: &PathPoint<T>, end: &PathPoint<T>) -> T {
        let (direction, length) = (end.position - start.position).normalized();
        let legs = &self.model.structure.tendons.legs;
        let direction = direction * self.scale;
        self.pull(legs.first(leg), start, -direction);
        self.pull(legs.second(leg), end, direction);
        length
    }

    /// Adds the generalised force of a force at a point to the Jacobian's entries.
    fn pull(&mut self, entries: &[[u32; 2]], point: &PathPoint<T>, force: Vec3<T>) {
        if entries.is_empty() {
            return;
        }
        let root = self.model.structure.bodies.root[point.body];
        let arm = point.position - self.kinematics.subtree_com[root];
        let wrench = Spatial::new(arm.cross(force), force);
        for &[dof, entry] in entries {
            let axis = self.kinematics.dof_axis[dof as usize];
            self.out.jacobian[entry as usize] += axis.dot(wrench);
        }
    }

    fn site(&self, site: usize) -> PathPoint<T> {
        PathPoint {
            position: self.kinematics.site_position[site],
            body: self.model.structure.sites.body[site],
        }
    }

    fn push(&mut self, point: &PathPoint<T>) {
        self.out.path_point[self.points] = point.position;
        self.out.path_body[self.points] = point.body;
        self.points += 1;
    }
}
