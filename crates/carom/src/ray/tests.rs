//! Agreement with MuJoCo, derivatives, and trees against exhaustive search.
#![allow(clippy::unreadable_literal, reason = "numbers as MuJoCo prints them")]

use super::{Filter, Ray, cast, meet};
use crate::dual::Dual;
use crate::math::Vec3;
use crate::model::Model;
use crate::scalar::Scalar;
use crate::stages::collision::posed_shape;
use crate::state::State;
use crate::testing::{Random, model_from_mjcf};
use crate::{Data, dynamics};

/// One geom of each kind, two metres apart.
const ROW: &str = r#"<mujoco>
  <asset>
    <mesh name="wedge" vertex="0 0 0 0.8 0 0 0 0.5 0 0 0 0.6 0.8 0 0.2"
      face="0 2 1 0 3 2 0 1 4 0 4 3 1 2 4 2 3 4"/>
    <hfield name="hills" nrow="3" ncol="4" size="0.6 0.4 0.3 0.1"
      elevation="0 0.2 0.9 1 0.3 0.8 0.1 0.4 0.7 0 0.5 0.6"/>
  </asset>
  <worldbody>
    <geom type="plane" size="0.5 0.4 1" pos="0 0 0" quat="1 0.1 0.2 0.3"/>
    <geom type="hfield" hfield="hills" pos="2 0 0" quat="1 0.1 0.2 0.3"/>
    <geom type="sphere" size="0.3" pos="4 0 0" quat="1 0.1 0.2 0.3"/>
    <geom type="capsule" size="0.2 0.3" pos="6 0 0" quat="1 0.1 0.2 0.3"/>
    <geom type="ellipsoid" size="0.4 0.3 0.2" pos="8 0 0" quat="1 0.1 0.2 0.3"/>
    <geom type="cylinder" size="0.2 0.3" pos="10 0 0" quat="1 0.1 0.2 0.3"/>
    <geom type="box" size="0.4 0.3 0.2" pos="12 0 0" quat="1 0.1 0.2 0.3"/>
    <geom type="mesh" mesh="wedge" pos="14 0 0" quat="1 0.1 0.2 0.3"/>
  </worldbody>
</mujoco>"#;

type Row = ([f64; 3], [f64; 3], usize, f64, [f64; 3]);

