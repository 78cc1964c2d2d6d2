//! Combinations of parameters in words.

use std::fmt::Write as _;

/// Parameters with a smaller share in a combination, relative to the largest, are not named.
const MIN_NAMED_SHARE: f64 = 0.1;

/// What is to say of a combination of named parameters with its standard deviation in scales.
pub(super) fn combination(names: &[String], parts: &[f64], deviation: f64) -> String {
    let mut order: Vec<usize> = (0..parts.len()).collect();
    order.sort_by(|&a, &b| parts[b].abs().total_cmp(&parts[a].abs()));
    let Some(&first) = order.first() else {
        return String::new();
    };
    let largest = parts[first].abs();
    order.retain(|&i| parts[i].abs() >= MIN_NAMED_SHARE * largest);
    let known = if deviation.is_infinite() {
        "is not identifiable".to_owned()
    } else {
        format!("is known to ±{} scales", short(deviation))
    };
    if order.len() == 1 {
        let name = &names[first];
        return if deviation.is_infinite() {
            format!("{name} is not identifiable: the data do not depend on it")
        } else {
            format!("{name} {known}")
        };
    }
    let sum = sum_of(names, parts, &order);
    if deviation.is_infinite() {
        let listed = list(&order.iter().map(|&i| names[i].as_str()).collect::<Vec<_>>());
        format!("{listed} trade off: {sum} {known}")
    } else {
        format!("{sum} {known}")
    }
}

/// `0.71·mass − 0.70·stiffness`, the first part positive.
fn sum_of(names: &[String], parts: &[f64], order: &[usize]) -> String {
    let sign = order.first().map_or(1.0, |&i| parts[i].signum());
    let mut sum = String::new();
    for (place, &i) in order.iter().enumerate() {
        let part = sign * parts[i];
        let joint = match (place, part < 0.0) {
            (0, _) => "",
            (_, true) => " − ",
            (_, false) => " + ",
        };
        let _ = write!(sum, "{joint}{:.2}·{}", part.abs(), names[i]);
    }
    sum
}

/// `a`, `a and b`, `a, b and c`.
fn list(names: &[&str]) -> String {
    match names {
        [] => String::new(),
        [one] => (*one).to_owned(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}

/// Two digits.
fn short(number: f64) -> String {
    if (1e-3..1e4).contains(&number) {
        let digits = if number < 0.01 {
            4
        } else if number < 0.1 {
            3
        } else if number < 1.0 {
            2
        } else {
            usize::from(number < 10.0)
        };
        format!("{number:.digits$}")
    } else {
        format!("{number:.1e}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(names: &[&str]) -> Vec<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    #[test]
    fn combinations_in_words() {
        let three = names(&["mass", "stiffness", "damping"]);
        let infinite = f64::INFINITY;
        assert_eq!(
            combination(&three, &[-0.714, 0.7, 0.01], infinite),
            "mass and stiffness trade off: 0.71·mass − 0.70·stiffness is not identifiable"
        );
        assert_eq!(
            combination(&three, &[0.5, 0.6, 0.62], infinite),
            "damping, stiffness and mass trade off: 0.62·damping + 0.60·stiffness + 0.50·mass is not identifiable"
        );
        assert_eq!(
            combination(&three, &[0.0, 1.0, 0.0], infinite),
            "stiffness is not identifiable: the data do not depend on it"
        );
        assert_eq!(
            combination(&three, &[0.8, -0.6, 0.0], 0.034),
            "0.80·mass − 0.60·stiffness is known to ±0.034 scales"
        );
        assert_eq!(
            combination(&three, &[0.0, 0.0, -1.0], 3e5),
            "damping is known to ±3.0e5 scales"
        );
    }
}
