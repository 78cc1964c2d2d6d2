//! Damaged variants of our own models: whatever happens to a file, reading it ends with a model or with
//! errors, soon and in bounded memory; and what is read without errors survives being written.
//!
//! Seeded and therefore repeatable. `CAROM_MUTATION_SECONDS` sets the time spent (10 by default), and
//! `CAROM_MUTATION_SEED` the first seed.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use carom_spec::diagnostic::{render_all, to_json};
use carom_spec::mesh::{MeshFormat, read_height_field, read_mesh};
use carom_spec::mjcf::{AssetStorage, ReadSettings, write_with};
use carom_spec::read::{ReadModel, read};
use carom_spec::{Diagnostic, MemorySource};
use carom_testing::Random;

use crate::models::model_files;
use crate::round_trip::difference;

/// Longest time for one damaged file; undamaged ones take milliseconds.
const SLOWEST: Duration = Duration::from_secs(5);
/// Most memory of the whole test (kB).
const MAX_MEMORY: u64 = 2_000_000;

const NUMBERS: [&str; 14] = [
    "0",
    "-0",
    "1",
    "-1",
    "1e308",
    "-1e308",
    "1e-308",
    "1e999",
    "nan",
    "inf",
    "0x10",
    "1,5",
    "2147483648",
    "1 2 3 4 5 6 7 8 9 10 11",
];

/// Small files that use what the models do not.
const SNIPPETS: [&str; 4] = [
    r#"<mujoco><default><geom size=".1"/><default class="a"><joint range="-1 1" damping="1 2 3"/></default></default>
       <worldbody><frame pos="1 2 3" euler="10 20 30"><body childclass="a"><joint name="j"/><geom name="g"/>
       <replicate count="3" offset="1 0 0"><site name="s"/></replicate></body></frame></worldbody>
       <actuator><position joint="j" kp="10" dampratio="1"/><muscle joint="j"/></actuator>
       <keyframe><key qpos="1"/></keyframe></mujoco>"#,
    r#"<mujoco><asset><mesh name="m" file="m.obj"/><mesh name="n" file="n.stl" scale="1 -1 1"/>
       <mesh name="k" file="k.msh"/><hfield name="h" file="h.bin" size="1 1 1 1"/></asset>
       <worldbody><geom type="mesh" mesh="m"/><geom type="hfield" hfield="h"/></worldbody></mujoco>"#,
    r#"<robot name="r"><mujoco><compiler discardvisual="false" meshdir="."/></mujoco><link name="a"/><link name="b">
       <inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>
       <visual><geometry><mesh filename="m.obj"/></geometry></visual></link><joint name="j" type="planar">
       <parent link="a"/><child link="b"/><limit lower="0" upper="1" effort="2"/></joint></robot>"#,
    r#"<mujoco><worldbody><body name="a"><joint name="x"/><geom name="g" size="1"/><site name="s"/></body>
       <body name="b" mocap="true"><geom size="1" fromto="0 0 0 1 1 1" type="capsule"/></body></worldbody>
       <contact><pair geom1="g" geom2="g"/><exclude body1="a" body2="b"/></contact>
       <equality><weld body1="a" body2="b" relpose="0 0 0 1 0 0 0"/></equality>
       <tendon><spatial name="t"><site site="s"/><geom geom="g"/><site site="s"/></spatial></tendon>
       <sensor><framepos objtype="body" objname="a"/><contact geom1="g" data="found force"/></sensor>
       <custom><numeric name="n" size="3" data="1"/><tuple name="u"><element objtype="body" objname="a"/></tuple>
       </custom></mujoco>"#,
];

/// Start and end of every run of bytes that `inside` accepts.
fn runs(bytes: &[u8], inside: impl Fn(u8) -> bool) -> Vec<(usize, usize)> {
    let mut list = Vec::new();
    let mut start = None;
    for (index, &byte) in bytes.iter().enumerate() {
        match (inside(byte), start) {
            (true, None) => start = Some(index),
            (false, Some(first)) => {
                list.push((first, index));
                start = None;
            }
            _ => {}
        }
    }
    list.extend(start.map(|first| (first, bytes.len())));
    list
}

/// Start and end of every tag.
fn tags(bytes: &[u8]) -> Vec<(usize, usize)> {
    let starts = bytes
        .iter()
        .enumerate()
        .filter(|&(_, byte)| *byte == b'<')
        .map(|(index, _)| index);
    starts
        .filter_map(|start| {
            let length = bytes[start..].iter().position(|&byte| byte == b'>')?;
            Some((start, start + length + 1))
        })
        .collect()
}

fn replace(bytes: &mut Vec<u8>, (start, end): (usize, usize), with: &[u8]) {
    bytes.splice(start..end, with.iter().copied());
}

