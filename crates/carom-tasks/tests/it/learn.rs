//! Learned terms find what made the recordings.

use std::sync::atomic::AtomicBool;

use carom::model::Model;
use carom::rollout::{self, Controls};
use carom::{Data, Error, State};
use carom_spec::ModelSpec;
use carom_spec::mjcf::ReadSettings;
use carom_spec::model_spec::LearnedTermSpec;
use carom_spec::{MemorySource, weights};
use carom_tasks::learn::{self, Learned, Settings, Unwatched, Watch, blueprint};
use carom_tasks::npz::Array;
use carom_tasks::recording::table::Table;
use carom_tasks::recording::{self, Mapping, Recordings};

/// Two rods on hinges, with damping or without.
fn pendulum(damping: &str, custom: &str) -> String {
    format!(
        r#"<mujoco><option timestep=".01" integrator="RK4"/><worldbody>
          <body name="upper"><joint name="a" axis="0 1 0" {damping}/><geom type="capsule" fromto="0 0 0 0 0 -.4" size=".03"/>
            <body name="lower" pos="0 0 -.4"><joint name="b" axis="0 1 0" {damping}/>
              <geom type="capsule" fromto="0 0 0 0 0 -.3" size=".03"/></body></body></worldbody>
          <custom>{custom}</custom></mujoco>"#
    )
}

fn spec(text: &str, files: MemorySource) -> ModelSpec {
    let files = files.with("model.xml", text);
    let read = carom_spec::read::read("model.xml".as_ref(), &files, &ReadSettings::default());
    assert!(read.diagnostics.is_empty(), "{:?}", read.diagnostics);
    read.spec
}

fn compiled(spec: &ModelSpec) -> Model {
    carom::compile::compile(spec).0.unwrap()
}

/// Runs of a damped pendulum, as recordings of the model that is to be trained.
fn recordings(model: &Model, seeds: std::ops::Range<u32>) -> Result<Recordings, Error> {
    let truth = compiled(&spec(
        &pendulum(r#"damping=".05""#, ""),
        MemorySource::new(),
    ));
    let mut tables = Vec::new();
    for seed in seeds {
        let mut start = State::reference(&truth);
        start.qpos = vec![0.9 - 0.3 * f64::from(seed), 0.4 * f64::from(seed) - 0.5];
        start.qvel = vec![1.0, -0.5 * f64::from(seed)];
        let mut data = Data::new(&truth);
        let motion = rollout::rollout(&truth, &start, &Controls::Zero, 80, &mut data);
        let column = |read: &dyn Fn(usize) -> f64| (0..=80).map(read).collect::<Vec<f64>>();
        let arrays = [
            ("time", column(&|step| 0.01 * step as f64)),
            ("joint.a", column(&|step| motion.qpos(step)[0])),
            ("joint.b", column(&|step| motion.qpos(step)[1])),
            ("joint.a.velocity", column(&|step| motion.qvel(step)[0])),
            ("joint.b.velocity", column(&|step| motion.qvel(step)[1])),
        ];
        let arrays =
            arrays.map(|(name, numbers)| (name.to_owned(), Array::numbers(&[81], numbers)));
        tables.push(Table::from_arrays(format!("run {seed}"), arrays, false));
    }
    let mapping = Mapping::of_own_arrays(model, &tables[0], &[].into())?;
    recording::from_tables(model, &mapping, tables.into_iter().map(Ok))
}

const DRAG: &str =
    "[[term]]\nname = 'drag'\ntarget = 'joint.*.force'\ninputs = ['velocity']\nform = 'drag'\n";
const NETWORK: &str = "[[term]]\nname = 'net'\ntarget = 'joint.*.force'\ninputs = ['velocity']\nform = 'mlp'\n\
    hidden = [8, 4]\nodd = ['velocity']\n";

fn terms(text: &str) -> Vec<LearnedTermSpec> {
    blueprint::parse(text, "terms.toml").unwrap().terms
}

fn train(
    text: &str,
    settings: &Settings,
    resume: Option<&[u8]>,
    stop: Option<&AtomicBool>,
    watch: &mut dyn Watch,
) -> Learned {
    let load = |model: &Model| Ok((recordings(model, 0..3)?, Some(recordings(model, 3..4)?)));
    let spec = spec(&pendulum("", ""), MemorySource::new());
    learn::train(spec, terms(text), &load, settings, resume, (stop, watch)).unwrap()
}

/// To an end that is worth a look.
fn thorough() -> Settings {
    Settings {
        evaluations: 120,
        ..Settings::default()
    }
}

/// Some rounds over two horizons.
fn brief() -> Settings {
    Settings {
        horizons: vec![6, 12],
        evaluations: 40,
        ..Settings::default()
    }
}

#[test]
fn a_law_is_found_with_its_numbers() {
    let learned = train(DRAG, &thorough(), None, None, &mut Unwatched);
    let [linear, quadratic] = learned.spec.learned_terms[0].weights[..] else {
        panic!("{:?}", learned.spec.learned_terms[0].weights);
    };
    assert!((linear - 0.05).abs() < 1e-5, "{linear}");
    assert!(quadratic.abs() < 1e-4, "{quadratic}");
    let [before, after] = learned.validation.unwrap();
    assert!(after < 1e-6 * before, "{before} {after}");
}

#[test]
fn a_network_predicts_held_out_recordings() {
    let learned = train(NETWORK, &thorough(), None, None, &mut Unwatched);
    assert!(learned.weights > 48);
    let [before, after] = learned.validation.unwrap();
    assert!(after < 0.01 * before, "{before} {after}");
}

/// What is written and read again predicts the same to the bit.
#[test]
fn trained_models_are_files() {
    let learned = train(DRAG, &thorough(), None, None, &mut Unwatched);
    let mut spec_out = learned.spec.clone();
    let bytes = weights::write(&learn::weights_of(&spec_out.learned_terms));
    spec_out.learned_terms[0].weights_file = Some("w.safetensors".to_owned());
    let text = carom_spec::mjcf::write(&spec_out);
    let again = spec(&text, MemorySource::new().with("w.safetensors", bytes));
    assert_eq!(compiled(&again).learned, learned.model.learned);
}

/// Stores checkpoints, and asks for an end after some.
struct Killed<'a> {
    after: usize,
    bytes: Vec<u8>,
    stop: &'a AtomicBool,
}

