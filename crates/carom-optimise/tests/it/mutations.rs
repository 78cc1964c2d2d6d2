//! Damaged checkpoints: they are refused, or are what they say.

use carom_optimise::{AnyMethod, Search};
use carom_testing::mutation::{Campaign, mutate};

use crate::functions::boxed_space;
use crate::resume::all_settings;

/// Bytes before the body: name, version and sum.
const HEADER: usize = 20;

/// Fowler, Noll and Vo's sum, as checkpoints have it.
fn checksum(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |sum, &byte| {
        (sum ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

#[test]
fn damaged_checkpoints_are_refused_in_good_order() {
    let originals: Vec<Vec<u8>> = all_settings()
        .into_iter()
        .map(|settings| {
            let search = settings.search(boxed_space(vec![0.5, -0.5], -2.0, 2.0), 7);
            carom_optimise::Optimiser::checkpoint(&search).unwrap()
        })
        .collect();
    let campaign = Campaign {
        count: 100_000,
        seconds: 1,
    };
    campaign.run(|random| {
        let original = &originals[random.below(originals.len())];
        let mut bytes = original.clone();
        for _ in 0..=random.below(3) {
            mutate(&mut bytes, random);
        }
        // Half of them as by somebody who knows the sum.
        let is_signed = random.once_in(2) && bytes.len() >= HEADER;
        if is_signed {
            let sum = checksum(&bytes[HEADER..]);
            bytes[12..HEADER].copy_from_slice(&sum.to_le_bytes());
        }
        match Search::<AnyMethod>::resume(&bytes) {
            Ok(_) if !is_signed && bytes != *original => Err("damage went unseen".to_owned()),
            Err(error) if error.to_string().is_empty() => Err("an error without words".to_owned()),
            _ => Ok(()),
        }
    });
}
