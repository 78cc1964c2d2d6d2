//! The solution against its optimality conditions, other solvers, and derivatives.

use super::law::{Curvature, Law, MAX_ROWS, Phase};
use super::{SolveStatus, factor_at_solution, forward_on, tighten};
use crate::cotangent::Cotangents;
use crate::data::Data;
use crate::dual::{Dual, LANES};
use crate::dynamics;
use crate::model::{Cone, SolverKind};
use crate::stages::collision::Contact;
use crate::stages::constraint::BlockKind;
use crate::stages::inertia;
use crate::state::{Input, State};
use crate::testing::stage_check::Point;
use crate::testing::{Constrained, Random, assert_close, random_constrained};

const CONES: [Cone; 2] = [Cone::Pyramidal, Cone::Elliptic];

/// M·a − τ − Jᵀ·f relative to its largest term, with J·f summed row by row.
fn optimality(scene: &Constrained, data: &Data) -> f64 {
    let nv = scene.model.counts().nv;
    let mut residual = vec![0.0; nv];
    inertia::mul(&scene.model, &data.inertia, &data.solve.qacc, &mut residual);
    let mut scale = 1.0_f64;
    for (dof, residual) in residual.iter_mut().enumerate() {
        scale = scale.max(residual.abs());
        *residual -= data.acceleration.force_smooth[dof];
    }
    for block in &data.constraint.blocks {
        let columns = data.constraint.block_columns(block);
        let values = data.constraint.block_jacobian(block);
        for (row, values) in block.rows().zip(values.chunks_exact(columns.len())) {
            for (&dof, &value) in columns.iter().zip(values) {
                residual[dof] -= value * data.solve.force[row];
                scale = scale.max((value * data.solve.force[row]).abs());
            }
        }
    }
    residual.iter().fold(0.0_f64, |worst, x| worst.max(x.abs())) / scale
}

#[test]
fn forces_balance_and_follow_their_laws() {
    for cone in CONES {
        for seed in 0..60 {
            let scene = random_constrained(seed, 10, cone);
            let data = scene.solve();
            if scene.model.counts().nv == 0 {
                continue;
            }
            let report = &data.solve.report;
            assert!(
                matches!(
                    report.status,
                    SolveStatus::Converged | SolveStatus::Exhausted
                ),
                "seed {seed}: {report:?}"
            );
            assert!(report.iterations < 60, "seed {seed}: {report:?}");
            let error = optimality(&scene, &data);
            assert!(error < 1e-12, "{cone:?}, seed {seed}: {error:e}");
            for block in &data.constraint.blocks {
                check_law(&data, block.kind, block.rows());
            }
        }
    }
}

/// Forces are admissible: friction is bounded, contacts only push, cones hold.
fn check_law(data: &Data, kind: BlockKind, rows: std::ops::Range<usize>) {
    let force = &data.solve.force[rows.clone()];
    let friction = |row: usize| data.constraint.rows[rows.start + row].friction;
    match kind {
        BlockKind::Equality => {}
        BlockKind::DofFriction | BlockKind::TendonFriction => {
            assert!(force[0].abs() <= friction(0));
        }
        BlockKind::JointLimit | BlockKind::TendonLimit | BlockKind::FrictionlessContact => {
            assert!(force[0] >= 0.0);
        }
        BlockKind::PyramidalContact => {
            let used: f64 = (1..force.len())
                .map(|row| force[row].abs() / friction(row))
                .sum();
            assert!(used <= force[0] * (1.0 + 1e-12));
        }
        BlockKind::EllipticContact => {
            let used: f64 = (1..force.len())
                .map(|row| (force[row] / friction(row)).powi(2))
                .sum();
            assert!(used.sqrt() <= force[0] * (1.0 + 1e-9));
        }
    }
}

