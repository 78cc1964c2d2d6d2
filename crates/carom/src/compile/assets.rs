//! Processed meshes and height fields.

use std::collections::{HashMap, HashSet};

use carom_spec::ModelSpec;
use carom_spec::model_spec::{GeomKind, Reference};

use super::Source;
use super::height_field::CompiledHeightField;
use super::mesh::CompiledMesh;
use super::report::Report;
use crate::math::Vec3;
use crate::model::{MeshRecipe, Model, SourceNumbers, Structure};
use crate::ray::{self, TriangleTree};

/// Meshes and height fields in the order of the description.
#[derive(Default)]
pub(super) struct Assets {
    /// Meshes; none where processing failed (and an error was reported).
    meshes: Vec<Option<CompiledMesh>>,
    /// Height fields; none where processing failed.
    height_fields: Vec<Option<CompiledHeightField>>,
    mesh_ids: HashMap<String, usize>,
    height_field_ids: HashMap<String, usize>,
}

impl Assets {
    /// Processes the assets of a description: of its meshes those that are needed.
    pub(super) fn new(spec: &ModelSpec, needed_meshes: &[bool], report: &mut Report) -> Self {
        let colliding = colliding_meshes(spec);
        let mut assets = Self::default();
        for (mesh, &is_needed) in spec.meshes.iter().zip(needed_meshes) {
            if !is_needed {
                assets.meshes.push(None);
                continue;
            }
            let needs_hull = colliding.contains(mesh.name.as_str());
            assets
                .meshes
                .push(CompiledMesh::new(mesh, needs_hull, report));
        }
        for field in &spec.height_fields {
            assets
                .height_fields
                .push(CompiledHeightField::new(field, report));
        }
        assets.index(spec);
        assets
    }

    /// Keeps the meshes and height fields for which the closures say so; `spec` is the description without the others.
    pub(super) fn retain(
        &mut self,
        spec: &ModelSpec,
        mut keep_mesh: impl FnMut(usize) -> bool,
        mut keep_height_field: impl FnMut(usize) -> bool,
    ) {
        let mut id = 0..;
        self.meshes
            .retain(|_| id.next().is_some_and(&mut keep_mesh));
        let mut id = 0..;
        self.height_fields
            .retain(|_| id.next().is_some_and(&mut keep_height_field));
        self.index(spec);
    }

    fn index(&mut self, spec: &ModelSpec) {
        let named = |names: Vec<&String>| {
            names
                .into_iter()
                .enumerate()
                .map(|(id, name)| (name.clone(), id))
                .collect()
        };
        self.mesh_ids = named(spec.meshes.iter().map(|mesh| &mesh.name).collect());
        self.height_field_ids = named(spec.height_fields.iter().map(|field| &field.name).collect());
    }

    /// Id of a mesh.
    pub(super) fn mesh_id(&self, reference: &Reference) -> Option<usize> {
        self.mesh_ids.get(&reference.name).copied()
    }

    /// Id of a height field.
    pub(super) fn height_field_id(&self, reference: &Reference) -> Option<usize> {
        self.height_field_ids.get(&reference.name).copied()
    }

    /// A mesh; none if it is unusable.
    pub(super) fn mesh(&self, id: usize) -> Option<&CompiledMesh> {
        self.meshes.get(id)?.as_ref()
    }

    /// A height field; none if it is unusable.
    pub(super) fn height_field(&self, id: usize) -> Option<&CompiledHeightField> {
        self.height_fields.get(id)?.as_ref()
    }
}

/// Names of the meshes of geoms that may collide: these need a convex hull.
fn colliding_meshes(spec: &ModelSpec) -> HashSet<&str> {
    let mut paired = HashSet::new();
    for pair in &spec.pairs {
        paired.insert(pair.geom1.name.as_str());
        paired.insert(pair.geom2.name.as_str());
    }
    let geoms = spec.bodies.iter().flat_map(|body| &body.geoms);
    geoms
        .filter(|geom| geom.kind == GeomKind::Mesh)
        .filter(|geom| {
            let is_paired = !geom.name.is_empty() && paired.contains(geom.name.as_str());
            geom.contype != 0 || geom.conaffinity != 0 || is_paired
        })
        .filter_map(|geom| Some(geom.mesh.as_ref()?.name.as_str()))
        .collect()
}