/// Damages a file in one of many ways.
fn mutate(bytes: &mut Vec<u8>, other: &[u8], random: &mut Random) {
    let is_number = |byte: u8| byte.is_ascii_digit() || b"+-.eE".contains(&byte);
    let is_word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    let at = random.below(bytes.len());
    match random.below(11) {
        0 => {
            if let Some(byte) = bytes.get_mut(at) {
                *byte ^= 1 << random.below(8);
            }
        }
        1 => bytes.insert(at.min(bytes.len()), random.bits().to_le_bytes()[0]),
        2 => {
            let end = (at + 1 + random.below(40)).min(bytes.len());
            bytes.drain(at..end);
        }
        3 => {
            let end = (at + random.below(400)).min(bytes.len());
            let copy = bytes[at..end].to_vec();
            replace(bytes, (at, at), &copy);
        }
        4 | 5 => {
            let numbers: Vec<_> = runs(bytes, is_number)
                .into_iter()
                .filter(|&(start, end)| bytes[start..end].iter().any(u8::is_ascii_digit))
                .collect();
            if let (Some(place), Some(number)) = (random.choose(&numbers), random.choose(&NUMBERS))
            {
                replace(bytes, place, number.as_bytes());
            }
        }
        6 => {
            if let Some(place) = random.choose(&runs(bytes, is_number)) {
                replace(bytes, place, "9".repeat(1 + random.below(500)).as_bytes());
            }
        }
        7 => {
            // Swap two words: element names, attribute names, values.
            let words = runs(bytes, is_word);
            if let (Some(place), Some(from)) = (random.choose(&words), random.choose(&words)) {
                let word = bytes[from.0..from.1].to_vec();
                replace(bytes, place, &word);
            }
        }
        8 => {
            if let Some(tag) = random.choose(&tags(bytes)) {
                replace(bytes, tag, b"");
            }
        }
        9 => {
            let tags = tags(bytes);
            if let (Some(tag), Some(place)) = (random.choose(&tags), random.choose(&tags)) {
                let copy = bytes[tag.0..tag.1].to_vec();
                replace(bytes, (place.1, place.1), &copy);
            }
        }
        _ => {
            let tags = tags(other);
            if let Some(tag) = random.choose(&tags) {
                let end = (tag.0 + random.below(600)).min(other.len()).max(tag.1);
                let place = self::tags(bytes)
                    .get(random.below(40))
                    .map_or(at, |tag| tag.1);
                replace(bytes, (place, place), &other[tag.0..end]);
            }
        }
    }
}

fn mesh_files() -> MemorySource {
    let triangle = [0.0_f32, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0, 0.0];
    let mut stl = vec![0_u8; 80];
    stl.extend(1_u32.to_le_bytes());
    stl.extend([0; 12]);
    stl.extend(triangle.iter().flat_map(|x| x.to_le_bytes()));
    stl.extend([0; 2]);
    let mut msh: Vec<u8> = [3_u32, 0, 0, 1]
        .iter()
        .flat_map(|n| n.to_le_bytes())
        .collect();
    msh.extend(triangle.iter().flat_map(|x| x.to_le_bytes()));
    msh.extend([0_u32, 1, 2].iter().flat_map(|n| n.to_le_bytes()));
    let mut field: Vec<u8> = [2_u32, 2].iter().flat_map(|n| n.to_le_bytes()).collect();
    field.extend(
        [0.0_f32, 1.0, 2.0, 3.0]
            .iter()
            .flat_map(|x| x.to_le_bytes()),
    );
    MemorySource::new()
        .with(
            "m.obj",
            "v 0 0 0\nv 1 0 0\nv 1 1 0\nv 0 1 0\nv 0 2 1\nf 1 2 3 4\nf 1/1 2/2 -1\nf 1 2 3 4 5\n",
        )
        .with("n.stl", stl)
        .with("k.msh", msh)
        .with("h.bin", field)
}

/// Reads, shows and writes a damaged model.
fn check_model(name: &Path, files: &MemorySource) -> Result<(), String> {
    let model = read(name, files, &ReadSettings::default());
    let shown = render_all(&model.diagnostics, &model.sources);
    let json = to_json(&model.diagnostics, &model.sources);
    if model.diagnostics.iter().any(Diagnostic::is_error) {
        return (!shown.is_empty() && json.len() > 2)
            .then_some(())
            .ok_or("an error is not shown".to_owned());
    }
    check_round_trip(&model)
}

fn check_round_trip(model: &ReadModel) -> Result<(), String> {
    let text = write_with(&model.spec, AssetStorage::Inline);
    let alone = MemorySource::new().with("again.xml", text.as_str());
    let again = read("again.xml".as_ref(), &alone, &ReadSettings::default());
    let errors: Vec<Diagnostic> = again
        .diagnostics
        .into_iter()
        .filter(Diagnostic::is_error)
        .collect();
    if !errors.is_empty() {
        return Err(format!(
            "written model has errors:\n{}",
            render_all(&errors, &again.sources)
        ));
    }
    match difference(&model.spec, &again.spec, AssetStorage::Inline) {
        None => Ok(()),
        Some(difference) => Err(format!("written model differs:\n{difference}")),
    }
}

