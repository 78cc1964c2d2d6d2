//! Rows against derivatives of their positions, and the impedance curve.

mod from_distance;

use super::{BlockKind, Constraint, Piece, Reference, edge_rows, forward, impedance_curve};
use crate::data::Data;
use crate::dual::{Dual, LANES};
use crate::dynamics;
use crate::integrate;
use crate::model::{Cone, EqualityKind};
use crate::stages::constraint::Sources;
use crate::state::{Input, State};
use crate::testing::{Constrained, assert_close, random_constrained};

type Rate = Dual<LANES>;

/// The rows while the mechanism moves at its velocity, which stays constant.
fn moving_rows(scene: &Constrained) -> Constraint<Rate> {
    let model = scene.model.map(Rate::constant);
    let mut state = State::reference(&model);
    let constant = |numbers: &[f64]| numbers.iter().copied().map(Rate::constant).collect();
    state.qpos = constant(&scene.state.qpos);
    state.qvel = constant(&scene.state.qvel);
    let velocity = state.qvel.clone();
    let unit = Rate::variable(0.0, 0);
    integrate::integrate_positions(&model, &mut state.qpos, &velocity, unit);
    let mut data = Data::new(&model);
    dynamics::forward_position(&model, &state, &mut data);
    dynamics::forward_velocity(&model, &state, &mut data);
    let mut input = Input::zeros(&model);
    input.equality_active.fill(true);
    let mut rows = Constraint::default();
    let sources = Sources {
        kinematics: &data.kinematics,
        tendon: &data.tendon,
        inertia: &data.inertia,
        velocity: &data.velocity,
        collision: &data.collision,
        timestep: data.timestep,
    };
    forward(&model, &state, &input, sources, &mut rows);
    rows
}

#[test]
fn velocities_of_rows_are_rates_of_their_positions() {
    for seed in 0..60 {
        let mut scene = random_constrained(seed, 9, Cone::Pyramidal);
        scene.contacts.clear();
        scene.model.settings.disable.frictionloss = true;
        scene.model.settings.disable.contact = true;
        let rows = moving_rows(&scene);
        for row in &rows.rows {
            let expected = [row.position.tangent[0]];
            assert_close("velocity", &[row.velocity.value], &expected, 1e-12);
        }
    }
}

#[test]
fn bias_of_anchors_is_the_rate_of_their_velocity() {
    let mut seen = [0; 2];
    for seed in 0..100 {
        let mut scene = random_constrained(seed, 9, Cone::Pyramidal);
        scene.model.settings.disable.contact = true;
        let rows = moving_rows(&scene);
        for block in &rows.blocks {
            let equalities = &scene.model.structure.equalities;
            let kind = match block.kind {
                BlockKind::Equality => equalities.kind[block.object],
                _ => continue,
            };
            if !matches!(kind, EqualityKind::Connect | EqualityKind::Weld) {
                continue;
            }
            seen[usize::from(kind == EqualityKind::Weld)] += 1;
            for row in rows.block_rows(block) {
                let spring = row.impedance.stiffness * row.impedance.value * row.position;
                let without_bias = -(row.impedance.damping * row.velocity) - spring;
                let bias = without_bias - row.reference_acceleration;
                // With constant joint velocities the row's acceleration is its bias alone.
                let expected = [row.velocity.tangent[0]];
                let scale = 1.0 + without_bias.value.abs();
                assert_close("bias", &[bias.value / scale], &[expected[0] / scale], 1e-11);
            }
        }
    }
    assert!(seen.iter().all(|&count| count > 20), "{seen:?}");
}

