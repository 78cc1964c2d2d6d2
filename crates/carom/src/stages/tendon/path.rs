//! The way along a spatial path: legs between sites, and pulleys.

use super::wrap::Shape;
use crate::model::{TendonStructure, Wrap};

/// What comes next along a path.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Step {
    /// A pulley, given by its place in the path, at which a branch begins.
    Pulley(usize),
    /// From one site to the next.
    Leg(Leg),
}

/// A part of a path between two sites.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Leg {
    /// Place of the first site in the path.
    pub(crate) position: usize,
    pub(crate) sites: [usize; 2],
    /// What is in the way.
    pub(crate) around: Option<Around>,
    /// Whether the branch ends here.
    pub(crate) is_last: bool,
}

/// A geom that a leg may wrap around.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Around {
    pub(crate) shape: Shape,
    pub(crate) geom: usize,
    /// Site that chooses the side.
    pub(crate) side: Option<usize>,
}

/// Walks along the path of a spatial tendon.
pub(crate) fn steps(tendons: &TendonStructure, tendon: usize) -> impl Iterator<Item = Step> {
    let range = tendons.wraps[tendon].clone();
    let mut position = range.start;
    std::iter::from_fn(move || {
        while position + 1 < range.end {
            let here = position;
            position += 1;
            let (sites, around) = match tendons.path[here..range.end] {
                [Wrap::Pulley, ..] => return Some(Step::Pulley(here)),
                [Wrap::Site(first), Wrap::Site(second), ..] => ([first, second], None),
                [Wrap::Site(first), wrap, Wrap::Site(second), ..] => match around(wrap) {
                    None => continue,
                    around => ([first, second], around),
                },
                _ => continue,
            };
            position += usize::from(around.is_some());
            let next = tendons.path[position + 1..range.end].first();
            return Some(Step::Leg(Leg {
                position: here,
                sites,
                around,
                is_last: next.is_none_or(|&next| next == Wrap::Pulley),
            }));
        }
        None
    })
}

fn around(wrap: Wrap) -> Option<Around> {
    let (shape, geom, side) = match wrap {
        Wrap::Sphere { geom, side } => (Shape::Sphere, geom, side),
        Wrap::Cylinder { geom, side } => (Shape::Cylinder, geom, side),
        Wrap::Joint(_) | Wrap::Pulley | Wrap::Site(_) => return None,
    };
    Some(Around { shape, geom, side })
}
