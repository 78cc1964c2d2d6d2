//! `--adjoint`: which way to the derivatives.

use carom::flow::Adjoint;
use carom::rollout;

use crate::command_line::Argument;
use crate::failure::Failure;

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

/// The names.
const NAMES: [&str; 5] = [
    "stored",
    "checkpointed",
    "continuous",
    "backsolve",
    "forward",
];

/// Reads `stored`, `checkpointed=BYTES`, `continuous[=TOLERANCE]`, `backsolve[=TOLERANCE]` or `forward`.
pub(super) fn parse(argument: Argument<'_>) -> Result<Way, Failure> {
    let (name, number) = match argument.split_once('=') {
        Some((name, number)) => (name, Some(number)),
        None => (argument, None),
    };
    let tolerance = || match number {
        None => Ok(TOLERANCE),
        Some(number) => Some(number.number()?)
            .filter(|tolerance| (f64::MIN_POSITIVE..1.0).contains(tolerance))
            .ok_or_else(|| number.unfit("a tolerance is needed", "must be between 0 and 1")),
    };
    let plain = |way: Way| match number {
        None => Ok(way),
        Some(number) => Err(number.unfit(
            &format!("{} takes no number", name.text()),
            "leave this out",
        )),
    };
    let adjoint = match name.text() {
        "forward" => return plain(Way::Forward),
        "stored" => return plain(Way::Backward(Adjoint::Stored)),
        "checkpointed" => {
            let bytes = number.and_then(|number| number.text().trim().parse().ok());
            let bytes = bytes.ok_or_else(|| {
                (number.unwrap_or(name)).unfit(
                    "checkpointed needs a number of bytes",
                    "write a whole number, as in checkpointed=1000000",
                )
            })?;
            Adjoint::Checkpointed { bytes }
        }
        "continuous" => Adjoint::Continuous {
            tolerance: tolerance()?,
        },
        "backsolve" => Adjoint::Backsolve {
            tolerance: tolerance()?,
        },
        _ => return Err(name.unknown("adjoint", NAMES)),
    };
    Ok(Way::Backward(adjoint))
}

/// The same for steps of fixed length.
pub(super) fn of_steps(way: Way, argument: Argument<'_>) -> Result<rollout::Adjoint, Failure> {
    match way {
        Way::Backward(Adjoint::Stored) => Ok(rollout::Adjoint::Stored),
        Way::Backward(Adjoint::Checkpointed { bytes }) => {
            Ok(rollout::Adjoint::Checkpointed { bytes })
        }
        Way::Backward(_) | Way::Forward => Err(argument.unfit(
            "this way is for motions in continuous time",
            "with --integrator fixed: stored or checkpointed=BYTES",
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command_line::marked;

    fn read(text: &str) -> Result<Way, Failure> {
        parse(Argument::new("--adjoint", text))
    }

    #[test]
    fn adjoints_are_read_and_mistakes_explained() {
        for (text, adjoint) in [
            ("stored", Adjoint::Stored),
            ("checkpointed=4096", Adjoint::Checkpointed { bytes: 4096 }),
            ("backsolve=1e-3", Adjoint::Backsolve { tolerance: 1e-3 }),
        ] {
            assert_eq!(read(text).unwrap(), Way::Backward(adjoint));
        }
        assert_eq!(read("forward").unwrap(), Way::Forward);
        for (text, part, remedy) in [
            ("checkpointed", "checkpointed", "checkpointed=1000000"),
            ("checkpointed=many", "many", "whole number"),
            ("continuous=-1", "-1", "between 0 and 1"),
            ("continuous=NaN", "NaN", "not a number"),
            ("stored=3", "3", "takes no number"),
            ("storde", "storde", "did you mean 'stored'"),
            ("", "", "there are: stored"),
        ] {
            let failure = read(text).unwrap_err();
            assert_eq!(marked(&failure), part);
            let message = failure.rendered();
            assert!(message.contains(remedy), "{text}: {message}");
        }
        let argument = Argument::new("--adjoint", "continuous");
        let failure = of_steps(read("continuous").unwrap(), argument).unwrap_err();
        assert!(failure.rendered().contains("--integrator"));
    }
}
