//! Loading of model files, and of the models they attach.

use std::cell::{Cell, RefCell};
use std::path::{Path, PathBuf};
use std::rc::Rc;

use super::Reader;
use super::codes;
use super::draft::Draft;
use super::include::Tree;
use super::problems::Problems;
use super::schema;
use crate::source::{FileSource, SourceMap, normalize};
use crate::span::Span;
use crate::xml::Element;

/// Most models that are loaded for one.
const MAX_MODELS: usize = 200;
/// Deepest nesting of attached models.
const MAX_DEPTH: usize = 16;

/// Where files come from, shared by a model and the models it attaches.
pub(super) struct Loader<'l> {
    pub(super) source: &'l dyn FileSource,
    pub(super) problems: &'l Problems<'l>,
    sources: RefCell<SourceMap>,
    loaded: Cell<usize>,
}

impl<'l> Loader<'l> {
    pub(super) fn new(
        source: &'l dyn FileSource,
        problems: &'l Problems<'l>,
        sources: SourceMap,
    ) -> Self {
        Self {
            source,
            problems,
            sources: RefCell::new(sources),
            loaded: Cell::new(0),
        }
    }

    /// The texts of all files.
    pub(super) fn into_sources(self) -> SourceMap {
        self.sources.into_inner()
    }

    /// Reads a model file. `chain` holds the model files that led to it.
    pub(super) fn load(
        &self,
        path: &Path,
        requested_from: Option<Span>,
        chain: &[PathBuf],
    ) -> Option<Draft> {
        self.loaded.set(self.loaded.get() + 1);
        let tree = {
            let mut sources = self.sources.borrow_mut();
            Tree::load(
                path,
                requested_from,
                self.source,
                &mut sources,
                self.problems,
            )?
        };
        self.read_tree(&tree, path, chain)
    }

    /// Reads a model whose files are loaded.
    pub(super) fn read_tree(&self, tree: &Tree, path: &Path, chain: &[PathBuf]) -> Option<Draft> {
        let root = tree.root();
        if !root.tag().eq_ignore_ascii_case("mujoco") {
            let message = format!("the root element is <{}>, not <mujoco>", root.tag());
            self.problems.error(codes::ROOT, root.tag_span(), message);
            return None;
        }
        if !schema::check(tree, root, self.problems) {
            return None;
        }
        let mut chain = chain.to_vec();
        chain.push(normalize(path));
        let mut draft = Draft::new();
        Reader::new(tree, self, &chain).read_all(&mut draft);
        Some(draft)
    }
}

impl Reader<'_> {
    /// Loads a model that can be attached.
    pub(super) fn read_model_asset(&self, element: Element<'_>, draft: &mut Draft) {
        let a = self.attributes(element);
        let Some(file) = a.require::<String>("file") else {
            return;
        };
        let path = self.find_asset(&file, "", element.span().file);
        let loader = self.loader;
        if self.chain.contains(&normalize(&path)) {
            let message = format!("model '{file}' attaches itself");
            self.problems.error(codes::ATTACH, a.place("file"), message);
            return;
        }
        if loader.loaded.get() >= MAX_MODELS || self.chain.len() >= MAX_DEPTH {
            let message = "too many attached models";
            self.problems
                .error(codes::TOO_LARGE, a.place("file"), message);
            return;
        }
        let Some(child) = loader.load(&path, Some(element.span()), self.chain) else {
            return;
        };
        let name = a.get("name").unwrap_or_else(|| child.spec.name.clone());
        draft.models.push((name, Rc::new(child)));
    }
}
