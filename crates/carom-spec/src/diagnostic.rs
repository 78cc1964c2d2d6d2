//! Problems found in model files, and how they are shown.
//!
//! ```text
//! error[M012]: joint range needs 2 numbers, found 1
//!   --> arm.xml:14:30
//!    14 |   <joint name="elbow" range="90"/>
//!       |                              ^^ expected "low high" in degrees
//!    help: includes are followed: arm.xml ← scene.xml:3
//! ```

use std::fmt::Write as _;

use crate::source::SourceMap;
use crate::span::Span;

/// How bad a problem is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// The model can be used, but something in the file was probably not meant.
    Warning,
    /// The model cannot be used.
    Error,
}

impl Severity {
    /// The word shown to the user.
    pub fn word(self) -> &'static str {
        match self {
            Severity::Warning => "warning",
            Severity::Error => "error",
        }
    }
}

/// One problem, with the place where it was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// Error or warning.
    pub severity: Severity,
    /// Stable code such as `M012`; the letter tells the reader (X: XML, F: files, M: MJCF, U: URDF).
    pub code: &'static str,
    /// What is wrong, in one sentence.
    pub message: String,
    /// Where; `None` when the problem is not in a text file.
    pub span: Option<Span>,
    /// Said beside the marked source, such as what was expected there.
    pub label: Option<String>,
    /// What to do about it.
    pub help: Option<String>,
    /// Further facts.
    pub notes: Vec<String>,
}

impl Diagnostic {
    /// An error that is not yet tied to a place.
    pub fn error(code: &'static str, message: impl Into<String>) -> Self {
        Self::new(Severity::Error, code, message.into())
    }

    /// A warning that is not yet tied to a place.
    pub fn warning(code: &'static str, message: impl Into<String>) -> Self {
        Self::new(Severity::Warning, code, message.into())
    }

    fn new(severity: Severity, code: &'static str, message: String) -> Self {
        Self {
            severity,
            code,
            message,
            span: None,
            label: None,
            help: None,
            notes: Vec::new(),
        }
    }

    /// Sets the place.
    #[must_use]
    pub fn at(mut self, span: Span) -> Self {
        self.span = Some(span);
        self
    }

    /// Sets the text beside the marked source.
    #[must_use]
    pub fn label(mut self, label: impl Into<String>) -> Self {
        self.label = Some(label.into());
        self
    }

    /// Sets the advice.
    #[must_use]
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// Adds a fact.
    #[must_use]
    pub fn note(mut self, note: impl Into<String>) -> Self {
        self.notes.push(note.into());
        self
    }

    /// True for errors.
    pub fn is_error(&self) -> bool {
        self.severity == Severity::Error
    }

    /// The text for a terminal, ending with a newline.
    pub fn render(&self, sources: &SourceMap) -> String {
        let mut out = String::new();
        let message = one_line(&self.message);
        // Writing to a String cannot fail.
        let _ = writeln!(out, "{}[{}]: {message}", self.severity.word(), self.code);
        if let Some(span) = self.span {
            self.render_place(span, sources, &mut out);
        }
        if let Some(help) = &self.help {
            let _ = writeln!(out, "   help: {}", one_line(help));
        }
        for note in &self.notes {
            let _ = writeln!(out, "   note: {}", one_line(note));
        }
        if let Some(chain) = self.span.and_then(|span| include_chain(span, sources)) {
            let _ = writeln!(out, "   help: includes are followed: {chain}");
        }
        out
    }

    fn render_place(&self, span: Span, sources: &SourceMap, out: &mut String) {
        let (Some(file), Some(position)) = (sources.file(span.file), sources.position(span)) else {
            return;
        };
        let path = file.path().display();
        let _ = writeln!(out, "  --> {path}:{}:{}", position.line, position.column);
        let (_, line, start) = file.line_at(span.start);
        let from = (span.start as usize).saturating_sub(start).min(line.len());
        let to = (span.end as usize)
            .saturating_sub(start)
            .clamp(from, line.len());
        let excerpt = Excerpt::new(line, from, to);
        let _ = writeln!(out, "{:>5} | {}", position.line, excerpt.text);
        // Line numbers of six digits and more push the bar to the right.
        let gutter = position.line.to_string().len().max(5);
        let label = self
            .label
            .as_deref()
            .map(|label| format!(" {}", one_line(label)));
        let _ = writeln!(
            out,
            "{:gutter$} | {}{}{}",
            "",
            " ".repeat(excerpt.indent),
            "^".repeat(excerpt.width),
            label.unwrap_or_default()
        );
    }