/// Fills the structure of meshes and height fields.
pub(super) fn structure(source: Source<'_>, structure: &mut Structure) {
    let assets = source.assets;
    let counts = &mut structure.counts;
    counts.nmesh = assets.meshes.len();
    let meshes = &mut structure.meshes;
    for mesh in &assets.meshes {
        let (first_face, first_hull) = (meshes.face.len(), meshes.hull_face.len());
        let first_vertex = counts.nmesh_vertex;
        if let Some(mesh) = mesh {
            counts.nmesh_vertex += mesh.vertices.len();
            meshes.face.extend(&mesh.faces);
            meshes.hull_face.extend(&mesh.hull);
        }
        meshes.vertices.push(first_vertex..counts.nmesh_vertex);
        meshes.faces.push(first_face..meshes.face.len());
        meshes.hull_faces.push(first_hull..meshes.hull_face.len());
        let topology = mesh.as_ref().map(|mesh| mesh.topology.clone());
        meshes.hull_topology.push(topology.unwrap_or_default());
        let tree = mesh
            .as_ref()
            .map(|mesh| TriangleTree::new(&mesh.vertices, &mesh.faces));
        let first_box = counts.nmesh_box;
        counts.nmesh_box += tree.as_ref().map_or(0, TriangleTree::len);
        meshes.boxes.push(first_box..counts.nmesh_box);
        meshes.tree.push(tree.unwrap_or_default());
    }
    counts.nheight_field = assets.height_fields.len();
    for field in &assets.height_fields {
        let first = counts.nheight_field_value;
        counts.nheight_field_value += field.as_ref().map_or(0, |field| field.elevation.len());
        structure
            .height_fields
            .values
            .push(first..counts.nheight_field_value);
        structure
            .height_fields
            .size
            .push(field.as_ref().map_or([0, 0], |field| field.shape));
    }
}

/// Fills the numbers of meshes and height fields.
pub(super) fn numbers(source: Source<'_>, model: &mut Model) {
    let structure = std::sync::Arc::clone(&model.structure);
    for (id, (mesh, spec)) in source
        .assets
        .meshes
        .iter()
        .zip(&source.spec.meshes)
        .enumerate()
    {
        let Some(mesh) = mesh else {
            continue;
        };
        let range = structure.meshes.vertices[id].clone();
        model.meshes.vertex[range].copy_from_slice(&mesh.vertices);
        model.meshes.position[id] = mesh.pose().position;
        model.meshes.quat[id] = mesh.pose().quat;
        model.meshes.scale[id] = Vec3(spec.scale);
    }
    ray::refit(model);
    for (id, field) in source.assets.height_fields.iter().enumerate() {
        let Some(field) = field else {
            continue;
        };
        let range = structure.height_fields.values[id].clone();
        model.height_fields.elevation[range].copy_from_slice(&field.elevation);
        model.height_fields.size[id] = field.size;
    }
}

/// What the inertia of meshes is that of.
pub(super) fn recipes(source: Source<'_>) -> Vec<MeshRecipe> {
    let meshes = source.spec.meshes.iter();
    let recipes = meshes.map(|mesh| MeshRecipe {
        inertia: mesh.inertia,
        moves: false,
    });
    recipes.collect()
}

/// Fills the numbers that the masses of meshes follow from.
pub(super) fn sources(source: Source<'_>, numbers: &mut SourceNumbers) {
    for (id, mesh) in source.assets.meshes.iter().enumerate() {
        let Some(mesh) = mesh else {
            continue;
        };
        numbers.mesh_volume[id] = mesh.volume();
        numbers.mesh_inertia_box[id] = Vec3(mesh.inertia_box());
    }
}
