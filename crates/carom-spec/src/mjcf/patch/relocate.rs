//! The same model in another folder: files are found from there.

use std::path::{Component, Path, PathBuf};

use super::element::Attributes;
use super::text::Texts;
use super::{NotPatched, refuse};
use crate::model_spec::ModelSpec;
use crate::source::{SourceMap, normalize};
use crate::span::Span;

/// Attributes of a texture that name files.
const TEXTURE_FILES: [&str; 7] = [
    "file",
    "fileright",
    "fileleft",
    "fileup",
    "filedown",
    "filefront",
    "fileback",
];

/// The main file as it has to read in another folder. Includes that name files themselves are put in place.
///
/// # Errors
/// When there is no way from one folder to the other.
pub fn relocated(
    sources: &SourceMap,
    spec: &ModelSpec,
    folder: &Path,
) -> Result<String, NotPatched> {
    let mut texts = Texts::new(sources)?;
    let move_ = Move::new(sources, Some(folder))?;
    move_.compilers(&mut texts, spec)?;
    move_.finish(texts, spec)
}

/// From the folder of the main file to another one, or to the same.
pub(super) struct Move {
    home: PathBuf,
    folder: PathBuf,
    /// The way back.
    way: PathBuf,
}

/// Folders of asset files in the compiler section.
const FOLDERS: [&str; 3] = ["assetdir", "meshdir", "texturedir"];

impl Move {
    pub(super) fn new(sources: &SourceMap, folder: Option<&Path>) -> Result<Self, NotPatched> {
        let main = sources
            .files()
            .first()
            .map_or(Path::new(""), |file| file.path());
        let home = absolute(main.parent().unwrap_or(Path::new("")))?;
        let folder = folder.map_or_else(|| Ok(home.clone()), absolute)?;
        let way = way(&folder, &home)?;
        Ok(Self { home, folder, way })
    }

    fn is_moved(&self) -> bool {
        self.home != self.folder
    }

    /// Changes the folders of the compiler section, or adds them.
    fn compilers(&self, texts: &mut Texts<'_>, spec: &ModelSpec) -> Result<(), NotPatched> {
        if !self.is_moved() {
            return Ok(());
        }
        let sections = texts.sections("compiler").into_iter();
        let sections: Vec<(Span, [Option<String>; 3])> = sections
            .map(|section| {
                let of = |name| section.value(name).map(|value| self.moved(value));
                (section.span(), FOLDERS.map(of))
            })
            .collect();
        let has = |k: usize| sections.iter().any(|(_, values)| values[k].is_some());
        let (has_meshes, has_textures) = (has(0) || has(1), has(0) || has(2));
        for (span, values) in &sections {
            let mut attributes = Attributes::default();
            for (name, value) in FOLDERS.iter().zip(values) {
                if let Some(value) = value {
                    attributes.set_text(name, value);
                }
            }
            if !attributes.is_empty() {
                texts.apply(*span, &attributes)?;
            }
        }
        let mut missing = Attributes::default();
        for (name, folder, needed) in [
            ("meshdir", has_meshes, mesh_files(spec).next().is_some()),
            (
                "texturedir",
                has_textures,
                texture_files(spec).next().is_some(),
            ),
        ] {
            if needed && !folder {
                missing.set_text(name, &written(&self.way));
            }
        }
        texts.set_section("compiler", &missing)
    }

    /// A path of the main file as the other one has it.
    fn moved(&self, path: &str) -> String {
        let joined = self.way.join(path.replace('\\', "/"));
        written(&normalize(&joined))
    }

