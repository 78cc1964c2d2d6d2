//! Every model compiles, and to the same bits each time.

use crate::models;

#[test]
fn models_compile_to_the_same_bits_each_time() {
    for path in models::shipped().into_iter().chain(models::shared()) {
        let (first, second) = (models::load(&path), models::load(&path));
        // Equality of all numbers and of the whole structure.
        assert!(first == second, "{} differs", path.display());
    }
}
