//! Contacts that come from something of the user's own: a network with its weights, a table, a formula.
//!
//! A [`ContactMap`] finds the points of two geoms, in plain numbers and in the frame of the first geom, from the pose of
//! the second one in that frame. So a motion of both geoms together takes the points along whatever the map is. With the
//! poses (p₁, R₁), (p₂, R₂) and the map's points (δ, x, n),
//!
//!   p = R₁ᵀ·(p₂ − p₁),   R = R₁ᵀ·R₂,   (δ, x, n) = map(p, R, sizes)                     (1)
//!   position = p₁ + R₁·x,   normal = R₁·n                                              (2)
//!
//! The adjoint asks the map once for the cotangents of its inputs. Dual numbers ask it once for each number of each point,
//! and chain its slopes with the tangents of p, R and the sizes.

use std::sync::Arc;

use super::backward::{Cotangent, PairBar};
use super::{ContactPoint, MAX_POINTS, Manifold, PosedShape};
use crate::error::{Error, ErrorKind};
use crate::math::{Mat3, Vec3};
use crate::model::{LawLevel, Model};
use crate::scalar::Scalar;

/// What a map finds points from.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MapInput {
    /// Position of the second geom in the frame of the first one (m): p of (1).
    pub position: Vec3,
    /// Orientation of the second geom in the frame of the first one: R of (1).
    pub rotation: Mat3,
    /// Sizes of both geoms as in the model (m).
    pub sizes: [Vec3; 2],
    /// Points that are farther apart than this are not asked for (m).
    pub reach: f64,
}

/// Cotangents of what a map finds points from.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct MapInputBar {
    /// Of the position.
    pub position: Vec3,
    /// Of the orientation: per turn of the second geom about the axes of the first one's frame.
    pub turn: Vec3,
    /// Of the sizes.
    pub sizes: [Vec3; 2],
}

/// Finds the contacts of two geoms.
///
/// Points are in the frame of the first geom, normals point from the first geom to the second. Tangents are left to the
/// engine. The points of one input must always be the same, in the same order.
pub trait ContactMap: std::fmt::Debug + Send + Sync {
    /// Calls `found` for each point of the two geoms that are closer than the reach; at most [`MAX_POINTS`] are taken.
    fn contacts(&self, input: &MapInput, found: &mut dyn FnMut(ContactPoint));

    /// The adjoint: adds to `input_bar`, given the cotangents of the points in the order of [`Self::contacts`].
    fn vjp(&self, input: &MapInput, points_bar: &[ContactPoint], input_bar: &mut MapInputBar);
}

/// Two geoms whose contacts come from a map.
#[derive(Clone, Debug)]
pub(crate) struct MappedPair {
    /// The geoms, in the order that the map knows.
    pub(crate) geoms: [usize; 2],
    pub(crate) map: Arc<dyn ContactMap>,
}

impl PartialEq for MappedPair {
    /// A map is equal to itself alone.
    fn eq(&self, other: &Self) -> bool {
        self.geoms == other.geoms && Arc::ptr_eq(&self.map, &other.map)
    }
}

impl<T: Scalar> Model<T> {
    /// The pair of two geoms, in any order, if their contacts come from a map.
    #[inline]
    pub(crate) fn mapped_pair(&self, [first, second]: [usize; 2]) -> Option<&MappedPair> {
        let mut pairs = self.mapped_pairs.as_deref()?.iter();
        pairs.find(|pair| pair.geoms == [first, second] || pair.geoms == [second, first])
    }
}

impl Model {
    /// The same model with the contacts of two geoms taken from a map, which gets the geoms in the order given here. Filters
    /// and bounding volumes decide as before whether it is asked at all; distance sensors go on to measure the shapes.
    ///
    /// # Errors
    /// When there are no such geoms, or their contact law does not go with a map.
    pub fn with_contact_map(
        mut self,
        geoms: [usize; 2],
        map: Arc<dyn ContactMap>,
    ) -> Result<Self, Error> {
        if let Some(&geom) = geoms.iter().find(|&&geom| geom >= self.counts().ngeom) {
            return Err(Error::new(
                ErrorKind::Name,
                format!("the model has no geom {geom}"),
            ));
        }
        if geoms[0] == geoms[1] {
            let message = format!("geom {} does not touch itself", geoms[0]);
            return Err(Error::new(ErrorKind::Value, message));
        }
        let laws = &self.structure.laws;
        let law = laws.find(geoms);
        if laws.level_of(law) == LawLevel::Impact {
            let message = "the impulse law finds impacts from the distance of shapes";
            return Err(Error::new(ErrorKind::Unsupported, message)
                .remedy("choose another law for the pair"));
        }
        if law.is_some_and(|law| !laws.points[law].is_empty()) {
            let message = "the law of the pair gives it contact points";
            return Err(
                Error::new(ErrorKind::Unsupported, message).remedy("leave out 'points' and 'grid'")
            );
        }
        let others = self.mapped_pairs.as_deref().unwrap_or_default().iter();
        let is_other =
            |pair: &&MappedPair| pair.geoms != geoms && pair.geoms != [geoms[1], geoms[0]];
        let mut pairs: Vec<MappedPair> = others.filter(is_other).cloned().collect();
        pairs.push(MappedPair { geoms, map });
        self.mapped_pairs = Some(pairs.into());
        Ok(self)
    }
}

