//! `--adjoint`: which way to the derivatives.

use carom::flow::Adjoint;
use carom::rollout;

/// A way to derivatives.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Way {
    /// From the loss to everything.
    Backward(Adjoint),
    /// From what is asked for to the states.
    Forward,
}

/// Tolerance of the cotangents where none is given.
const TOLERANCE: f64 = 1e-7;

/// Reads `stored`, `checkpointed=BYTES`, `continuous[=TOLERANCE]`, `backsolve[=TOLERANCE]` or `forward`.
pub(super) fn parse(text: &str) -> Result<Way, String> {
    let (name, number) = match text.split_once('=') {
        Some((name, number)) => (name, Some(number)),
        None => (text, None),
    };
    let tolerance = || match number {
        None => Ok(TOLERANCE),
        Some(number) => (number.parse().ok())
            .filter(|tolerance| (f64::MIN_POSITIVE..1.0).contains(tolerance))
            .ok_or_else(|| format!("--adjoint {name}: '{number}' is not between 0 and 1")),
    };
    let adjoint = match (name, number) {
        ("forward", None) => return Ok(Way::Forward),
        ("stored", None) => Ok(Adjoint::Stored),
        ("checkpointed", Some(number)) => match number.parse() {
            Ok(bytes) => Ok(Adjoint::Checkpointed { bytes }),
            Err(_) => Err(format!(
                "--adjoint checkpointed: '{number}' is not a number of bytes, as in checkpointed=1000000"
            )),
        },
        ("continuous", _) => tolerance().map(|tolerance| Adjoint::Continuous { tolerance }),
        ("backsolve", _) => tolerance().map(|tolerance| Adjoint::Backsolve { tolerance }),
        _ => Err(format!(
            "there is no adjoint '{text}'; choose one of stored, checkpointed=BYTES, continuous[=TOLERANCE], backsolve[=TOLERANCE], forward"
        )),
    };
    adjoint.map(Way::Backward)
}

/// The same for steps of fixed length.
pub(super) fn of_steps(way: Way) -> Result<rollout::Adjoint, String> {
    match way {
        Way::Backward(Adjoint::Stored) => Ok(rollout::Adjoint::Stored),
        Way::Backward(Adjoint::Checkpointed { bytes }) => {
            Ok(rollout::Adjoint::Checkpointed { bytes })
        }
        Way::Backward(_) | Way::Forward => Err(
            "this --adjoint is for motions in continuous time; with steps of fixed length use stored or checkpointed=BYTES, or another --integrator"
                .to_owned(),
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn adjoints_are_read_and_mistakes_explained() {
        for (text, adjoint) in [
            ("stored", Adjoint::Stored),
            ("checkpointed=4096", Adjoint::Checkpointed { bytes: 4096 }),
            ("backsolve=1e-3", Adjoint::Backsolve { tolerance: 1e-3 }),
        ] {
            assert_eq!(parse(text), Ok(Way::Backward(adjoint)));
        }
        assert_eq!(parse("forward"), Ok(Way::Forward));
        for (text, remedy) in [
            ("checkpointed", "checkpointed=BYTES"),
            ("checkpointed=many", "number of bytes"),
            ("continuous=-1", "between 0 and 1"),
            ("continuous=NaN", "between 0 and 1"),
            ("stored=3", "choose one of"),
            ("", "choose one of"),
        ] {
            let message = parse(text).unwrap_err();
            assert!(message.contains(remedy), "{text}: {message}");
        }
        let continuous = parse("continuous").unwrap();
        assert!(of_steps(continuous).unwrap_err().contains("--integrator"));
    }
}