/// On the pieces of the laws where the solution is, it is the solution; on others forces balance too, and follow those pieces.
#[test]
fn forces_balance_on_given_pieces() {
    for cone in CONES {
        for seed in 0..40 {
            let scene = random_constrained(seed, 10, cone);
            let mut data = scene.solve();
            let found = data.solve.clone();
            // As near as stages of a step are to each other.
            let start: Vec<f64> = found.qacc.iter().map(|x| 1.01 * x + 0.01).collect();
            let on = |phases: &[Phase], data: &mut Data| {
                let Data {
                    inertia,
                    acceleration,
                    constraint,
                    solve,
                    ..
                } = data;
                let smooth = (&*inertia, &*acceleration);
                forward_on(&scene.model, smooth, constraint, (phases, &start), solve)
            };
            assert!(on(&found.phase, &mut data), "{cone:?}, seed {seed}");
            assert_close("qacc", &data.solve.qacc, &found.qacc, 1e-8);
            // All that may push pushes, as if it could pull.
            let mut phases = found.phase.clone();
            for (phase, block) in phases.iter_mut().zip(&data.constraint.blocks) {
                match block.kind {
                    BlockKind::JointLimit
                    | BlockKind::TendonLimit
                    | BlockKind::FrictionlessContact => {
                        *phase = Phase::QUADRATIC;
                    }
                    BlockKind::PyramidalContact => {
                        *phase = Phase((1 << (2 * (block.row_count - 1))) - 1);
                    }
                    _ => {}
                }
            }
            assert!(on(&phases, &mut data), "{cone:?}, seed {seed}");
            assert_eq!(data.solve.phase, phases);
            let error = optimality(&scene, &data);
            assert!(error < 1e-11, "{cone:?}, seed {seed}: {error:e}");
        }
    }
}

#[test]
fn conjugate_gradients_reach_the_same_minimum() {
    for cone in CONES {
        for seed in 0..8 {
            let mut scene = random_constrained(seed, 6, cone);
            let newton = scene.solve();
            scene.model.settings.solver = SolverKind::ConjugateGradient;
            scene.model.settings.iterations = 5000;
            scene.model.option.tolerance[0] = 1e-20;
            let gradients = scene.solve();
            assert_close("qacc", &gradients.solve.qacc, &newton.solve.qacc, 1e-6);
        }
    }
}

#[test]
fn islands_and_sparse_factors_change_nothing() {
    let mut largest = 0;
    for seed in 0..30 {
        let mut scene = random_constrained(seed, 48, CONES[usize::from(seed % 2 == 0)]);
        // Few contacts, so that there are several islands.
        scene.contacts.truncate(16);
        let apart = scene.solve();
        scene.model.settings.disable.island = true;
        let together = scene.solve();
        largest = largest.max(together.solve.islands.size(0));
        assert!(together.solve.islands.count() <= 1);
        assert_close("qacc", &apart.solve.qacc, &together.solve.qacc, 1e-9);
    }
    assert!(
        largest > 60,
        "only {largest} dofs: the sparse factor was not tried"
    );
}

#[test]
fn warm_starts_save_iterations_and_keep_the_solution() {
    for seed in 0..20 {
        let mut scene = random_constrained(seed, 10, Cone::Pyramidal);
        scene.model.option.tolerance[0] = 1e-8;
        let cold = scene.solve();
        scene.state.warmstart.clone_from(&cold.solve.qacc);
        let warm = scene.solve();
        assert_eq!(warm.solve.report.iterations, 0, "seed {seed}");
        assert_close("qacc", &warm.solve.qacc, &cold.solve.qacc, 1e-12);
        // A warm start that is not finite is ignored.
        scene.state.warmstart.fill(f64::NAN);
        let saved = scene.solve();
        assert_close("qacc", &saved.solve.qacc, &cold.solve.qacc, 1e-7);
    }
}

#[test]
fn numbers_that_are_not_finite_are_reported() {
    let mut scene = random_constrained(2, 8, Cone::Elliptic);
    scene.input.force.fill(f64::INFINITY);
    let data = scene.solve();
    assert_eq!(data.solve.report.status, SolveStatus::NotFinite);
}

