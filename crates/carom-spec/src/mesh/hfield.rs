//! Height field files: MuJoCo's binary format, and grey values of PNG images.
//!
//! Binary, little-endian: number of rows, number of columns (32-bit), then the elevations row by row in
//! single precision, from the lowest y upwards. Images have their top row first, so rows are reversed.

use super::{MeshError, png, take};

/// Elevations as a file gives them; they are scaled to 0…1 when the model is compiled.
#[derive(Clone, Debug, PartialEq)]
pub struct HeightFieldData {
    /// Number of rows (along y).
    pub rows: usize,
    /// Number of columns (along x).
    pub columns: usize,
    /// Elevations, row by row from the lowest y.
    pub elevation: Vec<f64>,
}

/// Reads a height field file of either form.
pub fn read_height_field(bytes: &[u8]) -> Result<HeightFieldData, MeshError> {
    if bytes.is_empty() {
        return Err(MeshError::new("file is empty"));
    }
    if bytes.starts_with(png::SIGNATURE) {
        read_image(bytes)
    } else {
        read_binary(bytes)
    }
}

fn read_binary(mut bytes: &[u8]) -> Result<HeightFieldData, MeshError> {
    let size = bytes.len() as u64;
    let mut dimension = || take(&mut bytes).map(u32::from_le_bytes);
    let (Some(rows), Some(columns)) = (dimension(), dimension()) else {
        return Err(MeshError::new(
            "file is too short for a height field header",
        ));
    };
    let count = u64::from(rows) * u64::from(columns);
    let expected = count
        .checked_mul(4)
        .and_then(|length| length.checked_add(8));
    if count == 0 || expected != Some(size) {
        let message = format!(
            "header claims {rows} rows and {columns} columns, but the file has {size} bytes"
        );
        return Err(MeshError::new(message));
    }
    let numbers = bytes.as_chunks::<4>().0;
    let elevation: Vec<f64> = numbers
        .iter()
        .map(|number| f64::from(f32::from_le_bytes(*number)))
        .collect();
    if let Some(index) = elevation.iter().position(|height| !height.is_finite()) {
        return Err(MeshError::new(format!("elevation {index} is not finite")));
    }
    Ok(HeightFieldData {
        rows: rows as usize,
        columns: columns as usize,
        elevation,
    })
}

fn read_image(bytes: &[u8]) -> Result<HeightFieldData, MeshError> {
    let image = png::read(bytes)?;
    let rows = image.values.chunks_exact(image.width).rev();
    let elevation = rows.flatten().map(|&value| f64::from(value)).collect();
    Ok(HeightFieldData {
        rows: image.height,
        columns: image.width,
        elevation,
    })
}
