//! Derivatives and degenerate cases of the convex collider.

use super::random_shape;
use crate::dual::Dual;
use crate::math::{Mat3, Quat, Vec3};
use crate::model::{GeomKind, HullTopology, Model};
use crate::scalar::Scalar;
use crate::stages::collision::{
    GeomDistance, Manifold, MeshSurface, PosedShape, ShapeData, narrow, posed_shape, shape_distance,
};
use crate::state::State;
use crate::testing::{Random, model_from_mjcf};
use crate::{Data, dynamics};

/// Kinds with support functions.
const KINDS: [GeomKind; 6] = [
    GeomKind::Sphere,
    GeomKind::Capsule,
    GeomKind::Ellipsoid,
    GeomKind::Cylinder,
    GeomKind::Box,
    GeomKind::Mesh,
];

fn mesh_model(vertices: &str) -> Model {
    model_from_mjcf(&format!(
        r#"<mujoco><asset><mesh name="m" vertex="{vertices}" inertia="shell"/></asset>
           <worldbody><geom type="mesh" mesh="m"/></worldbody></mujoco>"#
    ))
}

/// Vertices and hull of the model's only geom.
fn data_of(model: &Model) -> ShapeData<'_> {
    let mut data = Data::new(model);
    dynamics::forward_position(model, &State::reference(model), &mut data);
    posed_shape(model, &data.kinematics, 0).data
}

fn random_mesh() -> Model {
    let mut random = Random::at(5);
    let mut text = String::new();
    for _ in 0..90 {
        text += &(0.25 * random.next()).to_string();
        text.push(' ');
    }
    mesh_model(&text)
}

/// A shape whose numbers depend on nine parameters: position, rotation vector, sizes.
struct Moving<'a> {
    shape: PosedShape<'a>,
    topology: &'a HullTopology,
}

impl Moving<'_> {
    fn at<T: Scalar>(&self, parameters: [T; 9], run: impl FnOnce(&PosedShape<'_, T>)) {
        let [x, y, z, rx, ry, rz, a, b, c] = parameters;
        let lift = |vector: Vec3| Vec3::<T>::from_f64(vector);
        let turn = |axis: usize, angle: T| {
            let mut unit = Vec3::ZERO;
            unit[axis] = T::ONE;
            Quat::from_axis_angle(unit, angle).to_mat3()
        };
        let rotation = Mat3(self.shape.rotation.0.map(T::from));
        let turned = turn(0, rx)
            .mul(&turn(1, ry))
            .mul(&turn(2, rz))
            .mul(&rotation);
        // A mesh has its vertices moved by its "sizes".
        let scaled: Vec<Vec3<T>> = match self.shape.data {
            ShapeData::Mesh { vertices, .. } => vertices
                .iter()
                .map(|&vertex| lift(vertex).component_mul(Vec3([a, b, c].map(|s| s + 1.0))))
                .collect(),
            _ => Vec::new(),
        };
        let data = match self.shape.data {
            ShapeData::Mesh { hull, surface, .. } => ShapeData::Mesh {
                vertices: &scaled,
                hull,
                surface: MeshSurface {
                    triangles: surface.triangles,
                    tree: surface.tree,
                    box_low: &[],
                    box_high: &[],
                },
                topology: self.topology,
            },
            _ => ShapeData::None,
        };
        run(&PosedShape {
            kind: self.shape.kind,
            position: lift(self.shape.position) + Vec3([x, y, z]),
            rotation: turned,
            size: lift(self.shape.size) + Vec3([a, b, c]),
            data,
        });
    }

    fn distance<T: Scalar>(&self, other: &Moving<'_>, parameters: [T; 9]) -> GeomDistance<T> {
        let mut found = None;
        self.at([T::ZERO; 9], |first| {
            other.at(parameters, |second| {
                found = shape_distance(first, second, 10.0, &mut Manifold::default());
            });
        });
        found.unwrap()
    }
}

/// Distance, normal and points in one list.
fn numbers<T: Scalar>(found: &GeomDistance<T>) -> Vec<T> {
    let mut list = vec![found.distance];
    list.extend(found.normal.0);
    list.extend(found.points[0].0);
    list.extend(found.points[1].0);
    list
}