#[test]
fn reused_data_give_the_same_bits() {
    let scenes: Vec<_> = (0..6)
        .map(|seed| random_constrained(11, 10, CONES[seed % 2]))
        .collect();
    let mut reused = Data::new(&scenes[0].model);
    for scene in &scenes {
        scene.solve_into(&mut reused);
        let fresh = scene.solve();
        assert_eq!(reused.solve.qacc, fresh.solve.qacc);
        assert_eq!(reused.solve.force, fresh.solve.force);
    }
}

/// Tangents of the acceleration along one direction of positions, velocities, forces and contact numbers.
fn tangent(scene: &Constrained, direction: &Direction) -> Vec<f64> {
    type Rate = Dual<LANES>;
    let mut model = scene.model.map(Rate::constant);
    let moved = Rate::moving;
    for (loss, &rate) in model.dofs.frictionloss.iter_mut().zip(&direction.force) {
        loss.tangent[0] = if loss.value > 0.0 { rate } else { 0.0 };
    }
    let combine = |values: &[f64], rates: &[f64]| -> Vec<Rate> {
        let pairs = values.iter().zip(rates);
        pairs.map(|(&value, &rate)| moved(value, rate)).collect()
    };
    let mut state = State::reference(&model);
    state.qpos = scene.state.qpos.iter().map(|&q| q.into()).collect();
    state.qvel = combine(&scene.state.qvel, &direction.velocity);
    let mut input = Input::zeros(&model);
    input.equality_active.fill(true);
    input.force = combine(&scene.input.force, &direction.force);
    input.body_force = scene
        .input
        .body_force
        .iter()
        .map(|wrench| wrench.map(Rate::from))
        .collect();
    let mut data = Data::new(&model);
    dynamics::forward(&model, &state, &input, &mut data);
    data.collision.contacts = scene.contacts.iter().map(lift).collect();
    for (contact, &rate) in data
        .collision
        .contacts
        .iter_mut()
        .zip(direction.distance.iter())
    {
        contact.distance.tangent[0] = rate;
        contact.friction[0].tangent[0] = rate;
    }
    model.structure = scene.model_with_geoms().structure;
    dynamics::constrain(&model, &state, &input, &mut data);
    data.solve.qacc.iter().map(|a| a.tangent[0]).collect()
}

fn lift(contact: &Contact) -> Contact<Dual<LANES>> {
    Contact {
        geoms: contact.geoms,
        feature: contact.feature,
        distance: contact.distance.into(),
        position: contact.position.map(Into::into),
        frame: contact.frame.map(Into::into),
        dimension: contact.dimension,
        include_margin: contact.include_margin.into(),
        friction: contact.friction.map(Into::into),
        solref: contact.solref.map(Into::into),
        solreffriction: contact.solreffriction.map(Into::into),
        solimp: contact.solimp.map(Into::into),
        adhesion: contact.adhesion.into(),
        surface_velocity: contact.surface_velocity.map(Into::into),
        law: contact.law,
        pair: None,
        excluded: contact.excluded,
    }
}

struct Direction {
    velocity: Vec<f64>,
    force: Vec<f64>,
    distance: Vec<f64>,
}

/// The acceleration of the scene moved along a direction.
fn shifted(scene: &Constrained, direction: &Direction, step: f64) -> Data {
    let mut moved = scene.clone();
    let add = |target: &mut [f64], rates: &[f64]| {
        for (number, &rate) in target.iter_mut().zip(rates) {
            *number += step * rate;
        }
    };
    add(&mut moved.state.qvel, &direction.velocity);
    add(&mut moved.input.force, &direction.force);
    let losses = moved.model.dofs.frictionloss.iter_mut();
    for (loss, &rate) in losses.zip(&direction.force) {
        if *loss > 0.0 {
            *loss += step * rate;
        }
    }
    for (contact, &rate) in moved.contacts.iter_mut().zip(&direction.distance) {
        contact.distance += step * rate;
        contact.friction[0] += step * rate;
    }
    moved.solve()
}

