//! Damaged blueprints, files of weights and mappings: training and reading end with an error that has words, or with finite weights.

use carom::model::Model;
use carom::{Data, Error, ErrorKind, Input, State};
use carom_spec::mjcf::ReadSettings;
use carom_spec::{MemorySource, ModelSpec, weights};
use carom_tasks::learn::{self, Settings, Unwatched, blueprint};
use carom_tasks::npz::Array;
use carom_tasks::recording::table::Table;
use carom_tasks::recording::{self, Mapping, Recordings};
use carom_testing::Random;
use carom_testing::mutation::{Campaign, mutate};

const MODEL: &str = r#"<mujoco><option timestep=".01"/><worldbody>
  <body name="upper"><joint name="a" axis="0 1 0"/><geom type="capsule" fromto="0 0 0 0 0 -.4" size=".03"/>
    <body name="lower" pos="0 0 -.4"><joint name="b" axis="0 1 0"/>
      <geom type="capsule" fromto="0 0 0 0 0 -.3" size=".03"/></body></body></worldbody>
  <actuator><motor name="m" joint="a"/></actuator></mujoco>"#;

const MAPPING: &str = "[time]\ncolumn = 't'\n[[joint]]\nname = 'a'\nposition = 'q[0]'\nnoise = 0.01\n[[joint]]\nname = 'b'\n\
    position = 'q[1]'\nvelocity = 'v'\n[velocity]\nmethod = 'smooth'\nframes = 2\n[[actuator]]\nname = 'm'\ncontrol = 'u'\n";

/// Blueprints that use everything a blueprint may say.
const BLUEPRINTS: [&str; 4] = [
    "[[term]]\nname = 'drag'\ntarget = ['joint.*.force']\ninputs = ['velocity']\nform = 'drag'\n[training]\n\
     free = ['joint.*.damping[0]', 'option.gravity[2] bounds(-11,-9)']\nhorizons = [3, 6]\nevery = 2\nhuber = 3.0\n\
     evaluations = 3\n",
    "[[term]]\nname = 'net'\ntarget = 'body.*.force'\ninputs = ['linear_velocity', 'angular_velocity.y']\nform = 'mlp'\n\
     hidden = [4, 3]\nactivation = 'elu'\nbound = 0.5\nseed = 3\n[training]\nbatch = 2\nsteps = 3\nrate = 0.02\n\
     held_back = 0.2\nregularization = 1e-3\nhorizons = [4]\n",
    "[[term]]\nname = 'gear'\ntarget = 'joint.a.force'\ninputs = ['velocity', 'actuator_force']\nform = 'friction'\n\
     [[term]]\nname = 'cog'\ntarget = 'joint.b.force'\ninputs = ['position']\nform = 'table'\ncounts = [6]\n\
     scales = [[0.0, 2.0]]\n[training]\nfree = ['body.lower.pseudo_inertia']\n",
    "[[term]]\nname = 'gain'\ntarget = 'actuator.m.force'\nmode = 'multiply'\ninputs = ['control', 'velocity']\n\
     form = 'rational'\ndegree = 2\nconstant = true\nodd = ['velocity']\n[[term]]\nname = 'loss'\n\
     target = ['joint.a.force', 'joint.b.force']\nshared = false\ninputs = ['joint.a.velocity', 'joint.b.velocity']\n\
     form = 'polynomial'\ndegree = 1\nconstant = true\ndissipative = ['joint.a.velocity', 'joint.b.velocity']\n",
];

fn described(text: &str, files: MemorySource) -> Option<ModelSpec> {
    let files = files.with("model.xml", text);
    let read = carom_spec::read::read("model.xml".as_ref(), &files, &ReadSettings::default());
    read.diagnostics.is_empty().then_some(read.spec)
}

fn table() -> Table {
    let frames = 14;
    let column = |of: &dyn Fn(f64) -> f64| (0..frames).map(|k| of(0.01 * f64::from(k))).collect();
    let angles: Vec<f64> = (0..frames)
        .flat_map(|k| {
            let t = 0.01 * f64::from(k);
            [0.5 - 8.0 * t * t, -0.2 + 3.0 * t * t]
        })
        .collect();
    let count = frames as usize;
    let arrays = [
        ("t".to_owned(), Array::numbers(&[count], column(&|t| t))),
        ("q".to_owned(), Array::numbers(&[count, 2], angles)),
        (
            "v".to_owned(),
            Array::numbers(&[count], column(&|t| 6.0 * t)),
        ),
        (
            "u".to_owned(),
            Array::numbers(&[count], column(&|t| 0.1 + t)),
        ),
    ];
    Table::from_arrays("run".to_owned(), arrays, false)
}

