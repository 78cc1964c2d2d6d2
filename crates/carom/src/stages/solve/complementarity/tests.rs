//! The solution against its conditions, other algorithms, physics and differences.

mod random_scenes;

use carom_testing::{at_least, by_tier};
use std::sync::Arc;

use super::super::SolveStatus;
use crate::data::Data;
use crate::linalg::CompletePivotLu;
use crate::model::{Cone, LawKind, LawNumbers, LawStructure, Model};
use crate::stages::constraint::{Block, BlockKind};
use crate::state::{Input, State};
use crate::testing::stage_check::{Point, random_point};
use crate::testing::{
    Constrained, Random, assert_close, model_from_mjcf, random_constrained, step_check,
};
use crate::{dynamics, integrate};

/// Makes all constraints of a model rigid.
fn make_rigid(model: &mut Model, mixing: f64, baumgarte: [f64; 2], restitution: f64) {
    let structure = Arc::make_mut(&mut model.structure);
    structure.laws = LawStructure {
        label: vec![String::new()],
        kind: vec![LawKind::Complementarity],
        geom1: vec![None],
        geom2: vec![None],
        points: vec![std::ops::Range::default()],
        cells: vec![0],
        iterations: vec![1500],
        of_rows: Some(0),
        impulse_pairs: Vec::new(),
    };
    structure.counts.nlaw = 1;
    model.laws = LawNumbers::zeros(&structure.counts);
    model.laws.mixing[0] = mixing;
    model.laws.baumgarte[0] = baumgarte;
    model.laws.restitution[0] = restitution;
    model.laws.tolerance[0] = 1e-11;
}

/// A random mechanism with friction, limits and some contacts of all dimensions.
fn scene(seed: u64, mixing: f64, baumgarte: [f64; 2]) -> Constrained {
    let mut scene = random_constrained(seed, 8, Cone::Elliptic);
    scene.contacts.truncate(6);
    scene.input.equality_active.fill(false);
    let restitution = if baumgarte == [0.0; 2] { 0.0 } else { 0.5 };
    make_rigid(&mut scene.model, mixing, baumgarte, restitution);
    // Deep penetrations would ask for speeds that no impulse can give all contacts at once.
    for contact in &mut scene.contacts {
        contact.distance *= 0.02;
        contact.excluded = false;
        for friction in &mut contact.friction[..2] {
            *friction *= 0.5;
        }
    }
    scene
}

/// The velocity after the step, as the integrator finds it.
fn next_velocity(scene: &Constrained, data: &Data) -> Vec<f64> {
    let mut state = scene.state.clone();
    integrate::advance(&scene.model, &mut state, &scene.input, &mut data.clone());
    state.qvel
}

/// J·v of a block's rows.
fn velocities(data: &Data, block: &Block, velocity: &[f64]) -> Vec<f64> {
    let columns = data.constraint.block_columns(block);
    let rows = data
        .constraint
        .block_jacobian(block)
        .chunks_exact(columns.len());
    rows.map(|values| {
        let pairs = values.iter().zip(columns);
        pairs.map(|(value, &dof)| value * velocity[dof]).sum()
    })
    .collect()
}

/// What a contact or limit must reach: (4), written out once more.
fn target(scene: &Constrained, data: &Data, block: &Block) -> f64 {
    let (laws, h) = (&scene.model.laws, scene.model.option.timestep[0]);
    let row = &data.constraint.rows[block.row];
    let [alpha, beta] = laws.baumgarte[0];
    let position = -row.position / h * if row.position < 0.0 { alpha } else { beta };
    let is_contact = block.kind > BlockKind::TendonLimit;
    if is_contact && row.velocity < 0.0 && row.position + h * row.velocity < 0.0 {
        position.max(-laws.restitution[0] * row.velocity)
    } else {
        position
    }
}

