//! Meshes, height fields, textures and materials.

use std::path::{Path, PathBuf};

use super::Reader;
use super::attribute::Attributes;
use super::builtin;
use super::codes;
use super::viewer;
use crate::diagnostic::Diagnostic;
use crate::mesh::{self, MeshFormat, RawMesh};
use crate::model_spec::{
    HeightFieldSpec, MeshBuiltin, MeshBuiltinKind, MeshSpec, ModelSpec, TextureSpec,
};
use crate::span::FileId;
use crate::xml::Element;

/// Largest number of samples of a height field without a file.
const MAX_ELEVATIONS: u64 = 100_000_000;

/// Folders of asset files as the compiler section names them.
#[derive(Clone, Debug, Default)]
pub(super) struct AssetFolders {
    pub(super) assets: String,
    pub(super) meshes: Option<String>,
    pub(super) textures: Option<String>,
}

/// Reads what a mesh can have from its class.
pub(super) fn read_mesh_attributes(a: &Attributes<'_, '_>, mesh: &mut MeshSpec) {
    a.set("scale", &mut mesh.scale);
    a.set("inertia", &mut mesh.inertia);
    if let Some(count) = a.get::<i32>("maxhullvert") {
        match u32::try_from(count) {
            Ok(count) if count > 3 => mesh.max_hull_vertices = Some(count),
            _ if count == -1 => mesh.max_hull_vertices = None,
            _ => a.error(
                codes::VALUE_RANGE,
                "maxhullvert",
                "must be larger than 3, or -1",
            ),
        }
    }
}

