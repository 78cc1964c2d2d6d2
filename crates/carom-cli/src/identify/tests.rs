//! What is said where the calibrated model cannot be written.

use std::fmt::Write as _;
use std::path::Path;

use carom_tasks::identify::{Free, Settings, Task};
use carom_tasks::recording::{self, Mapping};

use super::{Watcher, as_json, as_text, find, objections, refusal, report};
use crate::load;

#[test]
fn what_cannot_be_written_is_not_lost() {
    let model = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../models/pendulum.xml");
    let mut loaded = load::load(&model, &[]).ok().unwrap();
    let folder = std::env::temp_dir().join(format!("carom-unwritten-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let path = folder.join("swing.csv");
    let mut text = "t,angle\n".to_owned();
    for k in 0..100 {
        let time = 0.01 * f64::from(k);
        let angle = 0.5 * (3.6 * time).cos() * (-0.02 * time).exp();
        writeln!(text, "{time},{angle}").unwrap();
    }
    std::fs::write(&path, text).unwrap();
    let mapping =
        "time.column = 't'\n[[joint]]\nname = 'pivot'\nposition = 'angle'\nnoise = 0.01\n";
    let mapping = Mapping::parse(mapping, "swing.toml").unwrap();
    let recordings = recording::load(&loaded.model, &mapping, &[path]).unwrap();
    std::fs::remove_dir_all(&folder).unwrap();
    let settings = Settings {
        free: vec![Free::new("joint.pivot.damping[0]".parse().unwrap())],
        ..Settings::default()
    };
    let task = Task::new(&loaded.model.clone(), &recordings, settings).unwrap();
    let inspection = task.inspect().unwrap();
    // A description that is not that of the model stands for one that its reader refuses.
    loaded.spec.option.gravity[2] = -1.0;
    let found = find((&loaded, inspection), &task, None, None, Watcher::new(None));
    let found = found.ok().unwrap();
    let why = found.description.clone().unwrap_err();
    assert!(why.contains("cannot be written"), "{why}");
    assert!(objections(&found).contains(&why));
    assert!(refusal(&found).is_some());
    let value = found.identified.estimates[0].value;
    let document = as_json(&found);
    assert_eq!(document["parameters"][0]["value"], value);
    assert!(
        document["objections"]
            .to_string()
            .contains("cannot be written")
    );
    assert!(as_text(&found).contains(&why));
    let page = report::html(&found);
    assert!(page.contains("joint.pivot.damping[0]") && page.contains("cannot be written"));
}