#[test]
fn duals_carry_the_derivative_of_the_solution() {
    let (step, mut compared) = (1e-6, 0);
    for seed in 0..40 {
        let scene = random_constrained(seed, 8, CONES[usize::from(seed % 2 == 0)]);
        let mut random = Random::at(seed);
        let nv = scene.model.counts().nv;
        let direction = Direction {
            velocity: random.vector(nv),
            force: random.vector(nv),
            distance: random
                .vector(scene.contacts.len())
                .iter()
                .map(|x| 0.01 * x)
                .collect(),
        };
        let [ahead, behind] = [step, -step].map(|step| shifted(&scene, &direction, step));
        // Where a phase switches in between there is no derivative.
        if ahead.solve.phase != behind.solve.phase {
            continue;
        }
        compared += 1;
        let differences: Vec<f64> = (ahead.solve.qacc.iter())
            .zip(&behind.solve.qacc)
            .map(|(a, b)| (a - b) / (2.0 * step))
            .collect();
        assert_close("tangent", &tangent(&scene, &direction), &differences, 2e-6);
    }
    assert!(compared > 20, "only {compared} scenes are smooth");
}

#[test]
fn the_factor_is_that_of_the_solution() {
    for seed in 0..20 {
        let mut scene = random_constrained(seed, 8, CONES[usize::from(seed % 2 == 0)]);
        if seed % 3 == 0 {
            // Contacts with the ground alone leave the sparsity of the inertia.
            scene.input.equality_active.fill(false);
            for contact in &mut scene.contacts {
                contact.geoms[0] = 0;
            }
        }
        // A loose tolerance ends before the factor is current.
        scene.model.option.tolerance[0] = 1e-4;
        let mut data = scene.solve();
        let Data {
            inertia,
            acceleration,
            constraint,
            solve,
            ..
        } = &mut data;
        let factored = factor_at_solution(&scene.model, inertia, acceleration, constraint, solve);
        assert!(factored);
        for island in 0..solve.islands.count() {
            let dofs: Vec<usize> = solve
                .islands
                .dof_ranges(&scene.model.structure, island)
                .flatten()
                .collect();
            // H·x by its definition, for x that is nonzero on this island only.
            let mut x = vec![0.0; scene.model.counts().nv];
            let mut random = Random::at(seed);
            for &dof in &dofs {
                x[dof] = random.next();
            }
            let product = hessian_product(&scene, inertia, constraint, solve, &x);
            let mut local: Vec<f64> = dofs.iter().map(|&dof| product[dof]).collect();
            let expected: Vec<f64> = dofs.iter().map(|&dof| x[dof]).collect();
            solve.hessian.solve_in_place(
                &scene.model.structure,
                &solve.islands,
                island,
                &mut local,
            );
            assert_close("solution", &local, &expected, 1e-8);
        }
    }
}

#[test]
fn a_factor_kept_between_iterations_is_that_of_the_solution() {
    let mut kept = 0;
    for seed in 0..60 {
        let scene = random_constrained(seed, 8 + 2 * usize::from(seed % 3 == 0), Cone::Pyramidal);
        let mut data = scene.solve();
        let Data {
            inertia,
            acceleration,
            constraint,
            solve,
            ..
        } = &mut data;
        if solve.report.iterations < 2 || solve.work.iterate.factor_is_current.contains(&false) {
            continue;
        }
        kept += 1;
        let mut whole = solve.clone();
        whole.work.iterate.factor_is_current.fill(false);
        let (model, out) = (&scene.model, &mut whole);
        assert!(factor_at_solution(
            model,
            inertia,
            acceleration,
            constraint,
            out
        ));
        assert_eq!(whole.hessian, solve.hessian, "seed {seed}");
    }
    assert!(kept > 5, "only {kept} scenes kept their factor");
}

