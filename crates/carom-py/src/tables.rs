//! Sizes, names and configurations.

use std::collections::BTreeMap;

use carom::Model;
use carom::model::Names;
use carom::quantity::ElementKind;
use carom::{difference as tangent_between, integrate_positions};
use numpy::PyArrayDyn;
use pyo3::prelude::*;

use crate::arrays::{Numbers, give, slice, zeros};

/// Sizes, by MuJoCo's names.
pub(crate) fn counts(model: &Model) -> [(&'static str, usize); 20] {
    let n = model.counts();
    [
        ("nq", n.nq),
        ("nv", n.nv),
        ("nu", n.nu),
        ("na", n.na),
        ("nbody", n.nbody),
        ("njnt", n.njoint),
        ("ngeom", n.ngeom),
        ("nsite", n.nsite),
        ("ncam", n.ncamera),
        ("nmesh", n.nmesh),
        ("nhfield", n.nheight_field),
        ("npair", n.npair),
        ("neq", n.nequality),
        ("ntendon", n.ntendon),
        ("nwrap", n.nwrap),
        ("nsensor", n.nsensor),
        ("nsensordata", n.nsensor_value),
        ("nkey", n.nkeyframe),
        ("nmocap", n.nmocap),
        ("ntree", n.ntree),
    ]
}

/// Names of the elements of a family, which is called as in the file format.
pub(crate) fn names<'a>(model: &'a Model, family: &str) -> Option<&'a [String]> {
    let kind = ElementKind::called(family)?;
    Some(kind.names(&model.structure.names)?)
}

/// The names of a model with those of some families replaced, where there are as many.
pub(crate) fn renamed(model: &Model, names: &BTreeMap<String, Vec<String>>) -> Names {
    let mut renamed = model.structure.names.clone();
    for (family, given) in names {
        let kind = ElementKind::called(family);
        if let Some(list) = kind.and_then(|kind| kind.names_mut(&mut renamed))
            && list.len() == given.len()
        {
            list.clone_from(given);
        }
    }
    renamed
}

/// qpos ⊕ tangent for each row.
pub(crate) fn integrate<'py>(
    py: Python<'py>,
    model: &Model,
    qpos: &Numbers,
    tangent: &Numbers,
) -> PyResult<Bound<'py, PyArrayDyn<f64>>> {
    let (rows, n) = (first(qpos), model.counts());
    let shape = [rows, n.nq];
    let mut moved = slice(qpos, "qpos", &shape)?.to_vec();
    let tangent = slice(tangent, "tangent", &[rows, n.nv])?;
    for row in 0..rows {
        let along = &tangent[row * n.nv..][..n.nv];
        integrate_positions(model, &mut moved[row * n.nq..][..n.nq], along, 1.0);
    }
    give(py, moved, &shape)
}

/// The tangent between two configurations, for each row.
pub(crate) fn difference<'py>(
    py: Python<'py>,
    model: &Model,
    from: &Numbers,
    to: &Numbers,
) -> PyResult<Bound<'py, PyArrayDyn<f64>>> {
    let (rows, n) = (first(from), model.counts());
    let shape = [rows, n.nq];
    let (from, to) = (slice(from, "from", &shape)?, slice(to, "to", &shape)?);
    let mut tangent = zeros(&[rows, n.nv])?;
    for row in 0..rows {
        let part = row * n.nq..(row + 1) * n.nq;
        let along = &mut tangent[row * n.nv..][..n.nv];
        tangent_between(model, &from[part.clone()], &to[part], along);
    }
    give(py, tangent, &[rows, n.nv])
}

/// Length of an array.
pub(crate) fn first(array: &Numbers) -> usize {
    array.shape().first().copied().unwrap_or(0)
}
