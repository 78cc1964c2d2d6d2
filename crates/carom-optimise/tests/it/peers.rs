//! Evaluations beside pycma and SciPy.
//!
//! What they need is recorded in tests/data/peers.json by `xtask/reference/make_optimiser_reference.py`. Where `CAROM_PYTHON`
//! names an interpreter that has both packages, the script runs anew in place of the record.

use std::path::Path;
use std::process::Command;
use std::sync::OnceLock;

use carom_optimise::{
    CmaEs, CmaSettings, CmaTolerances, Lbfgsb, LbfgsbSettings, Limits, OneByOne, Optimiser,
    Request, Search, Space, Unobserved, minimise,
};
use serde_json::Value;

use crate::functions::{
    Function, answer, boxed_space, by_name, ellipsoid, plain_space, run, shifted_ellipsoid,
};
use crate::nist::{problems, solve, tight};

/// What we may need more than a peer.
const ALLOWED: f64 = 1.3;
const SEEDS: u64 = 15;

fn peers() -> &'static Value {
    static PEERS: OnceLock<Value> = OnceLock::new();
    PEERS.get_or_init(|| {
        let recorded = include_str!("../data/peers.json").to_owned();
        let text = measured().unwrap_or(recorded);
        let peers: Value = serde_json::from_str(&text).expect("JSON");
        println!("beside {}", peers["made_with"]);
        peers
    })
}

/// What the script finds now; `None` without the packages.
fn measured() -> Option<String> {
    let python = std::env::var_os("CAROM_PYTHON")?;
    let imports = Command::new(&python)
        .args(["-c", "import cma, numpy, scipy"])
        .output();
    if !imports.is_ok_and(|output| output.status.success()) {
        println!("CAROM_PYTHON has no cma or scipy: the recorded counts are used");
        return None;
    }
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let out = std::env::temp_dir().join(format!("carom-peers-{}.json", std::process::id()));
    let made = Command::new(&python)
        .arg(folder.join("../../xtask/reference/make_optimiser_reference.py"))
        .arg(folder.join("tests/data/nist.json"))
        .arg(&out)
        .status()
        .expect("python runs");
    assert!(made.success());
    let text = std::fs::read_to_string(&out).expect("the script's file");
    std::fs::remove_file(&out).expect("the script's file");
    Some(text)
}

fn rows(section: &str) -> Vec<Value> {
    peers()[section].as_array().expect("a list").clone()
}

fn number(row: &Value, key: &str) -> f64 {
    row[key].as_f64().expect("a number")
}

fn median(mut counts: Vec<u64>) -> u64 {
    counts.sort_unstable();
    counts[counts.len() / 2]
}

#[test]
fn evolution_needs_no_more_evaluations_than_pycma() {
    for row in rows("evolution") {
        let name = row["name"].as_str().expect("a name");
        let function: Function = if name == "ellipsoid" {
            ellipsoid
        } else {
            by_name(name)
        };
        let dimension = usize::try_from(row["dimension"].as_u64().expect("a count")).expect("fits");
        let settings = CmaSettings {
            sigma: number(&row, "sigma"),
            tolerances: CmaTolerances {
                value: 0.0,
                ..CmaTolerances::default()
            },
            ..CmaSettings::default()
        };
        let ours = (1..=SEEDS).map(|seed| {
            let space = plain_space(vec![number(&row, "start"); dimension]);
            let method = CmaEs::new(&space, settings.clone(), seed);
            let mut search = Search::new(space, method);
            run(&mut search, function, number(&row, "target"));
            search.evaluations()
        });
        let ours = median(ours.collect());
        let theirs = row["evaluations"].as_array().expect("a list");
        let theirs = median(
            theirs
                .iter()
                .map(|v| v.as_u64().unwrap_or(u64::MAX))
                .collect(),
        );
        let ratio = ours as f64 / theirs as f64;
        println!("{name} {dimension}: {ours} evaluations, pycma {theirs}: {ratio:.2}");
        assert!(
            ratio <= ALLOWED,
            "{name} {dimension}: {ours}, pycma {theirs}"
        );
    }
}

#[test]
fn quasi_newton_needs_no_more_evaluations_than_scipy() {
    for row in rows("smooth") {
        let name = row["name"].as_str().expect("a name");
        let function: Function = if name == "ellipsoid" {
            shifted_ellipsoid
        } else {
            by_name(name)
        };
        let times = usize::try_from(row["times"].as_u64().expect("a count")).expect("fits");
        let pattern = row["start"].as_array().expect("a list");
        let pattern: Vec<f64> = pattern
            .iter()
            .map(|v| v.as_f64().expect("a number"))
            .collect();
        let space = bounded(pattern.repeat(times), &row);
        let method = Lbfgsb::new(&space, LbfgsbSettings::default());
        let mut search = Search::new(space, method);
        let mut evaluator = OneByOne(|request: &Request| answer(function, request));
        minimise(
            &mut search,
            &mut evaluator,
            &Limits::default(),
            &mut Unobserved,
        )
        .expect("a run");
        let best = search.best().expect("a best point").value;
        let (ours, theirs) = (search.evaluations() as f64, number(&row, "evaluations"));
        let value = number(&row, "value");
        println!(
            "{name} {times}: {ours} evaluations, SciPy {theirs}; value {best:.1e}, SciPy {value:.1e}"
        );
        assert!(
            ours <= (ALLOWED * theirs).ceil(),
            "{name} {times}: {ours}, SciPy {theirs}"
        );
        assert!(
            best <= value + 1e-6 * (1.0 + value.abs()),
            "{name}: {best} {value}"
        );
    }
}

fn bounded(start: Vec<f64>, row: &Value) -> Space {
    let bound = |key: &str, otherwise: f64| row[key].as_f64().unwrap_or(otherwise);
    let (lower, upper) = (
        bound("lower", -f64::INFINITY),
        bound("upper", f64::INFINITY),
    );
    boxed_space(start, lower, upper)
}

#[test]
fn least_squares_needs_no_more_evaluations_than_scipy() {
    let problems = problems();
    let (mut ours_in_all, mut theirs_in_all, mut above_trf) = (0, 0, Vec::new());
    for row in rows("regression") {
        let name = row["name"].as_str().expect("a name");
        let problem = problems.iter().find(|problem| problem.name == name);
        let problem = problem.expect("a problem");
        let start = usize::try_from(row["start"].as_u64().expect("a number")).expect("fits");
        let (search, ours, end) = solve(problem, start, tight(1e-10));
        let best = search.best().expect("a best point").value;
        let excess = 2.0 * best / problem.sum_of_squares - 1.0;
        assert!(excess < 1e-6, "{name}: {excess}, {end}");
        // SciPy has two methods; one of them does not solve all problems.
        let trf = row["trf"].as_u64().expect("a count");
        let slower = trf.max(row["lm"].as_u64().unwrap_or(0));
        println!(
            "{name} from start {start}: {ours} evaluations, SciPy {trf} by trf, {} by lm",
            row["lm"]
        );
        assert!(
            ours as f64 <= ALLOWED * slower as f64,
            "{name}: {ours}, SciPy {slower}"
        );
        if ours as f64 > ALLOWED * trf as f64 {
            above_trf.push(name.to_owned());
        }
        ours_in_all += ours;
        theirs_in_all += trf;
    }
    println!("in all: {ours_in_all} evaluations, SciPy {theirs_in_all} by trf");
    assert!(ours_in_all < theirs_in_all, "{ours_in_all} {theirs_in_all}");
    assert_eq!(above_trf, ["Misra1a"], "where trf is much faster");
}