/// Origin, direction, geom, distance and normal of MuJoCo 4.0.0; the third ray at each geom starts inside.
const HITS: [Row; 22] = [
    (
        [0.3, 0.2, 1.5],
        [-0.1, -0.05, -1.0],
        0,
        1.5545286506469498,
        [
            0.40350877192982454,
            -0.07017543859649122,
            0.9122807017543859,
        ],
    ),
    (
        [2.3, 0.2, 1.5],
        [-0.1, -0.05, -1.0],
        1,
        1.4952558020535236,
        [0.8628472522436037, -0.21125352524211946, 0.4592020986106663],
    ),
    (
        [0.8, 0.3, 0.1],
        [2.0, -0.4, 0.05],
        1,
        0.3581081081081081,
        [-0.4912280701754385, 0.8245614035087719, 0.28070175438596495],
    ),
    (
        [2.05, 0.05, 0.08],
        [0.3, 1.0, 0.2],
        1,
        0.49210526315789477,
        [-0.49122807017543857, 0.8245614035087719, 0.2807017543859649],
    ),
    (
        [4.3, 0.2, 1.5],
        [-0.1, -0.05, -1.0],
        2,
        1.2936661869336514,
        [0.5687779376887828, 0.4510556355110583, 0.687779376887829],
    ),
    (
        [2.8, 0.3, 0.1],
        [2.0, -0.4, 0.05],
        2,
        0.47492012927736965,
        [
            -0.8338658048175352,
            0.36677316096350676,
            0.41248668821289464,
        ],
    ),
    (
        [4.05, 0.05, 0.08],
        [0.3, 1.0, 0.2],
        2,
        0.2016238118171923,
        [0.3682904784838572, 0.8387460393906414, 0.40108254121146175],
    ),
    (
        [6.3, 0.2, 1.5],
        [-0.1, -0.05, -1.0],
        3,
        1.1332113031679045,
        [0.3281311905213111, 0.821960332102765, 0.4655224315288998],
    ),
    (
        [4.8, 0.3, 0.1],
        [2.0, -0.4, 0.05],
        3,
        0.5307981997183376,
        [-0.7998351794783534, 0.4571544138957983, 0.38893897660740995],
    ),
    (
        [6.05, 0.05, 0.08],
        [0.3, 1.0, 0.2],
        3,
        0.13696969927817773,
        [
            0.21010362400314664,
            0.9775182224629091,
            -0.01773673965809111,
        ],
    ),
    (
        [8.3, 0.2, 1.5],
        [-0.1, -0.05, -1.0],
        4,
        1.367059590929338,
        [0.47859349744160684, 0.1844704222226104, 0.8584398217298767],
    ),
    (
        [6.8, 0.3, 0.1],
        [2.0, -0.4, 0.05],
        4,
        0.4616727302523137,
        [-0.761888350808526, 0.5652405405316608, 0.31627404610833965],
    ),
    (
        [8.05, 0.05, 0.08],
        [0.3, 1.0, 0.2],
        4,
        0.18837054891951066,
        [0.3102731415274399, 0.501237660172201, 0.8077693889172765],
    ),
    (
        [10.3, 0.2, 1.5],
        [-0.1, -0.05, -1.0],
        5,
        1.2384473197781887,
        [
            0.40350877192982454,
            -0.07017543859649122,
            0.9122807017543859,
        ],
    ),
    (
        [8.8, 0.3, 0.1],
        [2.0, -0.4, 0.05],
        5,
        0.5307981997183376,
        [-0.7998351794783526, 0.45715441389579997, 0.3889389766074098],
    ),
    (
        [10.05, 0.05, 0.08],
        [0.3, 1.0, 0.2],
        5,
        0.13696969927817754,
        [0.2101036240031502, 0.9775182224629084, -0.01773673965809272],
    ),
    (
        [12.3, 0.2, 1.5],
        [-0.1, -0.05, -1.0],
        6,
        1.3438077634011094,
        [
            0.40350877192982454,
            -0.07017543859649122,
            0.9122807017543859,
        ],
    ),
    (
        [10.8, 0.3, 0.1],
        [2.0, -0.4, 0.05],
        6,
        0.43513513513513474,
        [-0.49122807017543857, 0.8245614035087719, 0.2807017543859649],
    ),
    (
        [12.05, 0.05, 0.08],
        [0.3, 1.0, 0.2],
        6,
        0.35574162679425886,
        [-0.49122807017543857, 0.8245614035087719, 0.2807017543859649],
    ),
    (
        [14.3, 0.2, 1.5],
        [-0.1, -0.05, -1.0],
        7,
        1.1440677819682117,
        [0.1219421400520447, 0.7316529260047129, 0.6706818249723749],
    ),
    (
        [12.8, 0.3, 0.1],
        [2.0, -0.4, 0.05],
        7,
        0.6039004710044961,
        [
            -0.7719298204690784,
            -0.5614034966767709,
            0.29824564739435366,
        ],
    ),
    (
        [14.05, 0.05, 0.08],
        [0.3, 1.0, 0.2],
        7,
        0.29864865387664313,
        [0.1219421400520447, 0.7316529260047129, 0.6706818249723749],
    ),
];

fn posed(model: &Model) -> Data {
    let mut data = Data::new(model);
    dynamics::forward_position(model, &State::reference(model), &mut data);
    data
}

#[test]
fn rays_meet_geoms_where_they_do_in_mujoco() {
    let model = model_from_mjcf(ROW);
    let data = posed(&model);
    for (origin, direction, geom, distance, normal) in HITS {
        let ray = Ray {
            origin: Vec3(origin),
            direction: Vec3(direction),
        };
        let hit = cast(&model, &data.kinematics, &ray, &Filter::default()).unwrap();
        assert_eq!(hit.geom, geom);
        assert!((hit.point.distance - distance).abs() < 1e-13, "geom {geom}");
        // The mesh's numbers are stored in single precision.
        let error = (hit.point.normal - Vec3(normal)).norm();
        assert!(error < 1e-7, "geom {geom}: {error:e}");
    }
}

/// A ray's origin and direction as variables: the rates of the distance are those of a plane through the point, with
/// the normal n: dx = −n·(dp + x·dv)/(n·v).
#[test]
fn the_distance_changes_as_the_tangent_plane_says() {
    let model = model_from_mjcf(ROW);
    let data = posed(&model);
    let dual_model = model.map(Dual::<6>::constant);
    let kinematics = data.kinematics.map(Dual::<6>::constant);
    for (origin, direction, geom, _, _) in HITS {
        let ray = Ray {
            origin: Vec3(std::array::from_fn(|axis| {
                Dual::variable(origin[axis], axis)
            })),
            direction: Vec3(std::array::from_fn(|axis| {
                Dual::variable(direction[axis], 3 + axis)
            })),
        };
        let point = meet(&posed_shape(&dual_model, &kinematics, geom), &ray).unwrap();
        let normal = point.normal.map(Scalar::value);
        let rate = normal.dot(Vec3(direction));
        for axis in 0..3 {
            let expected = [1.0, point.distance.value].map(|factor| -normal[axis] * factor / rate);
            let found = [axis, 3 + axis].map(|index| point.distance.tangent[index]);
            for (found, expected) in found.into_iter().zip(expected) {
                assert!(
                    (found - expected).abs() < 1e-11,
                    "geom {geom}: {found} {expected}"
                );
            }
        }
    }
}