/// The greatest violation of all conditions: m/s, and impulses in the velocity that they give.
fn violation(scene: &Constrained, data: &Data) -> f64 {
    let (h, mixing) = (scene.model.option.timestep[0], scene.model.laws.mixing[0]);
    let next = next_velocity(scene, data);
    let mut worst = 0.0_f64;
    let mut note = |error: f64| worst = worst.max(error.abs());
    for block in &data.constraint.blocks {
        let impulse: Vec<f64> = data.solve.force[block.rows()]
            .iter()
            .map(|f| f * h)
            .collect();
        let mut u = velocities(data, block, &next);
        for (u, impulse) in u.iter_mut().zip(&impulse) {
            *u += mixing * impulse;
        }
        let rows = data.constraint.block_rows(block);
        match block.kind {
            BlockKind::Equality => {
                for (u, row) in u.iter().zip(rows) {
                    note(u + scene.model.laws.baumgarte[0][0] * row.position / h);
                }
            }
            BlockKind::DofFriction | BlockKind::TendonFriction => {
                let bound = h * rows[0].friction;
                assert!(impulse[0].abs() <= bound * (1.0 + 1e-12));
                if impulse[0].abs() < bound * (1.0 - 1e-12) {
                    note(u[0]);
                } else {
                    note((u[0] * impulse[0].signum()).max(0.0));
                }
            }
            _ => {
                u[0] -= target(scene, data, block);
                note(u[0].min(0.0));
                assert!(impulse[0] >= 0.0);
                if impulse[0] > 0.0 {
                    note(u[0]);
                }
                note(friction_violation(&impulse, &u, |row| rows[row].friction));
            }
        }
    }
    worst
}

/// How far friction is from being against the motion, on or within the cone.
fn friction_violation(impulse: &[f64], u: &[f64], friction: impl Fn(usize) -> f64) -> f64 {
    let length = |x: &dyn Fn(usize) -> f64| -> f64 {
        (1..u.len()).map(|row| x(row).powi(2)).sum::<f64>().sqrt()
    };
    let used = length(&|row| impulse[row] / friction(row));
    assert!(used <= impulse[0] * (1.0 + 1e-9), "{used} {impulse:?}");
    let speed = length(&|row| friction(row) * u[row]);
    if impulse[0] == 0.0 {
        return 0.0;
    }
    (1..u.len())
        .map(|row| impulse[row] / (friction(row) * impulse[0]) * speed + friction(row) * u[row])
        .fold(0.0, |worst, x| worst.max(x.abs()))
}

/// A pile of balls, capsules and boxes thrown on a plane, narrow or wide, and a chain among them.
fn pile(seed: u64, width: f64, law: &str) -> Constrained {
    let mut random = Random::new(seed);
    let mut bodies = String::new();
    for index in 0..9 {
        let [x, y] = [random.between(-width, width), random.between(-width, width)];
        let z = 0.1 + 0.17 * f64::from(index);
        let [a, b, c]: [f64; 3] = random.numbers();
        let (kind, size) = match index % 3 {
            0 => ("sphere", "0.08"),
            1 => ("capsule", "0.05 0.08"),
            _ => ("box", "0.06 0.08 0.05"),
        };
        let condim = [1, 3, 3, 4, 6][random.below(5)];
        let friction = random.between(0.1, 1.2);
        let body = format!(
            r#"<body pos="{x} {y} {z}" euler="{a} {b} {c}"><freejoint/><geom type="{kind}" size="{size}"
              condim="{condim}" friction="{friction} 0.01 0.002"/></body>"#
        );
        bodies += &body;
    }
    let model = model_from_mjcf(&format!(
        r#"<mujoco><compiler angle="radian"/><worldbody><geom type="plane" size="2 2 1"/>{bodies}
          <body pos="0.3 0 0.2"><joint axis="0 1 0" range="-0.5 0.5" limited="true" frictionloss="0.1"/>
            <geom type="capsule" size="0.04 0.1" pos="0.1 0 0"/>
            <body pos="0.2 0 0"><joint axis="0 1 0" damping="0.5"/><geom size="0.05" pos="0.1 0 0"/></body></body>
          </worldbody><custom><text name="carom/contact" data="law=complementarity; {law}"/></custom></mujoco>"#
    ));
    let mut state = State::reference(&model);
    state.qvel = random.vector(model.counts().nv);
    Constrained {
        input: Input::zeros(&model),
        state,
        contacts: Vec::new(),
        model,
    }
}