/// (M + Jᵀ·K·J)·x.
fn hessian_product(
    scene: &Constrained,
    inertia: &inertia::Inertia,
    constraint: &crate::stages::constraint::Constraint,
    solve: &super::Solve,
    x: &[f64],
) -> Vec<f64> {
    let mut product = vec![0.0; x.len()];
    inertia::mul(&scene.model, inertia, x, &mut product);
    for (index, block) in constraint.blocks.iter().enumerate() {
        let rows = constraint.block_rows(block);
        let weight: Vec<f64> = rows.iter().map(|row| row.weight).collect();
        let friction: Vec<f64> = rows.iter().map(|row| row.friction).collect();
        let law = Law {
            kind: block.kind,
            weight: &weight,
            friction: &friction,
        };
        let mut k: Curvature = [[0.0; MAX_ROWS]; MAX_ROWS];
        let residual = &solve.residual[block.rows()];
        if !law.curvature(solve.phase[index], residual, &mut k) {
            continue;
        }
        let columns = constraint.block_columns(block);
        let jacobian: Vec<&[f64]> = constraint
            .block_jacobian(block)
            .chunks_exact(columns.len())
            .collect();
        for (i, row) in jacobian.iter().enumerate() {
            for (j, other) in jacobian.iter().enumerate() {
                let along: f64 = other.iter().zip(columns).map(|(v, &dof)| v * x[dof]).sum();
                for (&dof, &value) in columns.iter().zip(*row) {
                    product[dof] += value * k[i][j] * along;
                }
            }
        }
    }
    product
}

const KINDS: [(BlockKind, usize); 9] = [
    (BlockKind::Equality, 6),
    (BlockKind::DofFriction, 1),
    (BlockKind::JointLimit, 1),
    (BlockKind::PyramidalContact, 3),
    (BlockKind::PyramidalContact, 4),
    (BlockKind::PyramidalContact, 6),
    (BlockKind::EllipticContact, 3),
    (BlockKind::EllipticContact, 4),
    (BlockKind::EllipticContact, 6),
];

#[test]
fn forces_and_curvatures_are_derivatives_of_the_cost() {
    let mut random = Random::at(7);
    for (kind, rows) in KINDS {
        let mut phases = std::collections::BTreeSet::new();
        for _ in 0..200 {
            let (weight, friction) = consistent_law(&mut random, rows);
            let y: Vec<f64> = random.vector(rows);
            let law = Law {
                kind,
                weight: &weight,
                friction: &friction,
            };
            let mut force = vec![0.0; rows];
            let (phase, _) = law.respond(&y, &mut force);
            phases.insert(phase.0);
            let mut k: Curvature = [[0.0; MAX_ROWS]; MAX_ROWS];
            if !law.curvature(phase, &y, &mut k) {
                k = [[0.0; MAX_ROWS]; MAX_ROWS];
            }
            check_derivatives(&law, &y, &force, &k);
            check_along(&law, &y, &force, &k, &random.vector(rows));
        }
        let expected = if kind == BlockKind::Equality { 1 } else { 2 };
        assert!(phases.len() >= expected, "{kind:?}: {phases:?}");
    }
}

/// Weights that obey D(j)/μ(j)² = D(1)/μ(1)², and μ of the regularised cone.
fn consistent_law(random: &mut Random, rows: usize) -> (Vec<f64>, Vec<f64>) {
    let mut friction: Vec<f64> = (0..rows).map(|_| random.between(0.2, 1.5)).collect();
    let mut weight = vec![random.between(1.0, 50.0); rows];
    let impratio = random.between(0.5, 5.0);
    if rows > 1 {
        friction[0] = friction[1] / impratio.sqrt();
        for row in 1..rows {
            weight[row] = weight[0] * impratio * (friction[row] / friction[1]).powi(2);
        }
    }
    (weight, friction)
}

fn check_derivatives(law: &Law, y: &[f64], force: &[f64], k: &Curvature) {
    type Rate = Dual<6>;
    let lift = |numbers: &[f64]| -> Vec<Rate> { numbers.iter().map(|&x| x.into()).collect() };
    let lifted = Law {
        kind: law.kind,
        weight: &lift(law.weight),
        friction: &lift(law.friction),
    };
    let variables: Vec<Rate> = (y.iter().enumerate())
        .map(|(index, &value)| Rate::variable(value, index))
        .collect();
    let mut forces = vec![Rate::default(); y.len()];
    let (_, cost) = lifted.respond(&variables, &mut forces);
    for row in 0..y.len() {
        assert_close("force", &[force[row]], &[-cost.tangent[row]], 1e-12);
        for column in 0..y.len() {
            let expected = [-forces[row].tangent[column]];
            assert_close("curvature", &[k[row][column]], &expected, 1e-12);
        }
    }
}

