//! Shapes and mesh files.

use std::path::PathBuf;

use super::codes;
use super::read::{Context, require_child};
use crate::mesh::{self, MeshFormat};
use crate::mjcf::attribute::Attributes;
use crate::model_spec::{GeomKind, GeomSpec, MeshSpec, Reference};
use crate::source::ReadErrorKind;
use crate::xml::Element;

/// Reads shapes and loads every mesh once for each scale.
pub(super) struct GeometryReader<'a> {
    context: &'a Context<'a>,
}

impl<'a> GeometryReader<'a> {
    pub(super) fn new(context: &'a Context<'a>) -> Self {
        Self { context }
    }

    /// Sets the shape of a geom from the `<geometry>` inside `element`; false when there is none.
    pub(super) fn read(
        &mut self,
        element: Element<'_>,
        geom: &mut GeomSpec,
        meshes: &mut Vec<MeshSpec>,
    ) -> bool {
        let problems = self.context.problems;
        let Some(geometry) = require_child(element, "geometry", problems) else {
            return false;
        };
        let shape = |tag| {
            geometry
                .child(tag)
                .map(|shape| Attributes::new(shape, problems))
        };
        // URDF has full lengths, MuJoCo half ones. Of several shapes the first of this list counts.
        if let Some(a) = shape("box") {
            geom.kind = GeomKind::Box;
            let Some(size) = a.require::<[f64; 3]>("size") else {
                return false;
            };
            geom.size = size.map(|length| length / 2.0);
        } else if let Some(a) = shape("cylinder") {
            geom.kind = GeomKind::Cylinder;
            return read_round(&a, geom);
        } else if let Some(a) = shape("sphere") {
            geom.kind = GeomKind::Sphere;
            let Some(radius) = a.require("radius") else {
                return false;
            };
            geom.size[0] = radius;
        } else if let Some(a) = shape("capsule") {
            geom.kind = GeomKind::Capsule;
            return read_round(&a, geom);
        } else if let Some(a) = shape("mesh") {
            geom.kind = GeomKind::Mesh;
            geom.mesh = self.read_mesh(&a, meshes);
            return geom.mesh.is_some();
        } else {
            let message = "<geometry> needs a <box>, <cylinder>, <sphere>, <capsule> or <mesh>";
            problems.error(codes::GEOMETRY, geometry.span(), message);
            return false;
        }
        true
    }

    /// The mesh of a file in a scale, named after the file.
    fn read_mesh(
        &mut self,
        a: &Attributes<'_, '_>,
        meshes: &mut Vec<MeshSpec>,
    ) -> Option<Reference> {
        let address = a.require::<String>("filename")?;
        let scale = a.get("scale").unwrap_or([1.0; 3]);
        let file = if self.context.strip_path {
            last_part(&address).to_owned()
        } else {
            address
        };
        let stem = file_stem(&file);
        let span = a.place("filename");
        let is_same_file = |mesh: &&MeshSpec| file_stem(&mesh.source) == stem;
        let same_file: Vec<&MeshSpec> = meshes.iter().filter(is_same_file).collect();
        if let Some(mesh) = same_file.iter().find(|mesh| mesh.scale == scale) {
            return Some(Reference {
                name: mesh.name.clone(),
                span,
            });
        }
        // Further scales of one file get a number.
        let name = match same_file.len() {
            0 => stem.to_owned(),
            count => format!("{stem}{count}"),
        };
        let mut mesh = MeshSpec {
            name: name.clone(),
            span: a.element.span(),
            source: file.clone(),
            scale,
            ..MeshSpec::default()
        };
        self.load(a, &file, &mut mesh)?;
        meshes.push(mesh);
        Some(Reference { name, span })
    }

    fn load(&self, a: &Attributes<'_, '_>, file: &str, mesh: &mut MeshSpec) -> Option<()> {
        let Some(format) = MeshFormat::of_path(file.as_ref()) else {
            a.error(
                codes::GEOMETRY,
                "filename",
                "must be an OBJ, STL or MSH file",
            );
            return None;
        };
        let (path, bytes) = self.find(a, file)?;
        match mesh::read_mesh(&bytes, format) {
            Ok(raw) => {
                mesh.source = path.to_string_lossy().into_owned();
                mesh.vertices = raw.vertices;
                mesh.faces = raw.faces;
                mesh.normals = raw.normals;
                mesh.face_normals = raw.face_normals;
                mesh.texture_coordinates = raw.texture_coordinates;
                mesh.face_texture_coordinates = raw.face_texture_coordinates;
                Some(())
            }
            Err(error) => {
                let message = format!("names '{}', which cannot be read: {error}", path.display());
                a.error(codes::GEOMETRY, "filename", &message);
                None
            }
        }
    }

    /// The first of the possible places that holds the file, relative to the model's folder.
    fn find(&self, a: &Attributes<'_, '_>, file: &str) -> Option<(PathBuf, Vec<u8>)> {
        let candidates = candidates(file, &self.context.mesh_folder);
        let mut first_error = None;
        for candidate in candidates {
            match self
                .context
                .source
                .read(&self.context.folder.join(&candidate))
            {
                Ok(bytes) => return Some((candidate, bytes)),
                Err(error) if error.kind == ReadErrorKind::NotFound => {
                    first_error.get_or_insert(error);
                }
                Err(error) => {
                    first_error = Some(error);
                    break;
                }
            }
        }
        if let Some(error) = first_error {
            self.context
                .problems
                .error(codes::GEOMETRY, a.place("filename"), error.to_string());
        }
        None
    }
}

/// Places where a mesh file may be. An address such as `package://robot/meshes/arm.stl` does not say
/// where the package is: it is looked for as a folder beside the file and around it.
fn candidates(file: &str, mesh_folder: &str) -> Vec<PathBuf> {
    /// Folders upwards that are looked into.
    const MAX_LEVELS_UP: usize = 4;
    let folder = PathBuf::from(mesh_folder);
    let file = file.replace('\\', "/");
    let Some((scheme, rest)) = file.split_once("://") else {
        return vec![folder.join(file)];
    };
    if scheme == "file" {
        return vec![PathBuf::from(rest)];
    }
    let inside = rest.split_once('/').map_or(rest, |(_, inside)| inside);
    let mut list = vec![folder.join(rest), folder.join(inside)];
    let mut above = folder;
    for _ in 0..MAX_LEVELS_UP {
        above.push("..");
        list.extend([above.join(rest), above.join(inside)]);
    }
    list
}

fn read_round(a: &Attributes<'_, '_>, geom: &mut GeomSpec) -> bool {
    let (radius, length) = (a.require::<f64>("radius"), a.require::<f64>("length"));
    let (Some(radius), Some(length)) = (radius, length) else {
        return false;
    };
    geom.size[0] = radius;
    geom.size[1] = length / 2.0;
    true
}

fn last_part(path: &str) -> &str {
    path.rsplit(['/', '\\']).next().unwrap_or(path)
}

fn file_stem(path: &str) -> &str {
    let last = last_part(path);
    last.rsplit_once('.').map_or(last, |(stem, _)| stem)
}
