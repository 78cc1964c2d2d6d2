//! URDF: the bytes are the inside of a `<robot>` element.
#![no_main]

use carom_spec::MemorySource;
use carom_spec::diagnostic::to_json;
use carom_spec::mjcf::{ReadSettings, write};
use carom_spec::read::read;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let text = [b"<robot name=\"r\">", data, b"</robot>"].concat();
    let files = MemorySource::new()
        .with("main.urdf", text)
        .with("m.obj", "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n");
    let model = read("main.urdf".as_ref(), &files, &ReadSettings::default());
    let _ = to_json(&model.diagnostics, &model.sources);
    let _ = write(&model.spec);
});
