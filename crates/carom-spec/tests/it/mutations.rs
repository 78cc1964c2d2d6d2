//! Damaged variants of our own models: whatever happens to a file, reading it ends with a model or with
//! errors, soon and in bounded memory; and what is read without errors survives being written.
//!
//! [`carom_testing::mutation`] says what all readers must survive.

use std::path::{Path, PathBuf};

use carom_spec::diagnostic::{render_all, to_json};
use carom_spec::mesh::{MeshFormat, read_height_field, read_mesh};
use carom_spec::mjcf::{AssetStorage, ReadSettings, write_with};
use carom_spec::read::{ReadModel, read};
use carom_spec::{Diagnostic, MemorySource};
use carom_testing::Random;
use carom_testing::mutation::{Campaign, mutate, replace};

use crate::models::model_files;
use crate::round_trip::difference;

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

/// Damages a model file: as any text, or by its tags.
fn damage(bytes: &mut Vec<u8>, other: &[u8], random: &mut Random) {
    match random.below(13) {
        0 => {
            if let Some(tag) = random.choose(&tags(bytes)) {
                replace(bytes, tag, b"");
            }
        }
        1 => {
            let tags = tags(bytes);
            if let (Some(tag), Some(place)) = (random.choose(&tags), random.choose(&tags)) {
                let copy = bytes[tag.0..tag.1].to_vec();
                replace(bytes, (place.1, place.1), &copy);
            }
        }
        2 => {
            if let Some(tag) = random.choose(&tags(other)) {
                let end = (tag.0 + random.below(600)).min(other.len()).max(tag.1);
                let place = tags(bytes).get(random.below(40)).map_or(0, |tag| tag.1);
                replace(bytes, (place, place), &other[tag.0..end]);
            }
        }
        _ => mutate(bytes, random),
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
fn run(
    random: &mut Random,
    models: &[(PathBuf, Vec<u8>)],
    files: &MemorySource,
) -> Result<(), String> {
    let (name, original) = &models[random.below(models.len())];
    let other = &models[random.below(models.len())].1;
    let mut bytes = original.clone();
    for _ in 0..=random.below(4) {
        damage(&mut bytes, other, random);
    }
    let is_text = name
        .extension()
        .is_some_and(|ending| ending == "xml" || ending == "urdf");
    let outcome = if is_text {
        check_model(name, &files.clone().with(name, bytes.as_slice()))
    } else {
        check_mesh(&bytes)
    };
    outcome.map_err(|reason| format!("{}: {reason}", name.display()))
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

    let campaign = Campaign {
        count: 200_000,
        seconds: 10,
    };
    campaign.run(|random| run(random, &models, &files));
}