#[test]
fn derivatives_are_those_of_differences() {
    let model = random_mesh();
    let topology = &model.structure.meshes.hull_topology[0];
    let mesh = data_of(&model);
    let mut random = Random::at(17);
    let (mut compared, mut kinks) = (0, 0);
    for (index, &first) in KINDS.iter().enumerate() {
        for &second in &KINDS[index..] {
            let rounds = if narrow::collider::<f64>(first, second).is_some() {
                40
            } else {
                0
            };
            for _ in 0..rounds {
                let [one, two] = [first, second].map(|kind| {
                    let mut shape = random_shape(&mut random, kind);
                    if kind == GeomKind::Mesh {
                        shape.data = mesh;
                    }
                    Moving { shape, topology }
                });
                let duals: [Dual<9>; 9] = std::array::from_fn(|i| Dual::variable(0.0, i));
                let exact = numbers(&one.distance(&two, duals));
                for parameter in 0..9 {
                    let quotient = |h: f64| {
                        let at = |value: f64| {
                            let mut parameters = [0.0; 9];
                            parameters[parameter] = value;
                            numbers(&one.distance(&two, parameters))
                        };
                        let (high, low) = (at(h), at(-h));
                        let pairs = high.into_iter().zip(low);
                        pairs
                            .map(|(high, low)| (high - low) / (2.0 * h))
                            .collect::<Vec<_>>()
                    };
                    let (coarse, fine) = (quotient(1e-5), quotient(5e-6));
                    let spread = coarse.iter().zip(&fine).map(|(a, b)| (a - b).abs());
                    if spread.fold(0.0, f64::max) > 1e-5 {
                        kinks += 1;
                        continue;
                    }
                    compared += 1;
                    for (number, (exact, fine)) in exact.iter().zip(&fine).enumerate() {
                        let error = (exact.tangent[parameter] - fine).abs();
                        assert!(
                            error < 1e-5 * (1.0 + fine.abs()),
                            "{first:?} {second:?}, number {number} by parameter {parameter}: {} \
                             against {fine}",
                            exact.tangent[parameter]
                        );
                    }
                }
            }
        }
    }
    assert!(kinks * 20 < compared, "{kinks} kinks, {compared} compared");
}

/// Runs the collider and the query on shapes in the poses given; everything must be finite.
fn probe(first: &PosedShape<'_>, second: &PosedShape<'_>) -> Option<GeomDistance> {
    let mut work = Manifold::default();
    let collide = narrow::collider::<f64>(first.kind, second.kind)?;
    collide(first, second, 0.01, &mut work);
    for point in work.points() {
        let numbers = [point.distance, point.position.norm(), point.normal.norm()];
        assert!(
            numbers.iter().all(|x| x.is_finite()),
            "{first:?} {second:?} {point:?}"
        );
        assert!(
            (numbers[2] - 1.0).abs() < 1e-9,
            "{first:?} {second:?} {point:?}"
        );
    }
    let found = shape_distance(first, second, 100.0, &mut work);
    if let Some(found) = found {
        assert!(found.distance.is_finite() && found.normal.norm().is_finite());
    }
    found
}

#[test]
fn degenerate_shapes_and_poses_give_finite_contacts() {
    let meshes = [
        random_mesh(),
        mesh_model("0 0 0  1 0 0  0 1 0  0 0 1e-6"),
        mesh_model("0 0 0  1 0 0  1 0 0  0 1e-5 0  0 0 1  0 0 1  0 0 0"),
    ];
    let sizes = [
        [0.0; 3],
        [1e-9, 1e-9, 1e-9],
        [1e-4, 1.0, 1.0],
        [1e3, 1e-3, 1.0],
        [0.2, 0.2, 0.2],
    ];
    let turns = [
        Quat::identity(),
        Quat::from_axis_angle(Vec3::Y, 1e-9),
        Quat([0.5, 0.5, 0.5, 0.5]),
    ];
    let offsets = [
        Vec3::ZERO,
        Vec3::X * 1e-12,
        Vec3::Z * 0.4,
        Vec3([0.2, 0.2, 0.2]),
        Vec3::Y * 1e4,
    ];
    let shape = |kind: GeomKind, size: [f64; 3], mesh: usize| {
        let data = if kind == GeomKind::Mesh {
            data_of(&meshes[mesh])
        } else {
            ShapeData::None
        };
        PosedShape {
            kind,
            position: Vec3::ZERO,
            rotation: Mat3::identity(),
            size: Vec3(size),
            data,
        }
    };
    let mut probed = 0;
    for (index, &first) in KINDS.iter().enumerate() {
        for &second in &KINDS[index..] {
            for (variant, &size1) in sizes.iter().enumerate() {
                for &size2 in &sizes {
                    for turn in turns {
                        for offset in offsets {
                            let one = shape(first, size1, variant % 3);
                            let mut two = shape(second, size2, (variant + 1) % 3);
                            two.rotation = turn.to_mat3();
                            two.position = offset;
                            probed += usize::from(probe(&one, &two).is_some());
                        }
                    }
                }
            }
        }
    }
    assert!(probed > 3000, "{probed}");
}

