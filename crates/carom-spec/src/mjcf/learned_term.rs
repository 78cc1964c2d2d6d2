//! Learned terms in `<custom>`: texts that MuJoCo reads and ignores, and a file of weights beside the model.
//!
//! ```xml
//! <custom>
//!   <text name="carom/learned/drag" data="target=body.link*.force; inputs=linear_velocity; form=mlp; hidden=8;
//!     dissipative=linear_velocity; weights=swimmer.safetensors"/>
//! </custom>
//! ```
//!
//! Each text describes one term, see [`LearnedTermSpec`]. Targets and inputs are lists of sites between spaces. Without a file of
//! weights, or where `weights` is left out, the term is untrained and changes nothing.

use super::codes;
use super::extension::{self, Data, Entry, Extension};
use super::write::numbers_text;
use crate::diagnostic::Diagnostic;
use crate::model_spec::{
    ActivationKind, FormKind, FormSpec, LearnedTermSpec, ModelSpec, Reference, TermMode,
};
use crate::weights::{self, TermWeights};

/// The family of the texts.
const FAMILY: &str = "learned";

/// Names of forms in files, and the keys that are theirs alone.
const FORMS: [(&str, &[&str]); 6] = [
    ("mlp", &["hidden", "activation"]),
    ("polynomial", &["degree", "constant"]),
    ("rational", &["degree", "constant"]),
    ("table", &["counts"]),
    ("friction", &[]),
    ("drag", &[]),
];

/// Keys of all terms.
const KEYS: [&str; 10] = [
    "target",
    "inputs",
    "mode",
    "shared",
    "form",
    "odd",
    "dissipative",
    "bound",
    "seed",
    "weights",
];

impl Extension<'_, '_> {
    /// Reads a learned term and its weights.
    pub(super) fn read_learned_term(&self, spec: &mut ModelSpec) {
        if spec
            .learned_terms
            .iter()
            .any(|term| term.name == self.label)
        {
            let message = format!("two learned terms are called '{}'", self.name);
            let problems = &self.reader.problems;
            problems.error(codes::REPEATED_NAME, self.place, message);
        }
        let names = FORMS.map(|(name, _)| name);
        let Some(form) = self.kind(("form", "a form"), &names, |name| name) else {
            return;
        };
        let own = FORMS.iter().filter(|(name, _)| *name == form);
        let keys = KEYS
            .into_iter()
            .chain(own.flat_map(|(_, keys)| keys.iter().copied()));
        self.check_keys("learned term", &keys);
        let mut term = LearnedTermSpec {
            name: self.label.to_owned(),
            span: self.span,
            targets: self.references("target"),
            inputs: self.references("inputs"),
            mode: TermMode::Add,
            is_shared: true,
            form: FormSpec {
                kind: self.form_kind(form),
                odd: self.references("odd"),
                dissipative: self.references("dissipative"),
                bound: None,
            },
            scales: Vec::new(),
            range: Vec::new(),
            weights: Vec::new(),
            weights_file: None,
            seed: 0,
        };
        if self.find("mode").is_some()
            && let Some(mode) = self.kind(("mode", "a mode"), &TermMode::ALL, TermMode::name)
        {
            term.mode = mode;
        }
        self.flag("shared", &mut term.is_shared);
        if self.find("bound").is_some() {
            let mut bound = f64::NAN;
            self.number("bound", &mut bound);
            term.form.bound = Some(bound);
        }
        let mut seed = 0;
        self.count("seed", &mut seed);
        term.seed = u64::from(seed);
        if let Some(entry) = self.find("weights") {
            self.read_weights(entry, &mut term);
        }
        spec.learned_terms.push(term);
    }

    fn form_kind(&self, name: &str) -> FormKind {
        match name {
            "mlp" => {
                let mut activation = ActivationKind::Tanh;
                if self.find("activation").is_some()
                    && let Some(found) = self.kind(
                        ("activation", "an activation"),
                        &ActivationKind::ALL,
                        ActivationKind::name,
                    )
                {
                    activation = found;
                }
                FormKind::Mlp {
                    hidden: self.counts("hidden"),
                    activation,
                }
            }
            "polynomial" | "rational" => {
                let (mut degree, mut constant) = (1, false);
                self.count("degree", &mut degree);
                self.flag("constant", &mut constant);
                FormKind::Polynomial {
                    degree: degree as usize,
                    constant,
                    is_quotient: name == "rational",
                }
            }
            "table" => FormKind::Table {
                counts: self.counts("counts"),
            },
            "friction" => FormKind::Friction,
            _ => FormKind::Drag,
        }
    }

    /// Names between spaces, each with its place.
    fn references(&self, key: &str) -> Vec<Reference> {
        let Some(entry) = self.find(key) else {
            return Vec::new();
        };
        let text = entry.value;
        let reference = |word: &str| {
            let start = word.as_ptr() as usize - text.as_ptr() as usize;
            Reference {
                name: word.to_owned(),
                span: entry.value_span.part(start, start + word.len()),
            }
        };
        text.split_ascii_whitespace().map(reference).collect()
    }

