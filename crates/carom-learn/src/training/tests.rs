//! Training goes on to the same bits, and files of it are refused where they are not its own.

use carom::math::{Mat3, Quat, Vec3};
use carom::{Error, ErrorKind};

use super::{Motion, Motions, Recipe, Trainer};
use crate::scene::{Body, Scene, Solid, Twist};
use crate::store::{self, Card};

/// Cubes that slide to rest on a table, one towards another.
pub(crate) fn motions() -> Motions {
    let step = 1.0 / 120.0;
    let cube = Solid::cuboid(Vec3::new(0.03, 0.03, 0.03), Some(0.15), 0.25);
    let scene = Scene {
        solids: vec![cube.clone(), cube, Solid::plane(0.0)],
    };
    let still = |position: Vec3, yaw: f64| Body {
        position,
        rotation: Quat::exp(Vec3::new(0.0, 0.0, yaw)).to_mat3(),
        twist: Twist::default(),
    };
    let all = (0..12).map(|index| {
        let fast = 0.3 + 0.05 * f64::from(index);
        let mut slider = still(Vec3::new(0.0, 0.0, 0.03), 0.1 * f64::from(index));
        slider.twist.linear = Vec3::new(fast, 0.0, 0.0);
        let mut frames = Vec::new();
        for _ in 0..12 {
            frames.push(vec![
                slider,
                still(Vec3::new(0.2, 0.0, 0.03), 0.3),
                Body {
                    position: Vec3::ZERO,
                    rotation: Mat3::identity(),
                    twist: Twist::default(),
                },
            ]);
            slider.position += slider.twist.linear * step;
            slider.twist.linear[0] = (slider.twist.linear[0] - 2.5 * step).max(0.0);
        }
        Motion {
            scene: scene.clone(),
            frames,
            start: 1,
        }
    });
    Motions {
        step,
        all: all.collect(),
    }
}

pub(crate) fn recipe() -> Recipe {
    Recipe {
        width: 8,
        layers: 1,
        steps: 40,
        batch: 2,
        held_out: 0.2,
        every: 10,
        ..Recipe::default()
    }
}

fn card() -> Card {
    Card {
        recipe: recipe(),
        steps: 40,
        data: "cubes".to_owned(),
        motions: [12, 144],
        held_out: [0.001, 0.01, 0.02],
        friction: [0.25, 0.25],
        mass: [0.15, 0.15],
        half_size: [0.03, 0.03],
        scene: None,
    }
}

#[test]
fn a_training_that_was_killed_goes_on_to_the_same_bits() {
    let (motions, recipe) = (motions(), recipe());
    let mut whole = Trainer::new(recipe, &motions).unwrap();
    let mut stored = None;
    while !whole.is_done() {
        if whole.step().is_some() && stored.is_none() {
            stored = Some(store::write_checkpoint(whole.state(), &recipe));
        }
    }
    let state = store::read_checkpoint(&stored.unwrap(), &recipe).unwrap();
    assert_eq!(state.adam.steps, 10);
    let mut again = Trainer::new(recipe, &motions).unwrap().resume(state);
    while !again.is_done() {
        again.step();
    }
    assert_eq!(whole.state(), again.state());
    assert_eq!(
        store::write(&whole.best(), &card()),
        store::write(&again.best(), &card())
    );
}

#[test]
fn training_learns_to_slide() {
    let motions = motions();
    let recipe = Recipe {
        width: 16,
        steps: 1200,
        batch: 8,
        every: 300,
        ..recipe()
    };
    let mut trainer = Trainer::new(recipe, &motions).unwrap();
    // At first the network says next to nothing, and bodies go on as they were.
    let before = trainer.validate().held_out;
    while !trainer.is_done() {
        trainer.step();
    }
    let after = trainer.validate().held_out;
    assert!(
        after.position < 0.5 * before.position,
        "{before:?} {after:?}"
    );
}

#[test]
fn files_are_read_as_they_were_written() {
    let motions = motions();
    let trainer = Trainer::new(recipe(), &motions).unwrap();
    let bytes = store::write(&trainer.best(), &card());
    assert!(store::is_network(&bytes));
    let (learned, found) = store::read(&bytes).unwrap();
    assert_eq!(learned, trainer.best());
    assert_eq!(found, card());
}

fn is_read_error(found: Result<impl std::fmt::Debug, Error>) {
    let error = found.unwrap_err();
    assert_eq!(*error.kind(), ErrorKind::Read, "{error}");
    assert!(error.to_string().contains("graph network"), "{error}");
}

#[test]
fn foreign_and_damaged_files_are_refused() {
    let motions = motions();
    let trainer = Trainer::new(recipe(), &motions).unwrap();
    let bytes = store::write(&trainer.best(), &card());
    for length in [0, 4, 8, 100, bytes.len() / 2, bytes.len() - 1] {
        is_read_error(store::read(&bytes[..length]));
    }
    is_read_error(store::read(b"\x10\0\0\0\0\0\0\0{\"no\": \"network\"}"));
    // No weight is a number after this.
    let mut poisoned = bytes.clone();
    let end = poisoned.len();
    poisoned[end - 4..].copy_from_slice(&f32::NAN.to_le_bytes());
    is_read_error(store::read(&poisoned));
    // Other sizes than those of the weights.
    let text = String::from_utf8_lossy(&bytes).replace(r#"\"width\":8"#, r#"\"width\":9"#);
    assert_ne!(text.as_bytes(), &bytes[..]);
    let mut other = bytes.clone();
    let place = (0..bytes.len() - 11)
        .find(|&start| &bytes[start..start + 11] == br#"\"width\":8"#)
        .unwrap();
    other[place + 10] = b'9';
    is_read_error(store::read(&other));
    // A seeded short form of a fuzzer: no change of a byte of the header may panic.
    let mut random = crate::random::Random::new(3, 0);
    for _ in 0..2000 {
        let mut changed = bytes.clone();
        for _ in 0..=random.below(3) {
            let place = random.below(1500.min(changed.len()));
            changed[place] = u8::try_from(random.below(256)).unwrap();
        }
        let _ = store::read(&changed);
    }
}

#[test]
fn a_checkpoint_of_another_recipe_is_refused() {
    let motions = motions();
    let trainer = Trainer::new(recipe(), &motions).unwrap();
    let bytes = store::write_checkpoint(trainer.state(), &recipe());
    let other = Recipe {
        seed: 1,
        ..recipe()
    };
    let error = store::read_checkpoint(&bytes, &other).unwrap_err();
    assert_eq!(*error.kind(), ErrorKind::Checkpoint);
    let network = store::write(&trainer.best(), &card());
    let error = store::read_checkpoint(&network, &recipe()).unwrap_err();
    assert_eq!(*error.kind(), ErrorKind::Checkpoint);
    is_read_error(store::read(&bytes));
}

#[test]
fn steps_of_training_allocate_nothing_after_the_first_ones() {
    let motions = motions();
    let mut trainer = Trainer::new(
        Recipe {
            every: u64::MAX,
            steps: u64::MAX,
            ..recipe()
        },
        &motions,
    )
    .unwrap();
    // Graphs differ in size: the largest ones of this data come within these.
    for _ in 0..200 {
        trainer.step();
    }
    let counted = allocation_counter::measure(|| {
        for _ in 0..50 {
            trainer.step();
        }
    });
    assert_eq!(counted.count_total, 0);
}
