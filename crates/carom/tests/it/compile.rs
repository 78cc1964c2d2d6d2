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

/// Pairs of geoms are 10¹⁰ here: whoever looks at each of them takes minutes.
#[test]
fn many_geoms_compile_in_time_that_grows_with_their_number() {
    let geoms = "<geom size='0.1'/>".repeat(100_000);
    let text =
        format!("<mujoco><worldbody>{geoms}<body><freejoint/>{geoms}</body></worldbody></mujoco>");
    let files = carom_spec::MemorySource::new().with("many.xml", text);
    let settings = carom_spec::mjcf::ReadSettings::default();
    let read = carom_spec::read::read("many.xml".as_ref(), &files, &settings);
    let begin = carom_testing::mutation::processor_time();
    let loaded = carom::load::compiled(read).unwrap();
    let seconds = carom_testing::mutation::processor_time()
        .saturating_sub(begin)
        .as_secs_f64();
    assert_eq!(loaded.model.counts().ngeom, 200_000);
    assert!(seconds < 10.0, "{seconds} s");
}
