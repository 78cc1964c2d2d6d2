//! Which models a search may visit: those that a file can hold.
//!
//! Equations of motion have solutions for inertias that no body has, and a search that finds a lower loss there ends with numbers
//! that no reader of models accepts. So such a point is one that cannot be evaluated, by the rule of the compiler.

use carom::Model;

/// Why a body of a model is impossible; none if all are as possible as they were in the base.
pub(super) fn impossible(model: &Model, base: &Model) -> Option<String> {
    let (bodies, before) = (&model.bodies, &base.bodies);
    (1..bodies.mass.len()).find_map(|id| {
        let (mass, moments) = (bodies.mass[id], bodies.inertia[id].0);
        let (old_mass, old_moments) = (before.mass[id], before.inertia[id].0);
        // What the description gave was looked at when it was compiled.
        if mass.to_bits() == old_mass.to_bits() && moments == old_moments {
            return None;
        }
        let why =
            impossible_mass(mass, old_mass).or_else(|| impossible_moments(moments, old_moments))?;
        let name = match model.structure.names.bodies[id].as_str() {
            "" => format!("body {id}"),
            name => format!("body '{name}'"),
        };
        Some(format!("{name} would be impossible: {why}"))
    })
}

fn impossible_mass(mass: f64, before: f64) -> Option<String> {
    let is_possible = mass > 0.0 || (mass == 0.0 && before == 0.0);
    (!is_possible).then(|| format!("its mass would be {mass:.4e} kg"))
}

fn impossible_moments(moments: [f64; 3], before: [f64; 3]) -> Option<String> {
    let [a, b, c] = moments;
    let list = format!("its moments of inertia would be {a:.4e} {b:.4e} {c:.4e} kg·m²");
    let mut pairs = moments.iter().zip(before);
    if !pairs.all(|(&moment, before)| moment > 0.0 || (moment == 0.0 && before == 0.0)) {
        return Some(format!("{list}, which are not all positive"));
    }
    let is_triangle = a + b >= c && a + c >= b && b + c >= a;
    (!is_triangle).then(|| format!("{list}, and one exceeds the sum of the others"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_judged_as_the_compiler_does() {
        let before = [1.0, 1.0, 1.0];
        assert_eq!(impossible_moments([1.0, 2.0, 3.0], before), None);
        for (moments, words) in [
            ([1.0, 2.0, 3.1], "exceeds the sum"),
            ([3.1, 1.0, 2.0], "exceeds the sum"),
            ([1.0, -1.0, 1.0], "not all positive"),
            ([1.0, f64::NAN, 1.0], "not all positive"),
            ([0.0, 0.0, 0.0], "not all positive"),
        ] {
            let why = impossible_moments(moments, before).unwrap();
            assert!(why.contains(words), "{why}");
        }
        // Points may have been bodies before, too.
        assert_eq!(impossible_moments([0.0; 3], [0.0; 3]), None);
        assert_eq!(impossible_mass(0.0, 0.0), None);
        assert!(impossible_mass(0.0, 1.0).is_some() && impossible_mass(-1.0, 0.0).is_some());
    }
}
