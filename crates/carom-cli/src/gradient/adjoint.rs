//! `--adjoint`: which way to the gradient.

use carom::flow::Adjoint;
use carom::rollout;

/// Tolerance of the cotangents where none is given.
const TOLERANCE: f64 = 1e-7;

/// Reads `stored`, `checkpointed=BYTES`, `continuous[=TOLERANCE]` or `backsolve[=TOLERANCE]`.
pub(super) fn parse(text: &str) -> Result<Adjoint, String> {
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
    match (name, number) {
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
            "there is no adjoint '{text}'; choose one of stored, checkpointed=BYTES, continuous[=TOLERANCE], backsolve[=TOLERANCE]"
        )),
    }
}

/// The same for steps of fixed length.
pub(super) fn of_steps(adjoint: Adjoint) -> Result<rollout::Adjoint, String> {
    match adjoint {
        Adjoint::Stored => Ok(rollout::Adjoint::Stored),
        Adjoint::Checkpointed { bytes } => Ok(rollout::Adjoint::Checkpointed { bytes }),
        Adjoint::Continuous { .. } | Adjoint::Backsolve { .. } => Err(
            "steps of fixed length have no continuous time to follow cotangents in; use --adjoint stored or checkpointed=BYTES, or another --integrator"
                .to_owned(),
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn adjoints_are_read_and_mistakes_explained() {
        assert_eq!(parse("stored"), Ok(Adjoint::Stored));
        assert_eq!(
            parse("checkpointed=4096"),
            Ok(Adjoint::Checkpointed { bytes: 4096 })
        );
        assert_eq!(
            parse("backsolve=1e-3"),
            Ok(Adjoint::Backsolve { tolerance: 1e-3 })
        );
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
