//! Models that MuJoCo has compiled: its numbers instead of our own.
//!
//! A description made from MuJoCo's compiled arrays compiles to the same structure. What our compiler derives agrees with
//! MuJoCo's numbers to rounding, unless somebody has changed them since. What differs by more is taken over as it is; then
//! it no longer follows from other numbers, and [`Parameters`](crate::parameters::Parameters) say so.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::model::{Model, Names};

/// Differences that are rounding: relative to a number, and to the largest of its kind.
const ROUNDING: [f64; 2] = [1e-11, 1e-13];

/// Numbers by family and field, row-major.
pub type Numbers<'a> = BTreeMap<(&'a str, &'a str), &'a [f64]>;

impl Model {
    /// The same model with other numbers and names. Armature and damping of dofs and tendons are given without what actuators
    /// add to them, as MuJoCo keeps them.
    ///
    /// # Errors
    /// When the model has no such numbers, or not so many of them.
    pub fn adopt(mut self, numbers: &Numbers<'_>, names: Names) -> Result<Self, String> {
        let own = |name: &str| super::constant(name).map(|constant| (constant.get)(&self));
        let kept_apart = [
            ("dofs", "armature", own("dof_armature")),
            ("dofs", "damping", own("dof_damping")),
            ("tendons", "armature", own("tendon_armature")),
            ("tendons", "damping", own("tendon_damping")),
        ];
        let largest = |given: &&[f64]| {
            given
                .iter()
                .fold(0.0, |most: f64, number| most.max(number.abs()))
        };
        let scales: BTreeMap<_, _> = numbers
            .iter()
            .map(|(key, given)| (*key, largest(given)))
            .collect();
        let mut counts: BTreeMap<(&str, &str), usize> = BTreeMap::new();
        self.for_each_mut(|family, field, element, _, number| {
            let Some(given) = numbers.get(&(family, field)) else {
                return;
            };
            let place = counts.entry((family, field)).or_default();
            if let Some(&given) = given.get(*place) {
                let apart = kept_apart
                    .iter()
                    .find(|(f, x, _)| (*f, *x) == (family, field));
                let own = apart.and_then(|(.., own)| own.as_ref()?.get(element).copied());
                let change = given - own.unwrap_or(*number);
                let scale = scales.get(&(family, field)).copied().unwrap_or(0.0);
                let rounding = (ROUNDING[0] * given.abs()).max(ROUNDING[1] * scale);
                if change.abs() > rounding || change.is_nan() {
                    *number = if own.is_some() {
                        *number + change
                    } else {
                        given
                    };
                }
            }
            *place += 1;
        });
        for (&(family, field), given) in numbers {
            let found = counts.get(&(family, field)).copied().unwrap_or(0);
            if found != given.len() {
                let count = given.len();
                return Err(format!(
                    "there are {found} numbers {family}.{field}, not {count}"
                ));
            }
        }
        self.find_coincidences();
        Arc::make_mut(&mut self.structure).names = names;
        if let Some(recipe) = &mut self.recipe {
            Arc::make_mut(recipe).given.model.structure = Arc::clone(&self.structure);
        }
        Ok(self)
    }
}
