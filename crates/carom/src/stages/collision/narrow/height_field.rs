//! Height field and any convex shape: one point for each prism below the surface that the shape touches.
//!
//! Each cell of the grid is cut in two triangles along the diagonal from its upper left to its lower right corner;
//! with the base below, each is a prism, and prisms collide like any convex shapes. Only those below the bounding box
//! of the shape are looked at. As in MuJoCo, prisms do not know of their neighbours: a shape that is deeper than a cell
//! is wide may be pushed sideways, so cells should not be much smaller than what moves on them.
//!
//! Points are those of MuJoCo with a tight tolerance of its collider. One difference is wanted: for boxes and meshes
//! without margin MuJoCo's search ends early and may report other normals than that of the least depth; with any
//! margin, however small, it agrees.

use super::convex::{self, CoreShape, SurfaceBar, Workspace};
use crate::math::Vec3;
use crate::scalar::Scalar;
use crate::stages::collision::backward::{Cotangent, PairBar};
use crate::stages::collision::{MAX_POINTS, Manifold, PosedShape, ShapeData};

/// The samples of a height field.
struct Field<'a, T: Scalar> {
    /// Rows and columns.
    grid: [usize; 2],
    /// Half sizes in x and y, height of 1.0, thickness of the base (m).
    size: &'a [T; 4],
    elevation: &'a [T],
}

/// The bounding box of a shape in the frame of the height field.
struct Bounds {
    low: Vec3,
    high: Vec3,
}

/// The points of a height field and a convex shape.
pub(super) fn collide<T: Scalar>(
    field: &PosedShape<'_, T>,
    other: &PosedShape<'_, T>,
    margin: T,
    out: &mut Manifold<T>,
) {
    let origin = field.position;
    let (Some(samples), Some(shape)) = (Field::of(field), CoreShape::new(other, origin)) else {
        return;
    };
    let bounds = Bounds::new(field, &shape);
    for cell in samples.cells_below(&bounds, margin.value()) {
        let Some(prism) = samples.prism_near(cell, &bounds, margin.value()) else {
            continue;
        };
        let Some(prism) = CoreShape::from_points(&prism, Vec3::ZERO, field.rotation) else {
            continue;
        };
        let shapes = [&prism, &shape];
        let Some(found) = convex::touch(shapes, margin.value(), &mut out.convex) else {
            continue;
        };
        let surface = found.inflated(shapes);
        let mut point = surface.contact();
        point.position += origin;
        if point.distance.value() < margin.value() {
            out.push(point);
        }
        if out.points().len() == MAX_POINTS {
            return;
        }
    }
}

