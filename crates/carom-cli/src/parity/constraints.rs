//! Constraint rows, forces and accelerations at each snapshot.
//!
//! Rows of matched contacts are put in the reference's order. Where contacts are only loosely comparable, rows are
//! not, and forces are summed over the contacts of each pair of geoms.

use std::collections::BTreeMap;

use carom::math::Vec3;
use carom::stages::collision::Contact;
use carom::stages::constraint::{BlockKind, Constraint, EdgeRow, Row, edge_rows};
use carom::{Data, Input, Model, State};

use super::compare::{Comparison, Family, Label, RowNames};
use super::contacts::{self, to_index};
use super::reference::{Class, Reference};
use super::sensors;
use super::snapshots::Checker;
use carom_report::naming::pair_name;

/// One number of a row.
type RowField = fn(&Row) -> f64;

/// MuJoCo's codes of contact rows.
const PYRAMIDAL: f64 = 6.0;

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
            Class::Loose => (f64::INFINITY, 1e-2, 1e-2),
        };
        Self {
            rows,
            force,
            acceleration,
        }
    }
}

/// Compares contacts, rows and their solution at one snapshot. The model is run to convergence, as the reference was.
pub(crate) fn compare_constraints(
    tight: &Model,
    reference: &Reference,
    rows: &RowNames<'_>,
    snapshot: usize,
    out: &mut Vec<Comparison>,
) -> Result<(), String> {
    let (state, input): (State, Input) = reference.snapshot_state(tight, snapshot)?;
    let mut data = Data::new(tight);
    carom::forward_and_sense(tight, &state, &input, &mut data);
    let recorded = contacts::recorded(reference, snapshot)?;
    let mut check = Checker {
        reference,
        rows,
        snapshot,
        out,
    };
    let ours = &data.collision.contacts;
    let matches = contacts::match_contacts(&recorded, ours);
    let same_contacts = contacts::compare_contacts(&recorded, ours, &matches, &mut check);
    if reference.class == Class::Loose {
        compare_pair_forces(&data, &recorded, &mut check);
    } else if same_contacts {
        let rows = Rows {
            data: &data,
            edges: ordered_edges(&data.constraint, &matches),
        };
        rows.compare_rows(tight, &mut check);
        rows.compare_forces(&mut check);
    }
    let acceleration = Tolerances::of(reference.class).acceleration;
    let qacc = &data.solve.qacc;
    check.check("solve", "qacc", Family::Dof, acceleration, qacc);
    sensors::compare_all(tight, &data, &mut check);
    Ok(())
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

/// Rows in the reference's order.
struct Rows<'a> {
    data: &'a Data,
    edges: Vec<EdgeRow>,
}

impl Rows<'_> {
    fn compare_rows(&self, model: &Model, check: &mut Checker<'_>) {
        let constraint = &self.data.constraint;
        let nv = model.counts().nv;
        let mut jacobian = vec![0.0; self.edges.len() * nv];
        for (edge, row) in self.edges.iter().zip(jacobian.chunks_exact_mut(nv.max(1))) {
            edge.jacobian(constraint, row);
        }
        let tolerance = Tolerances::of(check.reference.class).rows;
        self.compare("constraint", "efc_J", tolerance, &jacobian, check);
        let numbers: Vec<Row> = self
            .edges
            .iter()
            .map(|edge| edge.numbers(constraint))
            .collect();
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
            self.compare("constraint", name, tolerance, &ours, check);
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
        self.compare("constraint", "efc_KBIP", tolerance, &ours, check);
    }

    fn compare_forces(&self, check: &mut Checker<'_>) {
        let solve = &self.data.solve;
        let forces: Vec<f64> = self
            .edges
            .iter()
            .map(|edge| match edge.tangent {
                // The edge of a pyramid only pushes.
                Some(_) => {
                    let residual = edge.combine(|row| solve.residual[row]);
                    self.data.constraint.rows[edge.row].weight * (-residual).max(0.0)
                }
                None => solve.force[edge.row],
            })
            .collect();
        let tolerance = Tolerances::of(check.reference.class).force;
        self.compare("solve", "efc_force", tolerance, &forces, check);
        let (name, family) = ("qfrc_constraint", Family::Dof);
        check.check("solve", name, family, tolerance, &solve.force_constraint);
    }

    fn compare(
        &self,
        stage: &'static str,
        name: &str,
        tolerance: f64,
        ours: &[f64],
        check: &mut Checker<'_>,
    ) {
        let Some(theirs) = check.theirs(name) else {
            return;
        };
        let rows = check.rows;
        let label = |row: usize| self.label(rows, row);
        let names = (self.edges.len(), &label as Label<'_>);
        check.check_labelled((stage, name), tolerance, names, [ours, &theirs]);
    }

    /// What a row belongs to: `contact 'floor'–'foot' (row 12)`.
    fn label(&self, rows: &RowNames<'_>, row: usize) -> String {
        let block = &self.data.constraint.blocks[self.edges[row].block];
        let owner = match block.kind {
            BlockKind::Equality => rows.row(Family::Equality, block.object),
            BlockKind::DofFriction => {
                format!("friction of {}", rows.row(Family::Dof, block.object))
            }
            BlockKind::TendonFriction => {
                format!("friction of {}", rows.row(Family::Tendon, block.object))
            }
            BlockKind::JointLimit => format!("limit of {}", rows.row(Family::Joint, block.object)),
            BlockKind::TendonLimit => {
                format!("limit of {}", rows.row(Family::Tendon, block.object))
            }
            BlockKind::FrictionlessContact
            | BlockKind::PyramidalContact
            | BlockKind::EllipticContact => {
                let contact = &self.data.collision.contacts[block.object];
                format!("contact {}", pair_name(rows.model, contact.geoms))
            }
        };
        format!("{owner} (row {row})")
    }
}

