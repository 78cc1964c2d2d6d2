//! The list of problems found so far, and what the caller allows.

use std::cell::RefCell;

use crate::diagnostic::Diagnostic;
use crate::span::Span;

/// Most problems kept for one model: a broken generated file could yield millions.
const MAX_PROBLEMS: usize = 500;

/// Which unsupported features are skipped with a warning instead of an error.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Allow {
    /// None: everything unsupported is an error.
    #[default]
    Nothing,
    /// Those with the given codes (`M2…`).
    Codes(Vec<String>),
    /// All of them.
    Everything,
}

impl Allow {
    fn covers(&self, code: &str) -> bool {
        match self {
            Allow::Nothing => false,
            Allow::Codes(codes) => codes.iter().any(|allowed| allowed == code),
            Allow::Everything => true,
        }
    }
}

/// Collects problems behind a shared reference, so that reading functions can report freely.
pub(crate) struct Problems<'a> {
    list: RefCell<Vec<Diagnostic>>,
    allow: &'a Allow,
}

impl<'a> Problems<'a> {
    pub(crate) fn new(allow: &'a Allow) -> Self {
        Self {
            list: RefCell::new(Vec::new()),
            allow,
        }
    }

    /// Adds a problem, unless there are too many already.
    pub(crate) fn push(&self, diagnostic: Diagnostic) {
        let mut list = self.list.borrow_mut();
        match list.len() {
            count if count < MAX_PROBLEMS => list.push(diagnostic),
            MAX_PROBLEMS => list.push(Diagnostic::error(
                super::codes::TOO_LARGE,
                format!("more than {MAX_PROBLEMS} problems; the others are not shown"),
            )),
            _ => {}
        }
    }

    /// True when further problems are not kept: looking for advice is then a waste.
    pub(crate) fn is_full(&self) -> bool {
        self.list.borrow().len() > MAX_PROBLEMS
    }

    pub(crate) fn extend(&self, diagnostics: Vec<Diagnostic>) {
        for diagnostic in diagnostics {
            self.push(diagnostic);
        }
    }

    pub(crate) fn error(&self, code: &'static str, span: Span, message: impl Into<String>) {
        self.push(Diagnostic::error(code, message).at(span));
    }

    pub(crate) fn warning(&self, code: &'static str, span: Span, message: impl Into<String>) {
        self.push(Diagnostic::warning(code, message).at(span));
    }

    /// Reports a feature that is left out: an error unless the caller allows it.
    pub(crate) fn unsupported(&self, code: &'static str, span: Span, message: impl Into<String>) {
        let message = message.into();
        if self.allow.covers(code) {
            self.push(Diagnostic::warning(code, format!("{message}; ignored")).at(span));
        } else {
            let help = format!("`--allow {code}` goes on without it");
            self.push(Diagnostic::error(code, message).at(span).help(help));
        }
    }

    /// All problems in the order of the files.
    pub(crate) fn into_list(self) -> Vec<Diagnostic> {
        let mut list = self.list.into_inner();
        list.sort_by_key(|one| one.span.map(|span| (span.file, span.start)));
        list
    }
}