/// The twin of [`collide`]: the same prisms are found again.
pub(in super::super) fn backward(
    [field, other]: [&PosedShape<'_>; 2],
    margin: f64,
    points: &[Cotangent],
    work: &mut Workspace,
    out: &mut PairBar<'_>,
) {
    let (Some(samples), Some(shape)) = (Field::of(field), CoreShape::new(other, field.position))
    else {
        return;
    };
    let bounds = Bounds::new(field, &shape);
    let mut points = points.iter();
    for cell in samples.cells_below(&bounds, margin) {
        let Some(corners) = samples.prism_near(cell, &bounds, margin) else {
            continue;
        };
        let Some(prism) = CoreShape::from_points(&corners, Vec3::ZERO, field.rotation) else {
            continue;
        };
        let shapes = [&prism, &shape];
        let found = convex::touch(shapes, margin, work);
        let Some(found) = found.filter(|found| found.inflated(shapes).distance < margin) else {
            continue;
        };
        let Some(Cotangent { bar, .. }) = points.next() else {
            return;
        };
        let bar = SurfaceBar {
            normal: bar.normal,
            distance: bar.distance,
            points: [bar.position * 0.5; 2],
        };
        let feature_bar = convex::touch_vjp(shapes, &found, &bar);
        feature_bar.add_to(shapes, &found, out);
        feature_bar.for_each_corner(0, &found, |corner, bar| {
            samples.corner_vjp(cell, corner as usize, bar, out);
        });
    }
}

impl Bounds {
    fn new<T: Scalar>(field: &PosedShape<'_, T>, shape: &CoreShape<'_, T>) -> Self {
        let extent = |axis: usize, sign: f64| {
            let direction = field.rotation.column(axis).value() * sign;
            sign * shape.extent(direction)
        };
        Self {
            low: Vec3(std::array::from_fn(|axis| extent(axis, -1.0))),
            high: Vec3(std::array::from_fn(|axis| extent(axis, 1.0))),
        }
    }
}

impl<'a, T: Scalar> Field<'a, T> {
    /// The samples of a shape; none without any cell.
    fn of(shape: &PosedShape<'a, T>) -> Option<Self> {
        match shape.data {
            ShapeData::HeightField {
                grid,
                size,
                elevation,
            } if grid[0] >= 2 && grid[1] >= 2 => Some(Self {
                grid,
                size,
                elevation,
            }),
            _ => None,
        }
    }

    /// Prisms below a box: their rows and their places in these.
    fn cells_below(
        &self,
        bounds: &Bounds,
        margin: f64,
    ) -> impl Iterator<Item = [usize; 2]> + use<T> {
        let [rows, columns] = self.ranges_below(bounds, margin);
        rows.flat_map(move |row| (2 * columns.start..2 * columns.end).map(move |cell| [row, cell]))
    }

    /// Rows and columns of the cells below a box; empty when the box is outside.
    fn ranges_below(&self, bounds: &Bounds, margin: f64) -> [std::ops::Range<usize>; 2] {
        let [half_x, half_y, height, base] = self.size.map(T::value);
        let is_near = |axis: usize, low: f64, high: f64| {
            bounds.low[axis] - margin <= high && bounds.high[axis] + margin >= low
        };
        // Not a number is not near.
        let near =
            is_near(0, -half_x, half_x) && is_near(1, -half_y, half_y) && is_near(2, -base, height);
        if !near {
            return [0..0, 0..0];
        }
        let range = |axis: usize, half: f64, count: usize| {
            let last = (count - 1) as f64;
            let position = |x: f64| (x + half) / (2.0 * half) * last;
            #[allow(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "clamped to the grid"
            )]
            let clamped = |x: f64| x.clamp(0.0, last) as usize;
            clamped(position(bounds.low[axis] - margin).floor())
                ..clamped(position(bounds.high[axis] + margin).ceil())
        };
        [
            range(1, half_y, self.grid[0]),
            range(0, half_x, self.grid[1]),
        ]
    }

    /// A point of the surface.
    fn sample(&self, row: usize, column: usize) -> Vec3<T> {
        let [half_x, half_y, height, _] = *self.size;
        let [rows, columns] = self.grid;
        let along = |half: T, index: usize, count: usize| {
            half * (2.0 / ((count - 1) as f64)) * (index as f64) - half
        };
        Vec3([
            along(half_x, column, columns),
            along(half_y, row, rows),
            self.elevation[row * columns + column] * height,
        ])
    }

    /// Row and column of the three samples of a prism.
    fn top([row, index]: [usize; 2]) -> [[usize; 2]; 3] {
        let column = index / 2;
        if index.is_multiple_of(2) {
            [[row + 1, column], [row, column], [row + 1, column + 1]]
        } else {
            [[row, column], [row + 1, column + 1], [row, column + 1]]
        }
    }

    /// One of the two prisms of each cell of a row, counted from the left: three points of the base, three of the
    /// surface. None when it is below a box.
    fn prism_near(&self, cell: [usize; 2], bounds: &Bounds, margin: f64) -> Option<[Vec3<T>; 6]> {
        let [a, b, c] = Self::top(cell).map(|[row, column]| self.sample(row, column));
        let heights = [a, b, c].map(|corner| corner[2].value()).into_iter();
        if heights.fold(f64::NEG_INFINITY, f64::max) + margin < bounds.low[2] {
            return None;
        }
        let below = |corner: Vec3<T>| Vec3([corner[0], corner[1], -self.size[3]]);
        Some([below(a), below(b), below(c), a, b, c])
    }
}

