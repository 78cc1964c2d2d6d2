//! Stepping allocates nothing.

use carom::{Data, Input, State, integrate};

use crate::models;

#[test]
fn stepping_allocates_nothing_once_warm() {
    for path in models::shipped().into_iter().chain(models::shared()) {
        let model = models::load(&path);
        let start = State::keyframe(&model, 0).unwrap_or_else(|| State::reference(&model));
        let mut state = start.clone();
        let mut input = Input::zeros(&model);
        let mut data = Data::new(&model);
        let mut run = || {
            state.copy_from(&start);
            for step in 0..40 {
                input.ctrl.fill((f64::from(step) * 0.1).sin() * 0.1);
                integrate::step(&model, &mut state, &input, &mut data);
            }
        };
        // Lists of contacts and constraints grow to their size in the first run.
        run();
        let counted = allocation_counter::measure(run);
        assert_eq!(counted.count_total, 0, "{} allocates", path.display());
    }
}
