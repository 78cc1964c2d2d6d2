//! Numpy arrays in and out.

use numpy::{
    Element, Ix1, IxDyn, PyArray, PyArray1, PyArrayDyn, PyArrayMethods, PyReadonlyArrayDyn,
    PyUntypedArrayMethods,
};
use pyo3::exceptions::{PyMemoryError, PyValueError};
use pyo3::prelude::*;

/// Numbers from Python: a copy, made while the interpreter is held. Work goes on while it is free, and other threads may
/// write into the caller's array then.
pub(crate) struct Numbers {
    shape: Vec<usize>,
    /// In C order; none for an array in another order.
    values: Option<Vec<f64>>,
}

impl<'py> FromPyObject<'_, 'py> for Numbers {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        let array: PyReadonlyArrayDyn<'py, f64> = object.extract()?;
        Ok(Self {
            shape: array.shape().to_vec(),
            values: array.as_slice().ok().map(<[f64]>::to_vec),
        })
    }
}

impl Numbers {
    pub(crate) fn shape(&self) -> &[usize] {
        &self.shape
    }
}

/// The numbers of an array that must have a shape; the name is for the error, which only those see who pass over the
/// Python front.
pub(crate) fn slice<'a>(array: &'a Numbers, name: &str, shape: &[usize]) -> PyResult<&'a [f64]> {
    if array.shape() != shape {
        let found = array.shape();
        let message = format!("{name} has the shape {found:?}, expected {shape:?}");
        return Err(PyValueError::new_err(message));
    }
    let in_order = array.values.as_deref();
    in_order.ok_or_else(|| PyValueError::new_err(format!("{name} is not in C order")))
}

/// As [`slice`], for an array that may be absent.
pub(crate) fn optional<'a>(
    array: Option<&'a Numbers>,
    name: &str,
    shape: &[usize],
) -> PyResult<Option<&'a [f64]>> {
    array.map(|array| slice(array, name, shape)).transpose()
}

/// Zeros for a shape, or Python's own error where they do not fit into memory.
pub(crate) fn zeros(shape: &[usize]) -> PyResult<Vec<f64>> {
    let too_large = || PyMemoryError::new_err(format!("no memory for an array of shape {shape:?}"));
    let product = |count: usize, &size: &usize| count.checked_mul(size);
    let count = shape.iter().try_fold(1, product).ok_or_else(too_large)?;
    // Asked for twice: the second way the system gives zeros that cost nothing until they are used.
    let asked: Result<(), _> = Vec::<f64>::new().try_reserve_exact(count);
    asked.map_err(|_| too_large())?;
    Ok(vec![0.0; count])
}

/// Memory in equal pieces, of which there are so many even if they are empty.
pub(crate) fn pieces(mut memory: &mut [f64], count: usize) -> Vec<&mut [f64]> {
    let size = memory.len() / count.max(1);
    let mut pieces = Vec::with_capacity(count);
    for _ in 0..count {
        let (piece, rest) = memory.split_at_mut(size);
        pieces.push(piece);
        memory = rest;
    }
    pieces
}

/// Piece `index` of `count` equal ones.
pub(crate) fn piece(numbers: &[f64], index: usize, count: usize) -> &[f64] {
    let size = numbers.len() / count.max(1);
    &numbers[index * size..][..size]
}

/// Hands numbers over to Python without copying them.
pub(crate) fn give<'py, T: Element>(
    py: Python<'py>,
    numbers: Vec<T>,
    shape: &[usize],
) -> PyResult<Bound<'py, PyArrayDyn<T>>> {
    let array: Bound<'py, PyArray<T, Ix1>> = PyArray1::from_vec(py, numbers);
    array.reshape(IxDyn(shape))
}