    /// One JSON object with the fields of the diagnostic, path, line, column and include chain.
    pub fn to_json(&self, sources: &SourceMap) -> String {
        let mut fields = vec![
            ("severity", json_string(self.severity.word())),
            ("code", json_string(self.code)),
            ("message", json_string(&self.message)),
        ];
        if let Some(span) = self.span
            && let (Some(file), Some(position)) = (sources.file(span.file), sources.position(span))
        {
            fields.push(("file", json_string(&file.path().to_string_lossy())));
            fields.push(("line", position.line.to_string()));
            fields.push(("column", position.column.to_string()));
            let chain = sources.include_chain(span.file);
            let links: Vec<String> = chain
                .iter()
                .map(|(path, line)| {
                    format!(
                        r#"{{"file":{},"line":{line}}}"#,
                        json_string(&path.to_string_lossy())
                    )
                })
                .collect();
            fields.push(("included_from", format!("[{}]", links.join(","))));
        }
        fields.extend(
            self.label
                .as_deref()
                .map(|label| ("label", json_string(label))),
        );
        fields.extend(self.help.as_deref().map(|help| ("help", json_string(help))));
        let notes: Vec<String> = self.notes.iter().map(|note| json_string(note)).collect();
        fields.push(("notes", format!("[{}]", notes.join(","))));
        let members: Vec<String> = fields
            .iter()
            .map(|(name, value)| format!("\"{name}\":{value}"))
            .collect();
        format!("{{{}}}", members.join(","))
    }
}

/// All diagnostics as they are shown in a terminal, separated by blank lines.
pub fn render_all(diagnostics: &[Diagnostic], sources: &SourceMap) -> String {
    let rendered: Vec<String> = diagnostics.iter().map(|one| one.render(sources)).collect();
    rendered.join("\n")
}

/// All diagnostics as a JSON array.
pub fn to_json(diagnostics: &[Diagnostic], sources: &SourceMap) -> String {
    let objects: Vec<String> = diagnostics.iter().map(|one| one.to_json(sources)).collect();
    format!("[{}]", objects.join(","))
}

fn include_chain(span: Span, sources: &SourceMap) -> Option<String> {
    let chain = sources.include_chain(span.file);
    if chain.is_empty() {
        return None;
    }
    let mut text = sources.file(span.file)?.path().display().to_string();
    for (path, line) in chain {
        let _ = write!(text, " ← {}:{line}", path.display());
    }
    Some(text)
}

/// Characters of a source line that are shown at most: minified files have lines of megabytes.
const EXCERPT_WIDTH: usize = 110;
/// Characters kept before the mark when a line is cut.
const EXCERPT_LEAD: usize = 50;
/// Spaces shown for a tab.
const TAB: &str = "    ";

/// The shown part of a source line, with the mark's place in shown characters.
struct Excerpt {
    text: String,
    indent: usize,
    width: usize,
}

