use carom::math::Vec3;

use super::*;
use crate::testing::{ball_and_pendulum, model, numbers, time};

fn wait_until(mut condition: impl FnMut() -> bool) {
    let begin = Instant::now();
    while !condition() {
        assert!(begin.elapsed() < Duration::from_secs(20), "waited in vain");
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn started(paused: bool) -> Live {
    let model = ball_and_pendulum();
    let start = Start::reference(&model);
    Live::start(model, start, paused).unwrap()
}

#[test]
fn it_keeps_pace_with_the_clock() {
    let live = started(false);
    let _watching = live.watch();
    wait_until(|| live.status.borrow().real_time_factor > 0.0);
    // Other tests share the processor: it may be slower than the clock for a while, never faster.
    wait_until(|| {
        let (begin, from) = (Instant::now(), time(&live.frames.borrow()));
        std::thread::sleep(Duration::from_millis(500));
        // The frame first: between the two readings the clock may go on, not the simulation.
        let simulated = time(&live.frames.borrow()) - from;
        let real = begin.elapsed().as_secs_f64();
        assert!(simulated < real + 0.05, "{simulated} s in {real} s");
        simulated > 0.3 * real
    });
}

#[test]
fn it_sleeps_while_nobody_watches() {
    let live = started(false);
    wait_until(|| !live.frames.borrow().is_empty());
    std::thread::sleep(Duration::from_millis(200));
    assert_eq!(time(&live.frames.borrow()), 0.0);
    let watching = live.watch();
    wait_until(|| time(&live.frames.borrow()) > 0.0);
    drop(watching);
    // It may be in the middle of a tick, and that may take long on a busy machine; then it stands still for good.
    let stands = || {
        let before = time(&live.frames.borrow());
        std::thread::sleep(Duration::from_millis(200));
        time(&live.frames.borrow()) == before
    };
    wait_until(stands);
    assert!(stands() && stands());
}

#[test]
fn steps_are_counted_while_paused() {
    let live = started(true);
    let _watching = live.watch();
    live.offer(Message::Step(1)).unwrap();
    wait_until(|| (time(&live.frames.borrow()) - 0.002).abs() < 1e-12);
    live.offer(Message::Step(250)).unwrap();
    wait_until(|| (time(&live.frames.borrow()) - 0.502).abs() < 1e-9);
    std::thread::sleep(Duration::from_millis(100));
    assert!((time(&live.frames.borrow()) - 0.502).abs() < 1e-9);
    live.offer(Message::Reset).unwrap();
    wait_until(|| time(&live.frames.borrow()) == 0.0);
}

#[test]
fn paces_have_two_digits() {
    for (number, expected) in [
        (0.0, 0.0),
        (0.98765, 0.99),
        (1.04, 1.0),
        (12.6, 13.0),
        (3.4567e-4, 3.5e-4),
    ] {
        let found = two_digits(number);
        assert!((found - expected).abs() <= 1e-12 * expected, "{found}");
    }
}

#[test]
fn bodies_are_dragged_while_paused() {
    let live = started(true);
    let _watching = live.watch();
    let drag = Message::Drag {
        body: 1,
        point: Vec3::ZERO,
        target: Vec3([0.4, 0.0, 0.2]),
    };
    live.offer(drag).unwrap();
    wait_until(|| {
        let frame = live.frames.borrow();
        !frame.is_empty() && (f64::from(numbers(&frame)[7]) - 0.4).abs() < 1e-6
    });
    assert_eq!(time(&live.frames.borrow()), 0.0);
}

#[test]
fn speed_pause_and_refusals_are_in_the_status() {
    let live = started(false);
    let _watching = live.watch();
    live.offer(Message::Speed(1e9)).unwrap();
    wait_until(|| live.status.borrow().speed == SPEEDS[1]);
    live.offer(Message::Speed(-1.0)).unwrap();
    wait_until(|| live.status.borrow().message.is_some());
    live.offer(Message::Pause).unwrap();
    wait_until(|| {
        let status = live.status.borrow();
        status.paused && status.message.is_none()
    });
    live.offer(Message::Keyframe(8)).unwrap();
    wait_until(|| live.status.borrow().message.is_some());
}

/// Far more steps than a processor can take: it does what it can, says how fast it is, and still listens.
#[test]
fn too_slow_is_no_spiral() {
    let model = model(
        r#"<mujoco><option timestep="1e-7"/><worldbody><body><freejoint/><geom size="0.1"/></body></worldbody></mujoco>"#,
    );
    let start = Start::reference(&model);
    let live = Live::start(model, start, false).unwrap();
    let _watching = live.watch();
    wait_until(|| live.status.borrow().real_time_factor > 0.0);
    assert!(live.status.borrow().real_time_factor < 0.9);
    // Within two seconds, unless the machine is busy with something else each time.
    wait_until(|| {
        let begin = Instant::now();
        live.offer(Message::Pause).unwrap();
        wait_until(|| live.status.borrow().paused);
        let quick = begin.elapsed() < Duration::from_secs(2);
        live.offer(Message::Resume).unwrap();
        wait_until(|| !live.status.borrow().paused);
        quick
    });
}

#[test]
fn an_error_is_told_and_a_keyframe_ends_it() {
    let model = ball_and_pendulum();
    let mut start = Start::reference(&model);
    // The square of this is not finite.
    start.state.qvel[6] = 1e200;
    let live = Live::start(model, start, false).unwrap();
    let _watching = live.watch();
    wait_until(|| live.status.borrow().error.is_some());
    live.offer(Message::Keyframe(0)).unwrap();
    wait_until(|| live.status.borrow().error.is_none());
    wait_until(|| time(&live.frames.borrow()) > 0.1);
    live.offer(Message::Reset).unwrap();
    wait_until(|| live.status.borrow().error.is_some());
}

#[test]
fn messages_beyond_the_limit_are_given_back() {
    let live = started(true);
    // It takes what it can in the meantime; in the end all get through.
    for _ in 0..10 * MAX_WAITING_MESSAGES {
        let mut message = Message::Control {
            index: 0,
            value: 1.0,
        };
        while let Err(back) = live.offer(message) {
            message = back;
            std::thread::yield_now();
        }
    }
}
