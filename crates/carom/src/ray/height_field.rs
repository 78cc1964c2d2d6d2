//! Rays and height fields: a box below, two triangles per cell above, and walls around.

use super::primitive::{cuboid, cuboid_faces};
use super::triangle::{self, Across};
use super::{Ray, SurfacePoint};
use crate::math::Vec3;
use crate::scalar::Scalar;

/// The samples of a height field.
struct Field<'a, T: Scalar> {
    rows: usize,
    columns: usize,
    /// Half sizes in x and y, height of 1.0, thickness of the base (m).
    size: &'a [T; 4],
    elevation: &'a [T],
}

impl<T: Scalar> Field<'_, T> {
    /// A point of the surface.
    fn sample(&self, row: usize, column: usize) -> Vec3<T> {
        let [half_x, half_y, height, _] = *self.size;
        let along = |half: T, index: usize, count: usize| {
            half * 2.0 / ((count - 1) as f64) * (index as f64) - half
        };
        Vec3([
            along(half_x, column, self.columns),
            along(half_y, row, self.rows),
            self.elevation[row * self.columns + column] * height,
        ])
    }

    /// One of the two triangles of a cell, anticlockwise from above.
    fn triangle(&self, id: [usize; 3]) -> [Vec3<T>; 3] {
        triangle_samples(id).map(|[row, column]| self.sample(row, column))
    }

    /// Height of the upper edge of a wall at a place along it, or none where the wall is not.
    fn edge(&self, wall: usize, place: Vec3<T>) -> T {
        let along = 1 - wall / 2;
        let count = [self.columns, self.rows][along];
        let half = self.size[along];
        let position = (place[along] + half) / (half * 2.0) * ((count - 1) as f64);
        let lower = cell(position.value(), count);
        let part = position - T::from(lower as f64);
        let height = |index: usize| {
            let last = [self.columns, self.rows][wall / 2] - 1;
            let fixed = if wall % 2 == 1 { last } else { 0 };
            let (row, column) = if along == 1 {
                (index, fixed)
            } else {
                (fixed, index)
            };
            self.elevation[row * self.columns + column]
        };
        (height(lower) * (T::ONE - part) + height(lower + 1) * part) * self.size[2]
    }
}

/// Row and column of the corners of a triangle, given by row and column of its cell and which of the two it is.
pub(super) fn triangle_samples([row, column, half]: [usize; 3]) -> [[usize; 2]; 3] {
    let (start, end) = ([row, column], [row + 1, column + 1]);
    if half == 0 {
        [start, [row, column + 1], end]
    } else {
        [start, end, [row + 1, column]]
    }
}

/// The part of a height field that a ray meets.
#[derive(Clone, Copy, Debug)]
pub(super) enum Piece {
    /// A triangle on top.
    Triangle([usize; 3]),
    /// A wall or the base.
    Flat,
}

/// The cell of a position in units of cells.
#[allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "clamped to the grid; not a number gives zero"
)]
fn cell(position: f64, count: usize) -> usize {
    position.floor().clamp(0.0, (count - 2) as f64) as usize
}

/// Where and in which piece a ray first meets a height field.
pub(super) fn first<T: Scalar>(
    [rows, columns]: [usize; 2],
    size: &[T; 4],
    elevation: &[T],
    ray: &Ray<T>,
) -> Option<(SurfacePoint<T>, Piece)> {
    if rows < 2 || columns < 2 {
        return None;
    }
    let field = Field {
        rows,
        columns,
        size,
        elevation,
    };
    let [half_x, half_y, height, base] = *size;
    let raised = |by: T| Ray {
        origin: ray.origin - Vec3([T::ZERO, T::ZERO, by]),
        ..*ray
    };
    let mut best = cuboid(Vec3([half_x, half_y, base * 0.5]), &raised(-base * 0.5))
        .map(|point| (point, Piece::Flat));
    let faces = cuboid_faces(Vec3([half_x, half_y, height * 0.5]), &raised(height * 0.5));
    let mut offer = |point: SurfacePoint<T>, piece: Piece| {
        if best.is_none_or(|(best, _)| point.distance.value() < best.distance.value()) {
            best = Some((point, piece));
        }
    };
    let seen = faces.iter().flatten().map(|distance| distance.value());
    let (enter, leave) = seen.fold((f64::INFINITY, 0.0_f64), |(low, high), distance| {
        (low.min(distance), high.max(distance))
    });
    if enter == f64::INFINITY {
        return best;
    }
    // From inside of the box the way starts at the ray's origin.
    let enter = if enter < leave { enter } else { 0.0 };
    if let Some(id) = surface(&field, ray, [enter, leave]) {
        offer(
            triangle::point(field.triangle(id), ray),
            Piece::Triangle(id),
        );
    }
    for (wall, distance) in faces[..4].iter().enumerate() {
        let Some(distance) = *distance else {
            continue;
        };
        let place = ray.at(distance);
        if place[2].value() < field.edge(wall, place).value() {
            let mut normal = Vec3::ZERO;
            normal[wall / 2] = T::from(if wall % 2 == 1 { 1.0 } else { -1.0 });
            offer(SurfacePoint { distance, normal }, Piece::Flat);
        }
    }
    best
}

/// The triangle that a ray first meets below its way between two distances.
fn surface<T: Scalar>(
    field: &Field<'_, T>,
    ray: &Ray<T>,
    [enter, leave]: [f64; 2],
) -> Option<[usize; 3]> {
    let seen = ray.values();
    let across = Across::new(seen.direction);
    // One cell more on each side, against rounding.
    let range = |axis: usize, count: usize| {
        let half = field.size[axis].value();
        let position =
            |distance: f64| (seen.at(distance)[axis] + half) / (2.0 * half) * ((count - 1) as f64);
        let (a, b) = (position(enter), position(leave));
        cell(a.min(b) - 1.0, count)..=cell(a.max(b) + 1.0, count)
    };
    let mut first: Option<([usize; 3], f64)> = None;
    for row in range(1, field.rows) {
        for column in range(0, field.columns) {
            for half in 0..2 {
                let id = [row, column, half];
                let corners = field.triangle(id).map(|corner| corner.map(Scalar::value));
                if let Some(distance) = triangle::distance(corners, &seen, &across)
                    && first.is_none_or(|(_, nearest)| distance < nearest)
                {
                    first = Some((id, distance));
                }
            }
        }
    }
    first.map(|(id, _)| id)
}
