//! Merges bodies without joints into their parents.
//!
//! A fused body's geoms, sites, cameras, lights and children move to its parent, its inertia is added to the
//! parent's. A static body stays where fusing would change the model: others refer to it by name, a force sensor
//! measures at its joint with the parent, it is compensated for gravity differently, or a fluid acts on it.

use carom_spec::ModelSpec;
use carom_spec::model_spec::{BodySpec, InertiaFromGeom, SleepPolicy};

use super::super::assets::Assets;
use super::super::geoms;
use super::super::inertia::{BodyInertial, Part, body_inertial, sum_of_parts};
use super::super::report::Report;
use super::super::sites;
use super::references::References;
use crate::math::{Pose, Quat, Vec3};

/// Lighter bodies (kg) have no inertia to keep.
const MIN_MASS: f64 = 1e-15;

/// Fuses all static bodies that can be.
pub(super) fn fuse(spec: &mut ModelSpec, assets: &Assets) {
    let mut problems = Report::default();
    let inertials = inertials(spec, assets, &mut problems);
    // With errors in the description nothing is fused: they come up again when it is compiled.
    if !problems.has_errors() {
        let hosts = choose_hosts(spec, assets, &inertials);
        add_inertias(spec, &inertials, &hosts);
        move_elements(spec, &hosts);
    }
}

fn inertials(spec: &ModelSpec, assets: &Assets, problems: &mut Report) -> Vec<BodyInertial> {
    let bodies = 0..spec.bodies.len();
    bodies
        .map(|id| body_inertial(spec, assets, id, problems))
        .collect()
}

/// The body that a body becomes part of (itself if it stays), and its pose there.
#[derive(Clone, Copy)]
struct Host {
    body: usize,
    pose: Pose,
}

fn choose_hosts(spec: &mut ModelSpec, assets: &Assets, inertials: &[BodyInertial]) -> Vec<Host> {
    let references = References::new(spec);
    let adjusted = adjusted_inertias(spec, assets, inertials);
    let mut hosts: Vec<Host> = Vec::with_capacity(spec.bodies.len());
    for (id, body) in spec.bodies.iter().enumerate() {
        let parent = hosts.get(body.parent).copied();
        let host = parent.filter(|parent| {
            may_be_fused(body, &references)
                && keeps_forces(spec, inertials, id, parent.body)
                && !adjusted[id]
                && !adjusted[parent.body]
        });
        hosts.push(match host {
            Some(parent) => Host {
                body: parent.body,
                pose: parent.pose.mul(inertials[id].pose),
            },
            None => Host {
                body: id,
                pose: Pose::identity(),
            },
        });
    }
    hosts
}

/// Whether a body is static and nothing refers to it.
fn may_be_fused(body: &BodySpec, references: &References) -> bool {
    let is_referenced = !body.name.is_empty() && references.bodies.contains(&body.name);
    let measures_force = body
        .sites
        .iter()
        .any(|site| !site.name.is_empty() && references.force_sites.contains(&site.name));
    body.joints.is_empty()
        && !body.mocap
        && body.allow_fuse
        && body.sleep == SleepPolicy::Auto
        && !is_referenced
        && !measures_force
}

/// Whether the forces on the bodies are the same when `id` is part of `parent`.
fn keeps_forces(spec: &ModelSpec, inertials: &[BodyInertial], id: usize, parent: usize) -> bool {
    let [body, host] = [id, parent].map(|id| &spec.bodies[id]);
    let has_mass = inertials[id].part.mass >= MIN_MASS;
    let in_fluid = spec.option.density != 0.0 || spec.option.viscosity != 0.0;
    let other_weight = body.gravity_compensation != host.gravity_compensation;
    let has_fluid_shape = body.geoms.iter().any(|geom| geom.fluid_ellipsoid);
    parent == 0 || !(has_mass && (other_weight || in_fluid) || in_fluid && has_fluid_shape)
}