/// The deepest direction of two coincident ellipsoids is along their shortest axes.
#[test]
fn coincident_ellipsoids_separate_along_the_shortest_axis() {
    let mut random = Random::at(3);
    for _ in 0..50 {
        let mut shape = random_shape(&mut random, GeomKind::Ellipsoid);
        shape.size = Vec3([0.3, 0.1, 0.2]);
        let found = probe(&shape, &shape).unwrap();
        assert!((found.distance + 0.2).abs() < 1e-9, "{found:?}");
        assert!(found.normal.dot(shape.rotation.column(1)).abs() > 1.0 - 1e-6);
    }
}

/// A cylinder that stands on a box has four points around its rim, one that lies two along its side.
#[test]
fn cylinders_stand_and_lie_on_boxes() {
    let mut ground = random_shape(&mut Random::at(1), GeomKind::Box);
    (ground.position, ground.rotation) = (Vec3::ZERO, Mat3::identity());
    ground.size = Vec3([1.0, 1.0, 0.5]);
    let mut cylinder = PosedShape {
        kind: GeomKind::Cylinder,
        position: Vec3([0.1, 0.2, 0.5 + 0.19]),
        size: Vec3([0.3, 0.2, 0.0]),
        ..ground
    };
    let collide = narrow::collider::<f64>(GeomKind::Cylinder, GeomKind::Box).unwrap();
    let mut out = Manifold::default();
    collide(&cylinder, &ground, 0.0, &mut out);
    assert_eq!(out.points().len(), 4);
    for point in out.points() {
        assert!((point.distance + 0.01).abs() < 1e-12);
        assert!((point.normal + Vec3::Z).norm() < 1e-12);
        let rim =
            (point.position - cylinder.position)[0].hypot((point.position - cylinder.position)[1]);
        assert!((rim - 0.3).abs() < 1e-12);
    }
    cylinder.rotation = Quat::from_axis_angle(Vec3::Y, std::f64::consts::FRAC_PI_2).to_mat3();
    cylinder.position = Vec3([0.1, 0.2, 0.5 + 0.29]);
    out.clear();
    collide(&cylinder, &ground, 0.0, &mut out);
    assert_eq!(out.points().len(), 2);
    for point in out.points() {
        assert!((point.distance + 0.01).abs() < 1e-12);
        assert!(((point.position - cylinder.position)[0].abs() - 0.2).abs() < 1e-12);
    }
}

#[test]
fn a_capsule_that_touches_with_its_end_keeps_its_length() {
    // Numbers of MuJoCo 4.0.0 with a collision tolerance of 1e-14: the clipped line ends where the axis does. Faces of a
    // tetrahedron stay plane in single precision.
    let model = model_from_mjcf(
        r#"<mujoco><asset><mesh name="tip" vertex="-0.1 -0.1 -0.1 0.1 -0.1 -0.1 0 0.12 -0.1 0 0 0.1"/></asset>
           <worldbody><geom type="capsule" size="0.05 0.1"/>
             <body pos="0.1493 0.0188 0.095" quat="0.421965 0.569334 0.414582 0.570899"><freejoint/>
               <geom type="mesh" mesh="tip" mass="1"/></body></worldbody></mujoco>"#,
    );
    let mut data = Data::new(&model);
    dynamics::forward_position(&model, &State::reference(&model), &mut data);
    let [contact] = &data.collision.contacts[..] else {
        panic!("one contact, found {}", data.collision.contacts.len());
    };
    assert!((contact.distance + 0.000_878_790_199_539_658_2).abs() < 1e-10);
    let position = Vec3([
        0.049_557_782_029_983_74,
        -0.000_352_333_649_329_348_95,
        0.099_996_502_109_807_55,
    ]);
    assert!(contact.position.distance(position) < 1e-9);
}
