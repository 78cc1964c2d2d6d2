//! Damaged inputs for readers: seeded, and therefore repeatable.
//!
//! A [`Campaign`] tries one reader with many of them. Whatever it is given, a reader ends with an answer or an error, soon and
//! in bounded memory: a panic, a wait of more than [`MAX_TIME`] or more than [`MAX_MEMORY`] fails.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

use crate::{Random, by_tier};

/// Longest time for one damaged input; undamaged ones take milliseconds.
pub const MAX_TIME: Duration = Duration::from_secs(10);
/// Most memory of a test of damaged inputs (kB).
pub const MAX_MEMORY: u64 = 2_000_000;

/// What numbers in texts are replaced with.
const NUMBERS: [&str; 15] = [
    "0",
    "-0",
    "1",
    "-1",
    "1e308",
    "-1e308",
    "1e-308",
    "1e999",
    "nan",
    "inf",
    "0x10",
    "1,5",
    "2147483648",
    "99999999999",
    "1 2 3 4 5 6 7 8 9 10 11",
];

/// What a reader is tried with.
pub struct Campaign {
    /// Inputs in the long tier; the gate takes as many as fit into its seconds.
    pub count: u64,
    /// Seconds in the gate.
    pub seconds: u64,
}

impl Campaign {
    /// Tries damaged inputs, each made from its seed, and fails with the first ones that a reader does not survive.
    /// `CAROM_MUTATION_SEED` sets the first seed.
    ///
    /// # Panics
    /// When an input breaks the rules, with its seed.
    pub fn run(&self, mut attempt: impl FnMut(&mut Random) -> Result<(), String>) {
        let first: u64 = std::env::var("CAROM_MUTATION_SEED")
            .ok()
            .and_then(|text| text.parse().ok())
            .unwrap_or(0);
        let end = Instant::now() + Duration::from_secs(self.seconds);
        let (mut done, mut failures) = (0, Vec::new());
        while failures.len() < 5 && by_tier(Instant::now() < end, done < self.count) {
            let seed = first + done;
            let start = processor_time();
            let outcome = catch_unwind(AssertUnwindSafe(|| attempt(&mut Random::new(seed))));
            let time = processor_time().saturating_sub(start);
            let outcome = outcome.unwrap_or_else(|_| Err("panic".to_owned()));
            let slow = (time > MAX_TIME).then(|| format!("it took {time:?}"));
            let outcome = outcome.and_then(|()| slow.map_or(Ok(()), Err));
            failures.extend(outcome.err().map(|why| format!("seed {seed}: {why}")));
            done += 1;
        }
        let memory = peak_memory();
        println!("{done} damaged inputs, peak memory {memory:?} kB");
        assert!(failures.is_empty(), "{}", failures.join("\n\n"));
        assert!(memory.is_none_or(|used| used < MAX_MEMORY), "{memory:?} kB");
        assert!(done > 20, "only {done} inputs");
    }
}

/// Time this thread has been running, where the system tells: a busy machine must not fail a test.
pub fn processor_time() -> Duration {
    let statistics = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let nanoseconds = statistics.split_ascii_whitespace().next();
    let nanoseconds = nanoseconds.and_then(|text| text.parse().ok());
    Duration::from_nanos(nanoseconds.unwrap_or(0))
}

/// Largest memory this process has used (kB), where the system tells.
fn peak_memory() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    line.split_ascii_whitespace().nth(1)?.parse().ok()
}

/// Start and end of every run of bytes that `inside` accepts.
pub fn runs(bytes: &[u8], inside: impl Fn(u8) -> bool) -> Vec<(usize, usize)> {
    let mut list = Vec::new();
    let mut start = None;
    for (index, &byte) in bytes.iter().enumerate() {
        match (inside(byte), start) {
            (true, None) => start = Some(index),
            (false, Some(first)) => {
                list.push((first, index));
                start = None;
            }
            _ => {}
        }
    }
    list.extend(start.map(|first| (first, bytes.len())));
    list
}

/// Puts other bytes in a place.
pub fn replace(bytes: &mut Vec<u8>, (start, end): (usize, usize), with: &[u8]) {
    bytes.splice(start..end, with.iter().copied());
}

/// Damages bytes of any kind in one of many ways: bits, cuts, copies, numbers, words.
pub fn mutate(bytes: &mut Vec<u8>, random: &mut Random) {
    let is_number = |byte: u8| byte.is_ascii_digit() || b"+-.eE".contains(&byte);
    let is_word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    let at = random.below(bytes.len());
    match random.below(10) {
        0 => {
            if let Some(byte) = bytes.get_mut(at) {
                *byte ^= 1 << random.below(8);
            }
        }
        1 => bytes.insert(at.min(bytes.len()), random.bits().to_le_bytes()[0]),
        2 => {
            let end = (at + 1 + random.below(40)).min(bytes.len());
            bytes.drain(at..end);
        }
        3 => {
            let end = (at + random.below(400)).min(bytes.len());
            let copy = bytes[at..end].to_vec();
            replace(bytes, (at, at), &copy);
        }
        4 | 5 => {
            let numbers: Vec<_> = runs(bytes, is_number)
                .into_iter()
                .filter(|&(start, end)| bytes[start..end].iter().any(u8::is_ascii_digit))
                .collect();
            if let (Some(place), Some(number)) = (random.choose(&numbers), random.choose(&NUMBERS))
            {
                replace(bytes, place, number.as_bytes());
            }
        }
        6 => {
            if let Some(place) = random.choose(&runs(bytes, is_number)) {
                replace(bytes, place, "9".repeat(1 + random.below(500)).as_bytes());
            }
        }
        7 => {
            // Another word of the same text: names, keys, values.
            let words = runs(bytes, is_word);
            if let (Some(place), Some(from)) = (random.choose(&words), random.choose(&words)) {
                let word = bytes[from.0..from.1].to_vec();
                replace(bytes, place, &word);
            }
        }
        8 => {
            // A length, a count or a float of a binary format.
            let wide = random.once_in(2);
            let with = match random.below(4) {
                0 => u64::MAX,
                1 => 0,
                2 => f64::NAN.to_bits(),
                _ => random.bits() >> random.below(64),
            };
            let with = &with.to_le_bytes()[..if wide { 8 } else { 4 }];
            let end = (at + with.len()).min(bytes.len());
            replace(bytes, (at, end), with);
        }
        _ => bytes.truncate(at),
    }
}
