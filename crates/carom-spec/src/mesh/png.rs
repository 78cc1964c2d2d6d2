//! The first channel of a PNG image, as eight bits: all that a height field needs.
//!
//! Palettes and fewer than eight bits are expanded, sixteen bits keep the upper eight, other channels are
//! dropped. Interlaced images are refused.

use super::{MeshError, take};

/// First bytes of every PNG file.
pub(super) const SIGNATURE: &[u8] = b"\x89PNG\r\n\x1a\n";

/// Most pixels of one image.
const MAX_PIXELS: u64 = 1 << 26;

/// Values of the first channel, row by row from the top.
#[derive(Debug)]
pub(super) struct Image {
    pub(super) width: usize,
    pub(super) height: usize,
    pub(super) values: Vec<u8>,
}

/// What the header chunk says.
#[derive(Clone, Copy)]
struct Header {
    width: usize,
    height: usize,
    bit_depth: usize,
    channels: usize,
    has_palette: bool,
}

/// Decodes an image.
pub(super) fn read(bytes: &[u8]) -> Result<Image, MeshError> {
    let cut_off = || MeshError::new("PNG image is cut off");
    let mut rest = bytes.strip_prefix(SIGNATURE).ok_or_else(cut_off)?;
    let mut header = None;
    let mut palette: &[u8] = &[];
    let mut compressed = Vec::new();
    loop {
        let length = take(&mut rest)
            .map(u32::from_be_bytes)
            .ok_or_else(cut_off)?;
        let kind: [u8; 4] = take(&mut rest).ok_or_else(cut_off)?;
        let data = rest.get(..length as usize).ok_or_else(cut_off)?;
        // The checksum of a chunk is not needed: the compressed data have their own.
        rest = rest.get(length as usize + 4..).ok_or_else(cut_off)?;
        match &kind {
            b"IHDR" => header = Some(Header::read(data)?),
            b"PLTE" => palette = data,
            b"IDAT" => compressed.extend_from_slice(data),
            b"IEND" => break,
            _ => {}
        }
    }
    let header = header.ok_or_else(|| MeshError::new("PNG image has no header"))?;
    let size = header.height * (1 + header.row_bytes());
    let mut filtered = miniz_oxide::inflate::decompress_to_vec_zlib_with_limit(&compressed, size)
        .map_err(|cause| {
        MeshError::new(format!("PNG image cannot be decompressed: {cause}"))
    })?;
    if filtered.len() != size {
        return Err(cut_off());
    }
    unfilter(&mut filtered, header)?;
    let rows = filtered
        .chunks_exact(1 + header.row_bytes())
        .map(|row| &row[1..]);
    let values = rows
        .flat_map(|row| (0..header.width).map(move |column| header.value(row, column, palette)))
        .collect();
    Ok(Image {
        width: header.width,
        height: header.height,
        values,
    })
}

impl Header {
    fn read(mut data: &[u8]) -> Result<Self, MeshError> {
        let bad = |what: &str| MeshError::new(format!("PNG image has {what}"));
        let mut dimension = || take(&mut data).map(u32::from_be_bytes);
        let (Some(width), Some(height)) = (dimension(), dimension()) else {
            return Err(bad("a short header"));
        };
        let Some([bit_depth, color_type, _, _, interlace]) = take(&mut data) else {
            return Err(bad("a short header"));
        };
        if u64::from(width) * u64::from(height) > MAX_PIXELS || width == 0 || height == 0 {
            return Err(bad(&format!(
                "an impossible size of {width} × {height} pixels"
            )));
        }
        if interlace != 0 {
            return Err(bad("interlaced rows, which are not supported"));
        }
        let channels = match (color_type, bit_depth) {
            (0, 1 | 2 | 4 | 8 | 16) | (3, 1 | 2 | 4 | 8) => 1,
            (2, 8 | 16) => 3,
            (4, 8 | 16) => 2,
            (6, 8 | 16) => 4,
            _ => return Err(bad("an unknown pixel format")),
        };
        Ok(Self {
            width: width as usize,
            height: height as usize,
            bit_depth: usize::from(bit_depth),
            channels,
            has_palette: color_type == 3,
        })
    }

    fn row_bytes(self) -> usize {
        (self.width * self.channels * self.bit_depth).div_ceil(8)
    }

    /// Bytes from a byte to the same byte of the pixel on its left.
    fn pixel_bytes(self) -> usize {
        (self.channels * self.bit_depth).div_ceil(8)
    }

    fn value(self, row: &[u8], column: usize, palette: &[u8]) -> u8 {
        if self.bit_depth >= 8 {
            let raw = row[column * self.pixel_bytes()];
            return if self.has_palette {
                palette_red(palette, raw)
            } else {
                raw
            };
        }
        let bit = column * self.bit_depth;
        let largest = u8::MAX >> (8 - self.bit_depth);
        let raw = (row[bit / 8] >> (8 - self.bit_depth - bit % 8)) & largest;
        if self.has_palette {
            palette_red(palette, raw)
        } else {
            raw * (u8::MAX / largest)
        }
    }
}

fn palette_red(palette: &[u8], index: u8) -> u8 {
    palette.get(3 * usize::from(index)).copied().unwrap_or(0)
}

/// Undoes the prediction of every row from its neighbours on the left and above.
fn unfilter(data: &mut [u8], header: Header) -> Result<(), MeshError> {
    let (row_bytes, pixel_bytes) = (header.row_bytes(), header.pixel_bytes());
    let mut above = vec![0; row_bytes];
    for line in data.chunks_exact_mut(1 + row_bytes) {
        let Some((&mut filter, row)) = line.split_first_mut() else {
            break;
        };
        for index in 0..row_bytes {
            let left = if index < pixel_bytes {
                0
            } else {
                row[index - pixel_bytes]
            };
            let corner = if index < pixel_bytes {
                0
            } else {
                above[index - pixel_bytes]
            };
            let prediction = match filter {
                0 => 0,
                1 => left,
                2 => above[index],
                3 => left.midpoint(above[index]),
                4 => paeth(left, above[index], corner),
                _ => {
                    return Err(MeshError::new(format!(
                        "PNG image has unknown filter {filter}"
                    )));
                }
            };
            row[index] = row[index].wrapping_add(prediction);
        }
        above.copy_from_slice(row);
    }
    Ok(())
}

/// The neighbour nearest to left + above − corner.
fn paeth(left: u8, above: u8, corner: u8) -> u8 {
    let estimate = i16::from(left) + i16::from(above) - i16::from(corner);
    let distance = |neighbour: u8| (estimate - i16::from(neighbour)).abs();
    match (distance(left), distance(above), distance(corner)) {
        (a, b, c) if a <= b && a <= c => left,
        (_, b, c) if b <= c => above,
        _ => corner,
    }
}
