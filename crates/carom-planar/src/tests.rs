//! Derivatives against differences, arms against their commands, and where strikers begin.

use std::f64::consts::PI;

use carom_scalar::dual::Dual;

use crate::motion::COURSE_NUMBERS;
use crate::{
    Approach, Arm, Bodies, Command, Course, Laws, Limits, Moving, NUMBERS, Outline, Standing,
};

const ARM: Arm = Arm {
    // No multiple of a step: the command has a kink there.
    delay: 0.006_12,
    brake: 12.0,
    retreat: 0.25,
    travel: 0.06,
};
const LAWS: [f64; NUMBERS] = [
    17.0, 0.4, 0.25, 0.6, 5.0, -3.5, -5.0, 1.05, 0.35, 0.02, 0.08, 0.05, -0.03, 0.02, 0.7, 1.5,
];

fn bar() -> Outline {
    let point = |k: u32| {
        let (sin, cos) = (PI * f64::from(k) / 48.0 - 0.5 * PI).sin_cos();
        [0.015 * cos, 0.015 * sin]
    };
    let mut points: Vec<[f64; 2]> = (0..=48).map(point).collect();
    points.extend([[-0.035, 0.015], [-0.035, -0.015]]);
    Outline::of_points(&points).expect("a bar")
}

fn square() -> Outline {
    let corners = [[0.03, -0.03], [0.03, 0.03], [-0.03, 0.03], [-0.03, -0.03]];
    Outline::of_points(&corners).expect("a square")
}

fn bodies() -> Bodies {
    let struck = Standing {
        outline: square(),
        mass: 0.17,
        gyration: 0.0245,
        height: 0.02,
        gravity: 9.81,
    };
    Bodies::new(struck, bar(), ARM, 0.0025)
}

fn start(before: f64) -> Course {
    let approach = Approach {
        point: 0.008,
        speed: 0.6,
        deflection: 0.25,
    };
    let (pose, rate) = approach.place(&square(), &bar(), before);
    Course {
        body: Moving {
            pose: [0.0; 3],
            rate: [0.0; 3],
        },
        held: Moving { pose, rate },
        command: Command::none(),
    }
}

/// The end of a millisecond, from all numbers that go in.
fn end<const N: usize>(inputs: &[Dual<N>]) -> [Dual<N>; COURSE_NUMBERS] {
    let (numbers, laws) = inputs.split_at(COURSE_NUMBERS);
    let three = |first: usize| std::array::from_fn(|k| numbers[first + k]);
    let mut course = Course {
        body: Moving {
            pose: three(0),
            rate: three(3),
        },
        held: Moving {
            pose: three(6),
            rate: three(9),
        },
        command: Command::of(&numbers[12..]),
    };
    let laws = Laws::of(laws.first_chunk().expect("the laws"));
    let bodies = bodies();
    bodies.advance(&laws, &mut course, Dual::constant(1e-3), &mut bodies.room());
    course.numbers()
}

#[test]
fn derivatives_are_those_of_differences() {
    let bodies = bodies();
    let (mut course, mut room) = (start(4e-4), bodies.room());
    let mut touched = 0;
    for step in 0..40 {
        let mut inputs = course.numbers().to_vec();
        inputs.extend(LAWS);
        // Before a touch there is no command to move.
        let is_idle = course.command.clock == 0.0;
        let direction = |k: usize| match k {
            12..COURSE_NUMBERS if is_idle => 0.0,
            _ => 0.3 + (1.7 * k as f64).sin(),
        };
        let varied: Vec<Dual<1>> = (inputs.iter().enumerate())
            .map(|(k, &value)| Dual::moving(value, direction(k)))
            .collect();
        let exact = end(&varied);
        let moved = |size: f64| {
            let inputs = inputs.iter().enumerate();
            let inputs: Vec<Dual<1>> = inputs
                .map(|(k, value)| Dual::constant(value + size * direction(k)))
                .collect();
            end(&inputs)
        };
        // Touches come and go between fine steps: where they do within the difference, it says nothing.
        let (ahead, behind) = (moved(1e-8), moved(-1e-8));
        let off = (0..COURSE_NUMBERS).map(|k| {
            let difference = (ahead[k].value - behind[k].value) / 2e-8;
            (difference - exact[k].tangent[0]).abs() / (1.0 + exact[k].tangent[0].abs())
        });
        let off = off.fold(0.0, f64::max);
        assert!(off < 1e-4, "step {step}: {off}");
        touched += usize::from(bodies.advance(&Laws::of(&LAWS), &mut course, 1e-3, &mut room));
    }
    assert!(touched >= 2, "{touched} steps of contact");
}