impl Excerpt {
    /// Shows `line` around the bytes `from..to`.
    fn new(line: &str, from: usize, to: usize) -> Self {
        // Only a bounded window around the mark is looked at, in steps of characters.
        let before = line.get(..from).unwrap_or("");
        let lead = before.char_indices().rev().take(EXCERPT_LEAD + 1);
        let kept: Vec<usize> = lead.map(|(offset, _)| offset).collect();
        let is_long = line.chars().nth(EXCERPT_WIDTH).is_some();
        let first = match kept.last() {
            Some(&offset) if is_long && offset > 0 => offset,
            _ => 0,
        };

        let mut excerpt = Excerpt {
            text: String::new(),
            indent: 0,
            width: 0,
        };
        if first > 0 {
            excerpt.push("…", first, from, to);
        }
        let characters = line.get(first..).unwrap_or("").char_indices();
        for (shown, (offset, character)) in characters.enumerate() {
            if shown == EXCERPT_WIDTH {
                excerpt.text.push('…');
                break;
            }
            let mut buffer = [0; 4];
            let text = match character {
                '\t' => TAB,
                control if control.is_control() => "·",
                other => &*other.encode_utf8(&mut buffer),
            };
            excerpt.push(text, first + offset, from, to);
        }
        excerpt.width = excerpt.width.max(1);
        excerpt
    }

    fn push(&mut self, text: &str, offset: usize, from: usize, to: usize) {
        let columns = text.chars().count();
        if offset < from {
            self.indent += columns;
        } else if offset < to {
            self.width += columns;
        }
        self.text.push_str(text);
    }
}

/// Keeps names from files from breaking the layout.
fn one_line(text: &str) -> String {
    let mut line: String = text
        .chars()
        .map(|c| if c.is_control() { ' ' } else { c })
        .take(LONGEST_MESSAGE)
        .collect();
    if text.chars().nth(LONGEST_MESSAGE).is_some() {
        line.push('…');
    }
    line
}

/// Characters of a message that are shown at most.
const LONGEST_MESSAGE: usize = 2000;

fn json_string(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for character in text.chars() {
        match character {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            '\r' => out.push_str("\\r"),
            control if (control as u32) < 0x20 => {
                let _ = write!(out, "\\u{:04x}", control as u32);
            }
            other => out.push(other),
        }
    }
    out.push('"');
    out
}

/// The candidate most like `name`, if one is close enough to be meant.
///
/// ```
/// let known = ["damping", "stiffness", "armature"];
/// assert_eq!(carom_spec::diagnostic::nearest_name("dampping", known), Some("damping"));
/// assert_eq!(carom_spec::diagnostic::nearest_name("zzz", known), None);
/// ```
pub fn nearest_name<'a>(
    name: &str,
    candidates: impl IntoIterator<Item = &'a str>,
) -> Option<&'a str> {
    const LONGEST_NAME: usize = 64;
    let wanted: Vec<char> = name.chars().take(LONGEST_NAME + 1).collect();
    if wanted.is_empty() || wanted.len() > LONGEST_NAME {
        return None;
    }
    let allowed = (wanted.len() / 3).max(1);
    let mut best: Option<(usize, &str)> = None;
    for candidate in candidates {
        let length = candidate.len();
        if candidate == name || length > 4 * LONGEST_NAME || length > 4 * (wanted.len() + allowed) {
            continue;
        }
        let distance = edit_distance(&wanted, candidate);
        if distance <= allowed && best.is_none_or(|(least, _)| distance < least) {
            best = Some((distance, candidate));
        }
    }
    best.map(|(_, candidate)| candidate)
}

