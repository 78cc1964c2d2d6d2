//! A network in the scene of a model.

use carom::math::{Mat3, Vec3};
use carom::model::{GeomKind, GeomShape, JointKind};
use carom::{Data, Error, ErrorKind, Model, State};
use carom_learn::network::Real;
use carom_learn::scene::{Body, Scene, Solid, Twist};
use carom_learn::store::Card;
use carom_learn::{GraphSystem, Learned};

/// A network in a scene, and what does not fit its training.
#[derive(Clone, Debug)]
pub struct Placed<F> {
    /// The system.
    pub system: GraphSystem<F>,
    /// What is not as in training.
    pub warnings: Vec<String>,
}

/// Puts a network in the scene of a model: free bodies of one box or convex mesh each, and planes that do not move.
///
/// The network knows the materials that it was trained with. Where a coefficient of friction of the model was not among them, that of
/// training takes its place.
///
/// # Errors
/// When the model has something else.
pub fn system<F: Real>(
    learned: Learned<F>,
    card: &Card,
    model: &Model,
) -> Result<Placed<F>, Error> {
    let mut data = Data::new(model);
    let reference = State::reference(model);
    carom::forward_frames(model, &reference, &mut data);
    let structure = &model.structure;
    let no = |why: String| {
        Error::new(ErrorKind::Unsupported, why).remedy(
            "a graph network moves free bodies of one box or convex mesh each, over planes that do not move",
        )
    };
    let mut scene = Scene::default();
    let mut centers = Vec::new();
    let mut warnings = Vec::new();
    let mut friction_of = |geom: usize| {
        let own = model.geoms.friction[geom][0];
        let [low, high] = card.friction;
        if (low * 0.99..=high * 1.01).contains(&own) {
            return own;
        }
        warnings.push(format!(
            "friction {own} of geom {geom} was not trained ({low:.3} to {high:.3}): that of training is taken"
        ));
        0.5 * (low + high)
    };
    for body in 1..model.counts().nbody {
        let joints = structure.bodies.joints[body].clone();
        let geoms = structure.bodies.geoms[body].clone();
        let [joint] = joints.collect::<Vec<_>>()[..] else {
            return Err(no(format!("body {body} has no free joint of its own")));
        };
        if structure.joints.kind[joint] != JointKind::Free
            || structure.joints.qpos[joint] != 7 * centers.len()
        {
            return Err(no(format!("joint {joint} is not free")));
        }
        let [geom] = geoms.collect::<Vec<_>>()[..] else {
            return Err(no(format!("body {body} has not one geom")));
        };
        let (solid, center) = solid(model, geom, model.bodies.mass[body], friction_of(geom))
            .map_err(|why| no(format!("geom {geom}: {why}")))?;
        scene.solids.push(solid);
        centers.push(center);
    }
    let mut fixed = Vec::new();
    for geom in structure.bodies.geoms[0].clone() {
        if structure.geoms.kind[geom] != GeomKind::Plane {
            return Err(no(format!("geom {geom} of the world is not a plane")));
        }
        scene.solids.push(Solid::plane(0.0));
        fixed.push(Body {
            position: data.kinematics.geom_position[geom],
            rotation: data.kinematics.geom_rotation[geom],
            twist: Twist::default(),
        });
    }
    Ok(Placed {
        system: GraphSystem::new(learned, scene, centers, fixed, reference),
        warnings,
    })
}

/// The solid of a geom in the axes of its body, and where its centre is there.
fn solid(model: &Model, geom: usize, mass: f64, friction: f64) -> Result<(Solid, Vec3), String> {
    let structure = &model.structure;
    let rotation = model.geoms.quat[geom].to_mat3();
    let position = model.geoms.position[geom];
    if structure.geoms.kind[geom] == GeomKind::Box && is_aligned(&rotation) {
        // A box whose axes are those of its body keeps them.
        return Ok((
            Solid::cuboid(model.geoms.size[geom], Some(mass), friction),
            position,
        ));
    }
    let local: Vec<Vec3> = match (structure.geoms.kind[geom], structure.geoms.shape[geom]) {
        (GeomKind::Box, _) => Solid::cuboid(model.geoms.size[geom], None, 0.0).vertices,
        (GeomKind::Mesh, GeomShape::Mesh(mesh)) => {
            model.meshes.vertex[structure.meshes.vertices[mesh].clone()].to_vec()
        }
        (kind, _) => return Err(format!("a {kind:?} is neither a box nor a mesh")),
    };
    let points = local
        .iter()
        .map(|&point| (position + rotation.mul_vec(point)).0);
    Solid::hull(&points.collect::<Vec<_>>(), Some(mass), friction)
        .map_err(|_| "the mesh bounds no volume".to_owned())
}

fn is_aligned(rotation: &Mat3) -> bool {
    let identity = Mat3::<f64>::identity();
    let mut pairs = rotation.0.iter().zip(&identity.0);
    pairs.all(|(one, two)| (one - two).abs() < 1e-12)
}
