//! How Jacobians of lengths change with the configuration: B(i, j) = ∂J(i)/∂q(j).
//!
//! A leg of a tendon from a point p₁ to a point p₂, with u the unit vector along it and P(i) the velocities of its ends by
//! dof i, has J(i) = u·(P₂(i) − P₁(i)). With E(j) the change of p₂ − p₁, slipping along a wrapped geom included,
//!
//!   B(i, j) = E(j)·(1 − u·uᵀ)·(P₂(i) − P₁(i))/|p₂ − p₁| + u·(dP₂(i) − dP₁(i))                          (1)
//!   dP(i) = ω(j) × P(i) for i beyond j,   ω(i) × P(j) for i before j,   and ω(i) × slip(j)                (2)
//!
//! Where a string meets and leaves a geom depends on its ends as seen from the geom, by dual numbers. A wrench w that is
//! fixed to a body, that of a site's actuator, has J(i) = s(i)·w and
//!
//!   B(i, j) = s(i)·(s(j) ×* w) for i before j, and zero otherwise                                        (3)

use super::forces::Context;
use super::forward_mode::Number;
use super::levers;
use crate::data::Data;
use crate::dual::Dual;
use crate::jacobian;
use crate::math::{Mat3, Spatial, Vec3};
use crate::model::{Model, SparsePattern, Transmission, Wrap};
use crate::stages::tendon::{Obstacle, WrapShape, wrap};
use crate::terms::length::{Length, Row};

/// B of each spatial tendon and of each actuator that has one by itself, dense over the columns of its Jacobian.
#[derive(Clone, Debug)]
pub(super) struct Bends {
    tendons: Blocks,
    actuators: Blocks,
    /// ∂length/∂q of these actuators, in the pattern of their moments.
    lengths: Vec<f64>,
    /// Work area: the ends of a string and, between them, where it meets and leaves a geom.
    ends: [PathEnd; 4],
    /// Work area: velocities of the ends as points of the geom.
    carried: [Vec<Option<Vec3>>; 2],
}

/// Square blocks, one a row of a pattern.
#[derive(Clone, Debug)]
struct Blocks {
    start: Vec<usize>,
    values: Vec<f64>,
}

impl Blocks {
    fn new(pattern: &SparsePattern, count: usize, wanted: impl Fn(usize) -> bool) -> Self {
        let mut start = vec![0];
        for row in 0..count {
            let size = if wanted(row) {
                pattern.columns(row).len()
            } else {
                0
            };
            start.push(start[row] + size * size);
        }
        let values = vec![0.0; start[count]];
        Self { start, values }
    }

    fn block(&self, row: usize) -> Option<&[f64]> {
        let block = &self.values[self.start[row]..self.start[row + 1]];
        (!block.is_empty()).then_some(block)
    }

    fn block_mut(&mut self, row: usize) -> &mut [f64] {
        &mut self.values[self.start[row]..self.start[row + 1]]
    }
}

/// A Jacobian with its change.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bend<'a> {
    pub(crate) columns: &'a [usize],
    /// B, row by row.
    pub(crate) matrix: &'a [f64],
}

impl Bend<'_> {
    /// Calls `visit` with each column j and Σ x(i)·B(i, j).
    pub(crate) fn along(&self, x: &[f64], mut visit: impl FnMut(usize, f64)) {
        let size = self.columns.len();
        for (j, &column) in self.columns.iter().enumerate() {
            let terms = self.columns.iter().enumerate();
            let sum = terms.map(|(i, &dof)| x[dof] * self.matrix[i * size + j]);
            visit(column, sum.sum());
        }
    }

    /// Calls `visit` with each row i and Σ B(i, j)·x(j).
    pub(super) fn across(&self, x: &[f64], mut visit: impl FnMut(usize, f64)) {
        let rows = self.matrix.chunks_exact(self.columns.len().max(1));
        for (&row, entries) in self.columns.iter().zip(rows) {
            let terms = self.columns.iter().zip(entries);
            visit(row, terms.map(|(&dof, &entry)| x[dof] * entry).sum());
        }
    }

    /// Calls `visit` with each row, each column and B there.
    pub(crate) fn entries(&self, mut visit: impl FnMut(usize, usize, f64)) {
        let rows = self.matrix.chunks_exact(self.columns.len().max(1));
        for (&row, entries) in self.columns.iter().zip(rows) {
            for (&column, &entry) in self.columns.iter().zip(entries) {
                visit(row, column, entry);
            }
        }
    }
}

