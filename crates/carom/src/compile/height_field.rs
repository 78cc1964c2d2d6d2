//! Height fields: elevations scaled to 0…1.

use carom_spec::model_spec::HeightFieldSpec;

use super::report::{Report, code};

/// Differences of elevation below this count as flat.
const MIN: f32 = 1e-14;

/// A height field with normalised elevations.
#[derive(Clone, Debug)]
pub(super) struct CompiledHeightField {
    /// Rows (along y) and columns (along x).
    pub(super) shape: [usize; 2],
    /// Half sizes in x and y, height of elevation 1, thickness of the base (m).
    pub(super) size: [f64; 4],
    /// Elevations in 0…1, row by row from the lowest y.
    pub(super) elevation: Vec<f64>,
}

impl CompiledHeightField {
    /// Processes a height field; none after an error.
    pub(super) fn new(field: &HeightFieldSpec, report: &mut Report) -> Option<Self> {
        let checked = &mut report.checked("height field", &field.name, field.span);
        if !checked.finite("size", &field.size) || !checked.finite("elevation", &field.elevation) {
            return None;
        }
        let (rows, columns, found) = (field.rows, field.columns, field.elevation.len());
        let count = rows.checked_mul(columns);
        let problem = if field.size.iter().any(|&size| size <= 0.0) {
            Some((
                format!("the four sizes of {checked} must be positive"),
                "give half sizes in x and y, the elevation range and the base thickness",
            ))
        } else if rows < 2 || columns < 2 {
            Some((
                format!("{checked} has {rows} rows and {columns} columns, at least 2 are required"),
                "give a file, or nrow, ncol and elevation",
            ))
        } else if found > 0 && count != Some(found) {
            Some((
                format!("{checked} has {found} elevations for {rows} × {columns} points"),
                "the number of elevations must be rows × columns",
            ))
        } else if count.is_none_or(|count| count > MAX_POINTS) {
            Some((
                format!("{checked} has too many points"),
                "use a coarser grid",
            ))
        } else {
            None
        };
        if let Some((message, help)) = problem {
            checked.error_help(code::HEIGHT_FIELD, message, help);
            return None;
        }
        let elevation = if field.elevation.is_empty() {
            vec![0.0; rows * columns]
        } else {
            normalized(&field.elevation)
        };
        Some(Self {
            shape: [rows, columns],
            size: field.size,
            elevation,
        })
    }
}

/// Flat fields are allocated here, so their size is bounded.
const MAX_POINTS: usize = 100_000_000;

/// Elevations from 0 to 1 in single precision, as MuJoCo stores them; flat ones are 0.
fn normalized(elevation: &[f64]) -> Vec<f64> {
    #[allow(
        clippy::cast_possible_truncation,
        reason = "elevations are single precision"
    )]
    let values: Vec<f32> = elevation.iter().map(|&value| value as f32).collect();
    let low = values.iter().copied().fold(f32::INFINITY, f32::min);
    let high = values.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let range = high - low;
    let scale = |value: f32| {
        if range > MIN {
            (value - low) / range
        } else {
            value - low
        }
    };
    values
        .into_iter()
        .map(|value| f64::from(scale(value)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn field(elevation: &[f64]) -> HeightFieldSpec {
        HeightFieldSpec {
            rows: 2,
            columns: 2,
            size: [1.0, 1.0, 0.5, 0.1],
            elevation: elevation.to_vec(),
            ..HeightFieldSpec::default()
        }
    }

    fn compile(field: &HeightFieldSpec) -> Option<Vec<f64>> {
        CompiledHeightField::new(field, &mut Report::default()).map(|field| field.elevation)
    }

    #[test]
    fn elevations_span_zero_to_one() {
        assert_eq!(
            compile(&field(&[2.0, 3.0, 4.0, 6.0])).unwrap(),
            [0.0, 0.25, 0.5, 1.0]
        );
        assert_eq!(compile(&field(&[2.0; 4])).unwrap(), [0.0; 4]);
        assert_eq!(compile(&field(&[])).unwrap(), [0.0; 4]);
    }

    #[test]
    fn wrong_sizes_are_refused() {
        assert_eq!(compile(&field(&[1.0, 2.0])), None);
        assert_eq!(compile(&field(&[f64::NAN; 4])), None);
        let mut flat = field(&[]);
        flat.size[2] = 0.0;
        assert_eq!(compile(&flat), None);
        let mut huge = field(&[]);
        (huge.rows, huge.columns) = (usize::MAX, 2);
        assert_eq!(compile(&huge), None);
    }
}
