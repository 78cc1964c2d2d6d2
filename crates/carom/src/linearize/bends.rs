//! How Jacobians of lengths change with the configuration: B(i, j) = ∂J(i)/∂q(j).
//!
//! A leg of a tendon from a point p₁ to a point p₂, with u the unit vector along it, pulls with the forces ∓u at its ends
//! (`levers`). With E(j) the change of p₂ − p₁ by a dof, slipping along a wrapped geom included, they change by
//!
//!   du = (1 − u·uᵀ)·E(j)/|p₂ − p₁|                                                                       (1)
//!
//! Where a string meets and leaves a geom depends on its ends as seen from the geom, by dual numbers.

use super::forces::Context;
use super::forward_mode::Number;
use super::levers::{self, Attachment, Change, Target};
use crate::data::Data;
use crate::dual::Dual;
use crate::math::{Mat3, Vec3};
use crate::model::{Model, SparsePattern, Transmission};
use crate::stages::tendon::{Leg, Obstacle, Step, steps, wrap};
use crate::terms::length::{Length, Row};

/// B of each spatial tendon and of each actuator that has one by itself, dense over the columns of its Jacobian.
#[derive(Clone, Debug)]
pub(super) struct Bends {
    tendons: Blocks,
    actuators: Blocks,
    /// ∂length/∂q of these actuators, in the pattern of their moments.
    lengths: Vec<f64>,
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
                let target = Target::new(
                    &structure.tendons.jacobian,
                    tendon,
                    self.tendons.block_mut(tendon),
                );
                trace(context, tendon, target);
            }
        }
        for actuator in 0..structure.actuators.transmission.len() {
            if self.actuators.block(actuator).is_some() {
                let pattern = &structure.actuators.moment;
                let lengths = &mut self.lengths[pattern.row(actuator)];
                let target = Target::new(pattern, actuator, self.actuators.block_mut(actuator));
                levers::find(context, actuator, target, lengths);
            }
        }
    }
}

/// Walks along a spatial path, leg by leg.
fn trace(context: &Context<'_>, tendon: usize, mut target: Target<'_>) {
    let model = context.model;
    let mut scale = 1.0;
    for step in steps(&model.structure.tendons, tendon) {
        match step {
            Step::Pulley(position) => scale = model.wraps.coefficient[position].recip(),
            Step::Leg(leg) => add_leg(context, &leg, scale, &mut target),
        }
    }
}

/// A point of a body.
#[derive(Clone, Copy)]
struct End {
    body: usize,
    position: Vec3,
}

/// One straight piece, or two with a geom in between.
fn add_leg(context: &Context<'_>, leg: &Leg, scale: f64, target: &mut Target<'_>) {
    let (model, kinematics) = (context.model, &context.data.kinematics);
    let [start, end] = leg.sites.map(|site| End {
        body: model.structure.sites.body[site],
        position: kinematics.site_position[site],
    });
    let around = leg.around.and_then(|around| {
        let (center, rotation) = (
            kinematics.geom_position[around.geom],
            kinematics.geom_rotation[around.geom],
        );
        let local = |point: Vec3| rotation.transpose_mul_vec(point - center);
        let obstacle = Obstacle {
            shape: around.shape,
            center: Vec3::ZERO,
            rotation: &Mat3::identity(),
            radius: Number::constant(model.geoms.size[around.geom][0]),
        };
        let [first, second] = [(start, 0), (end, 3)].map(|(end, first)| {
            let point = local(end.position);
            Vec3(std::array::from_fn(|k| {
                Number::variable(point[k], first + k)
            }))
        });
        let side = around
            .side
            .map(|site| local(kinematics.site_position[site]).map(Dual::constant));
        let points = wrap(&obstacle, first, second, side)?.points;
        Some((
            model.structure.geoms.body[around.geom],
            center,
            rotation,
            points,
        ))
    });
    let Some((body, center, rotation, points)) = around else {
        let fixed = |_| [Vec3::ZERO; 2];
        add_piece(
            context,
            3 * leg.position,
            [start, end],
            scale,
            target,
            fixed,
        );
        return;
    };
    // How the points on the geom slip as the ends of the string move relative to it.
    let slip = |index: usize, dof: usize| {
        let relative = [start, end].map(|end| {
            let [own, carried] = [end.body, body]
                .map(|body| levers::moved(context, body, end.position, dof).unwrap_or_default());
            rotation.transpose_mul_vec(own - carried)
        });
        let local = points[index].map(|number| {
            let motions = relative[0].0.iter().chain(&relative[1].0);
            number
                .tangent
                .iter()
                .zip(motions)
                .map(|(slope, along)| slope * along)
                .sum()
        });
        rotation.mul_vec(local)
    };
    let [enter, leave] = points.map(|point| End {
        body,
        position: center + rotation.mul_vec(point.value()),
    });
    let entering = |dof| [Vec3::ZERO, slip(0, dof)];
    add_piece(
        context,
        3 * leg.position + 1,
        [start, enter],
        scale,
        target,
        entering,
    );
    let leaving = |dof| [slip(1, dof), Vec3::ZERO];
    add_piece(
        context,
        3 * leg.position + 2,
        [leave, end],
        scale,
        target,
        leaving,
    );
}

/// A straight piece between two points that slip along their bodies. (1)
fn add_piece(
    context: &Context<'_>,
    piece: usize,
    ends: [End; 2],
    scale: f64,
    target: &mut Target<'_>,
    slip: impl Fn(usize) -> [Vec3; 2],
) {
    let (along, length) = (ends[1].position - ends[0].position).normalized();
    if length <= 0.0 {
        return;
    }
    let legs = &context.model.structure.tendons.legs;
    let entries = [legs.first(piece), legs.second(piece)];
    let attached = [(0, -scale), (1, scale)].map(|(end, sign)| Attachment {
        body: ends[end].body,
        point: ends[end].position,
        torque: Vec3::ZERO,
        force: along * sign,
        entries: entries[end],
    });
    target.spread(context, &attached, |motion| {
        let slip = slip(motion.dof);
        let points = [0, 1].map(|end| motion.points[end].unwrap_or_default() + slip[end]);
        let change = points[1] - points[0];
        let turned = (change - along * along.dot(change)) * (scale / length);
        [(0, -turned), (1, turned)].map(|(end, force)| Change {
            point: points[end],
            force,
            ..Change::default()
        })
    });
}
