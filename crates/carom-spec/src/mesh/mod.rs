//! Mesh and height field files: OBJ, STL (binary and text), MuJoCo's MSH, MuJoCo's binary height field and
//! PNG height fields.
//!
//! Order and number of vertices are those MuJoCo has after loading: OBJ and MSH vertices are kept as they
//! are, used or not; STL corners are merged when all three coordinates are the same single-precision bits.
//! Coordinates are rounded to single precision and widened again.
//!
//! Sizes claimed by a header are checked against the bytes that are there before anything is allocated.

mod hfield;
mod msh;
mod obj;
mod png;
mod polygon;
mod stl;

use std::fmt;
use std::path::Path;

pub use hfield::{HeightFieldData, read_height_field};

/// Triangles as a file gives them: no scale, no hull, no normals computed.
#[derive(Clone, Default, Debug, PartialEq)]
pub struct RawMesh {
    /// Vertices, rounded to single precision.
    pub vertices: Vec<[f64; 3]>,
    /// Triangles by vertex index; every index is below the number of vertices.
    pub faces: Vec<[u32; 3]>,
    /// Normals, possibly empty.
    pub normals: Vec<[f64; 3]>,
    /// Normal indices of each triangle; empty, or as many as faces.
    pub face_normals: Vec<[u32; 3]>,
    /// Texture coordinates, possibly empty.
    pub texture_coordinates: Vec<[f64; 2]>,
    /// Texture coordinate indices of each triangle; empty, or as many as faces.
    pub face_texture_coordinates: Vec<[u32; 3]>,
    /// Objects of the file after the first, whose faces are left out.
    pub ignored_objects: usize,
}

/// Mesh file formats.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MeshFormat {
    /// Wavefront text.
    Obj,
    /// Stereolithography, binary or text.
    Stl,
    /// MuJoCo's own binary format.
    Msh,
}

impl MeshFormat {
    /// The format a file name's ending stands for, whatever its case.
    pub fn of_path(path: &Path) -> Option<Self> {
        let ending = path.extension()?.to_str()?.to_ascii_lowercase();
        match ending.as_str() {
            "obj" => Some(MeshFormat::Obj),
            "stl" => Some(MeshFormat::Stl),
            "msh" => Some(MeshFormat::Msh),
            _ => None,
        }
    }

    /// The format of a `content_type` attribute.
    pub fn of_content_type(content_type: &str) -> Option<Self> {
        match content_type {
            "model/obj" => Some(MeshFormat::Obj),
            "model/stl" => Some(MeshFormat::Stl),
            "model/vnd.mujoco.msh" => Some(MeshFormat::Msh),
            _ => None,
        }
    }
}

/// What is wrong with a mesh or height field file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MeshError {
    /// Line of a text file, from 1.
    pub line: Option<usize>,
    /// The reason.
    pub message: String,
}

impl MeshError {
    fn new(message: impl Into<String>) -> Self {
        Self {
            line: None,
            message: message.into(),
        }
    }

    fn on_line(line: usize, message: impl Into<String>) -> Self {
        Self {
            line: Some(line),
            message: message.into(),
        }
    }
}

impl fmt::Display for MeshError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            Some(line) => write!(f, "line {line}: {}", self.message),
            None => f.write_str(&self.message),
        }
    }
}

impl std::error::Error for MeshError {}

/// Reads a mesh file.
pub fn read_mesh(bytes: &[u8], format: MeshFormat) -> Result<RawMesh, MeshError> {
    if bytes.is_empty() {
        return Err(MeshError::new("file is empty"));
    }
    let mesh = match format {
        MeshFormat::Obj => obj::read(bytes)?,
        MeshFormat::Stl => stl::read(bytes)?,
        MeshFormat::Msh => msh::read(bytes)?,
    };
    check(&mesh)?;
    Ok(mesh)
}

/// Vertices of a mesh written into the model file, rounded as those of mesh files.
pub fn inline_vertices(numbers: &[f64]) -> Result<Vec<[f64; 3]>, MeshError> {
    let (vertices, rest) = numbers.as_chunks::<3>();
    if !rest.is_empty() {
        let message = format!(
            "vertices need a multiple of 3 numbers, found {}",
            numbers.len()
        );
        return Err(MeshError::new(message));
    }
    let vertices = vertices.iter().map(|vertex| vertex.map(single)).collect();
    let mesh = RawMesh {
        vertices,
        ..RawMesh::default()
    };
    check(&mesh)?;
    Ok(mesh.vertices)
}

/// Checks what later stages rely on: finite coordinates, indices in range.
pub fn check(mesh: &RawMesh) -> Result<(), MeshError> {
    let not_finite = mesh
        .vertices
        .iter()
        .position(|vertex| !vertex.iter().all(|x| x.is_finite()));
    if let Some(index) = not_finite {
        return Err(MeshError::new(format!("vertex {index} is not finite")));
    }
    let lists = [
        (&mesh.faces, mesh.vertices.len(), "vertex"),
        (&mesh.face_normals, mesh.normals.len(), "normal"),
        (
            &mesh.face_texture_coordinates,
            mesh.texture_coordinates.len(),
            "texture coordinate",
        ),
    ];
    for (faces, count, what) in lists {
        for (index, face) in faces.iter().enumerate() {
            if let Some(bad) = face.iter().find(|&&corner| corner as usize >= count) {
                let message = format!("face {index} uses {what} {bad}, but there are {count}");
                return Err(MeshError::new(message));
            }
        }
    }
    Ok(())
}

/// Rounds to single precision.
#[expect(
    clippy::cast_possible_truncation,
    reason = "rounding is what is wanted"
)]
fn single(number: f64) -> f64 {
    f64::from(number as f32)
}

/// The first bytes of `bytes` as an array; `None` when there are too few.
fn take<const N: usize>(bytes: &mut &[u8]) -> Option<[u8; N]> {
    let (first, rest) = bytes.split_first_chunk::<N>()?;
    *bytes = rest;
    Some(*first)
}

/// Three little-endian single-precision numbers.
fn take_vector<const N: usize>(bytes: &mut &[u8]) -> Option<[f32; N]> {
    let mut vector = [0.0; N];
    for component in &mut vector {
        *component = f32::from_le_bytes(take(bytes)?);
    }
    Some(vector)
}

#[cfg(test)]
mod tests;
