//! Wavefront OBJ: vertices, normals, texture coordinates and faces; everything else is skipped.
//!
//! As in MuJoCo only the first object or group has its faces read; the number of others is kept, to be reported.
//!
//! Vertices keep their order and number. Faces of more than three corners are cut into triangles as
//! [`polygon`](super::polygon) says.

use super::{MeshError, RawMesh, polygon, single};

/// Most corners of one face.
const MAX_CORNERS: usize = 4096;

/// Index of a corner's vertex, texture coordinate and normal.
type Corner = (u32, Option<u32>, Option<u32>);

/// Reads a file.
pub(super) fn read(bytes: &[u8]) -> Result<RawMesh, MeshError> {
    let mut reader = Reader::default();
    for (index, line) in bytes.split(|&byte| byte == b'\n').enumerate() {
        // Names and comments may be in any encoding; only the lines we use must be text.
        if let Ok(text) = std::str::from_utf8(line) {
            reader.line(text, index + 1)?;
        } else if matches!(line.trim_ascii_start(), [b'v' | b'f', ..]) {
            return Err(MeshError::on_line(index + 1, "line is not text"));
        }
    }
    reader.finish()
}

#[derive(Default)]
struct Reader {
    mesh: RawMesh,
    /// Faces with their line; they may name vertices that come later in the file.
    faces: Vec<(usize, Vec<Corner>)>,
}

impl Reader {
    fn line(&mut self, text: &str, line: usize) -> Result<(), MeshError> {
        let mut words = text.split_ascii_whitespace();
        match words.next() {
            Some("v") => self.mesh.vertices.push(numbers(words, line)?),
            Some("vn") => self.mesh.normals.push(numbers(words, line)?),
            // The second coordinate may be left out.
            Some("vt") => {
                let mut pair = [0.0; 2];
                for (number, word) in pair.iter_mut().zip(words) {
                    *number = parse_number(word, line)?;
                }
                self.mesh.texture_coordinates.push(pair);
            }
            Some("o" | "g") if !self.faces.is_empty() => self.mesh.ignored_objects += 1,
            Some("f") if self.mesh.ignored_objects > 0 => {}
            Some("f") => {
                let mut corners = Vec::new();
                for word in words.take_while(|word| !word.starts_with('#')) {
                    if corners.len() == MAX_CORNERS {
                        let message = format!("a face has more than {MAX_CORNERS} corners");
                        return Err(MeshError::on_line(line, message));
                    }
                    corners.push(self.corner(word, line)?);
                }
                // MuJoCo skips points and lines.
                if corners.len() >= 3 {
                    self.faces.push((line, corners));
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// `vertex`, `vertex/texture`, `vertex//normal` or `vertex/texture/normal`.
    fn corner(&self, word: &str, line: usize) -> Result<Corner, MeshError> {
        let mut parts = word.split('/');
        let mut next = |count: usize| match parts.next() {
            None | Some("") => Ok(None),
            Some(part) => resolve(part, count, line).map(Some),
        };
        let vertex = next(self.mesh.vertices.len())?;
        let texture = next(self.mesh.texture_coordinates.len())?;
        let normal = next(self.mesh.normals.len())?;
        let vertex = vertex
            .ok_or_else(|| MeshError::on_line(line, format!("'{word}' does not name a vertex")))?;
        Ok((vertex, texture, normal))
    }

    fn finish(self) -> Result<RawMesh, MeshError> {
        let Reader { mut mesh, faces } = self;
        let vertices = mesh.vertices.len();
        let mut triangles = Vec::new();
        for (line, corners) in &faces {
            if let Some((bad, ..)) = corners.iter().find(|corner| corner.0 as usize >= vertices) {
                let bad = u64::from(*bad) + 1;
                let message = format!("face uses vertex {bad}, but the file has {vertices}");
                return Err(MeshError::on_line(*line, message));
            }
            let points: Vec<[f64; 3]> = corners
                .iter()
                .map(|corner| mesh.vertices[corner.0 as usize])
                .collect();
            for triangle in polygon::triangulate(&points) {
                triangles.push(triangle.map(|corner| corners[corner]));
            }
        }
        mesh.faces = triangles
            .iter()
            .map(|triangle| triangle.map(|corner| corner.0))
            .collect();
        // Attributes that not every corner has are dropped; they do not matter to physics.
        let count = mesh.texture_coordinates.len();
        match attribute(&triangles, count, |corner| corner.1) {
            Some(indices) => mesh.face_texture_coordinates = indices,
            None => mesh.texture_coordinates.clear(),
        }
        match attribute(&triangles, mesh.normals.len(), |corner| corner.2) {
            Some(indices) => mesh.face_normals = indices,
            None => mesh.normals.clear(),
        }
        Ok(mesh)
    }
}

/// One index of every corner; `None` when there are none or one is missing or out of range.
fn attribute(
    triangles: &[[Corner; 3]],
    count: usize,
    select: fn(Corner) -> Option<u32>,
) -> Option<Vec<[u32; 3]>> {
    let valid = |corner| select(corner).filter(|&index| (index as usize) < count);
    let face = |&[a, b, c]: &[Corner; 3]| Some([valid(a)?, valid(b)?, valid(c)?]);
    triangles
        .iter()
        .map(face)
        .collect::<Option<Vec<_>>>()
        .filter(|indices| !indices.is_empty())
}

/// Three numbers; more (weights, colours) are ignored.
fn numbers<'a>(
    mut words: impl Iterator<Item = &'a str>,
    line: usize,
) -> Result<[f64; 3], MeshError> {
    let mut vector = [0.0; 3];
    for number in &mut vector {
        let word = words
            .next()
            .ok_or_else(|| MeshError::on_line(line, "expected 3 numbers, found less"))?;
        *number = parse_number(word, line)?;
    }
    Ok(vector)
}

fn parse_number(word: &str, line: usize) -> Result<f64, MeshError> {
    match word.parse::<f64>().map(single) {
        Ok(number) if number.is_finite() => Ok(number),
        Ok(_) => Err(MeshError::on_line(line, format!("'{word}' is not finite"))),
        Err(_) => Err(MeshError::on_line(
            line,
            format!("'{word}' is not a number"),
        )),
    }
}

/// The index from 0 of a number that counts from 1, or from the end when negative.
fn resolve(part: &str, count: usize, line: usize) -> Result<u32, MeshError> {
    let bad = || MeshError::on_line(line, format!("'{part}' is not an index"));
    let number: i64 = part.parse().map_err(|_| bad())?;
    let index = match number {
        0 => None,
        1.. => Some(number - 1),
        _ => i64::try_from(count).ok().map(|count| count + number),
    };
    index
        .and_then(|index| u32::try_from(index).ok())
        .ok_or_else(bad)
}
