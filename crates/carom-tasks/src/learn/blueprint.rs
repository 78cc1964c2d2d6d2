//! Blueprints: which learned terms a model is given, as TOML.
//!
//! ```toml
//! [[term]]
//! name = "drag"
//! target = "body.link*.force"
//! inputs = ["linear_velocity"]
//! form = "mlp"
//! hidden = [8]
//! dissipative = ["linear_velocity"]
//!
//! [training]                              # all of it as you like
//! free = ["joint.*.armature log"]         # parameters of the model that are found with the weights
//! horizons = [20, 80]                     # frames of segments, one after the other
//! every = 40                              # frames from the start of a segment to the next
//! huber = 3.0                             # errors beyond so many deviations count less
//! held_back = 0.2                         # share of the trajectories that says when to end
//! regularization = 1e-3                   # what a weight as large as its scale costs
//! evaluations = 400                       # of each horizon
//! batch = 64                              # segments of each step of Adam …
//! steps = 200                             # … of which each horizon has so many, the first so long
//! rate = 0.02
//! ```

use std::ops::Range;
use std::path::Path;

use carom::{Error, ErrorKind, Place};
use carom_spec::model_spec::{
    ActivationKind, FormKind, FormSpec, LearnedTermSpec, Reference, TermMode,
};
use carom_spec::source::{DiskSource, FileSource};
use serde::Deserialize;
use toml::Spanned;

use super::settings::{self, Settings};

/// What a file says.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default, rename = "term")]
    terms: Vec<Spanned<Term>>,
    training: Option<Spanned<settings::File>>,
}

/// Terms, and how they are trained.
#[derive(Clone, Debug)]
pub struct Blueprint {
    /// The terms.
    pub terms: Vec<LearnedTermSpec>,
    /// What `[training]` says; defaults for the rest.
    pub training: Settings,
}

/// One term.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Term {
    name: Spanned<String>,
    target: Spanned<OneOrMore>,
    inputs: Vec<String>,
    mode: Option<Spanned<String>>,
    shared: Option<bool>,
    form: Spanned<String>,
    hidden: Option<Vec<usize>>,
    activation: Option<Spanned<String>>,
    degree: Option<usize>,
    constant: Option<bool>,
    counts: Option<Vec<usize>>,
    #[serde(default)]
    odd: Vec<String>,
    #[serde(default)]
    dissipative: Vec<String>,
    bound: Option<f64>,
    #[serde(default)]
    scales: Vec<[f64; 2]>,
    #[serde(default)]
    seed: u32,
}

#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum OneOrMore {
    One(String),
    More(Vec<String>),
}

/// A mistake, and where it is.
struct Mistake(String, Option<Range<usize>>);

/// Reads a blueprint.
///
/// # Errors
/// When it cannot be read, or says what cannot be meant: with line and column.
pub fn read(path: &Path) -> Result<Blueprint, Error> {
    let bytes = DiskSource::default().read(path);
    let bytes = bytes.map_err(|cause| Error::of(ErrorKind::Settings, cause))?;
    let file = path.display().to_string();
    let text = String::from_utf8(bytes).map_err(|_| {
        let why = format!("'{file}': not UTF-8 text; a blueprint is a TOML file");
        Error::new(ErrorKind::Settings, why)
    })?;
    parse(&text, &file)
}

/// A blueprint of a text; `file` is what messages call it.
///
/// # Errors
/// As [`read`].
pub fn parse(text: &str, file: &str) -> Result<Blueprint, Error> {
    let read = toml::from_str::<File>(text)
        .map_err(|cause| Mistake(cause.message().trim_end().to_owned(), cause.span()))
        .and_then(|file| {
            if file.terms.is_empty() {
                return Err(Mistake("it has no [[term]]".to_owned(), None));
            }
            let terms: Result<Vec<_>, Mistake> = file.terms.into_iter().map(term).collect();
            let training = file.training.map(|training| {
                let span = training.span();
                let settings = training.into_inner().settings();
                settings.map_err(|why| Mistake(format!("[training] {why}"), Some(span)))
            });
            Ok(Blueprint {
                terms: terms?,
                training: training.transpose()?.unwrap_or_default(),
            })
        });
    read.map_err(|Mistake(message, span)| {
        let Some(span) = span else {
            let why = format!("blueprint '{file}': {message}");
            return Error::new(ErrorKind::Settings, why).at(Place::File(file.into()));
        };
        let before = text.get(..span.start).unwrap_or(text);
        let line = before.matches('\n').count() + 1;
        let column = before.rsplit('\n').next().unwrap_or("").chars().count() + 1;
        let why = format!("blueprint '{file}', line {line}, column {column}: {message}");
        Error::new(ErrorKind::Settings, why).at(Place::Text {
            file: file.into(),
            line,
            column,
        })
    })
}

/// One of some words.
fn word<K: Copy>(
    given: &Spanned<String>,
    all: &[K],
    name: impl Fn(K) -> &'static str,
) -> Result<K, Mistake> {
    let found = all
        .iter()
        .copied()
        .find(|&one| name(one) == given.get_ref());
    found.ok_or_else(|| {
        let names: Vec<&str> = all.iter().map(|&one| name(one)).collect();
        let message = format!("'{}' is none of {}", given.get_ref(), names.join(", "));
        Mistake(message, Some(given.span()))
    })
}

