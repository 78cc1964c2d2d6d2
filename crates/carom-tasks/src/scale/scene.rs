//! One run of a recipe: its bodies, its model and its initial state, from random numbers of its own.

use carom::compile::compile;
use carom::math::{Quat, Vec3};
use carom::model::{GeomKind, GeomShape};
use carom::parameters::{Parameters, Selection};
use carom::{Error, ErrorKind, Model, State};
use carom_optimise::random::Random;
use carom_spec::ModelSpec;
use carom_spec::model_spec::BodySpec;

use super::recipe::{Bodies, Count, Recipe, Shot};
use super::shards::Body;

/// A model at the beginning of a run.
pub(super) struct Scene {
    pub(super) model: Model,
    pub(super) state: State,
    /// Bodies on free joints in the order of the shard: number of the body, first of `qpos`, first of `qvel`.
    pub(super) places: Vec<[usize; 3]>,
    pub(super) bodies: Vec<Body>,
    /// Vertices of meshes that its bodies have, in their own frames; a shape is an entry and 1.
    pub(super) meshes: Vec<Vec<[f64; 3]>>,
}

fn wrong(why: impl Into<String>) -> Error {
    Error::new(ErrorKind::Settings, why)
}

/// Draws the scene of a run.
pub(super) fn draw(recipe: &Recipe, spec: &ModelSpec, random: &mut Random) -> Result<Scene, Error> {
    let mut spec = spec.clone();
    spec.option.timestep = step(recipe, spec.option.timestep);
    if let Some(bodies) = &recipe.bodies {
        populate(&mut spec, bodies, random)?;
    }
    let (model, problems) = compile(&spec);
    let model = model.ok_or_else(|| {
        let first = problems.iter().find(|problem| problem.is_error());
        let why = first.map_or_else(String::new, |problem| problem.message.clone());
        wrong(format!("the drawn model does not compile: {why}"))
            .remedy("a recipe copies bodies alone: leave out what refers to others (sensors, actuators, keyframes)")
    })?;
    let mut state = State::reference(&model);
    let mut model = model;
    if !recipe.draws.is_empty() {
        let selections: Result<Vec<Selection>, Error> = recipe
            .draws
            .iter()
            .map(|draw| draw.select.parse())
            .collect();
        let parameters = Parameters::new(&model, &selections?)?;
        let drawn: Vec<f64> = recipe.draws.iter().map(|draw| draw.value(random)).collect();
        let of = parameters.selections_of().to_vec();
        let names: Vec<String> = parameters.names().map(str::to_owned).collect();
        let mut theta = parameters.theta0().to_vec();
        for (name, selection) in names.iter().zip(of) {
            parameters.set(&mut theta, name, drawn[selection])?;
        }
        model = parameters.apply(&theta)?;
        state = parameters.apply_state(&theta, &state)?;
    }
    let places = places(&model);
    if places.is_empty() {
        return Err(wrong(
            "no body of the model is on a free joint, so that shards have no poses",
        ));
    }
    if let Some(shot) = &recipe.shot {
        lay_out(shot, &model, (&places, &mut state), random);
    }
    let mut meshes = Vec::new();
    let bodies = places
        .iter()
        .map(|&[body, ..]| described(&model, body, &mut meshes))
        .collect::<Result<_, Error>>()?;
    Ok(Scene {
        model,
        state,
        places,
        bodies,
        meshes,
    })
}

/// The time step that divides the time between frames and is nearest to that of the model, not above it.
fn step(recipe: &Recipe, timestep: f64) -> f64 {
    let dt = recipe.dt();
    dt / (dt / timestep * (1.0 - 1e-9)).ceil().max(1.0)
}

/// Replaces the bodies that move by copies of templates.
fn populate(spec: &mut ModelSpec, wanted: &Bodies, random: &mut Random) -> Result<(), Error> {
    let movable: Vec<&BodySpec> = spec
        .bodies
        .iter()
        .filter(|b| !b.joints.is_empty())
        .collect();
    let templates: Vec<BodySpec> = if wanted.templates.is_empty() {
        movable
            .first()
            .map(|&body| body.clone())
            .into_iter()
            .collect()
    } else {
        let named = |name: &String| {
            let found = movable.iter().find(|body| body.name == *name);
            found.map(|&body| body.clone()).ok_or_else(|| {
                wrong(format!(
                    "[bodies] templates: the model has no body '{name}' that moves"
                ))
            })
        };
        wanted
            .templates
            .iter()
            .map(named)
            .collect::<Result<_, _>>()?
    };
    if templates.is_empty()
        || templates
            .iter()
            .any(|body| body.parent != 0 || body.geoms.len() != 1)
    {
        return Err(wrong(
            "a template is a body of the world with one geom; name such bodies in [bodies] templates",
        ));
    }
    let is_fixed = |body: &BodySpec| body.joints.is_empty();
    if spec
        .bodies
        .iter()
        .any(|body| is_fixed(body) && body.parent != 0)
    {
        return Err(wrong(
            "[bodies] is for models whose fixed geoms stand in the world body; move them there",
        ));
    }
    spec.bodies.retain(is_fixed);
    let [low, high] = match wanted.count {
        Count::Number(number) => [number; 2],
        Count::Between(ends) => ends,
    };
    let count = low + random.below(high - low + 1);
    let mut first: Option<BodySpec> = None;
    for index in 0..count {
        let drawn = one(wanted, &templates, random);
        let mut body = match &first {
            Some(first) if wanted.alike => first.clone(),
            _ => drawn,
        };
        first.get_or_insert_with(|| body.clone());
        body.name = format!("body{index}");
        // Apart from each other, until they are laid out.
        body.position[0] += index as f64;
        for joint in &mut body.joints {
            joint.name = format!("body{index}");
        }
        for geom in &mut body.geoms {
            geom.name = format!("body{index}");
        }
        body.sites.clear();
        body.cameras.clear();
        body.lights.clear();
        spec.bodies.push(body);
    }
    Ok(())
}

