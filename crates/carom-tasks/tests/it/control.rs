//! Control when things go wrong: bad plans, pushes, late plans, wrong models, runs that are killed; gradients that are cut off.

use carom::{Dynamics, Model};
use carom_optimise::checkpoint;
use carom_tasks::plan::{
    Disturbance, Episode, Horizon, Live, Memory, Method, Outcome, Planned, Planner, Ranges, Saved,
    Task,
};
use carom_testing::Random;

use crate::plan::{PUSH_TASK, push, run};
use crate::support::Folder;

const METHODS: [Method; 4] = [
    Method::Gradient,
    Method::Sampling,
    Method::Hybrid,
    Method::Ilqr,
];

/// A run to the end, which is saved and begun anew after some plans.
fn resumed(task: &Task, method: Method, after: usize) -> Outcome {
    let disturbance = Disturbance {
        pushes: task.disturbance.pushes(&task.model, 120, 5).unwrap(),
        is_delayed: true,
    };
    let planner = || task.planner::<Model>(method, 3);
    let mut first = (
        Episode::new(&task.model, &task.control, &disturbance),
        planner(),
    );
    for _ in 0..after {
        first.0.plan(&task.model, first.1.as_mut());
        first.0.execute(first.1.as_mut());
    }
    let bytes = checkpoint::encode(&first.0.saved("this one", first.1.as_ref())).unwrap();
    let saved: Saved = checkpoint::decode(&bytes).unwrap();
    let mut second = (
        Episode::new(&task.model, &task.control, &disturbance),
        planner(),
    );
    second.0.resume(&saved, second.1.as_mut()).unwrap();
    while !second.0.is_over() {
        second.0.plan(&task.model, second.1.as_mut());
        second.0.execute(second.1.as_mut());
    }
    second.0.outcome(false)
}

#[test]
fn resumed_runs_have_the_same_bits() {
    let folder = Folder::new("control-resume");
    let task = push(&folder, PUSH_TASK).unwrap();
    for method in METHODS {
        let whole = resumed(&task, method, 0);
        assert_eq!(whole.plan_costs.len(), 12);
        assert_eq!(whole, resumed(&task, method, 5), "{method:?}");
    }
}

#[test]
fn checkpoints_that_do_not_fit_are_refused() {
    let folder = Folder::new("control-misfit");
    let task = push(&folder, PUSH_TASK).unwrap();
    let other = push(&folder, &PUSH_TASK.replace("horizon = 60", "horizon = 50")).unwrap();
    let none = Disturbance::default();
    let mut planner = task.planner::<Model>(Method::Hybrid, 0);
    let mut episode = Episode::new(&task.model, &task.control, &none);
    episode.plan(&task.model, planner.as_mut());
    episode.execute(planner.as_mut());
    let saved = episode.saved("", planner.as_ref());
    let mut episode = Episode::new(&other.model, &other.control, &none);
    let mut planner = other.planner::<Model>(Method::Hybrid, 0);
    let error = episode.resume(&saved, planner.as_mut()).unwrap_err();
    assert!(error.to_string().contains("does not fit"), "{error}");
}

/// What a plan becomes.
type Answer = fn(&[f64]) -> Vec<f64>;

/// A planner that is right at first and then answers with something else.
struct Broken {
    calls: usize,
    answer: Answer,
}

impl Planner<Model> for Broken {
    fn refine(&mut self, _: &Horizon<'_, Model>, _: &Ranges, warm: &[f64]) -> Planned {
        self.calls += 1;
        let plan = if self.calls == 1 {
            (0..warm.len())
                .map(|step| (0.1 * step as f64).sin())
                .collect()
        } else {
            (self.answer)(warm)
        };
        Planned {
            plan,
            cost: 0.0,
            evaluations: 1,
            gradients: 0,
        }
    }
}

#[test]
fn the_last_good_plan_goes_on_where_a_new_one_is_not_usable() {
    let folder = Folder::new("control-broken");
    let task = push(&folder, PUSH_TASK).unwrap();
    let answers: [Answer; 3] = [
        |warm| vec![f64::NAN; warm.len()],
        |warm| warm[1..].to_vec(),
        |_| Vec::new(),
    ];
    for answer in answers {
        let mut planner = Broken { calls: 0, answer };
        let outcome =
            carom_tasks::plan::control(&task.model, &task.control, &mut planner, &mut |_| true);
        let plans: Vec<usize> = outcome.fallbacks.iter().map(|one| one.plan).collect();
        assert_eq!(plans, (1..12).collect::<Vec<_>>());
        assert!(outcome.fallbacks[0].why.contains("last good plan"));
        assert_eq!(outcome.stopped, None);
        // The first plan to its end, and its last control held.
        for (step, control) in outcome.executed.ctrl[..120].iter().enumerate() {
            let expected = (0.1 * step.min(59) as f64).sin();
            assert_eq!(*control, expected, "step {step}");
        }
    }
}

/// A planner whose plan leads to numbers beyond all measure, which it says costs nothing.
struct Diverging;