impl Reader<'_> {
    pub(super) fn read_assets(&self, section: Element<'_>, spec: &mut ModelSpec) {
        for element in self.tree.children(section) {
            let a = self.attributes(element);
            match element.tag() {
                "mesh" => {
                    let mesh = self.read_mesh(element);
                    spec.meshes.push(mesh);
                }
                "hfield" => {
                    let field = self.read_height_field(element);
                    spec.height_fields.push(field);
                }
                "texture" => {
                    let mut texture = self.class_of(element).texture.clone();
                    texture.span = element.span();
                    viewer::read_texture(&a, &mut texture);
                    name_from_file(&mut texture.name, &texture.source);
                    self.place_textures(&mut texture);
                    spec.textures.push(texture);
                }
                "material" => {
                    let mut material = self.class_of(element).material.clone();
                    material.span = element.span();
                    viewer::read_material(&a, self.tree, &mut material);
                    spec.materials.push(material);
                }
                _ => {}
            }
        }
    }

    fn read_mesh(&self, element: Element<'_>) -> MeshSpec {
        let a = self.attributes(element);
        let mut mesh = self.class_of(element).mesh.clone();
        mesh.span = element.span();
        read_mesh_attributes(&a, &mut mesh);
        a.set("name", &mut mesh.name);
        a.set("file", &mut mesh.source);
        a.set("refpos", &mut mesh.reference_position);
        a.set("refquat", &mut mesh.reference_quaternion);
        a.set("smoothnormal", &mut mesh.smooth_normal);
        a.set("material", &mut mesh.material);
        name_from_file(&mut mesh.name, &mesh.source);
        a.exclusive(&["file", "vertex", "builtin"]);
        if a.has("file") {
            let path = self.find_asset(&mesh.source, self.mesh_folder(), mesh.span.file);
            mesh.source = self.beside_model(&path);
            if let Some(raw) = self.load_mesh(&a, &path) {
                set_raw(&mut mesh, raw);
            }
            // A file's own data can be replaced in part.
            if let Some(raw) = read_inline(&a, mesh.vertices.len()) {
                replace_parts(&mut mesh, raw);
            }
        } else if a.has("vertex") {
            if let Some(raw) = read_inline(&a, 0) {
                set_raw(&mut mesh, raw);
            }
        } else if a.has("builtin") {
            self.read_builtin(&a, &mut mesh);
        } else {
            let message = "a mesh needs a file, vertices or a generator (builtin)";
            self.problems.error(codes::ASSET, element.span(), message);
        }
        mesh
    }

    /// Makes a mesh from its formula; it is kept as if its vertices were written in the file.
    fn read_builtin(&self, a: &Attributes<'_, '_>, mesh: &mut MeshSpec) {
        let kind = a.get::<MeshBuiltinKind>("builtin");
        let parameters = a.require("params");
        let (Some(kind), Some(parameters)) = (kind, parameters) else {
            return;
        };
        let builtin = MeshBuiltin { kind, parameters };
        match builtin::make(&builtin) {
            Some(Ok(raw)) => set_raw(mesh, raw),
            Some(Err(reason)) => {
                let message = format!("does not fit the shape: {reason}");
                a.error(codes::VALUE_RANGE, "params", &message);
            }
            None => {
                mesh.builtin = Some(builtin);
                let message = "meshes generated in this shape are not supported";
                let place = a.place("builtin");
                self.problems
                    .unsupported(codes::MESH_BUILTIN, place, message);
            }
        }
    }

    /// Makes the paths of texture files relative to the main file.
    fn place_textures(&self, texture: &mut TextureSpec) {
        let folder = self
            .folders
            .textures
            .as_deref()
            .unwrap_or(&self.folders.assets);
        let sources = std::iter::once(&mut texture.source).chain(&mut texture.cube_sources);
        for source in sources.filter(|source| !source.is_empty()) {
            let path = self.find_asset(source, folder, texture.span.file);
            *source = self.beside_model(&path);
        }
    }

    fn mesh_folder(&self) -> &str {
        self.folders
            .meshes
            .as_deref()
            .unwrap_or(&self.folders.assets)
    }

    /// A path as it is written in a file beside the main one.
    fn beside_model(&self, path: &Path) -> String {
        let relative = path.strip_prefix(self.tree.main_folder()).unwrap_or(path);
        relative.to_string_lossy().into_owned()
    }

    fn load_mesh(&self, a: &Attributes<'_, '_>, path: &Path) -> Option<RawMesh> {
        let content_type = a
            .element
            .value("content_type")
            .filter(|text| !text.is_empty());
        let format = match content_type {
            Some(content_type) => MeshFormat::of_content_type(content_type),
            None => MeshFormat::of_path(path),
        };
        let Some(format) = format else {
            a.error(codes::ASSET, "file", "must be an OBJ, STL or MSH file");
            return None;
        };
        let bytes = self.read_asset(a, path)?;
        match mesh::read_mesh(&bytes, format) {
            Ok(raw) => {
                if raw.ignored_objects > 0 {
                    let message = format!(
                        "'{}' holds {} objects; only the first is used, as in MuJoCo",
                        path.display(),
                        raw.ignored_objects + 1
                    );
                    let help =
                        "join them to one object, or save each to a file and mesh of its own";
                    let warning = Diagnostic::warning(codes::NO_EFFECT, message);
                    self.problems.push(warning.at(a.place("file")).help(help));
                }
                Some(raw)
            }
            Err(error) => {
                let message = format!("names '{}', which cannot be read: {error}", path.display());
                a.error(codes::ASSET, "file", &message);
                None
            }
        }
    }

    fn read_height_field(&self, element: Element<'_>) -> HeightFieldSpec {
        let a = self.attributes(element);
        let mut field = HeightFieldSpec {
            span: element.span(),
            ..HeightFieldSpec::default()
        };
        a.set("name", &mut field.name);
        a.set("file", &mut field.source);
        name_from_file(&mut field.name, &field.source);
        if let Some(size) = a.require::<[f64; 4]>("size") {
            field.size = size;
            if size.iter().any(|entry| *entry <= 0.0) {
                a.error(codes::VALUE_RANGE, "size", "must be positive");
            }
        }
        if a.has("file") {
            self.load_height_field(&a, &mut field);
            return field;
        }
        let rows = a.require::<u32>("nrow").unwrap_or(0);
        let columns = a.require::<u32>("ncol").unwrap_or(0);
        if u64::from(rows) * u64::from(columns) > MAX_ELEVATIONS {
            a.error(codes::TOO_LARGE, "nrow", "makes the height field too large");
            return field;
        }
        (field.rows, field.columns) = (rows as usize, columns as usize);
        if let Some(elevation) = a.get::<Vec<f64>>("elevation") {
            if elevation.len() == field.rows * field.columns {
                // The text starts at the top, the data at the lowest y.
                let rows = elevation.chunks(field.columns.max(1)).rev();
                field.elevation = rows.flatten().copied().map(single).collect();
                if field.elevation.iter().any(|height| !height.is_finite()) {
                    a.error(
                        codes::NUMBER_SIZE,
                        "elevation",
                        "holds a number that is too large",
                    );
                }
            } else {
                let message = format!("needs nrow × ncol = {} values", field.rows * field.columns);
                a.error(codes::VALUE_COUNT, "elevation", &message);
            }
        }
        field
    }

    fn load_height_field(&self, a: &Attributes<'_, '_>, field: &mut HeightFieldSpec) {
        let path = self.find_asset(&field.source, self.mesh_folder(), field.span.file);
        field.source = self.beside_model(&path);
        let Some(bytes) = self.read_asset(a, &path) else {
            return;
        };
        match mesh::read_height_field(&bytes) {
            Ok(data) => {
                field.rows = data.rows;
                field.columns = data.columns;
                field.elevation = data.elevation;
            }
            Err(error) => {
                let message = format!("names '{}', which cannot be read: {error}", path.display());
                a.error(codes::ASSET, "file", &message);
            }
        }
    }

    fn read_asset(&self, a: &Attributes<'_, '_>, path: &Path) -> Option<Vec<u8>> {
        let bytes = self.loader.source.read(path);
        if let Err(error) = &bytes {
            self.problems
                .error(codes::ASSET, a.place("file"), error.to_string());
        }
        bytes.ok()
    }

    /// Where an asset file is: in the folder of the compiler section, or beside the including file.
    pub(super) fn find_asset(&self, file: &str, folder: &str, from: FileId) -> PathBuf {
        let file = file.replace('\\', "/");
        let name = Path::new(&file);
        let name = if self.strip_path {
            name.file_name().map_or(name, Path::new)
        } else {
            name
        };
        let main = self.tree.main_folder().join(folder).join(name);
        let own = self.tree.folder_of(from);
        if own == self.tree.main_folder() || self.loader.source.read(&main).is_ok() {
            return main;
        }
        let beside = own.join(name);
        if self.loader.source.read(&beside).is_ok() {
            beside
        } else {
            main
        }
    }
}