#[test]
fn impulses_of_mechanisms_complement_velocities() {
    let (mut converged, mut all) = (0, 0);
    for (mixing, baumgarte) in [(0.0, [0.0; 2]), (1e-3, [0.2, 1.0])] {
        for seed in 0..400 {
            let scene = scene(seed, mixing, baumgarte);
            let data = scene.solve();
            all += 1;
            if data.solve.report.status == SolveStatus::Converged {
                converged += 1;
                let worst = violation(&scene, &data);
                assert!(worst < 1e-8, "mixing {mixing}, seed {seed}: {worst:e}");
            }
        }
    }
    assert_eq!(converged, all);
}

/// Piles that fall, settle and rest, most contacts sharing loads in many ways: every step is solved.
#[test]
fn impulses_in_piles_complement_velocities() {
    let mut modes = [0; 3];
    for (seed, width) in [(0, 0.1), (1, 0.1), (3, 0.1), (2, 0.25), (3, 0.25)] {
        let mut scene = pile(seed, width, "restitution=0.2; tolerance=1e-11");
        let mut data = Data::new(&scene.model);
        for step in 0..500 {
            dynamics::forward(&scene.model, &scene.state, &scene.input, &mut data);
            let report = &data.solve.report;
            let context = format!("width {width}, seed {seed}, step {step}: {report:?}");
            assert_eq!(report.status, SolveStatus::Converged, "{context}");
            let worst = violation(&scene, &data);
            assert!(worst < 1e-8, "{context}: {worst:e}");
            for (block, &phase) in data.constraint.blocks.iter().zip(&data.solve.phase) {
                if block.kind == BlockKind::PyramidalContact {
                    modes[usize::from(phase.0)] += 1;
                }
            }
            integrate::advance(&scene.model, &mut scene.state, &scene.input, &mut data);
        }
    }
    assert!(modes.iter().all(|&count| count > 100), "{modes:?}");
}

/// All ways in which contacts may be open or closed, tried one after the other.
#[test]
fn enumeration_finds_the_same_impulses() {
    let mut compared = 0;
    for seed in 0..40 {
        let mut scene = scene(seed, 1e-2, [0.2, 1.0]);
        scene.model.settings.disable.limit = true;
        scene.model.settings.disable.frictionloss = true;
        for contact in &mut scene.contacts {
            contact.dimension = 1;
        }
        let data = scene.solve();
        let work = &data.solve.complementarity;
        let n = data.constraint.rows.len();
        if n == 0 {
            continue;
        }
        let blocks = &data.constraint.blocks;
        let nv = scene.model.counts().nv;
        let dense = |block: &Block| {
            let mut row = vec![0.0; nv];
            let columns = data.constraint.block_columns(block);
            for (&dof, &value) in columns.iter().zip(data.constraint.block_jacobian(block)) {
                row[dof] = value;
            }
            row
        };
        let matrix: Vec<Vec<f64>> = blocks
            .iter()
            .map(|block| {
                let mut column = dense(block);
                crate::stages::inertia::solve(&scene.model, &data.inertia, &mut column);
                let product = |other: &Block| -> f64 {
                    dense(other).iter().zip(&column).map(|(a, b)| a * b).sum()
                };
                blocks.iter().map(product).collect()
            })
            .collect();
        let solution = (0..1_u32 << n).find_map(|set| {
            let closed: Vec<usize> = (0..n).filter(|&i| set >> i & 1 == 1).collect();
            let mut lu = CompletePivotLu::default();
            lu.start(closed.len());
            for (row, &i) in closed.iter().enumerate() {
                for (column, &j) in closed.iter().enumerate() {
                    lu.row_mut(row)[column] = matrix[i][j] + if i == j { 1e-2 } else { 0.0 };
                }
            }
            lu.factor();
            let mut x: Vec<f64> = closed.iter().map(|&i| -work.free[i]).collect();
            let mut scratch = vec![0.0; closed.len()];
            lu.solve(&mut x, &mut scratch);
            let mut impulse = vec![0.0; n];
            for (&i, &x) in closed.iter().zip(&x) {
                impulse[i] = x;
            }
            let u = |i: usize| {
                let sum: f64 = (0..n).map(|j| matrix[i][j] * impulse[j]).sum();
                work.free[i] + sum + 1e-2 * impulse[i]
            };
            let fits = (0..n).all(|i| impulse[i] >= 0.0 && u(i) >= -1e-10);
            fits.then(|| impulse.clone())
        });
        let expected = solution.expect("a positive definite problem has a solution");
        assert_close("impulse", &work.impulse, &expected, 1e-8);
        compared += 1;
    }
    assert!(compared > 20);
}