#[test]
fn edges_of_pyramids_combine_normal_and_tangents() {
    let scene = random_constrained(3, 9, Cone::Pyramidal);
    let data = scene.solve();
    let (rows, nv) = (&data.constraint, scene.model.counts().nv);
    let edges = edge_rows(rows);
    let expected: usize = rows
        .blocks
        .iter()
        .map(|block| match block.kind {
            BlockKind::PyramidalContact => 2 * (block.row_count - 1),
            _ => block.row_count,
        })
        .sum();
    assert_eq!(edges.len(), expected);
    let mut jacobian = vec![0.0; nv];
    for edge in &edges {
        edge.jacobian(rows, &mut jacobian);
        let velocity: f64 = jacobian
            .iter()
            .zip(&scene.state.qvel)
            .map(|(entry, speed)| entry * speed)
            .sum();
        assert_close("edge", &[edge.numbers(rows).velocity], &[velocity], 1e-12);
    }
}

#[test]
fn impedance_rises_smoothly_between_its_ends() {
    for power in [1.0, 2.0, 3.5] {
        let solimp = [0.2, 0.9, 0.01, 0.3, power];
        assert_eq!(impedance_curve(&solimp, 0.0).0, 0.2);
        assert_eq!(impedance_curve(&solimp, 0.02), (0.9, 0.0));
        assert_eq!(impedance_curve(&solimp, -0.01), (0.9, 0.0));
        let mut last = 0.2;
        for step in 1..100 {
            let distance = -0.01 * f64::from(step) / 100.0;
            let (value, slope) = impedance_curve(&solimp, distance);
            assert!(value > last, "power {power}, step {step}");
            last = value;
            let h = 1e-7;
            let [ahead, behind] = [h, -h].map(|h| impedance_curve(&solimp, distance + h).0);
            assert_close("slope", &[slope], &[(ahead - behind) / (2.0 * h)], 1e-4);
        }
    }
    // Halves meet at the midpoint, at its own height.
    let solimp = [0.2, 0.9, 0.01, 0.3, 3.0];
    let (value, _) = impedance_curve(&solimp, 0.003);
    assert_close("midpoint", &[value], &[0.2 + 0.7 * 0.3], 1e-12);
}

/// On its piece an impedance is that of the distance; beyond the ends its value follows its slope, without a kink.
#[test]
fn pieces_of_impedances_go_on_beyond_their_ends() {
    for power in [1.0, 1.5, 2.0, 3.0, 4.0] {
        let width = 0.01;
        let reference = Reference::unlimited([0.02, 1.0], [0.3, 0.6, width, 0.4, power]);
        for step in 1..200 {
            let distance = -width * f64::from(step) / 120.0;
            let found = reference.at(distance);
            assert_eq!(found, reference.on(found.piece, distance), "power {power}");
        }
        let mut pieces = vec![(Piece::Start, [-0.1, 0.6]), (Piece::End, [0.7, 2.0])];
        if power != 1.0 {
            pieces.push((Piece::Middle, [0.3, 1.2]));
        }
        for (piece, [low, high]) in pieces {
            for step in 0..100 {
                let x = low + (high - low) * (f64::from(step) + 0.5) / 100.0;
                let (h, at) = (1e-7, |x: f64| reference.on(piece, -width * x));
                let difference = (at(x - h).value - at(x + h).value) / (2.0 * h * width);
                let what = format!("power {power}, {piece:?} at {x}");
                assert_close(&what, &[at(x).slope], &[difference], 1e-4);
                let turn = at(x + 1e-4).slope - at(x - 1e-4).slope;
                assert!(turn.abs() < 0.03 * 0.3 / width * 10.0, "{what}: {turn}");
            }
        }
    }
}

/// Rows that are put on another piece and back are those that were.
#[test]
fn rows_are_put_on_pieces_and_back() {
    let mut count = 0;
    for seed in 0..40 {
        let scene = random_constrained(seed, 9, Cone::Pyramidal);
        let data = scene.solve();
        let mut rows = data.constraint.clone();
        for block in &data.constraint.blocks {
            let before = data.constraint.rows[block.row];
            let contacts = &data.collision.contacts;
            for piece in [Piece::Start, Piece::End, before.impedance.piece] {
                rows.put_on(block, piece, &scene.model, contacts);
            }
            for (found, expected) in rows.rows[block.rows()]
                .iter()
                .zip(data.constraint.block_rows(block))
            {
                let numbers =
                    |row: &super::Row| [row.weight, row.regularization, row.reference_acceleration];
                assert_close("row", &numbers(found), &numbers(expected), 1e-9);
            }
            count += 1;
        }
    }
    assert!(count > 100, "{count}");
}