impl Watch for Killed<'_> {
    fn wants_checkpoints(&self) -> bool {
        true
    }

    fn checkpoint(&mut self, bytes: &[u8]) -> Result<(), Error> {
        self.bytes = bytes.to_vec();
        self.after -= 1;
        if self.after == 0 {
            self.stop.store(true, std::sync::atomic::Ordering::Relaxed);
        }
        Ok(())
    }
}

#[test]
fn training_that_was_ended_goes_on_to_the_same_bits() {
    let whole = train(NETWORK, &brief(), None, None, &mut Unwatched);
    for after in [1, 3] {
        let stop = AtomicBool::new(false);
        let mut killed = Killed {
            after,
            bytes: Vec::new(),
            stop: &stop,
        };
        let part = train(NETWORK, &brief(), None, Some(&stop), &mut killed);
        assert!(part.is_stopped);
        let again = train(NETWORK, &brief(), Some(&killed.bytes), None, &mut Unwatched);
        assert_eq!(again.spec.learned_terms, whole.spec.learned_terms);
    }
}

#[test]
fn any_number_of_threads_gives_the_same_bits() {
    let of = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(threads)
            .build()
            .unwrap();
        pool.install(|| {
            train(NETWORK, &brief(), None, None, &mut Unwatched)
                .spec
                .learned_terms
        })
    };
    assert_eq!(of(1), of(3));
}

