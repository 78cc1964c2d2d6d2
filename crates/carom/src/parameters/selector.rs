//! Selectors: `family.name.attribute[components] modifiers`.

use carom_spec::diagnostic::nearest_name;

use super::error::ParameterProblem;
use super::transform::Transform;
use crate::error::Error;

/// Whether the elements of a selection share their parameters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Tie {
    /// Each has its own.
    #[default]
    None,
    /// All have the same number.
    Equal,
    /// All keep their ratio to the first.
    Ratio,
}

/// A selector and what is done with its numbers: as text, `family.name.attribute[components] modifiers`.
///
/// Families are `option`, `body`, `joint`, `geom`, `site`, `camera`, `mesh`, `hfield`, `pair`, `law`, `equality`, `tendon`,
/// `actuator`, `sensor`, and `state` for the initial state; attributes are the file format's. The name may hold `*` and
/// `?`, and may be left out where all elements are meant (`pair.solref`). Elements without a name are called by their
/// index. Components are `[2]` or `[0:3]`, the end excluded. Modifiers are words after a space: `log`, `softplus`,
/// `bounds(low,high)`, `scale(c)`, `tied` and `tied-ratio`.
///
/// Some attributes of bodies are not the file format's: `pseudo_inertia`, ten numbers that give a physical inertia whatever
/// they are; `ipos`, `iquat` for the frame of the inertia; and `mass_only`. The inertia about the centre of mass follows
/// `body.mass` in proportion, except moments that are selected too; with `body.mass_only` it stays as it is, as if a
/// point mass were added at the centre.
///
/// ```
/// use carom::parameters::{Selection, Tie, Transform};
///
/// let selection: Selection = "geom.foot*.friction[0] log tied".parse()?;
/// assert_eq!(selection, Selection::new("geom.foot*.friction[0]").log().tied());
/// assert_eq!((selection.transform, selection.tie), (Transform::Log, Tie::Equal));
/// # Ok::<(), carom::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Selection {
    /// The selector without modifiers.
    pub selector: String,
    /// From the free number to that of the model.
    pub transform: Transform,
    /// Factor of the transformed number.
    pub scale: f64,
    /// Whether elements share their parameters.
    pub tie: Tie,
}

impl Selection {
    /// The numbers of a selector as they are.
    pub fn new(selector: impl Into<String>) -> Self {
        Self {
            selector: selector.into(),
            transform: Transform::Identity,
            scale: 1.0,
            tie: Tie::None,
        }
    }

    /// By their logarithms.
    #[must_use]
    pub fn log(self) -> Self {
        self.with(Transform::Log)
    }

    /// By their inverse softplus.
    #[must_use]
    pub fn softplus(self) -> Self {
        self.with(Transform::Softplus)
    }

    /// Within bounds.
    #[must_use]
    pub fn bounds(self, low: f64, high: f64) -> Self {
        self.with(Transform::Bounds { low, high })
    }

    /// By a transform.
    #[must_use]
    pub fn with(mut self, transform: Transform) -> Self {
        self.transform = transform;
        self
    }

    /// In units of `scale`: a free number of 1 is `scale` in the model.
    #[must_use]
    pub fn scaled(mut self, scale: f64) -> Self {
        self.scale = scale;
        self
    }

    /// One parameter for all elements.
    #[must_use]
    pub fn tied(mut self) -> Self {
        self.tie = Tie::Equal;
        self
    }

    /// One parameter for all elements, which keep their ratios.
    #[must_use]
    pub fn tied_ratio(mut self) -> Self {
        self.tie = Tie::Ratio;
        self
    }
}

impl std::str::FromStr for Selection {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let mut words = text.split_whitespace();
        let Some(selector) = words.next() else {
            return Err(ParameterProblem::Syntax.error("an empty selector".to_owned()));
        };
        words.try_fold(Self::new(selector), modified)
    }
}

/// A selection with one more modifier.
fn modified(selection: Selection, word: &str) -> Result<Selection, Error> {
    let (name, arguments) = match word.split_once('(') {
        Some((name, rest)) => (name, rest.strip_suffix(')')),
        None => (word, Some("")),
    };
    let numbers: Option<Vec<f64>> = arguments.and_then(|arguments| {
        let parts = arguments.split(',').filter(|part| !part.is_empty());
        parts.map(|part| part.trim().parse().ok()).collect()
    });
    match (name, numbers.as_deref()) {
        ("identity", Some([])) => Ok(selection.with(Transform::Identity)),
        ("log", Some([])) => Ok(selection.log()),
        ("softplus", Some([])) => Ok(selection.softplus()),
        ("bounds", Some(&[low, high])) if low < high => Ok(selection.bounds(low, high)),
        ("scale", Some(&[scale])) if scale != 0.0 && scale.is_finite() => {
            Ok(selection.scaled(scale))
        }
        ("tied", Some([])) => Ok(selection.tied()),
        ("tied-ratio", Some([])) => Ok(selection.tied_ratio()),
        _ => Err(ParameterProblem::Syntax.error(format!(
            "modifier '{word}' of '{}' is none of log, softplus, bounds(low,high), scale(c), tied, tied-ratio",
            selection.selector
        ))),
    }
}

/// The parts of a selector.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Selector {
    pub(super) family: String,
    /// Pattern of the name; none for all.
    pub(super) name: Option<String>,
    pub(super) attribute: String,
    /// First component and the one after the last.
    pub(super) components: Option<(usize, usize)>,
}

