//! Meshes.

use carom_spec::model_spec::MeshSpec;

use super::report::Report;

/// A mesh in the frame of its inertia.
pub(super) struct CompiledMesh {}

impl CompiledMesh {
    /// Processes a mesh; none after an error.
    pub(super) fn new(mesh: &MeshSpec, report: &mut Report) -> Option<Self> {
        let _ = (mesh, report);
        Some(Self {})
    }
}