/// Appends the points of two shapes that a map finds.
pub(super) fn collide<T: Scalar>(
    map: &dyn ContactMap,
    shapes: [&PosedShape<'_, T>; 2],
    reach: T,
    out: &mut Manifold<T>,
) {
    let [first, second] = shapes;
    let (position, rotation) = relative_pose(shapes); // (1)
    let input = input(shapes, reach);
    map.contacts(&input, &mut |point| out.push(constant(&point)));
    if T::HAS_DERIVATIVES {
        let moves = Moves {
            position: position.map(change),
            turn: turn(&rotation),
            sizes: [first.size.map(change), second.size.map(change)],
        };
        chain(map, &input, &moves, out.points_mut());
    }
    for point in out.points_mut() {
        point.position = first.position + first.rotation.mul_vec(point.position); // (2)
        point.normal = first.rotation.mul_vec(point.normal);
    }
}

/// The adjoint of [`collide`].
pub(super) fn backward(
    map: &dyn ContactMap,
    shapes: [&PosedShape<'_>; 2],
    reach: f64,
    points: &[Cotangent],
    out: &mut PairBar<'_>,
) {
    let rotation = &shapes[0].rotation;
    let mut bars = [ContactPoint::default(); MAX_POINTS];
    for (local, Cotangent { bar, .. }) in bars.iter_mut().zip(points) {
        local.distance = bar.distance;
        local.position = rotation.transpose_mul_vec(bar.position);
        local.normal = rotation.transpose_mul_vec(bar.normal);
    }
    let mut found = MapInputBar::default();
    let count = points.len().min(MAX_POINTS);
    map.vjp(&input(shapes, reach), &bars[..count], &mut found);
    out.shapes[1].force += rotation.mul_vec(found.position);
    out.shapes[1].torque += rotation.mul_vec(found.turn);
    for (shape, size) in out.shapes.iter_mut().zip(found.sizes) {
        shape.size += size;
    }
    out.complete(1, shapes, points);
}

/// p and R of (1).
fn relative_pose<T: Scalar>([first, second]: [&PosedShape<'_, T>; 2]) -> (Vec3<T>, Mat3<T>) {
    let between = second.position - first.position;
    (
        first.rotation.transpose_mul_vec(between),
        first.rotation.transpose().mul(&second.rotation),
    )
}

/// What the map is asked with, in plain numbers.
fn input<T: Scalar>(shapes: [&PosedShape<'_, T>; 2], reach: T) -> MapInput {
    let (position, rotation) = relative_pose(shapes);
    MapInput {
        position: position.value(),
        rotation: rotation.map(T::value),
        sizes: shapes.map(|shape| shape.size.value()),
        reach: reach.value(),
    }
}

/// A point without derivatives and without a preferred tangent.
fn constant<T: Scalar>(point: &ContactPoint) -> ContactPoint<T> {
    ContactPoint {
        distance: T::from(point.distance),
        position: point.position.map(T::from),
        normal: point.normal.map(T::from),
        tangent: Vec3::ZERO,
    }
}

/// Changes of the inputs: zeros that carry their derivatives.
struct Moves<T: Scalar> {
    position: Vec3<T>,
    turn: Vec3<T>,
    sizes: [Vec3<T>; 2],
}

fn change<T: Scalar>(number: T) -> T {
    number - T::from(number.value())
}

/// The turn ω that changes an orientation by dR = ω × R.
fn turn<T: Scalar>(rotation: &Mat3<T>) -> Vec3<T> {
    let plain = rotation.map(|number| T::from(number.value()));
    let spin = rotation.map(change).mul(&plain.transpose());
    let part = |row: usize, column: usize| (spin[3 * row + column] - spin[3 * column + row]) * 0.5;
    Vec3([part(2, 1), part(0, 2), part(1, 0)])
}

/// Adds to each number of each point its slopes times the changes of the inputs.
fn chain<T: Scalar>(
    map: &dyn ContactMap,
    input: &MapInput,
    moves: &Moves<T>,
    points: &mut [ContactPoint<T>],
) {
    let mut bars = [ContactPoint::default(); MAX_POINTS];
    let bars = &mut bars[..points.len()];
    for (index, point) in points.iter_mut().enumerate() {
        let mut slope = |seed: ContactPoint| {
            bars[index] = seed;
            let mut found = MapInputBar::default();
            map.vjp(input, bars, &mut found);
            bars[index] = ContactPoint::default();
            moves.along(&found)
        };
        let unit = |axis: usize| Vec3(std::array::from_fn(|i| f64::from(u8::from(i == axis))));
        point.distance += slope(ContactPoint {
            distance: 1.0,
            ..ContactPoint::default()
        });
        for axis in 0..3 {
            point.position[axis] += slope(ContactPoint {
                position: unit(axis),
                ..ContactPoint::default()
            });
            point.normal[axis] += slope(ContactPoint {
                normal: unit(axis),
                ..ContactPoint::default()
            });
        }
    }
}

impl<T: Scalar> Moves<T> {
    /// The change of a number with these slopes.
    fn along(&self, slopes: &MapInputBar) -> T {
        let [first, second] = self.sizes;
        let vectors = [
            (self.position, slopes.position),
            (self.turn, slopes.turn),
            (first, slopes.sizes[0]),
            (second, slopes.sizes[1]),
        ];
        let products = vectors
            .iter()
            .flat_map(|(change, slope)| (0..3).map(|axis| change[axis] * slope[axis]));
        products.fold(T::ZERO, |sum, product| sum + product)
    }
}
