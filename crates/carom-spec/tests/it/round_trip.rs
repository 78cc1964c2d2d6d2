//! Models that are written and read again are the same.

use std::path::{Path, PathBuf};

use carom_spec::diagnostic::render_all;
use carom_spec::mjcf::learned_term::fingerprint;
use carom_spec::mjcf::{Allow, AssetStorage, ReadSettings, codes, write, write_with};
use carom_spec::model_spec::{
    ActuatorElement, ContactLaw, ContactPoints, JointLawKind, SensorKind, TendonPath, TendonSpec,
};
use carom_spec::source::ReadError;
use carom_spec::weights::{self, TermWeights};
use carom_spec::{Diagnostic, DiskSource, FileSource, MemorySource, ModelSpec};

use crate::models::{shared_models, shipped_models};

/// Files of the disk, and one that is not there.
struct Overlay {
    written: MemorySource,
}

impl FileSource for Overlay {
    fn read(&self, path: &Path) -> Result<Vec<u8>, ReadError> {
        self.written
            .read(path)
            .or_else(|_| DiskSource::default().read(path))
    }
}

fn read(path: &Path, source: &dyn FileSource) -> ModelSpec {
    let settings = ReadSettings {
        allow: Allow::Codes(vec![codes::SDF.to_owned()]),
    };
    let model = carom_spec::read::read(path, source, &settings);
    let errors: Vec<_> = model
        .diagnostics
        .into_iter()
        .filter(Diagnostic::is_error)
        .collect();
    assert!(
        errors.is_empty(),
        "{}:\n{}",
        path.display(),
        render_all(&errors, &model.sources)
    );
    model.spec
}

fn read_text(text: String, path: &Path) -> ModelSpec {
    read(
        path,
        &Overlay {
            written: MemorySource::new().with(path, text),
        },
    )
}

/// Everything in the model but places in files and what writing may lose, as text.
fn describe(spec: &ModelSpec, storage: AssetStorage) -> String {
    let mut spec = spec.clone();
    for actuator in &mut spec.actuators {
        actuator.element = ActuatorElement::General;
    }
    if storage == AssetStorage::Inline {
        for mesh in &mut spec.meshes {
            mesh.source.clear();
            mesh.normals.clear();
            mesh.face_normals.clear();
            mesh.texture_coordinates.clear();
            mesh.face_texture_coordinates.clear();
        }
        for field in &mut spec.height_fields {
            field.source.clear();
        }
    }
    for tendon in &mut spec.tendons {
        // How a tendon looks has no meaning without a path in space, but can come from a class.
        if matches!(tendon.path, TendonPath::Fixed(_)) {
            let TendonSpec {
                width,
                rgba,
                material,
                ..
            } = TendonSpec::default();
            (tendon.width, tendon.rgba, tendon.material) = (width, rgba, material);
        }
    }
    spec.visual
        .sort_by(|a, b| (&a.element, &a.attribute).cmp(&(&b.element, &b.attribute)));
    let text = format!("{spec:?}");
    let mut parts = text.split("Span {");
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        out.push_str(part.split_once('}').map_or("", |(_, rest)| rest));
    }
    // The sign of a zero has no meaning.
    out.replace("-0.0,", "0.0,").replace("-0.0]", "0.0]")
}

#[track_caller]
fn assert_same(path: &Path, first: &ModelSpec, second: &ModelSpec, storage: AssetStorage) {
    if let Some(difference) = difference(first, second, storage) {
        panic!("{}:\n{difference}", path.display());
    }
}

/// The first place where two models differ.
pub(crate) fn difference(
    first: &ModelSpec,
    second: &ModelSpec,
    storage: AssetStorage,
) -> Option<String> {
    let (first, second) = (describe(first, storage), describe(second, storage));
    let at = first
        .bytes()
        .zip(second.bytes())
        .take_while(|(a, b)| a == b)
        .count();
    let around = |text: &str| {
        let bytes = &text.as_bytes()[at.saturating_sub(200)..(at + 100).min(text.len())];
        String::from_utf8_lossy(bytes).into_owned()
    };
    (first != second).then(|| format!("  {}\n  {}", around(&first), around(&second)))
}

fn all_models() -> Vec<PathBuf> {
    let mut models = shipped_models();
    assert!(!models.is_empty());
    models.extend(shared_models());
    models
}

#[test]
fn written_models_read_back_the_same() {
    for path in all_models() {
        let spec = read(&path, &DiskSource::default());
        let written = path.with_file_name("written-again.xml");
        let again = read_text(write(&spec), &written);
        assert_same(&path, &spec, &again, AssetStorage::Files);
    }
}