/// Bodies whose inertia the compiler's bounds changed, where geoms alone decide about inertia: together in one body the
/// geoms would give another inertia.
fn adjusted_inertias(
    spec: &mut ModelSpec,
    assets: &Assets,
    inertials: &[BodyInertial],
) -> Vec<bool> {
    if spec.compiler.inertia_from_geom != InertiaFromGeom::Always {
        return vec![false; spec.bodies.len()];
    }
    let settings = spec.compiler.clone();
    spec.compiler.bound_mass = 0.0;
    spec.compiler.bound_inertia = 0.0;
    spec.compiler.balance_inertia = false;
    let plain = self::inertials(spec, assets, &mut Report::default());
    spec.compiler = settings;
    let pairs = plain.iter().zip(inertials);
    pairs
        .map(|(plain, body)| {
            (plain.part.mass, plain.part.inertia) != (body.part.mass, body.part.inertia)
        })
        .collect()
}

/// Adds the inertias of fused bodies to those of their hosts; the world has none.
fn add_inertias(spec: &mut ModelSpec, inertials: &[BodyInertial], hosts: &[Host]) {
    let part = |id: usize, pose: Pose| {
        let part = inertials[id].part;
        Part::new(part.mass, pose.mul(part.pose), part.inertia)
    };
    let mut parts = vec![Vec::new(); spec.bodies.len()];
    for (id, host) in hosts.iter().enumerate() {
        if host.body != 0 && inertials[id].part.mass >= MIN_MASS {
            parts[host.body].push(part(id, host.pose));
        }
    }
    for (id, host) in hosts.iter().enumerate() {
        let gains = parts[id].len() > usize::from(inertials[id].part.mass >= MIN_MASS);
        if host.body == id && gains {
            let span = spec.bodies[id].span;
            spec.bodies[id].inertial = Some(sum_of_parts(&parts[id]).to_spec(span));
        }
    }
}

/// Moves what fused bodies hold to their hosts and closes the gaps in the list of bodies.
fn move_elements(spec: &mut ModelSpec, hosts: &[Host]) {
    let mut new_ids = vec![0; hosts.len()];
    let mut bodies: Vec<BodySpec> = Vec::with_capacity(hosts.len());
    for (id, mut body) in std::mem::take(&mut spec.bodies).into_iter().enumerate() {
        let host = hosts[id];
        if host.body == id {
            let parent = hosts[body.parent];
            if parent.body != body.parent {
                place(&mut body.position, &mut body.quaternion, parent.pose);
            }
            body.parent = new_ids[parent.body];
            new_ids[id] = bodies.len();
            bodies.push(body);
        } else {
            move_into(body, &mut bodies[new_ids[host.body]], host.pose);
        }
    }
    spec.bodies = bodies;
}

/// Appends the elements of `body`, which is at `pose` in `host`.
fn move_into(body: BodySpec, host: &mut BodySpec, pose: Pose) {
    for mut geom in body.geoms {
        // Two points fix an orientation only in the frame they are given in.
        if geom.fromto.is_some()
            && let Some((own, size)) =
                geoms::own_frame(&geom, &mut Report::default().checked("geom", "", geom.span))
        {
            (geom.position, geom.quaternion) = (own.position.0, own.quat.0);
            (geom.size, geom.fromto) = (size, None);
        }
        place(&mut geom.position, &mut geom.quaternion, pose);
        host.geoms.push(geom);
    }
    for mut site in body.sites {
        if site.fromto.is_some()
            && let Ok((own, size)) = sites::own_frame(&site)
        {
            (site.position, site.quaternion) = (own.position.0, own.quat.0);
            (site.size, site.fromto) = (size, None);
        }
        place(&mut site.position, &mut site.quaternion, pose);
        host.sites.push(site);
    }
    for mut camera in body.cameras {
        place(&mut camera.position, &mut camera.quaternion, pose);
        host.cameras.push(camera);
    }
    for mut light in body.lights {
        light.position = pose.transform_point(Vec3(light.position)).0;
        light.direction = pose.transform_vector(Vec3(light.direction)).0;
        host.lights.push(light);
    }
}

/// Expresses a frame given in `pose` in the frame around it.
fn place(position: &mut [f64; 3], quaternion: &mut [f64; 4], pose: Pose) {
    let inner = Pose::new(Vec3(*position), Quat(*quaternion).normalized());
    let outer = pose.mul(inner);
    (*position, *quaternion) = (outer.position.0, outer.quat.0);
}
