//! Problems found while compiling, and the list of their codes.

use std::fmt;

use carom_spec::diagnostic::Diagnostic;
use carom_spec::model_spec::Reference;
use carom_spec::span::Span;

use super::lookup::NameTable;

/// Stable codes of the compile step.
pub(super) mod code {
    /// The list of bodies is not a tree in depth-first order.
    pub(crate) const TREE: &str = "C001";
    /// Two elements of a family bear the same name.
    pub(crate) const DUPLICATE_NAME: &str = "C002";
    /// A name refers to nothing.
    pub(crate) const UNKNOWN_NAME: &str = "C003";
    /// A number is not finite, or outside of what is allowed.
    pub(crate) const BAD_NUMBER: &str = "C004";
    /// A feature that carom does not support.
    pub(crate) const UNSUPPORTED: &str = "C005";

    /// Joints of a body that cannot be combined, or stand where they must not.
    pub(crate) const JOINT_PLACE: &str = "C010";
    /// A joint's axis is zero.
    pub(crate) const JOINT_AXIS: &str = "C011";
    /// A range that is empty or lacks `limited`.
    pub(crate) const RANGE: &str = "C012";
    /// A mocap body that is not a fixed child of the world.
    pub(crate) const MOCAP: &str = "C013";
    /// Spring or damper parameters that contradict each other.
    pub(crate) const SPRING_DAMPER: &str = "C014";

    /// Mass or inertia is not positive.
    pub(crate) const MASS: &str = "C020";
    /// Principal inertias violate the triangle inequality.
    pub(crate) const INERTIA_TRIANGLE: &str = "C021";

    /// Size of a geom or site.
    pub(crate) const SIZE: &str = "C030";
    /// A geom's shape and its asset do not fit.
    pub(crate) const GEOM_ASSET: &str = "C031";
    /// Contact parameters.
    pub(crate) const CONTACT: &str = "C032";

    /// A contact law, or what it is combined with.
    pub(crate) const LAW: &str = "C033";

    /// A law of a joint.
    pub(crate) const JOINT_LAW: &str = "C034";

    /// A learned term.
    pub(crate) const LEARNED: &str = "C035";

    /// A map of collisions.
    pub(crate) const COLLISION_MAP: &str = "C036";

    /// A mesh cannot be used.
    pub(crate) const MESH: &str = "C040";
    /// A height field cannot be used.
    pub(crate) const HEIGHT_FIELD: &str = "C041";

    /// A tendon's path.
    pub(crate) const TENDON_PATH: &str = "C050";
    /// An equality constraint's objects.
    pub(crate) const EQUALITY: &str = "C051";
    /// An actuator's transmission or parameters.
    pub(crate) const ACTUATOR: &str = "C052";
    /// A sensor's objects or parameters.
    pub(crate) const SENSOR: &str = "C053";
    /// A keyframe's sizes.
    pub(crate) const KEYFRAME: &str = "C054";
    /// A camera's parameters.
    pub(crate) const CAMERA: &str = "C055";
    /// An actuator's length range did not converge.
    pub(crate) const LENGTH_RANGE: &str = "C056";
    /// A history of controls or sensor values.
    pub(crate) const HISTORY: &str = "C057";
    /// The inertia matrix at the reference configuration is singular.
    pub(crate) const SINGULAR: &str = "C060";
}

/// Collects diagnostics.
#[derive(Default)]
pub(super) struct Report {
    diagnostics: Vec<Diagnostic>,
}

impl Report {
    /// An element of the description that is checked next.
    pub(super) fn checked(&mut self, kind: &str, name: &str, span: Span) -> Checked<'_> {
        Checked {
            name: called(kind, name),
            span,
            report: self,
        }
    }

    /// Adds a problem.
    pub(super) fn push(&mut self, diagnostic: Diagnostic) {
        self.diagnostics.push(diagnostic);
    }

    /// Adds an error at a place of the file.
    pub(super) fn error(&mut self, code: &'static str, span: Span, message: impl Into<String>) {
        self.push(Diagnostic::error(code, message).at(span));
    }

    /// Adds an error with advice.
    pub(super) fn error_help(
        &mut self,
        code: &'static str,
        span: Span,
        message: impl Into<String>,
        help: impl Into<String>,
    ) {
        self.push(Diagnostic::error(code, message).at(span).help(help));
    }

    /// Adds a warning at a place of the file.
    pub(super) fn warning(&mut self, code: &'static str, span: Span, message: impl Into<String>) {
        self.push(Diagnostic::warning(code, message).at(span));
    }

    /// Whether any problem is an error.
    pub(super) fn has_errors(&self) -> bool {
        self.diagnostics.iter().any(Diagnostic::is_error)
    }

    /// All problems in the order they were found.
    pub(super) fn into_diagnostics(self) -> Vec<Diagnostic> {
        self.diagnostics
    }
}

/// An element of the description while it is checked: its problems are reported at its place, and shown, it is what
/// messages call it.
pub(super) struct Checked<'a> {
    name: String,
    span: Span,
    report: &'a mut Report,
}

impl fmt::Display for Checked<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.name)
    }
}

impl Checked<'_> {
    /// Adds an error.
    pub(super) fn error(&mut self, code: &'static str, message: impl Into<String>) {
        self.report.error(code, self.span, message);
    }

    /// Adds a problem.
    pub(super) fn push(&mut self, diagnostic: Diagnostic) {
        self.report.push(diagnostic);
    }

    /// Adds an error at a place of its own.
    pub(super) fn error_at(&mut self, code: &'static str, span: Span, message: impl Into<String>) {
        self.report.error(code, span, message);
    }

    /// Adds an error with advice.
    pub(super) fn error_help(
        &mut self,
        code: &'static str,
        message: impl Into<String>,
        help: impl Into<String>,
    ) {
        self.report.error_help(code, self.span, message, help);
    }

    /// Adds a warning.
    pub(super) fn warning(&mut self, code: &'static str, message: impl Into<String>) {
        self.report.warning(code, self.span, message);
    }

    /// The id of the element that a reference names; an error if there is none.
    pub(super) fn resolve(&mut self, table: &NameTable, reference: &Reference) -> Option<usize> {
        let Self { name, report, .. } = self;
        table.resolve(reference, || name.clone(), report)
    }
}

/// How an element is called in messages: its kind and, if it has one, its name.
pub(super) fn called(kind: &str, name: &str) -> String {
    if name.is_empty() {
        kind.to_owned()
    } else {
        format!("{kind} '{name}'")
    }
}