#[test]
fn reference_is_a_damped_spring_of_the_given_time_constant() {
    let mut model = random_constrained(1, 3, Cone::Pyramidal).model;
    let (h, solimp) = (model.option.timestep[0], [0.95, 0.95, 0.001, 0.5, 2.0]);
    let standard = Reference::new(&model, h, [0.1, 0.5], solimp).at(0.0);
    // Over the impedance, ẍ = −b·ẋ − k·d·x has natural frequency 1/(τ·ζ) and decays with 1/τ.
    assert_close(
        "stiffness",
        &[standard.stiffness],
        &[(0.95_f64 * 0.1 * 0.5).powi(-2)],
        1e-12,
    );
    assert_close("damping", &[standard.damping], &[2.0 / (0.95 * 0.1)], 1e-12);
    let direct = Reference::new(&model, h, [-100.0, -7.0], solimp).at(0.0);
    let expected = [100.0 / 0.95 / 0.95, 7.0 / 0.95];
    assert_close(
        "direct",
        &[direct.stiffness, direct.damping],
        &expected,
        1e-12,
    );
    // A time constant that the step cannot resolve is raised to two steps, unless that is switched off.
    let fast = Reference::new(&model, h, [1e-5, 1.0], solimp).at(0.0);
    assert_close("safe", &[fast.damping], &[2.0 / (0.95 * 0.004)], 1e-12);
    model.settings.disable.refsafe = true;
    let fast = Reference::new(&model, h, [1e-5, 1.0], solimp).at(0.0);
    assert_close("unsafe", &[fast.damping], &[2.0 / (0.95 * 1e-5)], 1e-12);
    let mixed = Reference::new(&model, h, [0.1, -1.0], solimp).at(0.0);
    assert_close("mixed", &[mixed.damping], &[2.0 / (0.95 * 0.02)], 1e-12);
}

#[test]
fn exact_diagonals_are_those_of_the_inverse_inertia() {
    let mut scene = random_constrained(5, 9, Cone::Elliptic);
    scene.model.settings.enable.diagexact = true;
    let data = scene.solve();
    let (rows, nv) = (&data.constraint, scene.model.counts().nv);
    for edge in edge_rows(rows) {
        let block = &rows.blocks[edge.block];
        if block.kind == BlockKind::EllipticContact && edge.row > block.row {
            continue;
        }
        let mut jacobian = vec![0.0; nv];
        edge.jacobian(rows, &mut jacobian);
        let mut response = jacobian.clone();
        crate::stages::inertia::solve(&scene.model, &data.inertia, &mut response);
        let exact: f64 = jacobian.iter().zip(&response).map(|(a, b)| a * b).sum();
        let row = edge.numbers(rows);
        let ratio = (1.0 - row.impedance.value) / row.impedance.value;
        let expected = [(ratio * exact).max(1e-15)];
        assert_close("regularization", &[row.regularization], &expected, 1e-10);
    }
}

crate::testing::stage_check::check_stage!(
    constraint,
    crate::testing::stage_check::constrained_points(0),
    |point| {
        let data = &mut point.data;
        let sources = super::Sources {
            kinematics: &data.kinematics,
            tendon: &data.tendon,
            inertia: &data.inertia,
            velocity: &data.velocity,
            collision: &data.collision,
            timestep: data.timestep,
        };
        let (model, state) = (&point.model, &point.state);
        super::forward(model, state, &point.input, sources, &mut data.constraint);
    },
    |point, bar| crate::stages::constraint::backward(point.at(), bar)
);