/// Inverse inertia between all rows, column by column through M, and not through Y.
fn dense_inverse_inertia(scene: &Constrained, data: &Data) -> Vec<Vec<f64>> {
    let nv = scene.model.counts().nv;
    let mut rows = Vec::new();
    for block in &data.constraint.blocks {
        let columns = data.constraint.block_columns(block);
        let jacobian = data.constraint.block_jacobian(block);
        for values in jacobian.chunks_exact(columns.len()) {
            let mut row = vec![0.0; nv];
            for (&dof, &value) in columns.iter().zip(values) {
                row[dof] = value;
            }
            rows.push(row);
        }
    }
    let entries = |row: &Vec<f64>| {
        let mut column = row.clone();
        crate::stages::inertia::solve(&scene.model, &data.inertia, &mut column);
        let product = |other: &Vec<f64>| other.iter().zip(&column).map(|(a, b)| a * b).sum();
        rows.iter().map(product).collect()
    };
    rows.iter().map(entries).collect()
}

/// The nearest point of the cone |x| ≤ x(0).
fn project_on_cone(x: &mut [f64]) {
    let length = x[1..].iter().map(|x| x * x).sum::<f64>().sqrt();
    if length <= x[0] {
        return;
    }
    let normal = (0.5 * (x[0] + length)).max(0.0);
    let scale = if length > 0.0 { normal / length } else { 0.0 };
    x[0] = normal;
    x[1..].iter_mut().for_each(|x| *x *= scale);
}

