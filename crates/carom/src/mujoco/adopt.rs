//! Models that MuJoCo has compiled: its numbers instead of our own.
//!
//! A description made from MuJoCo's compiled arrays compiles to the same structure. What our compiler derives agrees with
//! MuJoCo's numbers to rounding, unless somebody has changed them since. What differs by more is taken over as it is; then
//! it no longer follows from other numbers, and [`Parameters`](crate::parameters::Parameters) say so.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::error::{Error, ErrorKind};
use crate::model::{Model, Names, Quantity};

/// Differences that are rounding: relative to a number, and to the largest of its kind.
const ROUNDING: [f64; 2] = [1e-11, 1e-13];

/// Numbers by quantity, row-major.
pub type Numbers<'a> = BTreeMap<Quantity, &'a [f64]>;

impl Model {
    /// The same model with other numbers and names. Armature and damping of dofs and tendons are given without what actuators
    /// add to them, as MuJoCo keeps them.
    ///
    /// # Errors
    /// When the model has no such numbers, or not so many of them.
    pub fn adopt(mut self, numbers: &Numbers<'_>, names: Names) -> Result<Self, Error> {
        for (&quantity, given) in numbers {
            let (found, count) = (self.numbers(quantity).len(), given.len());
            if found != count {
                let message = format!("there are {found} numbers {quantity}, not {count}");
                return Err(Error::new(ErrorKind::Value, message));
            }
        }
        // What MuJoCo keeps, where that is another number than ours.
        let kept_apart = [
            Quantity::DofArmature,
            Quantity::DofDamping,
            Quantity::TendonArmature,
            Quantity::TendonDamping,
        ]
        .map(|quantity| {
            let constant = quantity.row().mujoco_name().and_then(super::constant);
            (quantity, constant.map(|constant| constant.get(&self)))
        });
        let largest = |given: &&[f64]| {
            given
                .iter()
                .fold(0.0, |most: f64, number| most.max(number.abs()))
        };
        let scales: BTreeMap<_, _> = numbers
            .iter()
            .map(|(&quantity, given)| (quantity, largest(given)))
            .collect();
        self.for_each_mut(|quantity, element, component, number| {
            let Some(given) = numbers.get(&quantity) else {
                return;
            };
            let place = element * quantity.row().width + component;
            if let Some(&given) = given.get(place) {
                let apart = kept_apart.iter().find(|(apart, _)| *apart == quantity);
                let own = apart.and_then(|(_, own)| own.as_ref()?.get(element).copied());
                let change = given - own.unwrap_or(*number);
                let scale = scales.get(&quantity).copied().unwrap_or(0.0);
                let rounding = (ROUNDING[0] * given.abs()).max(ROUNDING[1] * scale);
                if change.abs() > rounding || change.is_nan() {
                    *number = if own.is_some() {
                        *number + change
                    } else {
                        given
                    };
                }
            }
        });
        self.find_coincidences();
        Arc::make_mut(&mut self.structure).names = names;
        if let Some(recipe) = &mut self.recipe {
            Arc::make_mut(recipe).given.model.structure = Arc::clone(&self.structure);
        }
        Ok(self)
    }
}