fn recordings(model: &Model, mapping: &Mapping) -> Result<Recordings, Error> {
    recording::from_tables(model, mapping, [Ok(table())].into_iter())
}

/// What must hold of any error.
fn told(error: &Error) -> Result<(), String> {
    if error.to_string().trim().is_empty() {
        return Err("an error without words".to_owned());
    }
    Ok(())
}

/// Trains what a blueprint says, briefly.
fn train(text: &str, mapping: &str) -> Result<Vec<f64>, Error> {
    let blueprint = blueprint::parse(text, "terms.toml")?;
    let mapping = Mapping::parse(mapping, "map.toml")?;
    let settings = Settings {
        evaluations: blueprint.training.evaluations.min(3),
        steps: blueprint.training.steps.min(3),
        ..blueprint.training
    };
    let load = |model: &Model| Ok((recordings(model, &mapping)?, None));
    let spec = described(MODEL, MemorySource::new()).unwrap_or_default();
    let watch = (None, &mut Unwatched as &mut dyn learn::Watch);
    let learned = learn::train(spec, blueprint.terms, &load, &settings, None, watch)?;
    let terms = learned.spec.learned_terms.iter();
    Ok(terms.flat_map(|term| term.weights.clone()).collect())
}

#[test]
fn damaged_blueprints_and_mappings_are_refused_in_good_order() {
    for text in BLUEPRINTS {
        train(text, MAPPING).unwrap_or_else(|error| panic!("{text}: {error}"));
    }
    let attempt = |random: &mut Random| {
        let mut text = random.pick(&BLUEPRINTS).as_bytes().to_vec();
        let mut mapping = MAPPING.as_bytes().to_vec();
        for _ in 0..=random.below(2) {
            mutate(&mut text, random);
        }
        if random.below(4) == 0 {
            mutate(&mut mapping, random);
        }
        let (Ok(text), Ok(mapping)) = (String::from_utf8(text), String::from_utf8(mapping)) else {
            return Ok(());
        };
        match train(&text, &mapping) {
            Ok(weights) if weights.iter().all(|weight| weight.is_finite()) => Ok(()),
            Ok(weights) => Err(format!("weights {weights:?} of\n{text}")),
            Err(error) => told(&error).map_err(|why| format!("{why}\n{text}")),
        }
    };
    Campaign {
        count: 20_000,
        seconds: 6,
    }
    .run(attempt);
}

#[test]
fn damaged_weights_are_refused_in_good_order() {
    let text = MODEL.replace(
        "</mujoco>",
        "<custom><text name=\"carom/learned/gear\" data=\"target=joint.a.force; inputs=velocity actuator_force; form=friction; \
         weights=w.safetensors\"/><text name=\"carom/learned/net\" data=\"target=joint.b.force; inputs=velocity position; form=mlp; \
         hidden=4; weights=w.safetensors\"/></custom></mujoco>",
    );
    let plain = text.replace("; weights=w.safetensors", "");
    let spec = described(&plain, MemorySource::new()).unwrap();
    let model = carom::compile::compile(&spec).0.unwrap();
    let mut trained = spec.learned_terms.clone();
    for (term, learned) in trained.iter_mut().zip(&model.structure.learned.terms) {
        term.weights = model.learned.weight[learned.weights.clone()].to_vec();
        term.range = vec![[-1.0, 1.0]; 2];
    }
    let bytes = weights::write(&learn::weights_of(&trained));
    let attempt = |random: &mut Random| {
        let mut bytes = bytes.clone();
        for _ in 0..random.below(4) {
            mutate(&mut bytes, random);
        }
        let files = MemorySource::new().with("w.safetensors", bytes);
        let Some(spec) = described(&text, files) else {
            return Ok(());
        };
        let (Some(model), _) = carom::compile::compile(&spec) else {
            return Ok(());
        };
        let weights = &model.learned.weight;
        if !weights.iter().all(|weight| weight.is_finite()) {
            return Err(format!("weights {weights:?}"));
        }
        let (mut state, mut data) = (State::reference(&model), Data::new(&model));
        carom::step(&model, &mut state, &Input::zeros(&model), &mut data);
        Ok(())
    };
    // The file as it is, is read.
    let files = MemorySource::new().with("w.safetensors", bytes.clone());
    assert!(described(&text, files).is_some());
    Campaign {
        count: 100_000,
        seconds: 3,
    }
    .run(attempt);
}