/// Compares the total contact force between each pair of geoms, in world axes.
fn compare_pair_forces(data: &Data, recorded: &[Contact], check: &mut Checker<'_>) {
    let mut sums: BTreeMap<[usize; 2], [Vec3; 2]> = BTreeMap::new();
    for block in data.constraint.contact_blocks() {
        let contact = &data.collision.contacts[block.object];
        let force = world_force(contact, &data.solve.force[block.rows()]);
        sums.entry(contact.geoms).or_default()[0] += force;
    }
    for (index, contact) in recorded.iter().enumerate() {
        let force = world_force(contact, &recorded_force(check, index, contact));
        sums.entry(contact.geoms).or_default()[1] += force;
    }
    let pairs: Vec<[usize; 2]> = sums.keys().copied().collect();
    let side = |side: usize| -> Vec<f64> {
        let forces = sums.values();
        forces.flat_map(|both| both[side].0).collect()
    };
    let model = check.rows.model;
    let label = |index: usize| pair_name(model, pairs[index]);
    let tolerance = Tolerances::of(check.reference.class).force;
    check.check_labelled(
        ("solve", "efc_force summed per pair"),
        tolerance,
        (pairs.len(), &label),
        [&side(0), &side(1)],
    );
}

/// Force of a contact on its second geom; the rows beyond the third are torques.
fn world_force(contact: &Contact, forces: &[f64]) -> Vec3 {
    let rows = forces.iter().take(3).enumerate();
    rows.fold(Vec3::ZERO, |sum, (row, &force)| {
        sum + contact.frame.row(row) * force
    })
}

/// The recorded force of a contact along the rows of its frame; those of a pyramid are given by its edges.
fn recorded_force(check: &Checker<'_>, index: usize, contact: &Contact) -> [f64; 3] {
    let (reference, snapshot) = (check.reference, check.snapshot);
    let number = |name: &str, index: usize| -> Option<f64> {
        let numbers = reference.numbers(&format!("s{snapshot}/{name}"));
        numbers.get(index).copied()
    };
    let address = number("con/efc_address", index).filter(|&address| address >= 0.0);
    let Some(address) = address.map(to_index) else {
        return [0.0; 3];
    };
    let force = |row: usize| number("efc_force", address + row).unwrap_or(0.0);
    let dimension = usize::from(contact.dimension);
    let mut sum = [0.0; 3];
    if dimension > 1 && number("efc_type", address) == Some(PYRAMIDAL) {
        for tangent in 0..dimension - 1 {
            let [plus, minus] = [force(2 * tangent), force(2 * tangent + 1)];
            sum[0] += plus + minus;
            if tangent < 2 {
                sum[tangent + 1] = contact.friction[tangent] * (plus - minus);
            }
        }
    } else {
        for (row, sum) in sum.iter_mut().enumerate().take(dimension) {
            *sum = force(row);
        }
    }
    sum
}