#[test]
fn self_contained_models_need_no_files() {
    for path in all_models() {
        let spec = read(&path, &DiskSource::default());
        let text = write_with(&spec, AssetStorage::Inline);
        let alone = MemorySource::new().with("alone.xml", text);
        let again = read(Path::new("alone.xml"), &alone);
        assert_same(&path, &spec, &again, AssetStorage::Inline);
    }
}

/// Every law of joints, with other numbers than the usual ones; a new law is tried as soon as it is declared.
#[test]
fn laws_of_joints_read_back_the_same() {
    let mut texts = Vec::new();
    for (index, kind) in JointLawKind::ALL.iter().enumerate() {
        let description = kind.description();
        let numbers = description.numbers.iter();
        let numbers: Vec<String> = numbers
            .map(|number| format!("; {}={}", number.name, 1.5 * number.default + 0.1))
            .collect();
        let numbers = numbers.concat();
        let law = description.name;
        let data = [
            format!("law={law}; joint=a hinge{numbers}"),
            format!("joint=slide; law={law}"),
        ];
        for (place, data) in data.iter().enumerate() {
            texts.push(format!(
                r#"<text name="carom/joint/{index}.{place}" data="{data}"/>"#
            ));
        }
    }
    let texts = texts.concat();
    let text = format!(
        r#"<mujoco><worldbody><body><joint name="a hinge"/><geom size="1"/>
          <body><joint name="slide" type="slide"/><geom size="1"/></body></body></worldbody>
          <custom>{texts}</custom></mujoco>"#
    );
    let path = Path::new("laws.xml");
    let spec = read_text(text, path);
    assert_eq!(spec.joint_laws.len(), 2 * JointLawKind::ALL.len());
    for [given, usual] in spec.joint_laws.as_chunks().0 {
        assert_eq!(given.joint.name, "a hinge");
        assert_eq!(usual.numbers, usual.kind.defaults());
        let numbers = given
            .kind
            .defaults()
            .into_iter()
            .map(|number| 1.5 * number + 0.1);
        assert_eq!(given.numbers, numbers.collect::<Vec<f64>>());
    }
    let written = write(&spec);
    let again = read_text(written.clone(), path);
    assert_same(path, &spec, &again, AssetStorage::Files);
    // Usual numbers need no words.
    let first = JointLawKind::ALL[0].description().name;
    assert!(
        written.contains(&format!(r#"data="law={first}; joint=slide"/>"#)),
        "{written}"
    );
}

/// Every form with every option; weights are those of the file beside the model.
#[test]
fn learned_terms_read_back_the_same() {
    let forms = [
        "form=mlp; hidden=8 4; activation=elu; dissipative=velocity",
        "form=mlp; hidden=3; shared=false; bound=2.5",
        "form=polynomial; degree=3; odd=velocity",
        "form=rational; degree=2; constant=true; mode=multiply; seed=7",
        "form=table; counts=6 9; mode=replace",
        "form=friction",
        "form=drag; weights=own.safetensors",
    ];
    let text = |index: usize, form: &str| {
        let data = format!("target=joint.*.force; inputs=velocity joint.j.position; {form}");
        format!(r#"<text name="carom/learned/term {index}" data="{data}"/>"#)
    };
    let texts = forms.iter().enumerate();
    let texts: Vec<String> = texts.map(|(index, form)| text(index, form)).collect();
    let model = |texts: &str| {
        format!(
            r#"<mujoco><worldbody><body><joint name="j"/><geom size="1"/></body></worldbody>
              <custom>{texts}</custom></mujoco>"#
        )
    };
    let path = Path::new("terms.xml");
    let last = forms.len() - 1;
    let described = read_text(model(&text(last, "form=drag")), path);
    let own = TermWeights {
        name: format!("term {last}"),
        fingerprint: fingerprint(&described.learned_terms[0]),
        weights: vec![0.25, -1.5],
        scales: vec![[0.5, 2.0]],
        range: vec![[-1.0, 3.0]],
    };
    let files = |text: String| {
        let bytes = weights::write(std::slice::from_ref(&own));
        let files = MemorySource::new().with(path, text);
        files.with("own.safetensors", bytes)
    };
    let spec = read(path, &files(model(&texts.concat())));
    assert_eq!(spec.learned_terms.len(), forms.len());
    assert_eq!(spec.learned_terms[last].weights, own.weights);
    assert_eq!(spec.learned_terms[last].scales, own.scales);
    assert_eq!(spec.learned_terms[last].range, own.range);
    let again = read(path, &files(write(&spec)));
    assert_same(path, &spec, &again, AssetStorage::Files);

    // Weights of another description, and of another term, are refused.
    let refused = |texts: &str| {
        let files = files(model(texts));
        let found = carom_spec::read::read(path, &files, &ReadSettings::default());
        let messages = found.diagnostics.iter();
        messages.map(|one| one.message.clone()).collect::<String>()
    };
    let other = refused(&text(last, "form=friction; weights=own.safetensors"));
    assert!(other.contains("belong to another description"), "{other}");
    let other = refused(&text(1, "form=drag; weights=own.safetensors"));
    assert!(other.contains("has no weights of term 'term 1'"), "{other}");
}

/// Every sensor that MuJoCo lacks and that is attached to a joint.
#[test]
fn sensors_that_mujoco_lacks_read_back_the_same_after_all_others() {
    let own = |word: &&&str| SensorKind::from_word(word).unwrap().row().code.is_none();
    let texts: Vec<String> = (SensorKind::WORDS.iter().filter(own))
        .map(|word| {
            let row = SensorKind::from_word(word).unwrap().row();
            let (_, attribute) = row.attachment.element().unwrap();
            assert_eq!(attribute, "joint", "the model has no {attribute}");
            let data = format!("kind={word}; {attribute}=j; cutoff=2; noise=0.5");
            format!(r#"<text name="carom/sensor/of {word}" data="{data}"/>"#)
        })
        .collect();
    let texts = texts.concat();
    let text = format!(
        r#"<mujoco><custom>{texts}</custom><worldbody><body><joint name="j"/><geom size="1"/></body></worldbody>
          <sensor><clock name="clock"/></sensor></mujoco>"#
    );
    let path = Path::new("sensors.xml");
    let spec = read_text(text, path);
    assert_eq!(spec.sensors[0].name, "clock");
    assert!(spec.sensors[1..].iter().all(|sensor| sensor.noise == 0.5));
    assert_eq!(
        spec.sensors.len(),
        1 + SensorKind::WORDS.iter().filter(own).count()
    );
    let again = read_text(write(&spec), path);
    assert_same(path, &spec, &again, AssetStorage::Files);
}

#[test]
fn the_tolerance_of_continuous_time_reads_back_the_same() {
    let text = r#"<mujoco><option timestep="0.01"/><worldbody/>
      <option timestep="0.0025"/><custom><text name="carom/simulation" data="tolerance=1e-06"/></custom></mujoco>"#;
    let path = Path::new("calibrated.xml");
    let spec = read_text(text.to_owned(), path);
    assert_eq!(spec.continuous_time, Some(1e-6));
    assert_eq!(spec.option.timestep, 0.0025, "what comes last counts");
    let again = read_text(write(&spec), path);
    assert_eq!(again.continuous_time, Some(1e-6));
}

#[test]
fn contact_laws_read_back_the_same() {
    let text = r#"<mujoco><worldbody>
          <geom name="table" type="plane" size="1 1 1"/>
          <body><freejoint/><geom name="slab" type="box" size="0.1 0.1 0.02"/></body>
          <body><freejoint/><geom name="a ball" size="0.1"/></body>
        </worldbody>
        <custom>
          <text name="carom/contact" data="law=complementarity; restitution=0.5; restitution_speed=0.01;
            baumgarte=0.1 0.9; mixing=1e-5; tolerance=1e-12; iterations=50"/>
          <text name="carom/contact/slab" data="law=hunt_crossley; stiffness=2e4; exponent=1.25; dissipation=0.3;
            transition_speed=0.02; static_ratio=1.1; viscous=0.1; viscous_force=3; geom1=slab; geom2=table;
            grid=0.02; faces=-z +x"/>
          <text name="carom/contact/ball" data="law=soft; geom1=a ball; points=0 0 -0.1 0.1 0 0"/>
          <text name="carom/contact/rebound" data="law=impulse; restitution=0.9; impacts=7; geom1=a ball; geom2=table"/>
          <text name="note" data="carom/contact is not meant here"/>
        </custom></mujoco>"#;
    let path = Path::new("laws.xml");
    let spec = read_text(text.to_owned(), path);
    let [whole, slab, ball, rebound] = &spec.contact_laws[..] else {
        panic!("{:?}", spec.contact_laws);
    };
    assert_eq!(spec.texts.len(), 1);
    assert!(matches!(whole.law, ContactLaw::Complementarity(law) if law.iterations == 50));
    assert!(matches!(rebound.law, ContactLaw::Impulse(law) if law.impacts == 7));
    assert!(matches!(slab.law, ContactLaw::HuntCrossley(law) if law.exponent == 1.25));
    assert_eq!(
        slab.points,
        ContactPoints::Grid {
            spacing: 0.02,
            faces: [false, true, false, false, true, false]
        }
    );
    assert_eq!(
        ball.geom1.as_ref().map(|geom| geom.name.as_str()),
        Some("a ball")
    );
    assert_eq!(
        ball.points,
        ContactPoints::List(vec![[0.0, 0.0, -0.1], [0.1, 0.0, 0.0]])
    );
    let again = read_text(write(&spec), path);
    assert_same(path, &spec, &again, AssetStorage::Files);
}