/// The normal's rate against a central difference, where the surface is curved.
#[test]
fn the_normal_follows_the_curvature() {
    let model = model_from_mjcf(ROW);
    let data = posed(&model);
    let dual_model = model.map(Dual::<1>::constant);
    let kinematics = data.kinematics.map(Dual::<1>::constant);
    let step = 1e-6;
    for (origin, direction, geom, _, _) in HITS {
        let shifted = |by: f64| {
            let ray = Ray {
                origin: Vec3([origin[0], origin[1] + by, origin[2]]),
                direction: Vec3(direction),
            };
            meet(&posed_shape(&model, &data.kinematics, geom), &ray)
                .unwrap()
                .normal
        };
        let difference = (shifted(step) - shifted(-step)) * (0.5 / step);
        let mut ray = Ray {
            origin: Vec3(origin).map(Dual::constant),
            direction: Vec3(direction).map(Dual::constant),
        };
        ray.origin[1] = Dual::variable(origin[1], 0);
        let point = meet(&posed_shape(&dual_model, &kinematics, geom), &ray).unwrap();
        let error = point.normal.map(|component| component.tangent[0]) - difference;
        assert!(error.norm() < 1e-7, "geom {geom}: {:e}", error.norm());
    }
}

#[test]
fn the_tree_finds_what_a_search_of_all_triangles_finds() {
    let mut random = Random::new(3);
    let points: Vec<String> = (0..300)
        .map(|_| {
            let point = Vec3(random.numbers()).normalized().0 * (1.0 + 0.3 * random.next());
            format!("{} {} {}", point[0], point[1], point[2])
        })
        .collect();
    let vertices = points.join(" ");
    let model = model_from_mjcf(&format!(
        r#"<mujoco><asset><mesh name="m" vertex="{vertices}"/></asset>
        <worldbody><geom type="mesh" mesh="m"/></worldbody></mujoco>"#
    ));
    let data = posed(&model);
    let shape = posed_shape(&model, &data.kinematics, 0);
    let meshes = &model.structure.meshes;
    let mut hits = 0;
    for _ in 0..500 {
        let ray = Ray {
            origin: Vec3(random.numbers()) * 2.0,
            direction: Vec3(random.numbers()),
        };
        let local = ray.seen_from(&shape);
        let across = super::triangle::Across::new(local.direction);
        let all = meshes.face.iter().filter_map(|face| {
            let corners = face.map(|vertex| model.meshes.vertex[vertex as usize]);
            super::triangle::distance(corners, &local, &across)
        });
        let nearest = all.min_by(f64::total_cmp);
        let found = meet(&shape, &ray).map(|point| point.distance);
        hits += usize::from(found.is_some());
        match (nearest, found) {
            (Some(nearest), Some(found)) => assert!((nearest - found).abs() < 1e-12),
            (nearest, found) => assert_eq!(nearest, found),
        }
    }
    assert!(hits > 100, "only {hits} hits");
}

#[test]
fn filters_let_rays_pass() {
    let model = model_from_mjcf(
        r#"<mujoco><asset><material name="glass" rgba="1 1 1 0"/></asset><worldbody>
          <geom name="near" size="0.1" pos="1 0 0" group="2"/>
          <geom name="glass" size="0.1" pos="0.5 0 0" material="glass"/>
          <geom name="air" size="0.1" pos="0.7 0 0" rgba="1 1 1 0"/>
          <body pos="2 0 0"><freejoint/><inertial pos="0 0 0" mass="1" diaginertia="1 1 1"/>
            <geom name="middle" size="0.1" group="9"/></body>
          <body pos="3 0 0"><freejoint/><geom name="far" size="0.1"/></body></worldbody></mujoco>"#,
    );
    let data = posed(&model);
    let along_x = Vec3([1.0, 0.0, 0.0]);
    let first = |filter: Filter, direction: Vec3| {
        let ray = Ray {
            origin: Vec3::ZERO,
            direction,
        };
        let hit = cast(&model, &data.kinematics, &ray, &filter)?;
        Some(model.structure.names.geoms[hit.geom].as_str())
    };
    let all = Filter::default();
    assert_eq!(first(all, along_x), Some("near"));
    assert_eq!(first(all, Vec3::ZERO), None);
    let moving = Filter {
        include_static: false,
        ..all
    };
    assert_eq!(first(moving, along_x), Some("middle"));
    let without_first = Filter {
        exclude_body: Some(1),
        ..moving
    };
    assert_eq!(first(without_first, along_x), Some("far"));
    // Groups beyond the last count as the last.
    let last_group = Filter {
        groups: Some([false, false, false, false, false, true]),
        ..all
    };
    assert_eq!(first(last_group, along_x), Some("middle"));
}