/// The model that is trained falls more slowly than the one of the recordings.
#[test]
fn parameters_of_the_model_are_found_with_the_weights() {
    let settings = Settings {
        free: learn::selections(&["option.gravity[2]".to_owned()]).unwrap(),
        ..thorough()
    };
    let slow = pendulum("", "").replace("<option", "<option gravity=\"0 0 -8\"");
    let slow = spec(&slow, MemorySource::new());
    let load = |model: &Model| Ok((recordings(model, 0..3)?, None));
    let learned = learn::train(
        slow,
        terms(DRAG),
        &load,
        &settings,
        None,
        (None, &mut Unwatched),
    );
    let learned = learned.unwrap();
    let [(name, [before, after])] = &learned.parameters[..] else {
        panic!("{:?}", learned.parameters);
    };
    assert!(name.contains("gravity"), "{name}");
    assert!((before + 8.0).abs() < 1e-12, "{before}");
    assert!((after + 9.81).abs() < 1e-4, "{after}");
    // What is written is what was found.
    assert!((compiled(&learned.spec).option.gravity[0].0[2] - after).abs() < 1e-12);
    let drag = learned.spec.learned_terms[0].weights[0];
    assert!((drag - 0.05).abs() < 1e-4, "{drag}");
}

/// The lower rod turns as if it had twice the largest moment that its other two allow.
#[test]
fn free_moments_of_inertia_end_where_a_body_has_them() {
    let settings = Settings {
        free: learn::selections(&["body.lower.inertia[1] log".to_owned()]).unwrap(),
        ..brief()
    };
    let light = r#"<inertial pos="0 0 -.15" mass=".94" diaginertia=".002 .0021 .0002"/><geom type="capsule" fromto="0 0 0 0 0 -.3" size=".03"/>"#;
    let rod = r#"<geom type="capsule" fromto="0 0 0 0 0 -.3" size=".03"/>"#;
    let text = pendulum("", "").replace(rod, light);
    assert!(text.contains("diaginertia"));
    let load = |model: &Model| Ok((recordings(model, 0..3)?, None));
    let watch = (None, &mut Unwatched as &mut dyn Watch);
    let described = spec(&text, MemorySource::new());
    let learned = learn::train(described, terms(DRAG), &load, &settings, None, watch).unwrap();
    let mut moments = learned.model.bodies.inertia[2].0;
    moments.sort_by(f64::total_cmp);
    let [a, b, c] = moments;
    assert!(c <= a + b, "{moments:?}");
    // The search went as far as it may.
    assert!(c > 0.9 * (a + b) && c > 2.11e-3, "{moments:?}");
}

/// Adam takes some segments a step, and training goes on from a checkpoint to the same bits.
#[test]
fn some_segments_a_step_give_the_same_bits_after_an_end_too() {
    let settings = Settings {
        batch: 5,
        steps: 60,
        regularization: 1e-10,
        every: Some(4),
        ..brief()
    };
    let whole = train(NETWORK, &settings, None, None, &mut Unwatched);
    let [before, after] = whole.validation.unwrap();
    assert!(after < 0.3 * before, "{before} {after}");
    for rounds in [1, 2, 5] {
        let stop = AtomicBool::new(false);
        let mut killed = Killed {
            after: rounds,
            bytes: Vec::new(),
            stop: &stop,
        };
        train(NETWORK, &settings, None, Some(&stop), &mut killed);
        let again = train(
            NETWORK,
            &settings,
            Some(&killed.bytes),
            None,
            &mut Unwatched,
        );
        assert_eq!(again.spec.learned_terms, whole.spec.learned_terms);
    }
}

#[test]
fn trajectories_are_held_back_where_weights_are_many() {
    let load = |model: &Model| Ok((recordings(model, 0..5)?, None));
    let of = |text: &str, held_back| {
        let settings = Settings {
            held_back,
            evaluations: 25,
            steps: 25,
            ..brief()
        };
        let spec = spec(&pendulum("", ""), MemorySource::new());
        learn::train(
            spec,
            terms(text),
            &load,
            &settings,
            None,
            (None, &mut Unwatched),
        )
        .unwrap()
    };
    let network = of(NETWORK, None);
    assert_eq!(network.held_back.len(), 1);
    assert!(network.validation.is_some());
    assert!(of(DRAG, None).held_back.is_empty());
    assert_eq!(of(DRAG, Some(0.4)).held_back.len(), 2);
    assert!(of(NETWORK, Some(0.0)).held_back.is_empty());
}
