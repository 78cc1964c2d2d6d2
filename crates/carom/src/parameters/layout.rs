//! Where numbers are: the flat order of all given numbers, and places in it and in the initial state.

use std::ops::Range;

use crate::model::{Counts, Given, Model, Quantity};
use crate::scalar::Scalar;

/// Where the numbers of a quantity are in the flat order of [`Given::for_each`].
#[derive(Clone, Copy, Debug)]
pub(super) struct Field {
    pub(super) quantity: Quantity,
    /// Where its first number is.
    pub(super) start: usize,
    /// Numbers of an element.
    pub(super) width: usize,
    /// Numbers altogether.
    pub(super) length: usize,
}

impl Field {
    /// Where its numbers are.
    pub(super) fn range(&self) -> Range<usize> {
        self.start..self.start + self.length
    }
}

/// Where all given numbers are.
#[derive(Clone, Debug)]
pub(super) struct Layout {
    /// One a quantity, in their order.
    fields: Vec<Field>,
}

impl Layout {
    /// The layout of given numbers.
    pub(super) fn new(counts: &Counts) -> Self {
        let mut start = 0;
        let fields = Quantity::ALL.iter().map(|&quantity| {
            let width = quantity.row().width;
            let field = Field {
                quantity,
                start,
                width,
                length: width * quantity.elements(counts),
            };
            start += field.length;
            field
        });
        Self {
            fields: fields.collect(),
        }
    }

    /// Where a quantity is.
    pub(super) fn field(&self, quantity: Quantity) -> &Field {
        &self.fields[quantity as usize]
    }

    /// The field of a place.
    pub(super) fn field_at(&self, place: usize) -> Option<&Field> {
        let after = self.fields.partition_point(|field| field.start <= place);
        let last = self.fields[..after].last();
        last.filter(|field| field.range().contains(&place))
    }

    /// The quantity of a place; none for those of the initial state.
    pub(super) fn quantity(&self, place: Place) -> Option<Quantity> {
        match place {
            Place::Given(place) => self.field_at(place).map(|field| field.quantity),
            Place::State(..) => None,
        }
    }
}

/// All given numbers in their flat order.
pub(super) fn flat(given: &Given) -> Vec<f64> {
    let mut numbers = Vec::new();
    given.for_each(|_, _, _, number| numbers.push(number));
    numbers
}

/// Writes numbers at places, which are in increasing order.
pub(super) fn write<T: Scalar>(given: &mut Given<T>, writes: &[(usize, T)]) {
    let mut write = writer(writes);
    given.for_each_mut(|_, _, _, number| write(number));
}

/// Writes numbers at places, which are in increasing order, when it is called for every number in turn.
pub(super) fn writer<T: Scalar>(writes: &[(usize, T)]) -> impl FnMut(&mut T) {
    let mut next = writes.iter().copied().peekable();
    let mut place = 0;
    move |number| {
        while let Some((_, value)) = next.next_if(|&(at, _)| at == place) {
            *number = value;
        }
        place += 1;
    }
}

/// Given numbers without vertices and elevations: what passes of dual numbers work on, where nothing follows from these.
#[derive(Clone, Debug)]
pub(super) struct Light {
    /// The numbers that are left.
    pub(super) given: Given,
    /// Places of those that are not, in increasing order.
    removed: Vec<Range<usize>>,
}

impl Light {
    /// Leaves out what can be, unless it is needed.
    pub(super) fn new(given: &Given, layout: &Layout, needs_vertices: bool) -> Self {
        let mut light = Self {
            given: given.clone(),
            removed: Vec::new(),
        };
        if needs_vertices {
            return light;
        }
        let Model {
            meshes,
            height_fields,
            ..
        } = &mut light.given.model;
        meshes.vertex = Vec::new();
        meshes.box_low = Vec::new();
        meshes.box_high = Vec::new();
        height_fields.elevation = Vec::new();
        let removed = [
            Quantity::MeshVertex,
            Quantity::MeshBoxLow,
            Quantity::MeshBoxHigh,
            Quantity::HeightFieldElevation,
        ];
        light.removed = removed
            .map(|quantity| layout.field(quantity).range())
            .into();
        light.removed.sort_by_key(|range| range.start);
        light
    }

    /// Where a number is among those that are left; none if it is not.
    pub(super) fn place(&self, place: usize) -> Option<usize> {
        let mut before = 0;
        for range in &self.removed {
            if range.contains(&place) {
                return None;
            }
            if range.end <= place {
                before += range.len();
            }
        }
        Some(place - before)
    }

    /// Numbers of a model without those that are left out.
    pub(super) fn keep(&self, mut numbers: Vec<f64>) -> Vec<f64> {
        for range in self.removed.iter().rev() {
            numbers.drain(range.clone());
        }
        numbers
    }
}

/// A vector of the initial state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum StateField {
    Qpos,
    Qvel,
    Act,
    MocapPosition,
    MocapQuat,
}

/// Where a number is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Place {
    /// Among the given numbers, in their flat order.
    Given(usize),
    /// In the initial state.
    State(StateField, usize),
}
