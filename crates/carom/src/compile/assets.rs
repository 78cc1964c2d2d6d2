//! Processed meshes and height fields.

use std::collections::HashMap;

use carom_spec::ModelSpec;
use carom_spec::model_spec::Reference;

use super::Source;
use super::height_field::CompiledHeightField;
use super::mesh::CompiledMesh;
use super::report::Report;
use crate::model::{Model, Structure};

/// Meshes and height fields in the order of the description.
#[derive(Default)]
pub(super) struct Assets {
    /// Meshes; none where processing failed (and an error was reported).
    pub(super) meshes: Vec<Option<CompiledMesh>>,
    /// Height fields; none where processing failed.
    pub(super) height_fields: Vec<Option<CompiledHeightField>>,
    mesh_ids: HashMap<String, usize>,
    height_field_ids: HashMap<String, usize>,
}

impl Assets {
    /// Processes all assets of a description.
    pub(super) fn new(spec: &ModelSpec, report: &mut Report) -> Self {
        let mut assets = Self {
            meshes: spec
                .meshes
                .iter()
                .map(|mesh| CompiledMesh::new(mesh, report))
                .collect(),
            height_fields: spec
                .height_fields
                .iter()
                .map(|field| CompiledHeightField::new(field, report))
                .collect(),
            ..Self::default()
        };
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
}

/// Fills the structure of meshes and height fields.
pub(super) fn structure(source: Source<'_>, structure: &mut Structure, report: &mut Report) {
    let _ = (source, structure, report);
}

/// Fills the numbers of meshes and height fields.
pub(super) fn numbers(source: Source<'_>, model: &mut Model) {
    let _ = (source, model);
}
