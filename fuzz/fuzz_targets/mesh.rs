//! Mesh and height field files: what is read has indices in range and finite numbers.
#![no_main]

use carom_spec::mesh::{MeshFormat, read_height_field, read_mesh};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    for format in [MeshFormat::Obj, MeshFormat::Stl, MeshFormat::Msh] {
        if let Ok(mesh) = read_mesh(data, format) {
            assert!(mesh.faces.as_flattened().iter().all(|&index| (index as usize) < mesh.vertices.len()));
            assert!(mesh.vertices.as_flattened().iter().all(|x| x.is_finite()));
        }
    }
    if let Ok(field) = read_height_field(data) {
        assert_eq!(field.elevation.len(), field.rows * field.columns);
        assert!(field.elevation.iter().all(|x| x.is_finite()));
    }
});