/// De Saxcé's form of Coulomb's law, `x = P(x − ρ·(w + |w|·n))`, iterated for as long as it takes: slow, but it shares
/// nothing with the solver.
#[test]
fn a_plain_projected_iteration_finds_the_same_friction() {
    let (mut compared, mut modes) = (0, [0; 3]);
    let (seeds, iterations) = by_tier((20, 100_000), (40, 300_000));
    for seed in 0..seeds {
        let mixing = 0.05;
        let mut scene = scene(seed, mixing, [0.2, 1.0]);
        scene.model.settings.disable.limit = true;
        scene.model.settings.disable.frictionloss = true;
        scene.contacts.truncate(3);
        let data = scene.solve();
        let work = &data.solve.complementarity;
        let n = data.constraint.rows.len();
        if n == 0 || data.solve.report.status != SolveStatus::Converged {
            continue;
        }
        let matrix = dense_inverse_inertia(&scene, &data);
        let mut unit = vec![1.0; n];
        for block in &data.constraint.blocks {
            for row in 1..block.row_count {
                unit[block.row + row] = data.constraint.rows[block.row + row].friction;
            }
        }
        let trace: f64 = (0..n)
            .map(|i| (matrix[i][i] + mixing) * unit[i] * unit[i])
            .sum();
        let (mut x, mut settled) = (vec![0.0; n], false);
        for _ in 0..iterations {
            let w: Vec<f64> = (0..n)
                .map(|i| {
                    let sum: f64 = (0..n).map(|j| matrix[i][j] * unit[j] * x[j]).sum();
                    unit[i] * (work.free[i] + sum + mixing * unit[i] * x[i])
                })
                .collect();
            let mut change = 0.0_f64;
            for block in &data.constraint.blocks {
                let rows = block.rows();
                let speed = w[rows.start + 1..rows.end]
                    .iter()
                    .map(|w| w * w)
                    .sum::<f64>()
                    .sqrt();
                let mut next: Vec<f64> = rows.clone().map(|i| x[i] - w[i] / trace).collect();
                next[0] -= speed / trace;
                project_on_cone(&mut next);
                for (place, next) in rows.zip(next) {
                    change = change.max((x[place] - next).abs());
                    x[place] = next;
                }
            }
            if change < 1e-15 {
                settled = true;
                break;
            }
        }
        if !settled {
            continue;
        }
        let expected: Vec<f64> = x.iter().zip(&unit).map(|(x, unit)| x * unit).collect();
        assert_close(&format!("seed {seed}"), &work.impulse, &expected, 1e-7);
        compared += 1;
        for (block, &phase) in data.constraint.blocks.iter().zip(&data.solve.phase) {
            if block.row_count > 1 {
                modes[usize::from(phase.0)] += 1;
            }
        }
    }
    let name = format!("scenes that a projected iteration solves, of {seeds}");
    at_least(&name, compared);
    assert!(modes.iter().all(|&count| count > 0), "{modes:?}");
}

fn run(model: &Model, state: &mut State, seconds: f64) {
    let (input, mut data) = (Input::zeros(model), Data::new(model));
    while state.time < seconds {
        integrate::step(model, state, &input, &mut data);
        assert_eq!(data.solve.report.status, SolveStatus::Converged);
    }
}

#[test]
fn balls_bounce_as_told() {
    for restitution in [0.0, 0.5, 1.0] {
        let model = model_from_mjcf(&format!(
            r#"<mujoco><option gravity="0 0 0"/><worldbody><geom type="plane" size="1 1 1"/>
              <body pos="0 0 0.2"><freejoint/><geom size="0.1" condim="1"/></body></worldbody>
              <custom><text name="carom/contact" data="law=complementarity; restitution={restitution}; mixing=0;
                baumgarte=0 0"/></custom></mujoco>"#
        ));
        let mut state = State::reference(&model);
        state.qvel[2] = -2.0;
        run(&model, &mut state, 0.2);
        assert!((state.qvel[2] - 2.0 * restitution).abs() < 1e-9);
    }
}

/// Below the friction angle a box stays, above it accelerates at g·(sin − μ·cos), exactly.
#[test]
fn slopes_hold_or_slide() {
    for (angle, friction) in [(0.3_f64, 0.5), (0.6, 0.4)] {
        let (sine, cosine) = angle.sin_cos();
        let model = model_from_mjcf(&format!(
            r#"<mujoco><option timestep="0.002" gravity="{} 0 {}"/><worldbody>
              <geom type="plane" size="1 1 1" friction="{friction}"/>
              <body pos="0 0 0.02"><freejoint/><geom type="box" size="0.1 0.1 0.02" friction="{friction}"/></body>
              </worldbody><custom><text name="carom/contact" data="law=complementarity"/></custom></mujoco>"#,
            9.81 * sine,
            -9.81 * cosine
        ));
        let mut state = State::reference(&model);
        run(&model, &mut state, 0.1);
        let before = state.qvel[0];
        run(&model, &mut state, 0.3);
        let acceleration = (state.qvel[0] - before) / 0.2;
        let expected = (9.81 * (sine - friction * cosine)).max(0.0);
        assert!(
            (acceleration - expected).abs() < 1e-4,
            "{acceleration} instead of {expected}"
        );
    }
}

