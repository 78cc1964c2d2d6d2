use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use super::*;

/// A folder with a model and a recipe, removed at the end.
struct Folder(PathBuf);

const MODEL: &str = r#"<mujoco><option timestep="0.002"/><worldbody>
  <geom name="table" type="plane" size="1 1 0.1" priority="1" friction="0.3"/>
  <body name="cube" pos="0 0 0.03"><freejoint/><geom type="box" size="0.03 0.03 0.03" mass="0.15"/></body>
  <body name="rock" pos="1 0 0.03"><freejoint/><geom type="mesh" mesh="rock" density="700"/></body></worldbody>
  <asset><mesh name="rock" vertex="0.03 0.03 -0.02 -0.03 0.03 -0.02 0 -0.04 -0.02 0 0 0.05"/></asset>
  <custom><text name="carom/contact" data="law=hunt_crossley; stiffness=2000; exponent=1; patch=2"/></custom></mujoco>"#;
const RECIPE: &str = "model = 'model.xml'\nruns = 7\nseed = 3\nframes = 12\nrate = 60\nruns_per_shard = 2\n\
    [bodies]\ncount = [2, 3]\nside = [0.05, 0.07]\ndensity = [600, 800]\ntemplates = ['cube', 'rock']\n\
    [shot]\nspeed = [1, 1.5]\nway = [0.01, 0.03]\n\
    [[draw]]\nselect = 'geom.table.friction[0]'\nrange = [0.2, 0.3]\nlog = true\n";

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("carom_scale_{name}_{}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        fs::write(path.join("model.xml"), MODEL).unwrap();
        fs::write(path.join("recipe.toml"), RECIPE).unwrap();
        Self(path)
    }

    fn maker(&self) -> Result<Maker, Error> {
        Maker::read(&self.0.join("recipe.toml"))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn bytes(folder: &Path) -> Vec<(String, Vec<u8>)> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap());
    let read = entries.map(|entry| {
        let name = entry.file_name().into_string().unwrap();
        (name, fs::read(entry.path()).unwrap())
    });
    let mut all: Vec<_> = read.collect();
    all.sort();
    all
}

fn on_threads<T: Send>(threads: usize, work: impl FnOnce() -> T + Send) -> T {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
    pool.unwrap().install(work)
}