/// The string's start and end among the ends of legs.
const START: usize = 0;
const END: usize = 3;

/// One end of a leg.
#[derive(Clone, Debug, Default)]
struct PathEnd {
    position: Vec3,
    /// Velocity by each column; none where the dof does not move the body.
    velocity: Vec<Option<Vec3>>,
    /// Slip along the body by each column; empty for points that are fixed to it.
    slip: Vec<Vec3>,
}

impl PathEnd {
    fn set(&mut self, context: &Context<'_>, columns: &[usize], body: usize, position: Vec3) {
        self.position = position;
        self.slip.clear();
        velocities(context, columns, body, position, &mut self.velocity);
    }

    fn slip(&self, column: usize) -> Vec3 {
        self.slip.get(column).copied().unwrap_or_default()
    }

    fn velocity(&self, column: usize) -> Vec3 {
        self.velocity[column].unwrap_or_default()
    }
}

/// Velocities of a point of a body by some dofs, given in increasing order.
fn velocities(
    context: &Context<'_>,
    columns: &[usize],
    body: usize,
    position: Vec3,
    out: &mut Vec<Option<Vec3>>,
) {
    let kinematics = &context.data.kinematics;
    let offset = jacobian::offset(context.model, kinematics, body, position);
    let mut moving = jacobian::moving_dofs(context.model, body).iter().peekable();
    out.clear();
    out.extend(columns.iter().map(|&dof| {
        while moving.next_if(|&&other| other < dof).is_some() {}
        let moves = moving.peek().is_some_and(|&&other| other == dof);
        moves.then(|| jacobian::point_velocity(kinematics.dof_axis[dof], offset))
    }));
}

impl Bends {
    /// Room for a model.
    pub(super) fn new(model: &Model) -> Self {
        let (structure, n) = (&*model.structure, model.counts());
        let own = |actuator: usize| levers::has_own_length(model, actuator);
        let spatial = |tendon: usize| structure.tendons.spatial[tendon];
        Self {
            tendons: Blocks::new(&structure.tendons.jacobian, n.ntendon, spatial),
            actuators: Blocks::new(&structure.actuators.moment, n.nactuator, own),
            lengths: vec![0.0; n.nmoment],
            ends: Default::default(),
            carried: Default::default(),
        }
    }

    /// The change of a tendon's Jacobian; none for fixed tendons.
    pub(super) fn of_tendon<'a>(&'a self, model: &'a Model, tendon: usize) -> Option<Bend<'a>> {
        let columns = model.structure.tendons.jacobian.columns(tendon);
        let matrix = self.tendons.block(tendon)?;
        Some(Bend { columns, matrix })
    }