fn one(wanted: &Bodies, templates: &[BodySpec], random: &mut Random) -> BodySpec {
    let mut body = templates[random.below(templates.len())].clone();
    let geom = &mut body.geoms[0];
    let mut number = |range: Option<super::recipe::Range>| Some(range?.draw(random));
    let [side, density, mass, friction] =
        [wanted.side, wanted.density, wanted.mass, wanted.friction].map(&mut number);
    if let (Some(side), true) = (side, geom.kind == GeomKind::Box && geom.mesh.is_none()) {
        geom.size = [0.5 * side; 3];
    }
    if let Some(density) = density {
        (geom.mass, geom.density) = (None, density);
        body.inertial = None;
    }
    if let Some(mass) = mass {
        geom.mass = Some(mass);
        body.inertial = None;
    }
    if let Some(friction) = friction {
        geom.friction[0] = friction;
    }
    body
}

/// Bodies on free joints.
fn places(model: &Model) -> Vec<[usize; 3]> {
    let joints = &model.structure.joints;
    (0..model.counts().njoint)
        .filter(|&joint| joints.kind[joint] == carom::model::JointKind::Free)
        .map(|joint| [joints.body[joint], joints.qpos[joint], joints.dof[joint]])
        .collect()
}

/// Half sizes of what a body is, around its frame.
fn described(model: &Model, body: usize, meshes: &mut Vec<Vec<[f64; 3]>>) -> Result<Body, Error> {
    let structure = &model.structure;
    let own = (0..model.counts().ngeom).find(|&geom| structure.geoms.body[geom] == body);
    let Some(geom) = own else {
        return Err(wrong("a body of the recipe has no geom"));
    };
    let (half_size, shape) = match structure.geoms.shape[geom] {
        GeomShape::Mesh(mesh) => {
            let vertices = &model.meshes.vertex[structure.meshes.vertices[mesh].clone()];
            let (position, quat) = (model.geoms.position[geom], model.geoms.quat[geom]);
            let placed: Vec<[f64; 3]> = vertices
                .iter()
                .map(|&vertex| (position + quat.rotate(vertex)).0)
                .collect();
            let reach = |axis: usize| {
                placed
                    .iter()
                    .map(|vertex| vertex[axis].abs())
                    .fold(1e-9, f64::max)
            };
            let half = [reach(0), reach(1), reach(2)];
            let known = meshes.iter().position(|known| *known == placed);
            let index = known.unwrap_or_else(|| {
                meshes.push(placed);
                meshes.len() - 1
            });
            (half, index + 1)
        }
        _ if structure.geoms.kind[geom] == GeomKind::Box => (model.geoms.size[geom].0, 0),
        _ => {
            return Err(wrong(
                "shards hold boxes and convex meshes; name bodies with such geoms in [bodies] templates",
            ));
        }
    };
    Ok(Body {
        half_size,
        mass: model.bodies.mass[body],
        friction: model.geoms.friction[geom].0[0],
        shape,
    })
}

/// The first body slides along a heading at the others, which rest in rows.
fn lay_out(
    shot: &Shot,
    model: &Model,
    (places, state): (&[[usize; 3]], &mut State),
    random: &mut Random,
) {
    let half: Vec<[f64; 3]> = places
        .iter()
        .map(|&[body, ..]| {
            described(model, body, &mut Vec::new()).map_or([0.05; 3], |body| body.half_size)
        })
        .collect();
    let yaw: Vec<f64> = places.iter().map(|_| shot.yaw.draw(random)).collect();
    // Half the width of a body along and across the shot.
    let reach = |body: usize| {
        let (sine, cosine) = yaw[body].sin_cos();
        let [x, y, _] = half[body];
        (x * cosine.abs() + y * sine.abs()).max(x * sine.abs() + y * cosine.abs())
    };
    let widest = (1..places.len()).map(reach).fold(0.0, f64::max);
    let mean = half.iter().map(|half| half[0] + half[1]).sum::<f64>() / half.len() as f64;
    let mut at = vec![[0.0; 2]; places.len()];
    let pitch = 2.0 * widest + shot.gap.draw(random);
    let ahead = reach(0) + widest + shot.way.draw(random);
    at[0][1] = shot.aside.draw(random) * mean;
    let (mut row, mut column) = (0.0, 0.0);
    for place in at.iter_mut().skip(1) {
        *place = [ahead + pitch * row, pitch * (column - 0.5 * row)];
        column += 1.0;
        if column > row {
            (row, column) = (row + 1.0, 0.0);
        }
    }
    let heading = std::f64::consts::TAU * random.uniform();
    let turn = Quat::exp(Vec3([0.0, 0.0, heading]));
    for (index, &[_, qpos, _]) in places.iter().enumerate() {
        let Vec3([x, y, _]) = turn.rotate(Vec3([at[index][0], at[index][1], 0.0]));
        let quat = Quat::exp(Vec3([0.0, 0.0, heading + yaw[index]]));
        state.qpos[qpos..qpos + 3].copy_from_slice(&[x, y, half[index][2]]);
        state.qpos[qpos + 3..qpos + 7].copy_from_slice(&quat.0);
    }
    let Vec3(velocity) = turn.rotate(Vec3([shot.speed.draw(random), 0.0, 0.0]));
    let dof = places[0][2];
    state.qvel[dof..dof + 3].copy_from_slice(&velocity);
    state.qvel[dof + 3..dof + 6].copy_from_slice(&[0.0, 0.0, shot.spin.draw(random)]);
}
