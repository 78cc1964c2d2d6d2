//! MJCF: any bytes are read to the end, and a model without errors can be written and read again.
#![no_main]

use carom_spec::diagnostic::render_all;
use carom_spec::mjcf::{AssetStorage, ReadSettings, write_with};
use carom_spec::read::read;
use carom_spec::{Diagnostic, MemorySource};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let files = MemorySource::new()
        .with("main.xml", data)
        .with("m.obj", "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n")
        .with("part.xml", "<mujoco><worldbody><body name=\"b\"><geom size=\"1\"/></body></worldbody></mujoco>");
    let model = read("main.xml".as_ref(), &files, &ReadSettings::default());
    let _ = render_all(&model.diagnostics, &model.sources);
    if model.diagnostics.iter().any(Diagnostic::is_error) {
        return;
    }
    let text = write_with(&model.spec, AssetStorage::Inline);
    let again = read("main.xml".as_ref(), &MemorySource::new().with("main.xml", text), &ReadSettings::default());
    let errors: Vec<Diagnostic> = again.diagnostics.into_iter().filter(Diagnostic::is_error).collect();
    assert!(errors.is_empty(), "{}", render_all(&errors, &again.sources));
});