    /// Makes the paths of files right that are named in texts which move, and puts these texts together.
    pub(super) fn finish(
        self,
        mut texts: Texts<'_>,
        spec: &ModelSpec,
    ) -> Result<String, NotPatched> {
        const NAMING: [&str; 7] = [
            "include", "mesh", "hfield", "texture", "model", "skin", "compiler",
        ];
        let files = texts.sources.files();
        let inlined: Vec<bool> = (0..files.len())
            .map(|file| {
                let names_files = || !texts.elements(file, &NAMING).is_empty();
                file > 0 && self.is_moved() && names_files() && !texts.is_model(file)
            })
            .collect();
        let moving = texts.inlined(&inlined);
        let is_moving = |span: Span| match span.file.0 as usize {
            0 => self.is_moved(),
            file => moving[file],
        };

        // Assets that were found beside the file that names them, not in the folders of the compiler section.
        let folders = FOLDERS.map(|name| {
            let sections = texts.sections("compiler");
            let mut values = sections.iter().filter_map(|section| section.value(name));
            values.next_back().map(str::to_owned)
        });
        let [assets, meshes, textures] = folders;
        let meshes = meshes.or_else(|| assets.clone()).unwrap_or_default();
        let textures = textures.or(assets).unwrap_or_default();
        let named = mesh_files(spec).map(|file| (file, &meshes));
        let named = named.chain(texture_files(spec).map(|file| (file, &textures)));
        for ((span, name, source), folder) in named.filter(|((span, ..), _)| is_moving(*span)) {
            let element = texts.element(span);
            let Some(file) = element.ok().and_then(|element| element.value(name)) else {
                continue;
            };
            let usual = Path::new(folder).join(file.replace('\\', "/"));
            let (from, to) = (self.home.join(folder), self.home.join(source));
            let is_stripped = usual.file_name() == to.file_name() && usual.parent() != to.parent();
            if normalize(&usual) == normalize(Path::new(source)) || (is_stripped && strips(&texts))
            {
                continue;
            }
            let path = written(&way(&normalize(&from), &normalize(&to))?);
            texts.apply(span, &Attributes::text(name, &path))?;
        }

        // Includes that stay, and models that are attached.
        for (asked, file) in texts.includes() {
            let Ok(element) = texts.element(asked) else {
                continue;
            };
            let path = absolute(files[file].path())?;
            let usual = self.folder.join(element.value("file").unwrap_or_default());
            if is_moving(asked) && !moving[file] && normalize(&usual) != path {
                let text = written(&way(&self.folder, &path)?);
                texts.apply(asked, &Attributes::text("file", &text))?;
            }
        }
        texts.finish(&moving)
    }
}

/// Whether folders in names of files do not count.
fn strips(texts: &Texts<'_>) -> bool {
    let sections = texts.sections("compiler");
    let mut words = sections
        .iter()
        .filter_map(|section| section.value("strippath"));
    words.next_back() == Some("true")
}

/// Elements and attributes that name a file, and where it was found from the main file.
type Named<'n> = (Span, &'static str, &'n String);

fn mesh_files(spec: &ModelSpec) -> impl Iterator<Item = Named<'_>> {
    let meshes = spec.meshes.iter().map(|mesh| (mesh.span, &mesh.source));
    let fields = spec
        .height_fields
        .iter()
        .map(|field| (field.span, &field.source));
    let all = meshes
        .chain(fields)
        .filter(|(_, source)| !source.is_empty());
    all.map(|(span, source)| (span, "file", source))
}

fn texture_files(spec: &ModelSpec) -> impl Iterator<Item = Named<'_>> {
    let all = spec.textures.iter().flat_map(|texture| {
        let sources = std::iter::once(&texture.source).chain(&texture.cube_sources);
        let names = TEXTURE_FILES.into_iter();
        names
            .zip(sources)
            .map(|(name, source)| (texture.span, name, source))
    });
    all.filter(|(_, _, source)| !source.is_empty())
}

/// An absolute path without `.` and `..`.
fn absolute(path: &Path) -> Result<PathBuf, NotPatched> {
    let path = if path.as_os_str().is_empty() {
        Path::new(".")
    } else {
        path
    };
    match std::path::absolute(path) {
        Ok(path) => Ok(normalize(&path)),
        Err(cause) => refuse(format!("'{}': {cause}", path.display())),
    }
}

/// The way from a folder to a path, both absolute.
fn way(from: &Path, to: &Path) -> Result<PathBuf, NotPatched> {
    let (mut from, mut to) = (from.components().peekable(), to.components().peekable());
    let mut is_shared = false;
    while let (Some(one), Some(other)) = (from.peek(), to.peek()) {
        if one != other {
            break;
        }
        is_shared = true;
        from.next();
        to.next();
    }
    if !is_shared {
        return refuse("there is no way from one folder to the other");
    }
    let up = from.map(|_| Component::ParentDir);
    let way: PathBuf = up.chain(to).collect();
    Ok(way)
}

/// A path as files have it.
fn written(path: &Path) -> String {
    let text = path.to_string_lossy().replace('\\', "/");
    if text.is_empty() {
        ".".to_owned()
    } else {
        text
    }
}