#[test]
fn shards_are_the_same_for_any_number_of_workers_and_after_any_interruption() {
    let folder = Folder::new("bits");
    let maker = folder.maker().unwrap();
    let [one, three] = ["one", "three"].map(|name| folder.0.join(name));
    let go = AtomicBool::new(false);
    let manifest = on_threads(1, || make(&maker, &one, &go, &|_| {})).unwrap();
    assert_eq!((manifest.present(), manifest.shards.len()), (7, 4));
    on_threads(3, || make(&maker, &three, &go, &|_| {})).unwrap();
    let whole = bytes(&one);
    assert_eq!(whole.len(), 5);
    assert_eq!(whole, bytes(&three));

    // Stopped after the first shard; then a damaged and a missing file.
    let other = folder.0.join("other");
    let (stop, heard) = (AtomicBool::new(false), AtomicUsize::new(0));
    let hear = |manifest: &Manifest| {
        heard.store(manifest.present(), Ordering::Relaxed);
        stop.store(manifest.present() > 0, Ordering::Relaxed);
    };
    let part = on_threads(1, || make(&maker, &other, &stop, &hear)).unwrap();
    assert!(part.present() < 7 && part.present() == heard.into_inner());
    make(&maker, &other, &go, &|_| {}).unwrap();
    assert_eq!(whole, bytes(&other));
    fs::write(other.join("shard-00001.npz"), "damaged").unwrap();
    fs::remove_file(other.join("shard-00002.npz")).unwrap();
    let (_, open) = open(&maker, &other).unwrap();
    assert_eq!(open, [1, 2]);
    make(&maker, &other, &go, &|_| {}).unwrap();
    assert_eq!(whole, bytes(&other));
    // A manifest that was not written yet loses nothing but time.
    fs::remove_file(other.join("manifest.json")).unwrap();
    make(&maker, &other, &go, &|_| {}).unwrap();
    assert_eq!(whole, bytes(&other));

    // What they hold is what the recipe says.
    let all = shards::read_all(&one, 0.0).unwrap();
    assert!(all.meshes.len() <= 1 + 3 && !all.meshes.is_empty());
    for run in &all.runs {
        assert_eq!(run.frames(), 12);
        assert!((2..=3).contains(&run.bodies.len()));
        let [speed, rest] = [0, 1].map(|body| {
            let velocity = run.velocities(0)[body];
            velocity[0].hypot(velocity[1])
        });
        assert!((1.0..1.5).contains(&speed) && rest == 0.0);
        for body in run.bodies.iter().filter(|body| body.shape == 0) {
            let side = 2.0 * body.half_size[0];
            assert!((0.05..=0.07).contains(&side));
            let density = body.mass / side.powi(3);
            assert!((599.9..800.1).contains(&density), "{density}");
        }
        // Another body was hit, and nothing fell through the table.
        let last = run.frame(run.frames() - 1);
        assert!(last.iter().all(|pose| pose[2] > 0.0));
        assert!((1..run.bodies.len()).any(|body| last[body][..2] != run.frame(0)[body][..2]));
    }
    let impacts = shards::impacts(&one, &manifest.shards[0]).unwrap();
    assert!(
        impacts.len() >= 2
            && impacts
                .iter()
                .all(|impact| impact.face.iter().all(|&f| f < 6))
    );
    assert!(impacts[0].speed[0] > 0.1 && impacts[0].speed[0] < 1.6);

    // Another recipe does not go on there.
    let recipe = RECIPE.replace("seed = 3", "seed = 4");
    fs::write(folder.0.join("recipe.toml"), recipe).unwrap();
    let error = make(&folder.maker().unwrap(), &one, &go, &|_| {}).unwrap_err();
    assert!(error.to_string().contains("another recipe"), "{error}");
}

#[test]
fn mistakes_in_recipes_are_answered_with_line_and_remedy() {
    let folder = Folder::new("mistakes");
    for (from, to, words) in [
        ("runs = 7", "runs = 0", "line 2: runs = 0"),
        ("runs = 7", "runs = 'many'", "line 2"),
        ("frames = 12", "frames = 1", "line 4: frames = 1: give 2"),
        ("rate = 60", "rate = -60", "line 5"),
        ("rate = 60", "rat = 60", "line 5: unknown field `rat`"),
        ("count = [2, 3]", "count = [3, 2]", "line 8: count"),
        ("side = [0.05, 0.07]", "side = [0.07, 0.05]", "line 9: side"),
        (
            "density = [600, 800]",
            "density = 600\nmass = 1",
            "mass and density",
        ),
        ("speed = [1, 1.5]", "speed = [-1, 1]", "line 13: speed"),
        ("range = [0.2, 0.3]", "mean = 0.2", "mean and sd"),
        (
            "templates = ['cube', 'rock']",
            "templates = ['ball']",
            "no body 'ball'",
        ),
        ("geom.table.friction[0]", "geom.chair.friction[0]", "chair"),
        ("model.xml", "no.xml", "no.xml"),
    ] {
        assert!(RECIPE.contains(from), "{from}");
        fs::write(folder.0.join("recipe.toml"), RECIPE.replace(from, to)).unwrap();
        let error = folder.maker().unwrap_err().to_string();
        assert!(
            error.contains(words) && error.contains("recipe"),
            "{to}: {error}"
        );
    }
    // What no draw can give is said with a remedy.
    let never = RECIPE.replace("way = [0.01, 0.03]", "way = 5");
    fs::write(folder.0.join("recipe.toml"), never).unwrap();
    let maker = folder.maker().unwrap();
    let error = maker.write_shard(&folder.0, 0).unwrap_err().to_string();
    assert!(
        error.contains("run 0") && error.contains("impact = false"),
        "{error}"
    );
}
