//! Vertices of meshes: in the model they are in the frame of the mesh's inertia, in the file in that of whoever drew them.

use carom::math::{Pose, Quat, Vec3};

use super::Place;

impl Place<'_> {
    /// Writes a vertex of all meshes; none if the description does not have it.
    pub(super) fn set_vertex(&mut self, vertex: usize) -> Option<()> {
        let structure = &self.model.structure;
        let ranges = &structure.meshes.vertices;
        let mesh = ranges.iter().position(|range| range.contains(&vertex))?;
        let name = structure.names.meshes.get(mesh)?;
        let mut meshes = self.spec.meshes.iter_mut();
        let spec = meshes.find(|spec| spec.name == *name)?;
        if !self.moved_meshes.contains(&mesh) {
            self.moved_meshes.push(mesh);
            // Normals and the hull were those of other vertices.
            spec.normals.clear();
            spec.face_normals.clear();
            spec.processed = None;
        }
        let numbers = &self.model.meshes;
        let frame = Pose::new(numbers.position[mesh], numbers.quat[mesh]);
        let point = frame.transform_point(numbers.vertex[vertex]);
        let unscaled = std::array::from_fn(|axis| point[axis] / spec.scale[axis]);
        let reference = Pose::new(
            Vec3(spec.reference_position),
            Quat(spec.reference_quaternion).normalized(),
        );
        let written = spec.vertices.get_mut(vertex - ranges[mesh].start)?;
        *written = reference.transform_point(Vec3(unscaled)).0;
        Some(())
    }
}