    /// Whole numbers between spaces.
    fn counts(&self, key: &str) -> Vec<usize> {
        let Some(entry) = self.find(key) else {
            return Vec::new();
        };
        let mut counts = Vec::new();
        for word in entry.value.split_ascii_whitespace() {
            if let Ok(count) = word.parse::<u16>() {
                counts.push(usize::from(count));
            } else {
                let message = format!("'{word}' is not a whole number up to 65535");
                self.problem(entry.value_span, message);
            }
        }
        counts
    }

    fn flag(&self, key: &str, target: &mut bool) {
        let Some(entry) = self.find(key) else {
            return;
        };
        match entry.value {
            "true" => *target = true,
            "false" => *target = false,
            _ => self.problem(entry.value_span, format!("'{key}' is true or false")),
        }
    }

    /// Reads the weights of a term from a file that may hold those of several.
    fn read_weights(&self, entry: &Entry<'_>, term: &mut LearnedTermSpec) {
        let path = self.reader.find_asset(entry.value, "", self.span.file);
        let found = match self.reader.loader.source.read(&path) {
            Ok(bytes) => weights::read(&bytes),
            Err(error) => Err(error.to_string()),
        };
        term.weights_file = Some(entry.value.to_owned());
        let refuse = |message: String, help: &str| {
            let diagnostic = Diagnostic::error(codes::ASSET, message);
            let diagnostic = diagnostic.at(entry.value_span).help(help);
            self.reader.problems.push(diagnostic);
        };
        match found {
            Err(why) => {
                let message = format!("weights '{}' cannot be used: {why}", entry.value);
                refuse(message, "`carom learn terms` writes such files");
            }
            Ok(all) => match all.into_iter().find(|own| own.name == term.name) {
                None => {
                    let message =
                        format!("'{}' has no weights of term '{}'", entry.value, term.name);
                    refuse(message, "name the file that was written with this model");
                }
                Some(own) if own.fingerprint != fingerprint(term) => {
                    let message = format!(
                        "the weights in '{}' belong to another description of term '{}'",
                        entry.value, term.name
                    );
                    refuse(
                        message,
                        "train the term again, or take back what was changed of it",
                    );
                }
                Some(TermWeights {
                    weights,
                    scales,
                    range,
                    ..
                }) => (term.weights, term.scales, term.range) = (weights, scales, range),
            },
        }
    }
}

/// A number that differs where terms are described differently, by Fowler, Noll and Vo's sum of the description.
pub fn fingerprint(term: &LearnedTermSpec) -> u64 {
    let (_, text) = describe(term, false);
    text.bytes().fold(0xCBF2_9CE4_8422_2325, |hash: u64, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01B3)
    })
}

/// Name and text of the element that describes the term.
pub fn write(term: &LearnedTermSpec) -> (String, String) {
    describe(term, true)
}

fn describe(term: &LearnedTermSpec, has_weights: bool) -> (String, String) {
    let mut data = Data::default();
    let list = |data: &mut Data, key: &str, references: &[Reference]| {
        if !references.is_empty() {
            let names: Vec<&str> = references.iter().map(|one| one.name.as_str()).collect();
            data.push(key, &names.join(" "));
        }
    };
    let counts = |data: &mut Data, key: &str, counts: &[usize]| {
        if !counts.is_empty() {
            let words: Vec<String> = counts.iter().map(usize::to_string).collect();
            data.push(key, &words.join(" "));
        }
    };
    list(&mut data, "target", &term.targets);
    list(&mut data, "inputs", &term.inputs);
    if term.mode != TermMode::Add {
        data.push("mode", term.mode.name());
    }
    if !term.is_shared {
        data.push("shared", "false");
    }
    match &term.form.kind {
        FormKind::Mlp { hidden, activation } => {
            data.push("form", "mlp");
            counts(&mut data, "hidden", hidden);
            if *activation != ActivationKind::Tanh {
                data.push("activation", activation.name());
            }
        }
        FormKind::Polynomial {
            degree,
            constant,
            is_quotient,
        } => {
            data.push(
                "form",
                if *is_quotient {
                    "rational"
                } else {
                    "polynomial"
                },
            );
            data.push("degree", &degree.to_string());
            if *constant {
                data.push("constant", "true");
            }
        }
        FormKind::Table { counts: own } => {
            data.push("form", "table");
            counts(&mut data, "counts", own);
        }
        FormKind::Friction => data.push("form", "friction"),
        FormKind::Drag => data.push("form", "drag"),
    }
    list(&mut data, "odd", &term.form.odd);
    list(&mut data, "dissipative", &term.form.dissipative);
    if let Some(bound) = term.form.bound {
        data.push("bound", &numbers_text(&[bound]));
    }
    if has_weights && term.seed != 0 {
        data.push("seed", &term.seed.to_string());
    }
    if let Some(file) = term.weights_file.as_ref().filter(|_| has_weights) {
        data.push("weights", file);
    }
    (extension::name(FAMILY, &term.name), data.0)
}
