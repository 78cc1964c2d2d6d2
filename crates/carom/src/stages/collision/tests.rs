//! Distances, normals and filters.

mod backward;
mod boxes;
mod broad;
mod convex;
mod distance;
mod map;

pub(crate) use backward::Checked;

use super::{Manifold, PosedShape, ShapeData, narrow};
use crate::dual::{Dual, LANES};
use crate::math::{Quat, Vec3};
use crate::model::GeomKind;
use crate::state::State;
use crate::testing::{Random, model_from_mjcf};
use crate::{Data, dynamics};

/// All kinds with colliders, in their order.
const KINDS: [GeomKind; 6] = [
    GeomKind::Plane,
    GeomKind::Sphere,
    GeomKind::Capsule,
    GeomKind::Ellipsoid,
    GeomKind::Cylinder,
    GeomKind::Box,
];

fn random_shape(random: &mut Random, kind: GeomKind) -> PosedShape<'static> {
    let position = Vec3(random.numbers()) * 0.5;
    let size = Vec3(random.numbers()).map(|x: f64| 0.1 + 0.2 * x.abs());
    let axis = Vec3(random.numbers()).normalized().0;
    let quat = Quat::from_axis_angle(axis, 1.5 + random.next());
    PosedShape {
        kind,
        position,
        rotation: quat.to_mat3(),
        size,
        data: ShapeData::None,
    }
}

/// Points of a pair when the second shape is moved by a vector of dual numbers.
fn moved(first: &PosedShape<'_>, second: &PosedShape<'_>) -> Manifold<Dual<LANES>> {
    let lift = |shape: &PosedShape<'_>| PosedShape {
        kind: shape.kind,
        position: shape.position.map(Dual::constant),
        rotation: shape.rotation.map(Dual::constant),
        size: shape.size.map(Dual::constant),
        data: ShapeData::None,
    };
    let (first, mut second) = (lift(first), lift(second));
    for axis in 0..3 {
        second.position[axis] = Dual::variable(second.position[axis].value, axis);
    }
    let mut out = Manifold::default();
    // Points of nearly parallel faces are on the faces, not where the shapes are nearest.
    out.convex.single_point = true;
    if let Some(collide) = narrow::collider::<Dual<LANES>>(first.kind, second.kind) {
        collide(&first, &second, Dual::constant(10.0), &mut out);
    }
    out
}

/// Points of these pairs are cut off by sides of a box: they slide as the shapes move.
fn is_clipped(first: GeomKind, second: GeomKind) -> bool {
    second == GeomKind::Box && matches!(first, GeomKind::Capsule | GeomKind::Box)
}

/// Moving the second shape changes the distance at the rate of the normal: the witness points are stationary.
#[test]
fn the_gradient_of_the_distance_is_the_normal() {
    let mut random = Random::at(7);
    let mut pairs = 0;
    for (index, &first) in KINDS.iter().enumerate() {
        for &second in &KINDS[index..] {
            if is_clipped(first, second) || narrow::collider::<f64>(first, second).is_none() {
                continue;
            }
            pairs += 1;
            for _ in 0..50 {
                let shapes = [
                    random_shape(&mut random, first),
                    random_shape(&mut random, second),
                ];
                let points = moved(&shapes[0], &shapes[1]);
                assert!(!points.points().is_empty(), "{first:?} {second:?}");
                for point in points.points() {
                    for axis in 0..3 {
                        let error = point.distance.tangent[axis] - point.normal[axis].value;
                        assert!(error.abs() < 1e-12, "{first:?} {second:?}: {error:e}");
                    }
                    let length = point.normal.map(|x| x.value).norm();
                    assert!((length - 1.0).abs() < 1e-12);
                }
            }
        }
    }
    assert_eq!(pairs, 18);
}

/// The distance of two capsules is the least over a fine grid of points on their axes.
#[test]
fn capsules_are_as_far_apart_as_a_search_says() {
    let mut random = Random::at(11);
    for _ in 0..100 {
        let first = random_shape(&mut random, GeomKind::Capsule);
        let second = random_shape(&mut random, GeomKind::Capsule);
        let on_axis = |shape: &PosedShape<'_>, step: u32| {
            shape.position + shape.axis() * (shape.size[1] * (f64::from(step) / 100.0 - 1.0))
        };
        let mut least = f64::INFINITY;
        for i in 0..=200 {
            for j in 0..=200 {
                least = least.min((on_axis(&first, i) - on_axis(&second, j)).norm());
            }
        }
        least -= first.size[0] + second.size[0];
        let found = moved(&first, &second).points()[0].distance.value;
        assert!(
            found <= least + 1e-12 && least - found < 2e-3,
            "{found} against {least}"
        );
    }
}

#[test]
fn filters_keep_pairs_apart() {
    let model = model_from_mjcf(
        r#"<mujoco>
          <worldbody>
            <geom name="floor" type="plane" size="1 1 1"/>
            <body name="a" pos="0 0 0.05"><freejoint/><geom name="a" size="0.1"/>
              <body name="child"><joint/><geom name="child" size="0.1"/></body>
            </body>
            <body name="b" pos="0.1 0 0.05"><freejoint/><geom name="b" size="0.1"/></body>
            <body name="ghost" pos="0.1 0 0.05"><freejoint/>
              <geom name="ghost" size="0.1" contype="0" conaffinity="0"/></body>
            <body name="shy" pos="0.1 0.1 0.05"><freejoint/><geom name="shy" size="0.1"/></body>
          </worldbody>
          <contact><exclude body1="b" body2="shy"/></contact>
        </mujoco>"#,
    );
    let mut data = Data::new(&model);
    dynamics::forward_position(&model, &State::reference(&model), &mut data);
    let name = |geom: usize| model.structure.names.geoms[geom].as_str();
    let pairs: Vec<_> = data
        .collision
        .contacts
        .iter()
        .map(|contact| contact.geoms.map(name))
        .collect();
    let expected = [
        ["floor", "a"],
        ["floor", "child"],
        ["floor", "b"],
        ["floor", "shy"],
        ["a", "b"],
        ["a", "shy"],
        ["child", "b"],
        ["child", "shy"],
    ];
    assert_eq!(pairs, expected);
}
