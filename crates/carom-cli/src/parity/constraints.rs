//! Constraint rows, forces and accelerations at each snapshot.
//!
//! The order of contacts depends on the broad phase: contacts are matched by their geoms and positions, and the rows
//! put in the reference's order.

use carom::math::{Mat3, Vec3};
use carom::stages::collision::{Collision, Contact};
use carom::stages::constraint::{Constraint, EdgeRow, Row, edge_rows};
use carom::stages::solve;
use carom::{Data, Model, dynamics};

use super::compare::{Comparison, Family, RowNames};
use super::reference::{Class, Reference};
use super::snapshots::Checker;

/// One number of a row.
type RowField = fn(&Row) -> f64;

/// Allowed errors of a class of models.
struct Tolerances {
    rows: f64,
    force: f64,
    acceleration: f64,
}

impl Tolerances {
    fn of(class: Class) -> Self {
        let (rows, force, acceleration) = match class {
            Class::Exact => (1e-10, 1e-8, 1e-9),
            Class::Ccd => (1e-4, 1e-3, 1e-4),
            Class::Loose => (f64::INFINITY, f64::INFINITY, 1e-2),
        };
        Self {
            rows,
            force,
            acceleration,
        }
    }
}

/// Compares the rows of one snapshot.
pub(crate) fn compare_constraints(
    model: &Model,
    reference: &Reference,
    rows: &RowNames<'_>,
    snapshot: usize,
    out: &mut Vec<Comparison>,
) -> Result<(), String> {
    let (state, input) = reference.snapshot_state(model, snapshot)?;
    let mut model = model.clone();
    solve::tighten(&mut model);
    let model = &model;
    let mut data = Data::new(model);
    dynamics::forward(model, &state, &input, &mut data);
    let recorded = recorded_contacts(reference, snapshot);
    let mut check = Checker {
        reference,
        rows,
        snapshot,
        out,
    };
    let matches = match_contacts(&recorded, &data.collision);
    let edges = ordered_edges(&data.constraint, &matches);
    compare_rows(model, &data.constraint, &edges, &mut check);
    compare_solution(&data, &edges, &mut check);
    Ok(())
}

fn compare_solution(data: &Data, edges: &[EdgeRow], check: &mut Checker<'_>) {
    let tolerances = Tolerances::of(check.reference.class);
    let forces: Vec<f64> = edges
        .iter()
        .map(|edge| match edge.tangent {
            // The edge of a pyramid only pushes.
            Some(_) => {
                let residual = edge.combine(|row| data.solve.residual[row]);
                data.constraint.rows[edge.row].weight * (-residual).max(0.0)
            }
            None => data.solve.force[edge.row],
        })
        .collect();
    let stage = "solve";
    check.check(stage, "efc_force", Family::Row, tolerances.force, &forces);
    check.check(
        stage,
        "qfrc_constraint",
        Family::Dof,
        tolerances.force,
        &data.solve.force_constraint,
    );
    check.check(
        stage,
        "qacc",
        Family::Dof,
        tolerances.acceleration,
        &data.solve.qacc,
    );
}

/// The contacts of a snapshot.
fn recorded_contacts(reference: &Reference, snapshot: usize) -> Vec<Contact> {
    let get = |name: &str| reference.numbers(&format!("s{snapshot}/con/{name}"));
    let geoms = get("geom").as_chunks::<2>().0;
    let (positions, frames) = (
        get("pos").as_chunks::<3>().0,
        get("frame").as_chunks::<9>().0,
    );
    let [solref, solreffriction] =
        ["solref", "solreffriction"].map(|name| get(name).as_chunks::<2>().0);
    let [friction, solimp] = ["friction", "solimp"].map(|name| get(name).as_chunks::<5>().0);
    geoms
        .iter()
        .enumerate()
        .map(|(index, geoms)| Contact {
            geoms: geoms.map(to_index),
            distance: get("dist")[index],
            position: Vec3(positions[index]),
            frame: Mat3(frames[index]),
            dimension: u8::try_from(to_index(get("dim")[index])).unwrap_or(0),
            include_margin: get("includemargin")[index],
            friction: friction[index],
            solref: solref[index],
            solreffriction: solreffriction[index],
            solimp: solimp[index],
            excluded: get("exclude")[index] != 0.0,
        })
        .collect()
}

#[allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "indices are stored as small non-negative numbers"
)]
fn to_index(number: f64) -> usize {
    number as usize
}

/// For each recorded contact the nearest of ours between the same geoms.
fn match_contacts(recorded: &[Contact], collision: &Collision) -> Vec<Option<usize>> {
    let mut free = vec![true; collision.contacts.len()];
    recorded
        .iter()
        .map(|theirs| {
            let candidates = collision.contacts.iter().enumerate();
            let nearest = candidates
                .filter(|(index, ours)| free[*index] && ours.geoms == theirs.geoms)
                .min_by(|(_, a), (_, b)| {
                    let distance = |contact: &Contact| contact.position.distance(theirs.position);
                    distance(a).total_cmp(&distance(b))
                })
                .map(|(index, _)| index);
            if let Some(index) = nearest {
                free[index] = false;
            }
            nearest
        })
        .collect()
}

/// MuJoCo's rows with the contacts in the recorded order.
fn ordered_edges(constraint: &Constraint, matches: &[Option<usize>]) -> Vec<EdgeRow> {
    let (mut edges, contacts): (Vec<_>, Vec<_>) = edge_rows(constraint)
        .into_iter()
        .partition(|edge| edge.block < constraint.first_contact);
    for ours in matches.iter().flatten() {
        let of_contact = |edge: &&EdgeRow| constraint.blocks[edge.block].object == *ours;
        edges.extend(contacts.iter().filter(of_contact));
    }
    edges
}

fn compare_rows(
    model: &Model,
    constraint: &Constraint,
    edges: &[EdgeRow],
    check: &mut Checker<'_>,
) {
    let tolerance = Tolerances::of(check.reference.class).rows;
    let nv = model.counts().nv;
    let mut jacobian = vec![0.0; edges.len() * nv];
    for (edge, row) in edges.iter().zip(jacobian.chunks_exact_mut(nv.max(1))) {
        edge.jacobian(constraint, row);
    }
    let stage = "constraint";
    check.check(stage, "efc_J", Family::Row, tolerance, &jacobian);
    let numbers: Vec<Row> = edges.iter().map(|edge| edge.numbers(constraint)).collect();
    let fields: [(&str, RowField); 7] = [
        ("efc_pos", |row| row.position),
        ("efc_margin", |row| row.margin),
        ("efc_vel", |row| row.velocity),
        ("efc_aref", |row| row.reference_acceleration),
        ("efc_diagA", |row| row.diagonal),
        ("efc_R", |row| row.regularization),
        ("efc_D", |row| row.weight),
    ];
    for (name, field) in fields {
        let ours: Vec<f64> = numbers.iter().map(field).collect();
        check.check(stage, name, Family::Row, tolerance, &ours);
    }
    let ours: Vec<f64> = numbers
        .iter()
        .flat_map(|row| {
            let impedance = &row.impedance;
            [
                impedance.stiffness,
                impedance.damping,
                impedance.value,
                impedance.slope,
            ]
        })
        .collect();
    check.check(stage, "efc_KBIP", Family::Row, tolerance, &ours);
}
