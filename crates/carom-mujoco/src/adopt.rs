//! Models that MuJoCo has compiled: its numbers instead of our own.
//!
//! A description made from MuJoCo's compiled arrays compiles to the same structure. What our compiler derives agrees with
//! MuJoCo's numbers to rounding, unless somebody has changed them since. What differs by more is taken over as it is; then
//! it no longer follows from other numbers, and [`Parameters`](carom::parameters::Parameters) say so.

use std::collections::BTreeMap;

use carom::model::{Model, Names, Quantity};
use carom::{Error, ErrorKind};

/// Differences that are rounding: relative to a number, and to the largest of its kind.
const ROUNDING: [f64; 2] = [1e-11, 1e-13];

/// Numbers by quantity, row-major.
pub type Numbers<'a> = BTreeMap<Quantity, &'a [f64]>;

/// The same model with other numbers and names. Armature and damping of dofs and tendons are given without what actuators
/// add to them, as MuJoCo keeps them.
///
/// # Errors
/// When the model has no such numbers, or not so many of them.
pub fn adopt(mut model: Model, numbers: &Numbers<'_>, names: Names) -> Result<Model, Error> {
    for (&quantity, given) in numbers {
        let (found, count) = (model.numbers(quantity).len(), given.len());
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
        let constant = quantity.row().mujoco_name().and_then(crate::constant);
        (quantity, constant.map(|constant| constant.get(&model)))
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
    model.for_each_mut(|quantity, element, component, number| {
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
    model.find_coincidences();
    Ok(model.with_names(names))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A hinge whose motor has an armature of its own.
    fn geared() -> Model {
        let text = r#"<mujoco><worldbody><body><joint name="hinge" armature="0.5"/><geom size="0.1"/></body></worldbody>
          <actuator><motor joint="hinge" gear="3" armature="0.1"/></actuator></mujoco>"#;
        let path = std::path::Path::new("geared.xml");
        let source = carom_spec::source::MemorySource::new().with(path, text);
        let read =
            carom_spec::read::read(path, &source, &carom_spec::mjcf::ReadSettings::default());
        carom::load::compiled(read).unwrap().model
    }

    #[test]
    fn numbers_that_differ_are_taken_over_and_those_of_actuators_kept_apart() {
        let model = geared();
        let names = model.structure.names.clone();
        let constant = crate::constant("dof_armature").unwrap();
        assert_eq!(constant.get(&model), [0.5]);
        let (mass, armature) = ([0.0, 2.0], [0.7]);
        let numbers = Numbers::from([
            (Quantity::BodyMass, &mass[..]),
            (Quantity::DofArmature, &armature[..]),
        ]);
        let adopted = adopt(model.clone(), &numbers, names.clone()).unwrap();
        assert_eq!(adopted.bodies.mass, mass);
        assert!((constant.get(&adopted)[0] - 0.7).abs() < 1e-15);
        assert!((adopted.dofs.armature[0] - (0.7 + 9.0 * 0.1)).abs() < 1e-15);
        // Rounding is no difference.
        let rounded = [0.5 * (1.0 + 1e-13)];
        let numbers = Numbers::from([(Quantity::DofArmature, &rounded[..])]);
        let same = adopt(model.clone(), &numbers, names).unwrap();
        assert_eq!(same.dofs.armature, model.dofs.armature);
    }

    #[test]
    fn names_are_replaced_and_wrong_counts_are_refused() {
        let model = geared();
        let mut names = model.structure.names.clone();
        names.joints[0] = "shoulder".to_owned();
        let adopted = adopt(model.clone(), &Numbers::new(), names.clone()).unwrap();
        assert_eq!(adopted.structure.names.joints[0], "shoulder");
        let recipe = adopted.recipe().unwrap();
        assert_eq!(recipe.given.model.structure.names, names);
        let numbers = Numbers::from([(Quantity::BodyMass, &[1.0][..])]);
        let error = adopt(model, &numbers, names).unwrap_err();
        assert!(error.to_string().contains("there are 2 numbers"), "{error}");
    }
}