impl Planner<Model> for Diverging {
    fn refine(&mut self, _: &Horizon<'_, Model>, _: &Ranges, warm: &[f64]) -> Planned {
        Planned {
            plan: vec![1.0; warm.len()],
            cost: 0.0,
            evaluations: 0,
            gradients: 0,
        }
    }
}

#[test]
fn plans_that_diverge_are_found_out() {
    let folder = Folder::new("control-diverging");
    let mut task = push(&folder, PUSH_TASK).unwrap();
    // A motor that pushes beyond all measure as soon as it is used.
    task.model.actuators.gain[0][0] = 1e30;
    let outcome =
        carom_tasks::plan::control(&task.model, &task.control, &mut Diverging, &mut |_| true);
    assert_eq!(outcome.fallbacks.len(), 12);
    assert_eq!(outcome.stopped, None);
    assert!(outcome.plan_costs.iter().all(|cost| cost.is_infinite()));
    assert!(
        outcome
            .executed
            .qpos
            .iter()
            .all(|&number| number.abs() < 1.0)
    );
}

#[test]
fn late_plans_that_foresee_the_motion_lose_nothing_but_the_first() {
    let folder = Folder::new("control-late");
    let task = push(&folder, PUSH_TASK).unwrap();
    let disturbance = Disturbance {
        is_delayed: true,
        ..Disturbance::default()
    };
    let mut planner = task.planner::<Model>(Method::Hybrid, 3);
    let mut episode = Episode::new(&task.model, &task.control, &disturbance);
    let mut foreseen = Vec::new();
    while !episode.is_over() {
        let progress = episode.plan(&task.model, planner.as_mut());
        foreseen.push(progress.state.clone());
        episode.execute(planner.as_mut());
        assert_eq!(episode.state(), foreseen.last().unwrap());
    }
    let late = episode.outcome(false);
    assert!(late.success, "{:?}", late.judged);
    // The first plan is the control of the start, held.
    assert!(
        late.executed.ctrl[..10]
            .iter()
            .all(|&control| control == 0.0)
    );

    // In the background, where the motion waits for each plan, nothing else happens.
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(1)
        .build()
        .unwrap();
    let live = Live {
        plant: &task.model,
        model: &task.model,
        task: &task.control,
        disturbance: &Disturbance::default(),
        speed: None,
        pool: &pool,
    };
    let mut planner = task.planner::<Model>(Method::Hybrid, 3);
    let (outcome, timing) = live.run(planner.as_mut(), &mut |_| true);
    assert_eq!(outcome.executed, late.executed);
    assert_eq!((timing.plans, timing.missed), (12, 0));
    assert!(timing.longest >= timing.latency && timing.latency > 0.0);
}

#[test]
fn plans_that_come_too_late_for_the_clock_are_counted() {
    let folder = Folder::new("control-missed");
    let task = push(&folder, PUSH_TASK).unwrap();
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(1)
        .build()
        .unwrap();
    let live = Live {
        plant: &task.model,
        model: &task.model,
        task: &task.control,
        disturbance: &Disturbance::default(),
        // So fast that no plan is ever there in time.
        speed: Some(1e12),
        pool: &pool,
    };
    let mut planner = task.planner::<Model>(Method::Hybrid, 3);
    let (outcome, timing) = live.run(planner.as_mut(), &mut |_| true);
    assert_eq!(outcome.executed.time.len(), 121);
    assert_eq!(outcome.stopped, None);
    assert!(
        timing.plans < 12 && timing.missed == timing.plans,
        "{timing:?}"
    );
}

#[test]
fn pushes_change_velocities_by_what_they_say() {
    let folder = Folder::new("control-pushes");
    let text = PUSH_TASK.replace(
        "[sampling]",
        "[disturbance]\nbodies = [\"puck\"]\npush = 0.3\nevery = 0.2\n[sampling]",
    );
    let task = push(&folder, &text).unwrap();
    let pushes = task.disturbance.pushes(&task.model, 120, 1).unwrap();
    assert!((2..15).contains(&pushes.len()), "{}", pushes.len());
    assert_eq!(
        pushes,
        task.disturbance.pushes(&task.model, 120, 1).unwrap()
    );
    assert_ne!(
        pushes,
        task.disturbance.pushes(&task.model, 120, 2).unwrap()
    );
    let one = &pushes[0];
    let size = one.impulse.iter().map(|n| n * n).sum::<f64>().sqrt();
    assert!((size - 0.3 * 0.1).abs() < 1e-12, "{size}");
    let disturbance = Disturbance {
        pushes: vec![one.clone()],
        is_delayed: false,
    };
    let mut episode = Episode::new(&task.model, &task.control, &disturbance);
    episode.advance(one.step);
    let before = episode.state().qvel[1];
    assert_eq!(before, 0.0);
    episode.advance(1);
    // The puck moves along x alone; its damping of 0.8 takes a little within the step.
    let expected = one.impulse[0] / 0.1;
    let found = episode.state().qvel[1];
    assert!((found / expected - 1.0).abs() < 0.1, "{found} {expected}");
}

