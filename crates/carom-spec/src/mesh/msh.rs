//! MuJoCo's binary mesh format, little-endian and without padding.
//!
//! Four 32-bit integers: number of vertices, normals, texture coordinates, faces. Then as many
//! single-precision triples, triples, pairs, and triples of 32-bit vertex indices.

use super::{MeshError, RawMesh, take, take_vector};

/// Reads a file; its size must be exactly what the header says.
pub(super) fn read(mut bytes: &[u8]) -> Result<RawMesh, MeshError> {
    let short = || MeshError::new("file is cut off");
    let size = bytes.len() as u64;
    let mut counts = [0_u32; 4];
    for count in &mut counts {
        *count = u32::from_le_bytes(take(&mut bytes).ok_or_else(short)?);
    }
    let [vertices, normals, texture_coordinates, faces] = counts;
    let floats =
        3 * (u64::from(vertices) + u64::from(normals)) + 2 * u64::from(texture_coordinates);
    let expected = 4 * (4 + floats + 3 * u64::from(faces));
    if size != expected {
        let message = format!(
            "header claims {vertices} vertices, {normals} normals, {texture_coordinates} texture \
             coordinates and {faces} faces, {expected} bytes in all, but the file has {size} bytes"
        );
        return Err(MeshError::new(message));
    }
    for (count, what) in [
        (normals, "normals"),
        (texture_coordinates, "texture coordinates"),
    ] {
        if count != 0 && count != vertices {
            let message = format!("{count} {what} for {vertices} vertices; they must be as many");
            return Err(MeshError::new(message));
        }
    }
    let mut mesh = RawMesh::default();
    for _ in 0..vertices {
        mesh.vertices.push(
            take_vector::<3>(&mut bytes)
                .ok_or_else(short)?
                .map(f64::from),
        );
    }
    for _ in 0..normals {
        mesh.normals.push(
            take_vector::<3>(&mut bytes)
                .ok_or_else(short)?
                .map(f64::from),
        );
    }
    for _ in 0..texture_coordinates {
        let pair = take_vector::<2>(&mut bytes).ok_or_else(short)?;
        mesh.texture_coordinates.push(pair.map(f64::from));
    }
    for _ in 0..faces {
        let mut face = [0; 3];
        for corner in &mut face {
            *corner = u32::from_le_bytes(take(&mut bytes).ok_or_else(short)?);
        }
        mesh.faces.push(face);
    }
    // Normals and texture coordinates belong to vertices and share their indices.
    if normals > 0 {
        mesh.face_normals.clone_from(&mesh.faces);
    }
    if texture_coordinates > 0 {
        mesh.face_texture_coordinates.clone_from(&mesh.faces);
    }
    Ok(mesh)
}