/// Mechanisms with all kinds of rows, solved as exactly as numbers allow.
fn points() -> Vec<(String, Point)> {
    let solved = |(seed, mixing, has_equalities): (u64, f64, bool)| {
        let mut scene = scene(seed, mixing, [0.2, 1.0]);
        scene.input.equality_active.fill(has_equalities);
        scene.model.laws.tolerance[0] = 1e-14;
        let data = scene.solve();
        assert!(data.solve.report.residual < 1e-12, "seed {seed}");
        let model = scene.model_with_geoms();
        let point = Point {
            model,
            state: scene.state,
            input: scene.input,
            data,
        };
        (
            format!("rigid mechanism {seed}, {mixing}, equalities {has_equalities}"),
            point,
        )
    };
    let scenes = [(0, 1e-2), (0, 0.1), (1, 0.1), (2, 0.1), (3, 0.1), (4, 0.1)];
    let scenes =
        scenes.map(|(seed, mixing)| [false, true].map(|equalities| (seed, mixing, equalities)));
    scenes.into_iter().flatten().map(solved).collect()
}

crate::testing::stage_check::check_stage!(
    solve,
    &["complementarity"],
    points(),
    |point| {
        let (model, data) = (&point.model, &mut point.data);
        // The smooth acceleration follows M and the force here.
        let smooth = &mut data.acceleration.smooth;
        smooth.clone_from(&data.acceleration.force_smooth);
        crate::stages::inertia::solve(model, &data.inertia, smooth);
        let (given, solve) = data.split_solve(&point.state);
        super::forward(model, given, solve);
    },
    |point, bar| {
        crate::dynamics::backward::solve(point.at(), bar);
        crate::stages::solve::tests::through_smooth(point, bar);
    }
);

/// One ball slides, one is held by friction, one flies, and an arm is at its limit.
#[test]
fn steps_have_the_adjoint_of_steps() {
    let model = model_from_mjcf(
        r#"<mujoco><worldbody><geom type="plane" size="2 2 1" friction="0.3"/>
          <body pos="0 0 0.098"><freejoint/><geom size="0.1" friction="0.4"/></body>
          <body pos="0.5 0 0.098"><freejoint/><geom size="0.1" friction="0.9"/></body>
          <body pos="1 0 1"><freejoint/><geom size="0.1" friction="0.5"/></body>
          <body pos="0 1 1"><joint axis="0 1 0" range="0.01 1" limited="true" damping="0.1"/>
            <joint type="slide" axis="1 0 0" frictionloss="0.2"/><geom size="0.1" pos="0.2 0 0"/></body></worldbody>
          <custom><text name="carom/contact" data="law=complementarity; mixing=1e-3; restitution=0.3;
            tolerance=1e-14"/></custom></mujoco>"#,
    );
    for seed in 0..4 {
        let mut point = random_point(model.clone(), seed);
        point.state = State::reference(&point.model);
        let mut random = Random::new(seed);
        point.state.qvel = random.vector(point.model.counts().nv);
        // Fast along the plane, and nearly rolling.
        point.state.qvel[..6].copy_from_slice(&[2.0, 0.5, -0.1, 0.3, -1.0, 0.2]);
        point.state.qvel[6..12].copy_from_slice(&[0.1, 0.0, -0.2, 0.0, 1.0, 0.3]);
        dynamics::forward_and_sense(&point.model, &point.state, &point.input, &mut point.data);
        step_check::check(&point);
    }
}