fn check_along(law: &Law, y: &[f64], force: &[f64], k: &Curvature, v: &[f64]) {
    let (slope, curvature) = law.along(y, v, 0.0);
    let expected: f64 = force.iter().zip(v).map(|(f, v)| -f * v).sum();
    assert_close("slope", &[slope], &[expected], 1e-12);
    let mut expected = 0.0;
    for (row, &v_row) in v.iter().enumerate() {
        for (column, &v_column) in v.iter().enumerate() {
            expected += v_row * k[row][column] * v_column;
        }
    }
    assert_close("curvature", &[curvature], &[expected], 1e-11);
    let moved: Vec<f64> = y.iter().zip(v).map(|(y, v)| y + 0.3 * v).collect();
    let mut force = vec![0.0; y.len()];
    law.respond(&moved, &mut force);
    let expected: f64 = force.iter().zip(v).map(|(f, v)| -f * v).sum();
    assert_close("slope ahead", &[law.along(y, v, 0.3).0], &[expected], 1e-11);
}

#[test]
fn cones_touch_without_a_jump() {
    // At the borders between phases both formulas give the same force.
    let law = Law {
        kind: BlockKind::EllipticContact,
        weight: &[10.0, 19.6, 19.6],
        friction: &[0.5, 0.7, 0.7],
    };
    let (mu, friction) = (0.5, 0.7);
    for tangent in [0.3, 1.0] {
        let t = tangent * friction;
        for border in [mu * t / mu, -t / mu / mu] {
            let mut forces = [[0.0; 3]; 2];
            for (side, force) in forces.iter_mut().enumerate() {
                let nudge = if side == 0 { 1e-12 } else { -1e-12 };
                law.respond(&[border + nudge, tangent, 0.0], force);
            }
            assert_close("force", &forces[0], &forces[1], 1e-9);
        }
    }
    let mut force = [1.0; 3];
    assert_eq!(law.respond(&[0.1, 0.0, 0.0], &mut force).0, Phase::OFF);
    assert_eq!(force, [0.0; 3]);
}

#[test]
fn tightening_asks_for_all_that_rounding_allows() {
    let mut model = random_constrained(1, 3, Cone::Pyramidal).model;
    model.option.tolerance[0] = 1e-3;
    tighten(&mut model);
    assert_eq!(model.option.tolerance[0], 0.0);
    assert_eq!(model.settings.solver, SolverKind::Newton);
}

crate::testing::stage_check::check_stage!(
    solve,
    &["soft", "hunt_crossley"],
    [0, 1, 3]
        .into_iter()
        .flat_map(crate::testing::stage_check::constrained_points),
    |point| {
        let data = &mut point.data;
        // The smooth acceleration follows M and the force here.
        data.acceleration
            .smooth
            .clone_from(&data.acceleration.force_smooth);
        crate::stages::inertia::solve(&point.model, &data.inertia, &mut data.acceleration.smooth);
        super::forward(
            &point.model,
            &data.inertia,
            &data.acceleration,
            &data.constraint,
            &point.state.warmstart,
            &mut data.solve,
        );
    },
    |point, bar| {
        crate::dynamics::backward::solve(point.at(), bar);
        through_smooth(point, bar);
    }
);

/// From the smooth acceleration to M and the force that it follows here.
pub(super) fn through_smooth(point: &Point, bar: &mut Cotangents) {
    let data = &mut bar.data;
    let smooth = &point.data.acceleration.smooth;
    let smooth_bar = &mut data.acceleration.smooth;
    let matrix_bar = &mut data.inertia.matrix;
    crate::stages::inertia::solve_vjp(
        &point.model,
        &point.data.inertia,
        smooth,
        smooth_bar,
        matrix_bar,
    );
    for (force_bar, bar) in data.acceleration.force_smooth.iter_mut().zip(smooth_bar) {
        *force_bar += std::mem::take(bar);
    }
}