impl Field<'_, f64> {
    /// From a corner of a prism to the sizes and the elevation.
    fn corner_vjp(&self, cell: [usize; 2], corner: usize, bar: Vec3, out: &mut PairBar<'_>) {
        let [row, column] = Self::top(cell)[corner % 3];
        let [rows, columns] = self.grid;
        let along = |index: usize, count: usize| 2.0 * index as f64 / (count - 1) as f64 - 1.0;
        out.add_field_size(0, 0, bar[0] * along(column, columns));
        out.add_field_size(0, 1, bar[1] * along(row, rows));
        if corner < 3 {
            out.add_field_size(0, 3, -bar[2]);
        } else {
            let sample = row * columns + column;
            out.add_field_size(0, 2, bar[2] * self.elevation[sample]);
            out.add_elevation(0, sample, bar[2] * self.size[2]);
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unreadable_literal, reason = "numbers as MuJoCo prints them")]

    use crate::dual::Dual;
    use crate::math::Vec3;
    use crate::model::Model;
    use crate::stages::collision::{Manifold, posed_shape};
    use crate::state::State;
    use crate::testing::model_from_mjcf;
    use crate::{Data, dynamics};

    /// Distance, position and normal.
    type Point = [f64; 7];

    fn model(geom: &str) -> Model {
        model_from_mjcf(&format!(
            r#"<mujoco><asset>
              <hfield name="hills" nrow="3" ncol="4" size="0.6 0.4 0.3 0.2"
                elevation="0 0.2 0.9 1 0.3 0.8 0.1 0.4 0.7 0 0.5 0.6"/>
              <mesh name="wedge" vertex="0 0 0 0.3 0 0 0 0.2 0 0 0 0.2 0.3 0 0.1"/></asset>
            <worldbody>
              <geom type="hfield" hfield="hills" quat="1 0.05 0.03 0.2" margin="0.01"/>
              <body pos="0.05 0.03 0.2" quat="1 0.3 0.2 0.1"><freejoint/><geom {geom}/></body>
            </worldbody></mujoco>"#
        ))
    }

    /// Points of MuJoCo 4.0.0 with a collision tolerance of 1e-15.
    const POINTS: [(&str, &[Point]); 6] = [
        (
            r#"type="sphere" size="0.12""#,
            &[
                [
                    -0.033817419064238984,
                    0.0156919692825126,
                    -0.013096728744470992,
                    0.11285962376632569,
                    0.33279271761736795,
                    0.41804432313220835,
                    0.8452738911132774,
                ],
                [
                    -0.0627249133701716,
                    -0.0046696071024368326,
                    0.05998810872288388,
                    0.13700348041841545,
                    0.6167771020932402,
                    -0.33832287765852403,
                    0.710720505393168,
                ],
            ],
        ),
        (
            r#"type="capsule" size="0.08 0.1""#,
            &[
                [
                    -0.011138660702161846,
                    0.03227805863292047,
                    -0.005439395831471999,
                    0.11728172428710276,
                    -0.052452106691220406,
                    0.8298552786381604,
                    0.5555078694492402,
                ],
                [
                    -0.11909441540505343,
                    -0.002965691436655672,
                    0.08604245433548462,
                    0.10827079880044092,
                    0.6167771020932397,
                    -0.3383228776585242,
                    0.7107205053931686,
                ],
            ],
        ),
        (
            r#"type="ellipsoid" size="0.08 0.12 0.15""#,
            &[
                [
                    -0.040643551459267166,
                    0.028002812874858646,
                    -0.013013279814573935,
                    0.10461547879952356,
                    0.1981567290419154,
                    0.6011780002186252,
                    0.7741569109609134,
                ],
                [
                    -0.08900999555626289,
                    0.007962593209346967,
                    0.07838500216378841,
                    0.11630659190333377,
                    0.6167771020932394,
                    -0.3383228776585235,
                    0.7107205053931691,
                ],
            ],
        ),
        (
            r#"type="cylinder" size="0.08 0.12""#,
            &[
                [
                    -0.011138660702161433,
                    0.032278062629278625,
                    -0.005439394045136675,
                    0.11728172199589797,
                    -0.0524521066912238,
                    0.8298552786381603,
                    0.5555078694492402,
                ],
                [
                    -0.07972875142629818,
                    -0.042122175315194535,
                    0.034990400743208264,
                    0.14564354485303097,
                    0.6167771020932394,
                    -0.33832287765852415,
                    0.7107205053931688,
                ],
            ],
        ),
        (
            r#"type="box" size="0.08 0.1 0.12""#,
            &[
                [
                    -0.03267285587556204,
                    -0.030141166495835807,
                    -0.04514051930681115,
                    0.15131377042153848,
                    -0.0524521066912209,
                    0.8298552786381602,
                    0.5555078694492402,
                ],
                [
                    -0.00614547935248721,
                    -0.07559193146371693,
                    0.14779081469066221,
                    0.1870518993247261,
                    0.9207161902626448,
                    -0.37639170622101636,
                    -0.10300961351385399,
                ],
                [
                    -0.08427487548673106,
                    -0.04040344065643979,
                    -0.006360235039536125,
                    0.12144462402923893,
                    0.6228782991365079,
                    -0.40337017128002145,
                    0.6703097264595951,
                ],
            ],
        ),
        (r#"type="mesh" mesh="wedge""#, &[]),
    ];

    #[test]
    fn every_shape_touches_as_in_mujoco() {
        for (geom, expected) in POINTS {
            let model = model(geom);
            let mut data = Data::new(&model);
            dynamics::forward_position(&model, &State::reference(&model), &mut data);
            let contacts = &data.collision.contacts;
            assert_eq!(contacts.len(), expected.len(), "{geom}");
            for (contact, expected) in contacts.iter().zip(expected) {
                let [x, y, z] = contact.position.0;
                let [nx, ny, nz] = contact.frame.row(0).0;
                let found = [contact.distance, x, y, z, nx, ny, nz];
                for (found, expected) in found.into_iter().zip(expected) {
                    assert!(
                        (found - expected).abs() < 1e-7,
                        "{geom}: {found} {expected}"
                    );
                }
            }
        }
    }

    /// Moving the shape changes the distance at the rate of the normal; moving the field, at the opposite rate.
    #[test]
    fn distances_change_along_the_normal() {
        for (geom, expected) in POINTS {
            let model = model(geom);
            let mut data = Data::new(&model);
            dynamics::forward_position(&model, &State::reference(&model), &mut data);
            let dual_model = model.map(Dual::<6>::constant);
            let kinematics = data.kinematics.map(Dual::<6>::constant);
            let [mut field, mut other] =
                [0, 1].map(|geom| posed_shape(&dual_model, &kinematics, geom));
            for axis in 0..3 {
                field.position[axis] = Dual::variable(field.position[axis].value, axis);
                other.position[axis] = Dual::variable(other.position[axis].value, 3 + axis);
            }
            let mut out = Manifold::default();
            super::collide(&field, &other, Dual::constant(0.01), &mut out);
            assert_eq!(out.points().len(), expected.len());
            for point in out.points() {
                let normal = point.normal.map(|component| component.value);
                let rates = |start: usize| {
                    Vec3(std::array::from_fn(|axis| {
                        point.distance.tangent[start + axis]
                    }))
                };
                assert!((rates(0) + normal).norm() < 1e-9, "{geom}");
                assert!((rates(3) - normal).norm() < 1e-9, "{geom}");
            }
        }
    }

    #[test]
    fn shapes_beside_above_and_nowhere_do_not_touch() {
        let model = model(r#"type="sphere" size="0.1""#);
        let mut data = Data::new(&model);
        for place in [
            [0.8, 0.0, 0.0],
            [0.0, -0.6, 0.1],
            [0.0, 0.0, 0.6],
            [0.0, 0.0, -0.4],
        ] {
            let mut state = State::reference(&model);
            state.qpos[..3].copy_from_slice(&place);
            dynamics::forward_position(&model, &state, &mut data);
            assert!(data.collision.contacts.is_empty(), "{place:?}");
        }
        for broken in [f64::NAN, f64::INFINITY, 1e300] {
            let mut state = State::reference(&model);
            state.qpos[0] = broken;
            dynamics::forward_position(&model, &state, &mut data);
            assert!(data.collision.contacts.is_empty(), "{broken}");
        }
    }
}