/// An asset without a name is called as its file, without folders and ending.
fn name_from_file(name: &mut String, file: &str) {
    if name.is_empty() && !file.is_empty() {
        let last = file.rsplit(['/', '\\']).next().unwrap_or(file);
        let stem = last.rsplit_once('.').map_or(last, |(stem, _)| stem);
        stem.clone_into(name);
    }
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "rounding is what is wanted"
)]
fn single(number: f64) -> f64 {
    f64::from(number as f32)
}

fn set_raw(mesh: &mut MeshSpec, raw: RawMesh) {
    mesh.vertices = raw.vertices;
    mesh.faces = raw.faces;
    mesh.normals = raw.normals;
    mesh.face_normals = raw.face_normals;
    mesh.texture_coordinates = raw.texture_coordinates;
    mesh.face_texture_coordinates = raw.face_texture_coordinates;
}

fn replace_parts(mesh: &mut MeshSpec, raw: RawMesh) {
    if !raw.faces.is_empty() {
        mesh.faces = raw.faces;
        mesh.face_normals.clear();
        mesh.face_texture_coordinates.clear();
    }
    if !raw.normals.is_empty() {
        mesh.normals = raw.normals;
        mesh.face_normals.clear();
    }
    if !raw.texture_coordinates.is_empty() {
        mesh.texture_coordinates = raw.texture_coordinates;
        mesh.face_texture_coordinates.clear();
    }
}

/// Data of a mesh in the model file itself; `vertices` of them are already there from a file.
fn read_inline(a: &Attributes<'_, '_>, vertices: usize) -> Option<RawMesh> {
    let mut raw = RawMesh::default();
    if let Some(numbers) = a.get::<Vec<f64>>("vertex") {
        let Ok(list) = mesh::inline_vertices(&numbers) else {
            a.error(
                codes::VALUE_COUNT,
                "vertex",
                "needs a multiple of 3 numbers",
            );
            return None;
        };
        raw.vertices = list;
    }
    let count = if raw.vertices.is_empty() {
        vertices
    } else {
        raw.vertices.len()
    };
    raw.normals = triples(a, "normal")?;
    if let Some(numbers) = a.get::<Vec<f64>>("texcoord") {
        let (pairs, rest) = numbers.as_chunks::<2>();
        if !rest.is_empty() {
            a.error(
                codes::VALUE_COUNT,
                "texcoord",
                "needs a multiple of 2 numbers",
            );
            return None;
        }
        raw.texture_coordinates = pairs.iter().map(|pair| pair.map(single)).collect();
    }
    if let Some(numbers) = a.get::<Vec<i32>>("face") {
        let (faces, rest) = numbers.as_chunks::<3>();
        if !rest.is_empty() {
            a.error(codes::VALUE_COUNT, "face", "needs a multiple of 3 integers");
            return None;
        }
        for face in faces {
            let corners = face.map(|corner| u32::try_from(corner).unwrap_or(u32::MAX));
            if corners.iter().any(|corner| *corner as usize >= count) {
                let message = format!("uses a vertex that does not exist: there are {count}");
                a.error(codes::VALUE_RANGE, "face", &message);
                return None;
            }
            raw.faces.push(corners);
        }
    }
    Some(raw)
}

fn triples(a: &Attributes<'_, '_>, name: &str) -> Option<Vec<[f64; 3]>> {
    let numbers = a.get::<Vec<f64>>(name).unwrap_or_default();
    let (list, rest) = numbers.as_chunks::<3>();
    if !rest.is_empty() {
        a.error(codes::VALUE_COUNT, name, "needs a multiple of 3 numbers");
        return None;
    }
    Some(list.iter().map(|vector| vector.map(single)).collect())
}
