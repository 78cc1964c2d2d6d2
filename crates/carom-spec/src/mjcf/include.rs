//! Includes: one tree of elements made of several files.
//!
//! An `<include file="…"/>` stands for the children of the named file's root element. The file is
//! looked for beside the main model file first, then beside the including file. A file may be
//! included only once, which also rules out recursion.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use super::codes;
use super::problems::Problems;
use crate::diagnostic::Diagnostic;
use crate::source::{FileSource, SourceMap, normalize};
use crate::span::{FileId, Span};
use crate::xml::{self, Document, Element};

/// Most files of one model.
const MAX_FILES: usize = 1000;

/// All files of one model.
pub(crate) struct Tree {
    documents: Vec<Document>,
    /// Document that replaces the include element at a place.
    includes: BTreeMap<(FileId, u32), usize>,
    /// Folder of each document's file.
    folders: BTreeMap<FileId, PathBuf>,
    main_folder: PathBuf,
}

impl Tree {
    /// Reads the main file and everything it includes.
    pub(crate) fn load(
        path: &Path,
        requested_from: Option<Span>,
        source: &dyn FileSource,
        sources: &mut SourceMap,
        problems: &Problems<'_>,
    ) -> Option<Self> {
        let document = load_document(path, requested_from, source, sources, problems)?;
        let main_folder = folder(path);
        let mut tree = Self {
            folders: BTreeMap::from([(document.file(), main_folder.clone())]),
            documents: vec![document],
            includes: BTreeMap::new(),
            main_folder,
        };
        let mut included = BTreeSet::from([normalize(path)]);
        let mut next = 0;
        while next < tree.documents.len() {
            for request in include_requests(&tree.documents[next], problems) {
                tree.load_include(&request, source, sources, &mut included, problems);
            }
            next += 1;
        }
        Some(tree)
    }

    fn load_include(
        &mut self,
        request: &IncludeRequest,
        source: &dyn FileSource,
        sources: &mut SourceMap,
        included: &mut BTreeSet<PathBuf>,
        problems: &Problems<'_>,
    ) {
        if self.documents.len() >= MAX_FILES {
            let message = format!("more than {MAX_FILES} files are included");
            problems.error(codes::TOO_LARGE, request.place, message);
            return;
        }
        let path = self.find(&request.file, request.place.file, source);
        if !included.insert(normalize(&path)) {
            let message = format!("file '{}' is already included", request.file);
            problems.error(codes::INCLUDED_TWICE, request.place, message);
            return;
        }
        let Some(document) = load_document(&path, Some(request.place), source, sources, problems)
        else {
            return;
        };
        if document.root().children().next().is_none() {
            let message = format!("included file '{}' holds no elements", request.file);
            problems.error(codes::INCLUDE, request.place, message);
        }
        self.folders.insert(document.file(), folder(&path));
        let key = (request.place.file, request.place.start);
        self.includes.insert(key, self.documents.len());
        self.documents.push(document);
    }

    /// Where a file named by the document `from` is: beside the main file, or else beside `from`.
    fn find(&self, file: &str, from: FileId, source: &dyn FileSource) -> PathBuf {
        let beside_main = self.main_folder.join(file);
        match self.folders.get(&from) {
            Some(own) if *own != self.main_folder && source.read(&beside_main).is_err() => {
                own.join(file)
            }
            _ => beside_main,
        }
    }

    /// Root element of the main file.
    pub(crate) fn root(&self) -> Element<'_> {
        self.documents[0].root()
    }

    /// Folder of the main file.
    pub(crate) fn main_folder(&self) -> &Path {
        &self.main_folder
    }

    /// Folder of the file that holds a place.
    pub(super) fn folder_of(&self, file: FileId) -> &Path {
        self.folders
            .get(&file)
            .map_or(&self.main_folder, PathBuf::as_path)
    }

    /// Children of an element with includes replaced by what they stand for.
    pub(super) fn children<'t>(&'t self, element: Element<'t>) -> Vec<Element<'t>> {
        let mut list = Vec::new();
        let mut open: Vec<Box<dyn Iterator<Item = Element<'t>> + 't>> =
            vec![Box::new(element.children())];
        while let Some(siblings) = open.last_mut() {
            match siblings.next() {
                None => {
                    open.pop();
                }
                Some(child) if is_include(child) => {
                    let span = child.span();
                    if let Some(&document) = self.includes.get(&(span.file, span.start)) {
                        open.push(Box::new(self.documents[document].root().children()));
                    }
                }
                Some(child) => list.push(child),
            }
        }
        list
    }

    /// The root's children of one kind.
    pub(super) fn sections<'t>(&'t self, tag: &'t str) -> Vec<Element<'t>> {
        let mut sections = self.children(self.root());
        sections.retain(|section| section.tag() == tag);
        sections
    }
}

fn folder(path: &Path) -> PathBuf {
    path.parent().map_or_else(PathBuf::new, Path::to_path_buf)
}

fn is_include(element: Element<'_>) -> bool {
    element.tag().eq_ignore_ascii_case("include")
}

fn load_document(
    path: &Path,
    requested_from: Option<Span>,
    source: &dyn FileSource,
    sources: &mut SourceMap,
    problems: &Problems<'_>,
) -> Option<Document> {
    let bytes = match source.read(path) {
        Ok(bytes) => bytes,
        Err(error) => {
            let mut diagnostic = Diagnostic::error(codes::INCLUDE, error.to_string());
            diagnostic.span = requested_from;
            problems.push(diagnostic);
            return None;
        }
    };
    let mut diagnostics = Vec::new();
    let document = xml::load(&bytes, path, requested_from, sources, &mut diagnostics);
    problems.extend(diagnostics);
    document
}

/// An include element that names a file.
struct IncludeRequest {
    file: String,
    place: Span,
}

/// All includes of a document in the order of the file.
fn include_requests(document: &Document, problems: &Problems<'_>) -> Vec<IncludeRequest> {
    let mut requests = Vec::new();
    let mut open = vec![document.root()];
    while let Some(element) = open.pop() {
        if !is_include(element) {
            let first = open.len();
            open.extend(element.children());
            open[first..].reverse();
            continue;
        }
        if element.children().next().is_some() {
            let message = "<include> cannot have children";
            problems.error(codes::INCLUDE, element.span(), message);
        }
        match element.value("file") {
            Some(file) if !file.is_empty() => {
                requests.push(IncludeRequest {
                    file: file.to_owned(),
                    place: element.span(),
                });
            }
            _ => problems.error(
                codes::MISSING_ATTRIBUTE,
                element.span(),
                "<include> needs the attribute 'file'",
            ),
        }
    }
    requests
}