#[test]
fn models_that_are_off_have_numbers_off_by_what_was_asked() {
    let folder = Folder::new("control-off");
    let task = push(&folder, PUSH_TASK).unwrap();
    let off = task.disturbance.off(&task.model, 4).unwrap();
    let ratio = |body: usize| off.bodies.mass[body] / task.model.bodies.mass[body];
    for body in 1..3 {
        let part = (ratio(body) - 1.0).abs();
        assert!((part - 0.2).abs() < 1e-9, "{part}");
    }
    let same = task.disturbance.off(&task.model, 4).unwrap();
    assert_eq!(off.bodies.mass, same.bodies.mass);
    let text = PUSH_TASK.replace(
        "[sampling]",
        "[disturbance]\nparameters = [\"body.pukc.mass\"]\n[sampling]",
    );
    let wrong = push(&folder, &text).unwrap();
    assert!(wrong.disturbance.off(&wrong.model, 0).is_err());
}

#[test]
fn plans_do_not_know_what_is_wrong_and_come_to_the_end() {
    let folder = Folder::new("control-disturbed");
    let task = push(&folder, PUSH_TASK).unwrap();
    let plant = task.disturbance.off(&task.model, 1).unwrap();
    let disturbance = Disturbance {
        pushes: task.disturbance.pushes(&task.model, 120, 1).unwrap(),
        is_delayed: true,
    };
    let mut planner = task.planner::<Model>(Method::Hybrid, 3);
    let mut episode = Episode::new(&plant, &task.control, &disturbance);
    let mut surprises = 0;
    while !episode.is_over() {
        let progress = episode.plan(&task.model, planner.as_mut());
        let foreseen = progress.state.clone();
        episode.execute(planner.as_mut());
        surprises += usize::from(foreseen.qpos != episode.state().qpos);
    }
    assert!(surprises > 8, "{surprises}");
    let outcome = episode.outcome(false);
    assert_eq!(outcome.judged.len(), 1);
    assert_eq!(outcome.stopped, None);
    assert!(outcome.distance() < 0.4, "{:?}", outcome.judged);
}

#[test]
fn gradients_are_cut_off_where_they_have_grown_and_nowhere_else() {
    let path = carom_testing::root().join("tasks/cartpole_swing_up.toml");
    let task = Task::read(&path, None, None).unwrap();
    // Near the upper rest everything grows exponentially.
    let mut start = task.control.start.clone();
    start.qpos = vec![0.0, 0.01];
    let steps = task.control.horizon;
    let horizon = Horizon {
        dynamics: &task.model,
        start: &start,
        cost: &task.control.cost,
        steps,
    };
    let mut random = Random::new(2);
    let plan: Vec<f64> = (0..steps).map(|_| random.between(-0.01, 0.01)).collect();
    let mut work = task.model.work();
    let exact = horizon.derivatives(&plan, &mut work).unwrap();
    let wide = horizon.derivatives_within(&plan, 1e9, &mut work).unwrap();
    assert_eq!(exact, wide);
    let narrow = horizon.derivatives_within(&plan, 1.5, &mut work).unwrap();
    assert_eq!(narrow.value, exact.value);
    let first = *narrow.cuts.first().unwrap();
    assert!(narrow.cuts.is_sorted_by(|a, b| a > b));
    // Behind the first cut nothing is different.
    assert_eq!(narrow.controls[first..], exact.controls[first..]);
    assert_ne!(narrow.controls[..first], exact.controls[..first]);
    let longest = |norms: &[f64]| norms.iter().fold(0.0_f64, |most, &norm| most.max(norm));
    assert!(longest(&narrow.norms) < longest(&exact.norms));
    // The report speaks of the same gradient.
    let growth = horizon.growth(&plan, 3).unwrap();
    assert_eq!(growth.amplification.len(), exact.norms.len());
    assert_eq!(growth.surges.len(), 3);
}

#[test]
fn contacts_from_distance_become_narrower_while_plans_are_made() {
    let folder = Folder::new("control-annealing");
    let text = PUSH_TASK.replace("width = 0.5", "width = [0.5, 0.125]");
    let task = push(&folder, &text).unwrap();
    let width = |plan: usize| {
        let distant = task.model_at(plan, 12).contacts_from_distance().unwrap();
        distant.width
    };
    assert_eq!(width(0), 0.5);
    assert!((width(11) - 0.125).abs() < 1e-12);
    assert!((1..12).all(|plan| width(plan) <= width(plan - 1)));
    assert_eq!(task.model.contacts_from_distance().unwrap().width, 0.5);
    let fixed = push(&folder, PUSH_TASK).unwrap();
    assert!(std::ptr::eq(fixed.model_at(7, 12), &raw const fixed.model));
}

#[test]
fn planners_remember_what_they_need() {
    let folder = Folder::new("control-memory");
    let task = push(&folder, PUSH_TASK).unwrap();
    for method in METHODS {
        let outcome = run(&task, method, 1);
        let mut planner = task.planner::<Model>(method, 3);
        assert_eq!(outcome.plan_costs.len(), 12);
        let bad = Memory {
            plans: vec![vec![f64::NAN; 60]],
            ..planner.memory()
        };
        assert!(!planner.recall(&bad, 60), "{method:?}");
        assert!(planner.recall(&task.planner::<Model>(method, 3).memory(), 60));
    }
}