/// Insertions, deletions, replacements and swaps of neighbours (case costs nothing).
fn edit_distance(wanted: &[char], candidate: &str) -> usize {
    let lower = |c: char| c.to_ascii_lowercase();
    let columns = wanted.len() + 1;
    let mut two_back: Vec<usize> = vec![0; columns];
    let mut previous: Vec<usize> = (0..columns).collect();
    let mut previous_character = None;
    for (row, character) in candidate.chars().map(lower).enumerate() {
        let mut current = Vec::with_capacity(columns);
        current.push(row + 1);
        for column in 1..columns {
            let here = lower(wanted[column - 1]);
            let replaced = previous[column - 1] + usize::from(here != character);
            let mut least = replaced
                .min(previous[column] + 1)
                .min(current[column - 1] + 1);
            if column > 1
                && previous_character == Some(here)
                && lower(wanted[column - 2]) == character
            {
                least = least.min(two_back[column - 2] + 1);
            }
            current.push(least);
        }
        two_back = previous;
        previous = current;
        previous_character = Some(character);
    }
    previous[columns - 1]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::span::FileId;

    fn arm() -> (SourceMap, FileId) {
        let mut sources = SourceMap::new();
        let scene = sources.add("scene.xml", "<mujoco>\n\n<include file=\"arm.xml\"/>", None);
        let mut text = "\n".repeat(13);
        text.push_str("  <joint name=\"elbow\" range=\"90\"/>\n");
        let arm = sources.add("arm.xml", text, Some(Span::new(scene, 10, 15)));
        (sources, arm)
    }

    #[test]
    fn rendering_shows_the_source_line_and_the_include_chain() {
        let (sources, arm) = arm();
        let diagnostic = Diagnostic::error("M012", "joint range needs 2 numbers, found 1")
            .at(Span::new(arm, 13 + 29, 13 + 31))
            .label("expected \"low high\" in degrees (compiler angle=\"degree\")");
        let expected = r#"error[M012]: joint range needs 2 numbers, found 1
  --> arm.xml:14:30
   14 |   <joint name="elbow" range="90"/>
      |                              ^^ expected "low high" in degrees (compiler angle="degree")
   help: includes are followed: arm.xml ← scene.xml:3
"#;
        assert_eq!(diagnostic.render(&sources), expected);
    }

    #[test]
    fn json_holds_place_and_chain() {
        let (sources, arm) = arm();
        let diagnostic = Diagnostic::warning("X001", "a \"quoted\"\nword")
            .at(Span::new(arm, 13 + 29, 13 + 31))
            .help("h");
        assert_eq!(
            diagnostic.to_json(&sources),
            r#"{"severity":"warning","code":"X001","message":"a \"quoted\"\nword","file":"arm.xml","line":14,"column":30,"included_from":[{"file":"scene.xml","line":3}],"help":"h","notes":[]}"#
        );
    }

    #[test]
    fn tabs_and_wide_files_keep_the_caret_in_place() {
        let mut sources = SourceMap::new();
        let tabs = sources.add("t.xml", "\t\té<a b=\"1\"/>", None);
        let shown = Diagnostic::error("X1", "m")
            .at(Span::new(tabs, 5, 6))
            .render(&sources);
        let lines: Vec<&str> = shown.lines().collect();
        assert_eq!(lines[1], "  --> t.xml:1:5");
        let caret = lines[3].chars().position(|c| c == '^').unwrap();
        assert_eq!(lines[2].chars().nth(caret), Some('a'));

        let mut long = "é<x/>".repeat(200_000);
        let at = long.len();
        long.push_str("<bad/>");
        long.push_str(&"<y/>".repeat(200_000));
        let id = sources.add("long.xml", long, None);
        let shown = Diagnostic::error("X1", "m")
            .at(Span::new(id, at + 1, at + 4))
            .render(&sources);
        assert!(shown.len() < 1000);
        let lines: Vec<&str> = shown.lines().collect();
        let caret = lines[3].chars().position(|c| c == '^').unwrap();
        let shown_characters: Vec<char> = lines[2].chars().collect();
        let marked: String = shown_characters[caret..caret + 3].iter().collect();
        assert_eq!(marked, "bad");
    }

    #[test]
    fn a_mark_beyond_the_line_is_still_shown() {
        let mut sources = SourceMap::new();
        let id = sources.add("t.xml", "ab\ncd", None);
        let shown = Diagnostic::error("X1", "m")
            .at(Span::new(id, 2, 900))
            .render(&sources);
        assert!(shown.contains("    1 | ab\n      |   ^\n"), "{shown}");
    }

    #[test]
    fn nearest_name_allows_swaps_and_case() {
        let known = ["contype", "conaffinity", "condim", "friction"];
        assert_eq!(nearest_name("confrimation", known), None);
        assert_eq!(nearest_name("condmi", known), Some("condim"));
        assert_eq!(nearest_name("Friction", known), Some("friction"));
        assert_eq!(nearest_name(&"x".repeat(100_000), known), None);
    }
}
