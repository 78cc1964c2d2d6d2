//! Textures, materials, meshes and height fields.

use super::AssetStorage;
use super::tag::{Output, Tag};
use crate::model_spec::{HeightFieldSpec, MaterialSpec, MeshSpec, ModelSpec, TextureSpec};

pub(super) fn write(out: &mut Output, spec: &ModelSpec, storage: AssetStorage) {
    for texture in &spec.textures {
        out.empty(&texture_tag(texture));
    }
    for material in &spec.materials {
        out.empty(&material_tag(material));
    }
    for mesh in &spec.meshes {
        out.empty(&mesh_tag(mesh, storage));
    }
    for field in &spec.height_fields {
        out.empty(&height_field_tag(field, storage));
    }
}

fn texture_tag(texture: &TextureSpec) -> Tag {
    const SIDES: [&str; 6] = [
        "fileright",
        "fileleft",
        "fileup",
        "filedown",
        "filefront",
        "fileback",
    ];
    let default = TextureSpec::default();
    let tag = Tag::new("texture")
        .text("name", &texture.name)
        .word_unless("type", texture.kind, default.kind)
        .text("file", &texture.source);
    let tag = SIDES
        .into_iter()
        .zip(&texture.cube_sources)
        .fold(tag, |tag, (side, source)| tag.text(side, source));
    tag.text_unless("builtin", &texture.builtin, &default.builtin)
        .numbers_unless("rgb1", &texture.rgb1, &default.rgb1)
        .numbers_unless("rgb2", &texture.rgb2, &default.rgb2)
        .text_unless("mark", &texture.mark, &default.mark)
        .numbers_unless("markrgb", &texture.mark_rgb, &default.mark_rgb)
        .number_unless("random", texture.random, default.random)
        .integer_unless("width", texture.width, default.width)
        .integer_unless("height", texture.height, default.height)
        .numbers_unless(
            "gridsize",
            &texture.grid_size.map(f64::from),
            &default.grid_size.map(f64::from),
        )
        .text_unless("gridlayout", &texture.grid_layout, &default.grid_layout)
        .word_unless("hflip", texture.horizontal_flip, default.horizontal_flip)
        .word_unless("vflip", texture.vertical_flip, default.vertical_flip)
}

fn material_tag(material: &MaterialSpec) -> Tag {
    let default = MaterialSpec::default();
    Tag::new("material")
        .text("name", &material.name)
        .reference("texture", &material.texture)
        .numbers_unless(
            "texrepeat",
            &material.texture_repeat,
            &default.texture_repeat,
        )
        .word_unless(
            "texuniform",
            material.texture_uniform,
            default.texture_uniform,
        )
        .number_unless("emission", material.emission, default.emission)
        .number_unless("specular", material.specular, default.specular)
        .number_unless("shininess", material.shininess, default.shininess)
        .number_unless("reflectance", material.reflectance, default.reflectance)
        .number_unless("metallic", material.metallic, default.metallic)
        .number_unless("roughness", material.roughness, default.roughness)
        .numbers_unless("rgba", &material.rgba, &default.rgba)
}

fn mesh_tag(mesh: &MeshSpec, storage: AssetStorage) -> Tag {
    let default = MeshSpec::default();
    let mut tag = Tag::new("mesh").text("name", &mesh.name);
    if let Some(builtin) = &mesh.builtin {
        tag = tag
            .word("builtin", builtin.kind)
            .numbers("params", &builtin.parameters);
    } else if storage == AssetStorage::Files && !mesh.source.is_empty() {
        tag = tag.text("file", &mesh.source);
    } else {
        tag = inline_data(tag, mesh);
    }
    let tag = match mesh.max_hull_vertices {
        Some(count) => tag.integer_unless("maxhullvert", count, -1),
        None => tag,
    };
    tag.numbers_unless(
        "refpos",
        &mesh.reference_position,
        &default.reference_position,
    )
    .numbers_unless(
        "refquat",
        &mesh.reference_quaternion,
        &default.reference_quaternion,
    )
    .numbers_unless("scale", &mesh.scale, &default.scale)
    .word_unless("inertia", mesh.inertia, default.inertia)
    .word_unless("smoothnormal", mesh.smooth_normal, default.smooth_normal)
    .reference("material", &mesh.material)
}

/// Vertices and faces, and what else belongs to vertices.
pub(in super::super) fn inline_data(tag: Tag, mesh: &MeshSpec) -> Tag {
    let faces: Vec<String> = mesh
        .faces
        .iter()
        .map(|[a, b, c]| format!("{a} {b} {c}"))
        .collect();
    let faces: Vec<&str> = faces.iter().map(String::as_str).collect();
    let mut tag = tag.words("vertex", &[&singles(mesh.vertices.as_flattened())]);
    // Inline normals and texture coordinates belong to vertices; those of files may not.
    let belongs_to_vertices = |count: usize, indices: &[[u32; 3]]| {
        count == mesh.vertices.len() && (indices.is_empty() || indices == mesh.faces)
    };
    if belongs_to_vertices(mesh.normals.len(), &mesh.face_normals) {
        tag = tag.words("normal", &[&singles(mesh.normals.as_flattened())]);
    }
    let count = mesh.texture_coordinates.len();
    if belongs_to_vertices(count, &mesh.face_texture_coordinates) {
        tag = tag.words(
            "texcoord",
            &[&singles(mesh.texture_coordinates.as_flattened())],
        );
    }
    tag.words("face", &faces)
}

/// Single-precision values in the fewest digits.
#[expect(
    clippy::cast_possible_truncation,
    reason = "mesh data are single-precision values"
)]
fn singles(values: &[f64]) -> String {
    let texts: Vec<String> = values
        .iter()
        .map(|&value| {
            let text = format!("{:?}", value as f32);
            text.strip_suffix(".0").map(str::to_owned).unwrap_or(text)
        })
        .collect();
    texts.join(" ")
}

fn height_field_tag(field: &HeightFieldSpec, storage: AssetStorage) -> Tag {
    let tag = Tag::new("hfield").text("name", &field.name);
    let tag = if storage == AssetStorage::Files && !field.source.is_empty() {
        tag.text("file", &field.source)
    } else {
        let count = |value: usize| i64::try_from(value).unwrap_or(i64::MAX);
        // The text starts with the row of highest y.
        let rows: Vec<String> = field
            .elevation
            .chunks(field.columns.max(1))
            .rev()
            .map(singles)
            .collect();
        let rows: Vec<&str> = rows.iter().map(String::as_str).collect();
        tag.integer_unless("nrow", count(field.rows), 0)
            .integer_unless("ncol", count(field.columns), 0)
            .words("elevation", &rows)
    };
    tag.numbers("size", &field.size)
}
