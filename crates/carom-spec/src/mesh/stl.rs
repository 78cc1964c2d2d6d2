//! STL, binary and text.
//!
//! Binary: 80 bytes of anything, the number of triangles, then 50 bytes for each: normal, three corners
//! (single precision, little-endian) and two unused bytes. MuJoCo reads only this form; text is accepted
//! here as well.

use std::collections::HashMap;

use super::{MeshError, RawMesh, take, take_vector};

const HEADER: usize = 80;
const TRIANGLE: usize = 50;
/// Larger coordinates mean that the bytes are something else.
const MAX_COORDINATE: f32 = 1_073_741_824.0;

/// Reads a file of either form.
pub(super) fn read(bytes: &[u8]) -> Result<RawMesh, MeshError> {
    // Binary files may start with "solid" too, so the size decides.
    let claimed = bytes
        .get(HEADER..)
        .and_then(|mut rest| take(&mut rest))
        .map(u32::from_le_bytes);
    let fits = |triangles: u32| {
        bytes.len() as u64 == HEADER as u64 + 4 + TRIANGLE as u64 * u64::from(triangles)
    };
    match claimed {
        Some(triangles) if fits(triangles) => read_binary(&bytes[HEADER + 4..]),
        _ if bytes.trim_ascii_start().starts_with(b"solid") => read_text(bytes),
        Some(triangles) => Err(MeshError::new(format!(
            "header claims {triangles} triangles, {} bytes in all, but the file has {} bytes",
            HEADER as u64 + 4 + TRIANGLE as u64 * u64::from(triangles),
            bytes.len()
        ))),
        None => Err(MeshError::new("file is too short for an STL header")),
    }
}

/// Gives equal corners the same index, in order of first appearance.
#[derive(Default)]
struct Merger {
    mesh: RawMesh,
    index_of: HashMap<[u32; 3], u32>,
}

impl Merger {
    fn corner(&mut self, corner: [f32; 3]) -> u32 {
        let next = u32::try_from(self.mesh.vertices.len()).unwrap_or(u32::MAX);
        // Bits are compared, not values: +0 and -0 are different corners, as in MuJoCo.
        let index = *self
            .index_of
            .entry(corner.map(f32::to_bits))
            .or_insert(next);
        if index == next {
            self.mesh.vertices.push(corner.map(f64::from));
        }
        index
    }

    fn triangle(&mut self, corners: [[f32; 3]; 3]) -> Result<(), String> {
        for x in corners.into_iter().flatten() {
            if !x.is_finite() || x.abs() > MAX_COORDINATE {
                return Err(format!(
                    "triangle {} has coordinate {x}",
                    self.mesh.faces.len()
                ));
            }
        }
        let face = corners.map(|corner| self.corner(corner));
        self.mesh.faces.push(face);
        Ok(())
    }

    fn finish(self) -> Result<RawMesh, MeshError> {
        if self.mesh.faces.is_empty() {
            return Err(MeshError::new("file has no triangles"));
        }
        Ok(self.mesh)
    }
}

fn read_binary(triangles: &[u8]) -> Result<RawMesh, MeshError> {
    let mut merger = Merger::default();
    for record in triangles.as_chunks::<TRIANGLE>().0 {
        // The normal is not used.
        let mut rest = &record[12..];
        let mut corners = [[0.0; 3]; 3];
        for corner in &mut corners {
            let read = take_vector::<3>(&mut rest);
            *corner = read.ok_or_else(|| MeshError::new("file is cut off"))?;
        }
        merger.triangle(corners).map_err(MeshError::new)?;
    }
    merger.finish()
}

/// Only `vertex` and `endloop` matter; every loop must have three vertices.
fn read_text(bytes: &[u8]) -> Result<RawMesh, MeshError> {
    let mut merger = Merger::default();
    let mut corners: Vec<[f32; 3]> = Vec::new();
    for (index, line) in bytes.split(|&byte| byte == b'\n').enumerate() {
        let text = std::str::from_utf8(line)
            .map_err(|_| MeshError::on_line(index + 1, "neither binary STL nor text"))?;
        let mut words = text.split_ascii_whitespace();
        match words.next() {
            Some("vertex") => {
                let mut corner = [0.0; 3];
                for x in &mut corner {
                    *x = words
                        .next()
                        .and_then(|word| word.parse().ok())
                        .ok_or_else(|| MeshError::on_line(index + 1, "a vertex needs 3 numbers"))?;
                }
                corners.push(corner);
            }
            Some("endloop") => {
                let triangle = <[_; 3]>::try_from(corners.as_slice()).map_err(|_| {
                    MeshError::on_line(index + 1, "a facet needs exactly 3 vertices")
                })?;
                merger
                    .triangle(triangle)
                    .map_err(|message| MeshError::on_line(index + 1, message))?;
                corners.clear();
            }
            _ => {}
        }
    }
    merger.finish()
}