impl Selector {
    /// Takes a selector apart.
    pub(super) fn parse(text: &str) -> Result<Self, Error> {
        let refuse = |why: &str| {
            let form = "family.name.attribute[components], such as geom.cube.size[0]";
            Err(ParameterProblem::Syntax
                .error(format!("selector '{text}' {why}; it should be {form}")))
        };
        let (path, components) = match text.rsplit_once('[') {
            Some((path, rest)) if rest.ends_with(']') => {
                match component_range(rest.trim_end_matches(']')) {
                    Some(range) => (path, Some(range)),
                    None => return refuse("has components that are no range"),
                }
            }
            _ => (text, None),
        };
        let Some((head, attribute)) = path.rsplit_once('.') else {
            return refuse("has no attribute");
        };
        let (family, name) = match head.split_once('.') {
            Some((family, name)) => (family, Some(name.to_owned())),
            None => (head, None),
        };
        if family.is_empty() || attribute.is_empty() {
            return refuse("has an empty part");
        }
        Ok(Self {
            family: family.to_owned(),
            name,
            attribute: attribute.to_owned(),
            components,
        })
    }

    /// Whether the selector may mean several elements.
    pub(super) fn is_pattern(&self) -> bool {
        let has_wildcard = |name: &String| name.contains(['*', '?']);
        self.name.as_ref().is_none_or(has_wildcard)
    }

    /// Whether an element is meant.
    pub(super) fn matches(&self, name: &str) -> bool {
        let pattern = self.name.as_deref().unwrap_or("*");
        matches_pattern(pattern.as_bytes(), name.as_bytes())
    }
}

/// `2` or `0:3`.
fn component_range(text: &str) -> Option<(usize, usize)> {
    if let Some((start, end)) = text.split_once(':') {
        let (start, end) = (start.trim().parse().ok()?, end.trim().parse().ok()?);
        return (start < end).then_some((start, end));
    }
    let index: usize = text.trim().parse().ok()?;
    Some((index, index.checked_add(1)?))
}

/// Whether a text fits a pattern with `*` and `?`.
pub(crate) fn matches_pattern(pattern: &[u8], text: &[u8]) -> bool {
    let (mut p, mut t) = (0, 0);
    // Where to go on when the last star has to swallow one more letter.
    let mut star = None;
    while t < text.len() {
        match pattern.get(p) {
            Some(b'*') => {
                star = Some((p + 1, t + 1));
                p += 1;
            }
            Some(&letter) if letter == b'?' || letter == text[t] => {
                p += 1;
                t += 1;
            }
            _ => match star {
                Some((after, from)) => {
                    star = Some((after, from + 1));
                    (p, t) = (after, from);
                }
                None => return false,
            },
        }
    }
    pattern[p..].iter().all(|&letter| letter == b'*')
}

/// "did you mean" for a word that is not among some words; the list of all if none is near.
pub(super) fn suggestion<'a>(word: &str, words: impl Iterator<Item = &'a str>) -> String {
    let words: Vec<&str> = words.collect();
    match nearest_name(word, words.iter().copied()) {
        _ if words.is_empty() => "there are none".to_owned(),
        Some(known) => format!("did you mean '{known}'? There are: {}", listed(&words)),
        None => format!("there are: {}", listed(&words)),
    }
}

/// Words with commas, the first few of many.
fn listed(words: &[&str]) -> String {
    const MAX_LISTED_WORDS: usize = 24;
    let shown = words[..words.len().min(MAX_LISTED_WORDS)].join(", ");
    match words.len().saturating_sub(MAX_LISTED_WORDS) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn selectors_are_taken_apart() {
        let parsed = Selector::parse("geom.a.b.1.size[0:2]").unwrap();
        assert_eq!((&*parsed.family, &*parsed.attribute), ("geom", "size"));
        assert_eq!(
            (parsed.name.as_deref(), parsed.components),
            (Some("a.b.1"), Some((0, 2)))
        );
        let parsed = Selector::parse("option.gravity").unwrap();
        assert_eq!((parsed.name, parsed.components), (None, None));
        for wrong in [
            "geom",
            "geom.a.size[x]",
            ".a.size",
            "geom.a.",
            "geom.a.size[3:1]",
        ] {
            let error = Selector::parse(wrong).unwrap_err();
            assert!(
                error
                    .to_string()
                    .contains("should be family.name.attribute"),
                "{error}"
            );
        }
    }

    #[test]
    fn stars_and_question_marks_match() {
        for (pattern, text, expected) in [
            ("*", "", true),
            ("foot*", "foot_left", true),
            ("*_left*", "foot_left", true),
            ("f??t", "foot", true),
            ("f?t", "foot", false),
            ("a*b*c", "axxbyybzc", true),
            ("a*b*c", "axxbyybz", false),
            ("", "x", false),
        ] {
            let found = matches_pattern(pattern.as_bytes(), text.as_bytes());
            assert_eq!(found, expected, "{pattern} and {text}");
        }
    }

    #[test]
    fn modifiers_are_read_and_checked() {
        let selection: Selection = "body.*.mass bounds(0.1,2) scale(10) tied-ratio"
            .parse()
            .unwrap();
        let expected = Selection::new("body.*.mass")
            .bounds(0.1, 2.0)
            .scaled(10.0)
            .tied_ratio();
        assert_eq!(selection, expected);
        for wrong in [
            "a.b log(1)",
            "a.b bounds(2,1)",
            "a.b scale(0)",
            "a.b exp",
            "  ",
        ] {
            let error = wrong.parse::<Selection>().unwrap_err();
            assert_eq!(
                error.kind(),
                &crate::ErrorKind::Parameter(ParameterProblem::Syntax)
            );
        }
    }

    #[test]
    fn near_words_are_suggested() {
        let words = ["damping", "stiffness", "armature"];
        let text = suggestion("dampning", words.into_iter());
        assert!(text.starts_with("did you mean 'damping'?"), "{text}");
        let text = suggestion("xyz", words.into_iter());
        assert_eq!(text, "there are: damping, stiffness, armature");
    }
}