fn term(term: Spanned<Term>) -> Result<LearnedTermSpec, Mistake> {
    let span = term.span();
    let term = term.into_inner();
    let references = |names: Vec<String>| -> Vec<Reference> {
        let reference = |name| Reference {
            name,
            ..Reference::default()
        };
        names.into_iter().map(reference).collect()
    };
    let name = term.name.get_ref().clone();
    if name.is_empty() || name.contains([' ', '.', ';', '/', '*', '[', '?']) {
        let message = format!("'{name}' is no name of a term: use letters, digits, '-' and '_'");
        return Err(Mistake(message, Some(term.name.span())));
    }
    let needs = |what: &str| Mistake(format!("this form needs '{what}'"), Some(span.clone()));
    let form = word(
        &term.form,
        &["mlp", "polynomial", "rational", "table", "friction", "drag"],
        |name| name,
    )?;
    let kind = match form {
        "mlp" => FormKind::Mlp {
            hidden: term.hidden.clone().ok_or_else(|| needs("hidden"))?,
            activation: match &term.activation {
                None => ActivationKind::Tanh,
                Some(given) => word(given, &ActivationKind::ALL, ActivationKind::name)?,
            },
        },
        "table" => FormKind::Table {
            counts: term.counts.clone().ok_or_else(|| needs("counts"))?,
        },
        "friction" => FormKind::Friction,
        "drag" => FormKind::Drag,
        _ => FormKind::Polynomial {
            degree: term.degree.ok_or_else(|| needs("degree"))?,
            constant: term.constant.unwrap_or(false),
            is_quotient: form == "rational",
        },
    };
    let own: &[&str] = match form {
        "mlp" => &["hidden", "activation"],
        "table" => &["counts"],
        "friction" | "drag" => &[],
        _ => &["degree", "constant"],
    };
    let given = [
        ("hidden", term.hidden.is_some()),
        ("activation", term.activation.is_some()),
        ("counts", term.counts.is_some()),
        ("degree", term.degree.is_some()),
        ("constant", term.constant.is_some()),
    ];
    let extra = given
        .iter()
        .find(|(key, is_given)| *is_given && !own.contains(key));
    if let Some((key, _)) = extra {
        let message = format!("a term of the form '{form}' has no '{key}'");
        return Err(Mistake(message, Some(span)));
    }
    Ok(LearnedTermSpec {
        name,
        span: carom_spec::Span::default(),
        targets: references(match term.target.into_inner() {
            OneOrMore::One(target) => vec![target],
            OneOrMore::More(targets) => targets,
        }),
        inputs: references(term.inputs),
        mode: match &term.mode {
            None => TermMode::Add,
            Some(given) => word(given, &TermMode::ALL, TermMode::name)?,
        },
        is_shared: term.shared.unwrap_or(true),
        form: FormSpec {
            kind,
            odd: references(term.odd),
            dissipative: references(term.dissipative),
            bound: term.bound,
        },
        scales: term.scales,
        range: Vec::new(),
        weights: Vec::new(),
        weights_file: None,
        seed: u64::from(term.seed),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_blueprint_says_what_the_texts_of_a_model_say() {
        let text = r#"
            [[term]]
            name = "drag"
            target = ["body.*.force", "body.*.torque"]
            inputs = ["linear_velocity", "angular_velocity"]
            form = "mlp"
            hidden = [8, 4]
            activation = "elu"
            [[term]]
            name = "gear"
            target = "joint.elbow.force"
            inputs = ["velocity"]
            form = "friction""#;
        let terms = parse(text, "b.toml").unwrap().terms;
        assert_eq!(terms.len(), 2);
        assert_eq!(terms[0].targets[1].name, "body.*.torque");
        assert_eq!(terms[1].form.kind, FormKind::Friction);
    }

    #[test]
    fn mistakes_are_told_with_line_and_column() {
        let head = "[[term]]\nname = 'a'\ntarget = 'joint.j.force'\ninputs = ['velocity']\n";
        for (text, expected) in [
            ("", "blueprint 'b.toml': it has no [[term]]"),
            (
                "form = 'net'",
                "blueprint 'b.toml', line 5, column 8: 'net' is none of mlp, polynomial, rational, table, friction, drag",
            ),
            (
                "form = 'mlp'",
                "blueprint 'b.toml', line 1, column 1: this form needs 'hidden'",
            ),
            (
                "form = 'drag'\ndegree = 2",
                "blueprint 'b.toml', line 1, column 1: a term of the form 'drag' has no 'degree'",
            ),
            (
                "form = 'drag'\nmode = 'minus'",
                "blueprint 'b.toml', line 6, column 8: 'minus' is none of add, multiply, replace",
            ),
        ] {
            let text = if text.is_empty() {
                String::new()
            } else {
                format!("{head}{text}\n")
            };
            assert_eq!(parse(&text, "b.toml").unwrap_err().to_string(), expected);
        }
        for (training, expected) in [
            ("horizons = [0]", "horizons = 0: it must be 1 or more"),
            (
                "held_back = 1",
                "held_back = 1: it is a share of the trajectories, below 1",
            ),
            ("huber = nan", "huber = NaN: it must be above 0"),
            (
                "regularization = -1",
                "regularization = -1: it must be 0 or more",
            ),
        ] {
            let text = format!("{head}form = 'drag'\n[training]\n{training}\n");
            let told = parse(&text, "b.toml").unwrap_err().to_string();
            let expected = format!("blueprint 'b.toml', line 6, column 1: [training] {expected}");
            assert_eq!(told, expected);
        }
        let free = parse(
            &format!("{head}form = 'drag'\n[training]\nfree = ['joint.j.damping[0] cubic']\n"),
            "b.toml",
        );
        assert!(free.unwrap_err().to_string().contains("line 6"));
        let unknown = parse(&format!("{head}form = 'drag'\nhiden = 3\n"), "b.toml");
        let unknown = unknown.unwrap_err().to_string();
        assert!(
            unknown.contains("line 6") && unknown.contains("hiden"),
            "{unknown}"
        );
    }
}