fn check_mesh(bytes: &[u8]) -> Result<(), String> {
    for format in [MeshFormat::Obj, MeshFormat::Stl, MeshFormat::Msh] {
        if let Ok(mesh) = read_mesh(bytes, format)
            && let Some(bad) = mesh
                .faces
                .as_flattened()
                .iter()
                .find(|&&i| i as usize >= mesh.vertices.len())
        {
            return Err(format!("{format:?} mesh with vertex {bad}"));
        }
    }
    if let Ok(field) = read_height_field(bytes)
        && field.elevation.len() != field.rows * field.columns
    {
        return Err("height field of the wrong size".to_owned());
    }
    Ok(())
}

/// One damaged file; `Err` says what went wrong.
fn run(seed: u64, models: &[(PathBuf, Vec<u8>)], files: &MemorySource) -> Result<(), String> {
    let random = &mut Random(seed);
    let (name, original) = &models[random.below(models.len())];
    let other = &models[random.below(models.len())].1;
    let mut bytes = original.clone();
    for _ in 0..=random.below(4) {
        mutate(&mut bytes, other, random);
    }
    let start = processor_time();
    let is_text = name
        .extension()
        .is_some_and(|ending| ending == "xml" || ending == "urdf");
    let outcome = catch_unwind(AssertUnwindSafe(|| {
        if is_text {
            check_model(name, &files.clone().with(name, bytes.as_slice()))
        } else {
            check_mesh(&bytes)
        }
    }));
    let outcome = match outcome {
        Ok(outcome) => outcome,
        Err(_) => Err("panic".to_owned()),
    };
    let outcome = outcome.and_then(|()| {
        let time = processor_time().saturating_sub(start);
        if time > SLOWEST {
            Err(format!("took {time:?}"))
        } else {
            Ok(())
        }
    });
    outcome.map_err(|reason| {
        let folder = std::env::temp_dir().join(format!("carom-mutation-{seed}"));
        // The file helps, but the seed is enough.
        let _ = std::fs::write(&folder, &bytes);
        format!(
            "seed {seed}, {}, kept as {}: {reason}",
            name.display(),
            folder.display()
        )
    })
}

/// Time this thread has been running, where the system tells: a busy machine must not fail the test.
fn processor_time() -> Duration {
    let statistics = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let nanoseconds = statistics
        .split_ascii_whitespace()
        .next()
        .and_then(|text| text.parse().ok());
    Duration::from_nanos(nanoseconds.unwrap_or(0))
}

/// Largest memory this process has used (kB), where the system tells.
fn peak_memory() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    line.split_ascii_whitespace().nth(1)?.parse().ok()
}

fn setting(name: &str, default: u64) -> u64 {
    std::env::var(name)
        .ok()
        .and_then(|text| text.parse().ok())
        .unwrap_or(default)
}

#[test]
fn damaged_files_are_refused_in_good_order() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../models");
    let mut files = mesh_files();
    let mut models: Vec<(PathBuf, Vec<u8>)> = Vec::new();
    for path in model_files(&folder) {
        let bytes = std::fs::read(&path).unwrap();
        let name = path.strip_prefix(&folder).unwrap().to_path_buf();
        files = files.with(&name, bytes.as_slice());
        models.push((name, bytes));
    }
    for (index, text) in SNIPPETS.iter().enumerate() {
        let ending = if text.starts_with("<robot") {
            "urdf"
        } else {
            "xml"
        };
        models.push((
            format!("snippet{index}.{ending}").into(),
            text.as_bytes().to_vec(),
        ));
    }
    for name in ["m.obj", "n.stl", "k.msh", "h.bin"] {
        use carom_spec::FileSource as _;
        models.push((name.into(), files.read(name.as_ref()).unwrap()));
    }

    let seconds = setting("CAROM_MUTATION_SECONDS", 10);
    let first = setting("CAROM_MUTATION_SEED", 0);
    let end = Instant::now() + Duration::from_secs(seconds);
    let mut failures = Vec::new();
    let mut count = 0;
    while Instant::now() < end && failures.len() < 5 {
        failures.extend(run(first + count, &models, &files).err());
        count += 1;
    }
    println!("{count} damaged files, peak memory {:?} kB", peak_memory());
    assert!(failures.is_empty(), "{}", failures.join("\n\n"));
    assert!(peak_memory().is_none_or(|used| used < MAX_MEMORY));
    assert!(count > 100, "only {count} files in {seconds} s");
}