/// An arm, a ball on the floor and a box in the air, tied as told.
fn tied(equalities: &str, numbers: &str) -> Model {
    model_from_mjcf(&format!(
        r#"<mujoco><worldbody><geom type="plane" size="2 2 1" friction="0.3"/>
          <body name="ball" pos="0 0 0.098"><freejoint/><geom size="0.1" friction="0.4"/><site name="ball" pos="0 0 0.1"/></body>
          <body name="arm" pos="0.4 0 0.3"><joint name="a" axis="0 1 0" damping="0.1"/><geom size="0.05" pos="0.1 0 0"/>
            <body name="hand" pos="0.3 0 0"><joint name="b" axis="0 1 0.2"/><joint name="c" type="slide" axis="1 0 0"/>
              <geom size="0.1" pos="0.1 0.1 0"/><site name="hand" pos="0.1 0 0.1"/></body></body>
          <body name="box" pos="-0.6 0.1 0.5"><freejoint/><geom type="box" size="0.1 0.2 0.1"/><site name="box" euler="10 20 30"/></body>
          <site name="seat" pos="-0.6 0.1 0.5" euler="12 19 30"/></worldbody>
          <tendon><spatial name="s"><site site="ball"/><site site="hand"/></spatial>
            <spatial name="t"><site site="box"/><site site="hand"/></spatial></tendon>
          <equality>{equalities}</equality>
          <custom><text name="carom/contact" data="law=complementarity; restitution=0.3; {numbers}"/></custom></mujoco>"#
    ))
}

/// A state near the reference, in motion.
fn near_reference(model: Model, seed: u64) -> Point {
    let mut point = random_point(model, seed);
    point.state = State::reference(&point.model);
    let mut random = Random::new(seed);
    let tangent = random.vector(point.model.counts().nv);
    integrate::integrate_positions(&point.model, &mut point.state.qpos, &tangent, 0.003);
    point.state.qvel = random.vector(point.model.counts().nv);
    point.state.qvel[..6].copy_from_slice(&[2.0, 0.5, -0.1, 0.3, -1.0, 0.2]);
    dynamics::forward_and_sense(&point.model, &point.state, &point.input, &mut point.data);
    point
}

const WELD_OF_A_HINGE: &str = r#"<weld body1="arm"/>"#;

#[test]
fn steps_with_equalities_have_the_adjoint_of_steps() {
    for (equalities, mixing) in [
        (
            r#"<connect body1="ball" body2="hand" anchor="0.1 0 0.2"/>"#,
            0.0,
        ),
        (r#"<weld body1="box" body2="hand" torquescale="0.6"/>"#, 0.0),
        (r#"<weld site1="box" site2="seat"/>"#, 1e-3),
        (
            r#"<joint joint1="a" joint2="b" polycoef="0.1 1 0.3 0.2 0.1"/><joint joint1="c"/>"#,
            0.0,
        ),
        (
            r#"<tendon tendon1="s" tendon2="t" polycoef="0.2 0.5 0.1"/>"#,
            0.0,
        ),
        // Five of the six rows ask for what cannot be; with less mixing differences see nothing but rounding.
        (WELD_OF_A_HINGE, 0.1),
        (
            r#"<weld body1="arm"/><connect body1="hand" body2="box" anchor="0 0.1 0"/>"#,
            0.1,
        ),
    ] {
        for seed in 0..3 {
            println!("{equalities} {seed}");
            let numbers = format!("mixing={mixing}; tolerance=1e-14");
            step_check::check(&near_reference(tied(equalities, &numbers), seed));
        }
    }
}

#[test]
fn equalities_that_repeat_each_other_have_no_derivative_without_mixing() {
    let twice = r#"<connect body1="hand" body2="box" anchor="0 0.1 0"/>"#.repeat(2);
    for (equalities, mixing, has_derivative) in [
        (WELD_OF_A_HINGE, 0.0, false),
        (WELD_OF_A_HINGE, 1e-6, true),
        (&twice, 0.0, false),
        (&twice, 1e-6, true),
        (r#"<joint joint1="a"/>"#, 0.0, true),
    ] {
        let point = near_reference(tied(equalities, &format!("mixing={mixing}")), 1);
        let found = integrate::Retraced::new(&point.model).retrace(
            &point.model,
            &point.state,
            &point.input,
            &point.data.solve.qacc,
        );
        assert_eq!(found, has_derivative, "{equalities} {mixing}");
    }
}
