//! Contacts from distance never change a motion.

use carom::model::ContactsFromDistance;
use carom::rollout::{Adjoint, Controls, RolloutBar, gradient, rollout};
use carom::{Data, Model, State};

use crate::models;

/// Steps of a trajectory, by the number of dofs: large models take long.
fn steps(model: &Model) -> usize {
    if model.counts().nv > 100 { 20 } else { 100 }
}

/// Whether motion and the end of the forward pass of a gradient are the same bits with contacts from distance; the number
/// of contacts that were made.
fn is_unchanged(model: &Model) -> (bool, usize) {
    let start = State::reference(model);
    let (steps, mut data) = (steps(model), Data::new(model));
    let plain = rollout(model, &start, &Controls::Zero, steps, &mut data);
    let contacts = data.collision.contacts.len();
    let with = model
        .clone()
        .with_contacts_from_distance(ContactsFromDistance::default());
    // Impulses have no such contacts; nothing can change then.
    let Ok(with) = with else {
        return (true, 0);
    };
    let same = rollout(&with, &start, &Controls::Zero, steps, &mut Data::new(&with));
    let mut loss = RolloutBar::zeros(&same);
    let end = gradient(
        &with,
        &start,
        &Controls::Zero,
        3.min(steps),
        Adjoint::Stored,
        &mut loss,
    );
    let bits = |numbers: &[f64]| -> Vec<u64> { numbers.iter().map(|x| x.to_bits()).collect() };
    let mut equal = plain.not_finite == same.not_finite;
    for step in 0..=steps {
        equal &= bits(plain.qpos(step)) == bits(same.qpos(step));
        equal &= bits(plain.qvel(step)) == bits(same.qvel(step));
        equal &= step == steps || bits(plain.sensors(step)) == bits(same.sensors(step));
    }
    if let Ok((end, _)) = end {
        equal &= bits(&end.qpos) == bits(plain.qpos(3.min(steps)));
    }
    (equal, contacts)
}

#[test]
fn motions_are_the_same_bits_with_contacts_from_distance() {
    let mut paths = models::shipped();
    paths.extend(models::shared());
    let (mut touching, mut changed) = (0, Vec::new());
    for path in &paths {
        let (unchanged, contacts) = is_unchanged(&models::load(path));
        touching += usize::from(contacts > 0);
        if !unchanged {
            changed.push(path.display().to_string());
        }
    }
    println!("{} models, {touching} of them touch something", paths.len());
    assert!(changed.is_empty(), "{changed:?}");
    assert!(touching >= 5);
}
