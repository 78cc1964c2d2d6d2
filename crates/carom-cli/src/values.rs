//! Values of flags that are a single number: what they must be, in words.

use carom_tasks::evaluate::window_of;
use carom_tasks::recording::Recordings;

/// A length of time (s), possibly none.
pub(crate) fn seconds(text: &str) -> Result<f64, String> {
    let seconds = finite(text)?;
    if seconds < 0.0 {
        return Err("a length of time is not negative".to_owned());
    }
    Ok(seconds)
}

/// A length of time above zero (s).
pub(crate) fn positive_seconds(text: &str) -> Result<f64, String> {
    match seconds(text)? {
        0.0 => Err("the length of time must be above 0 s".to_owned()),
        seconds => Ok(seconds),
    }
}

/// A tolerance: between 0 and 1.
pub(crate) fn tolerance(text: &str) -> Result<f64, String> {
    let tolerance = finite(text)?;
    if (f64::MIN_POSITIVE..1.0).contains(&tolerance) {
        return Ok(tolerance);
    }
    Err("it must be above 0 and below 1, as in 1e-7".to_owned())
}

/// A count from 1 on.
pub(crate) fn count(text: &str) -> Result<usize, String> {
    match text.trim().parse() {
        Ok(0) => Err("it must be at least 1".to_owned()),
        Ok(count) => Ok(count),
        Err(_) => Err("write a whole number from 1 on".to_owned()),
    }
}

/// The first and the last of some frames: `201:900`.
pub(crate) fn frames(text: &str) -> Result<[usize; 2], String> {
    let ends = text
        .split_once(':')
        .and_then(|(first, last)| Some([first.trim().parse().ok()?, last.trim().parse().ok()?]));
    match ends {
        Some([first, last]) if first <= last => Ok([first, last]),
        _ => Err("write the first and the last frame, as in 201:900".to_owned()),
    }
}

/// A part of a recording.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Span {
    Frames(usize),
    Seconds(f64),
}

impl Span {
    /// How many frames of recordings it is.
    pub(crate) fn frames(self, recordings: &Recordings) -> usize {
        match self {
            Self::Frames(frames) => frames,
            Self::Seconds(seconds) => window_of(recordings, seconds),
        }
    }
}

/// Frames, or seconds with their unit.
pub(crate) fn span(text: &str) -> Result<Span, String> {
    let text = text.trim();
    if let Some(number) = text.strip_suffix('s') {
        return positive_seconds(number).map(Span::Seconds);
    }
    let count = count(text).map(Span::Frames);
    count.map_err(|why| format!("{why}, or seconds as in 0.5s"))
}

/// Most threads that are started.
const MAX_THREADS: usize = 1024;

/// A number of threads.
pub(crate) fn threads(text: &str) -> Result<usize, String> {
    let threads = count(text)?;
    if threads > MAX_THREADS {
        return Err(format!("carom starts at most {MAX_THREADS} threads"));
    }
    Ok(threads)
}

/// The code of a feature that can be left out, or `all`.
pub(crate) fn feature(text: &str) -> Result<String, String> {
    let codes = carom_spec::mjcf::codes::ALL.iter().map(|(code, _)| *code);
    // Unsupported features are numbered from 200 on.
    let mut known: Vec<&str> = codes.filter(|code| code[1..] >= *"200").collect();
    known.push("all");
    if known.contains(&text) {
        return Ok(text.to_owned());
    }
    Err(format!(
        "no feature has this code; there are {}",
        known.join(", ")
    ))
}

fn finite(text: &str) -> Result<f64, String> {
    match text.trim().parse::<f64>() {
        Ok(number) if number.is_finite() => Ok(number),
        Ok(number) if number.is_nan() => Err("it is not a number".to_owned()),
        Ok(_) => Err("it is infinite, or too large for a number".to_owned()),
        Err(_) => Err("write a number, as in 2.5".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_taken_and_others_refused_with_a_reason() {
        assert_eq!(seconds("0"), Ok(0.0));
        assert_eq!(positive_seconds(" 2.5"), Ok(2.5));
        assert_eq!((count("3"), threads("2")), (Ok(3), Ok(2)));
        assert_eq!(tolerance("1e-9"), Ok(1e-9));
        assert_eq!(feature("M205").as_deref(), Ok("M205"));
        assert_eq!(feature("all").as_deref(), Ok("all"));
        for (refused, word) in [
            (seconds("-1").map(drop), "negative"),
            (seconds("1e999").map(drop), "too large"),
            (seconds("-inf").map(drop), "infinite"),
            (seconds("nan").map(drop), "not a number"),
            (seconds("five").map(drop), "write a number"),
            (positive_seconds("0").map(drop), "above 0"),
            (tolerance("1").map(drop), "below 1"),
            (tolerance("0").map(drop), "above 0"),
            (count("0").map(drop), "at least 1"),
            (count("-3").map(drop), "whole number"),
            (count("99999999999999999999999").map(drop), "whole number"),
            (threads("100000").map(drop), "at most"),
            (feature("M001").map(drop), "M201, M202"),
            (feature("").map(drop), "all"),
        ] {
            let reason = refused.unwrap_err();
            assert!(reason.contains(word), "{reason}");
        }
    }
}
