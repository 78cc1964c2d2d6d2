//! Frames: what of a simulation changes, as little-endian bytes for the page.
//!
//! | bytes | what |
//! |---|---|
//! | u32 | [`MAGIC`] |
//! | u32 | number of the frame |
//! | 3 × f64 | time (s), kinetic and potential energy (J) |
//! | 8 × u32 | bodies, contacts, tendon points, nq, nu, sensor values, flags (1: gradients follow), 0 |
//! | f32 | bodies × 7: position (m) and quaternion (w, x, y, z) in the world |
//! | f32 | contacts × 9: point (m), normal from the first geom to the second, force on the second (N) |
//! | f32 | tendon points × 4: point (m) and number of the tendon; x is not a number where a path is interrupted |
//! | f32 | qpos, ctrl, sensor values |
//! | f32 | with flag 1, bodies × 3: ∂loss/∂velocity of the centres of mass |

use carom::contact_force::ContactForce;
use carom::math::Vec3;
use carom::stages::sensing::{kinetic_energy, potential_energy};
use carom::{Data, Input, Model, State};

/// `CRF1`.
pub const MAGIC: u32 = 0x3146_5243;

/// Length of what comes before the arrays (bytes).
pub const HEADER: usize = 64;

/// Flag: gradients follow.
const GRADIENTS: u32 = 1;

/// Where a simulation is: a state, and `data` that holds the results of [`carom::forward_and_sense`] for it.
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs, reason = "each is what its type says")]
pub struct Moment<'a> {
    pub model: &'a Model,
    pub state: &'a State,
    pub input: &'a Input,
    pub data: &'a Data,
}

/// Appends a frame. `gradient` has an arrow for each body.
pub fn write(out: &mut Vec<u8>, number: u32, moment: &Moment<'_>, gradient: Option<&[Vec3]>) {
    let Moment {
        model, state, data, ..
    } = *moment;
    let contacts = shown_contacts(data);
    let tendons = tendon_points(data);
    let sensed = data.sensed();
    let numbers = [
        state.time,
        kinetic_energy(model, state, &sensed),
        potential_energy(model, state, &sensed),
    ];
    let counts = [
        data.kinematics.body_position.len(),
        contacts.len(),
        tendons.len(),
        state.qpos.len(),
        moment.input.ctrl.len(),
        data.sensing.values.len(),
    ];
    out.extend(MAGIC.to_le_bytes());
    out.extend(number.to_le_bytes());
    out.extend(numbers.iter().flat_map(|number| number.to_le_bytes()));
    out.extend(counts.iter().flat_map(|&count| length(count).to_le_bytes()));
    let flags = gradient.map_or(0, |_| GRADIENTS);
    out.extend(flags.to_le_bytes());
    out.extend(0_u32.to_le_bytes());

    let kinematics = &data.kinematics;
    for (position, quat) in kinematics.body_position.iter().zip(&kinematics.body_quat) {
        push(out, &position.0);
        push(out, &quat.0);
    }
    for (contact, force) in contacts {
        let place = &data.collision.contacts[contact];
        push(out, &place.position.0);
        push(out, &place.frame.row(0).0);
        push(out, &force.0);
    }
    for point in tendons {
        push(out, &point);
    }
    push(out, &state.qpos);
    push(out, &moment.input.ctrl);
    push(out, &data.sensing.values);
    for arrow in gradient.unwrap_or_default() {
        push(out, &arrow.0);
    }
}

/// The contacts that are part of the simulation, with their forces on the second geom in the world (N).
fn shown_contacts(data: &Data) -> Vec<(usize, Vec3)> {
    let contacts = data.collision.contacts.iter().enumerate();
    let shown = contacts.filter(|(_, contact)| !contact.excluded);
    shown
        .map(|(index, contact)| {
            let soft = data.contact_force(index);
            let compliant = data.compliance.contact_force.get(index).copied();
            let both = ContactForce {
                force: soft.force + compliant.unwrap_or_default(),
                ..soft
            };
            (index, both.to_world(&contact.frame).force)
        })
        .collect()
}

/// Points of the tendons' paths in the world with the number of the tendon; not a number where a pulley interrupts one.
fn tendon_points(data: &Data) -> Vec<[f64; 4]> {
    let tendon = &data.tendon;
    let mut points = Vec::new();
    for (index, (&start, &count)) in tendon
        .path_start
        .iter()
        .zip(&tendon.path_length)
        .enumerate()
    {
        for place in start..start + count {
            let is_break = tendon.path_body[place] == usize::MAX;
            let [x, y, z] = tendon.path_point[place].0;
            let x = if is_break { f64::NAN } else { x };
            points.push([x, y, z, index as f64]);
        }
    }
    points
}

#[allow(
    clippy::cast_possible_truncation,
    reason = "the page draws in single precision"
)]
fn push(out: &mut Vec<u8>, numbers: &[f64]) {
    out.extend(
        numbers
            .iter()
            .flat_map(|&number| (number as f32).to_le_bytes()),
    );
}

/// A count as it is written; arrays of a model that fits in memory are far shorter than this can hold.
pub(crate) fn length(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}