    /// The change of an actuator's moment, with the factor that it is to be taken with; none where it is constant.
    pub(super) fn of_actuator<'a>(
        &'a self,
        model: &'a Model,
        actuator: usize,
    ) -> Option<(Bend<'a>, f64)> {
        let actuators = &model.structure.actuators;
        if let Transmission::Tendon(tendon) = actuators.transmission[actuator] {
            let gear = model.actuators.gear[actuator][0];
            return Some((self.of_tendon(model, tendon)?, gear));
        }
        let columns = actuators.moment.columns(actuator);
        let matrix = self.actuators.block(actuator)?;
        Some((Bend { columns, matrix }, 1.0))
    }

    /// A tendon with what changes along with it.
    pub(super) fn tendon<'a>(
        &'a self,
        model: &'a Model,
        data: &'a Data,
        tendon: usize,
    ) -> Length<'a> {
        let row = Row::of(
            &model.structure.tendons.jacobian,
            &data.tendon.jacobian,
            tendon,
        );
        Length {
            row,
            by_position: row.values,
            bend: self.of_tendon(model, tendon).map(|bend| (bend, 1.0)),
            open: None,
        }
    }

    /// The length of an actuator with what changes along with it; `open` says which dofs its force reaches.
    pub(super) fn actuator<'a>(
        &'a self,
        model: &'a Model,
        data: &'a Data,
        actuator: usize,
        open: &'a [f64],
    ) -> Length<'a> {
        let pattern = &model.structure.actuators.moment;
        let row = Row::of(pattern, &data.transmission.moment, actuator);
        let has_own_length = self.actuators.block(actuator).is_some();
        Length {
            row,
            by_position: if has_own_length {
                &self.lengths[pattern.row(actuator)]
            } else {
                row.values
            },
            bend: self.of_actuator(model, actuator),
            open: Some(open),
        }
    }

    /// Finds all of them.
    pub(super) fn find(&mut self, context: &Context<'_>) {
        let structure = &*context.model.structure;
        for (tendon, &spatial) in structure.tendons.spatial.iter().enumerate() {
            if spatial {
                self.tendons.block_mut(tendon).fill(0.0);
                self.trace(context, tendon);
            }
        }
        for (actuator, &transmission) in structure.actuators.transmission.iter().enumerate() {
            if let Transmission::Site {
                site,
                reference: None,
            } = transmission
            {
                self.wrench(context, actuator, site);
            } else if self.actuators.block(actuator).is_some() {
                let row = structure.actuators.moment.row(actuator);
                let bend = self.actuators.block_mut(actuator);
                levers::find(context, actuator, bend, &mut self.lengths[row]);
            }
        }
    }

    /// (3)
    fn wrench(&mut self, context: &Context<'_>, actuator: usize, site: usize) {
        let (model, kinematics) = (context.model, &context.data.kinematics);
        let columns = model.structure.actuators.moment.columns(actuator);
        let body = model.structure.sites.body[site];
        let rotation = &kinematics.site_rotation[site];
        let [fx, fy, fz, tx, ty, tz] = model.actuators.gear[actuator];
        let force = rotation.mul_vec(Vec3([fx, fy, fz]));
        let torque = rotation.mul_vec(Vec3([tx, ty, tz]));
        let position = kinematics.site_position[site];
        let arm = jacobian::offset(model, kinematics, body, position);
        let wrench = Spatial::new(torque + arm.cross(force), force);
        velocities(context, columns, body, position, &mut self.ends[0].velocity);
        let moves = &self.ends[0].velocity;
        let block = self.actuators.block_mut(actuator);
        for (i, &dof) in columns.iter().enumerate() {
            for (j, &other) in columns.iter().enumerate() {
                let before = dof < context.turn_start[other];
                block[i * columns.len() + j] = if before && moves[i].is_some() && moves[j].is_some()
                {
                    let axes = &kinematics.dof_axis;
                    axes[dof].dot(axes[other].cross_force(wrench))
                } else {
                    0.0
                };
            }
        }
    }

    /// Walks along a spatial path, leg by leg, as the tendon stage does.
    fn trace(&mut self, context: &Context<'_>, tendon: usize) {
        let model = context.model;
        let tendons = &model.structure.tendons;
        let range = tendons.wraps[tendon].clone();
        let mut scale = 1.0;
        let mut position = range.start;
        while position + 1 < range.end {
            match tendons.path[position..range.end] {
                [Wrap::Site(start), Wrap::Site(end), ..] => {
                    let columns = tendons.jacobian.columns(tendon);
                    self.place(context, columns, [start, end]);
                    self.add_leg(context, tendon, [START, END], scale);
                    position += 1;
                }
                [
                    Wrap::Site(start),
                    Wrap::Sphere { geom, side },
                    Wrap::Site(end),
                    ..,
                ] => {
                    let shape = (WrapShape::Sphere, geom, side);
                    self.around(context, tendon, shape, [start, end], scale);
                    position += 2;
                }
                [
                    Wrap::Site(start),
                    Wrap::Cylinder { geom, side },
                    Wrap::Site(end),
                    ..,
                ] => {
                    let shape = (WrapShape::Cylinder, geom, side);
                    self.around(context, tendon, shape, [start, end], scale);
                    position += 2;
                }
                [Wrap::Pulley, ..] => {
                    scale = model.wraps.coefficient[position].recip();
                    position += 1;
                }
                _ => position += 1,
            }
        }
    }

    /// Puts the ends of a string at two sites.
    fn place(&mut self, context: &Context<'_>, columns: &[usize], sites: [usize; 2]) {
        for (end, site) in [START, END].into_iter().zip(sites) {
            let body = context.model.structure.sites.body[site];
            let position = context.data.kinematics.site_position[site];
            self.ends[end].set(context, columns, body, position);
        }
    }

    /// Two legs with a geom in between, or one past it.
    fn around(
        &mut self,
        context: &Context<'_>,
        tendon: usize,
        (shape, geom, side): (WrapShape, usize, Option<usize>),
        sites: [usize; 2],
        scale: f64,
    ) {
        let (model, kinematics) = (context.model, &context.data.kinematics);
        let columns = model.structure.tendons.jacobian.columns(tendon);
        self.place(context, columns, sites);
        let (center, rotation) = (
            kinematics.geom_position[geom],
            kinematics.geom_rotation[geom],
        );
        let local =
            |site: usize| rotation.transpose_mul_vec(kinematics.site_position[site] - center);
        let obstacle = Obstacle {
            shape,
            center: Vec3::ZERO,
            rotation: &Mat3::identity(),
            radius: Number::constant(model.geoms.size[geom][0]),
        };
        let [start, end] = [0, 1].map(|end: usize| {
            let point = local(sites[end]);
            Vec3(std::array::from_fn(|k| {
                Number::variable(point[k], 3 * end + k)
            }))
        });
        let side = side.map(|site| local(site).map(Dual::constant));
        let Some(contact) = wrap(&obstacle, start, end, side) else {
            self.add_leg(context, tendon, [START, END], scale);
            return;
        };
        let body = model.structure.geoms.body[geom];
        for (carried, end) in self.carried.iter_mut().zip([START, END]) {
            let position = self.ends[end].position;
            velocities(context, columns, body, position, carried);
        }
        for (index, point) in contact.points.iter().enumerate() {
            let position = center + rotation.mul_vec(point.value());
            self.ends[1 + index].set(context, columns, body, position);
            self.slide(columns.len(), rotation, 1 + index, point);
        }
        self.add_leg(context, tendon, [START, 1], scale);
        self.add_leg(context, tendon, [2, END], scale);
    }

    /// How a point on a geom slips as the ends of the string move relative to it.
    fn slide(&mut self, count: usize, rotation: Mat3, index: usize, point: &Vec3<Number>) {
        for column in 0..count {
            let [start, end] = [(START, 0), (END, 1)].map(|(end, carried)| {
                let carried = self.carried[carried][column].unwrap_or_default();
                rotation.transpose_mul_vec(self.ends[end].velocity(column) - carried)
            });
            let local = point.map(|number| {
                let terms = number.tangent.iter().zip(start.0.iter().chain(&end.0));
                terms.map(|(slope, along)| slope * along).sum::<f64>()
            });
            self.ends[index].slip.push(rotation.mul_vec(local));
        }
    }

    /// Adds one leg between two of the ends. (1), (2)
    fn add_leg(&mut self, context: &Context<'_>, tendon: usize, ends: [usize; 2], scale: f64) {
        let columns = context.model.structure.tendons.jacobian.columns(tendon);
        let [first, second] = ends.map(|end| &self.ends[end]);
        let (along, length) = (second.position - first.position).normalized();
        if length <= 0.0 {
            return;
        }
        let axes = &context.data.kinematics.dof_axis;
        let size = columns.len();
        let block = &mut self.tendons.values[self.tendons.start[tendon]..][..size * size];
        for (j, &other) in columns.iter().enumerate() {
            let change = second.velocity(j) + second.slip(j) - first.velocity(j) - first.slip(j);
            let turned = (change - along * along.dot(change)) * length.recip();
            for (i, &dof) in columns.iter().enumerate() {
                let mut sum = turned.dot(second.velocity(i) - first.velocity(i));
                for (end, sign) in [(first, -1.0), (second, 1.0)] {
                    let Some(own) = end.velocity[i] else { continue };
                    let mut bent = axes[dof].angular().cross(end.slip(j));
                    if let Some(moved) = end.velocity[j] {
                        bent += if dof >= context.turn_start[other] {
                            axes[other].angular().cross(own)
                        } else {
                            axes[dof].angular().cross(moved)
                        };
                    }
                    sum += sign * along.dot(bent);
                }
                block[i * size + j] += scale * sum;
            }
        }
    }
}