#[test]
fn an_arm_ends_where_its_command_does() {
    let bodies = bodies();
    let mut course = start(4e-4);
    course.command = Command {
        clock: 1e-9,
        from: course.held.pose,
        velocity: [course.held.rate[0], course.held.rate[1]],
    };
    let ([x, y, _], [u, v]) = (course.held.pose, course.command.velocity);
    let speed = u.hypot(v);
    let along = |course: &Course| {
        let [now_x, now_y, _] = course.held.pose;
        ((now_x - x) * u + (now_y - y) * v) / speed
    };
    let mut farthest = 0.0f64;
    for _ in 0..1000 {
        bodies.advance_striker(&Laws::of(&LAWS), &mut course, 1e-3);
        farthest = farthest.max(along(&course));
    }
    let turn = speed * ARM.delay + 0.5 * speed * speed / ARM.brake;
    assert!((farthest - turn).abs() < 2e-3, "{farthest} {turn}");
    // It comes back by the travel, and by what it takes to brake.
    let back = turn - ARM.travel - 0.5 * ARM.retreat * ARM.retreat / ARM.brake;
    assert!(
        (along(&course) - back).abs() < 1e-5,
        "{} {back}",
        along(&course)
    );
    assert!(course.held.rate.iter().all(|rate| rate.abs() < 1e-6));
}

#[test]
fn strikers_begin_where_they_touch_after_their_way() {
    let bodies = bodies();
    for (point, deflection) in [
        (0.0, 0.0),
        (0.02, 0.5),
        (-0.015, -0.6),
        (0.05, 0.2),
        (0.19, 0.1),
    ] {
        let approach = Approach {
            point,
            speed: 0.5,
            deflection,
        };
        let (pose, rate) = approach.place(&square(), &bar(), 2e-3);
        let gap = |part: f64| {
            let at = [0, 1].map(|k| pose[k] + part * 2e-3 / 0.5 * rate[k]);
            bodies.gap([0.0; 3], [at[0], at[1], pose[2]])
        };
        assert!(
            gap(0.0) > 1e-3 && gap(1.0).abs() < 1e-9,
            "{} {}",
            gap(0.0),
            gap(1.0)
        );
    }
}

#[test]
fn limits_leave_what_does_not_come_near_alone() {
    let limits = Limits {
        speed: 0.5,
        slide: 1.0,
        spin: 10.0,
        depth: 1e-3,
    };
    let bodies = bodies();
    let mut course = start(4e-4);
    assert!(!limits.admit(&bodies, &course, 1e-3), "too fast");
    course.held.rate = [0.0; 3];
    assert!(limits.admit(&bodies, &course, 1e-3));
    course.held = start(0.3).held;
    assert!(limits.admit(&bodies, &course, 1e-3), "far off");
    course.body.rate[2] = 11.0;
    assert!(!limits.admit(&bodies, &course, 1e-3), "turns too fast");
    course.body.rate[2] = 0.0;
    course.held.rate = [0.0; 3];
    course.held.pose = [0.0445, 0.0, PI];
    assert!(limits.admit(&bodies, &course, 1e-3));
    course.held.pose = [0.0435, 0.0, PI];
    assert!((bodies.depth_bound(&course) - 1.5e-3).abs() < 1e-9);
    assert!(!limits.admit(&bodies, &course, 1e-3), "too deep");
}
