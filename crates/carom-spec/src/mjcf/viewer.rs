//! Cameras, lights, textures and materials: what only the viewer needs.

use super::attribute::Attributes;
use super::codes;
use super::include::Tree;
use super::keywords::{CameraOutput, ColorRole, MarkWord, Orthographic, TextureWord};
use super::orientation::AngleNotation;
use crate::model_spec::{CameraSpec, LightKind, LightSpec, MaterialSpec, Reference, TextureSpec};

/// Reads the attributes of a camera over the values of its class.
pub(super) fn read_camera(
    a: &Attributes<'_, '_>,
    notation: AngleNotation,
    camera: &mut CameraSpec,
) {
    a.set("name", &mut camera.name);
    if let Some(Orthographic(orthographic)) = a.get("projection") {
        camera.orthographic = orthographic;
    }
    a.exclusive(&["fovy", "sensorsize"]);
    a.set("fovy", &mut camera.field_of_view);
    a.set("ipd", &mut camera.inter_pupillary_distance);
    if let Some(resolution) = a.get::<[i32; 2]>("resolution") {
        match resolution.map(u32::try_from) {
            [Ok(width), Ok(height)] => camera.resolution = [width, height],
            _ => a.error(codes::VALUE_RANGE, "resolution", "cannot be negative"),
        }
    }
    a.keywords::<CameraOutput>("output");
    a.set("pos", &mut camera.position);
    a.set_orientation(notation, &mut camera.quaternion);
    a.set("mode", &mut camera.mode);
    a.set("target", &mut camera.target);
    a.set("focal", &mut camera.focal_length);
    a.set("focalpixel", &mut camera.focal_pixels);
    a.set("principal", &mut camera.principal_length);
    a.set("principalpixel", &mut camera.principal_pixels);
    a.set("sensorsize", &mut camera.sensor_size);
    a.set("user", &mut camera.user);
}

/// Reads the attributes of a light over the values of its class.
pub(super) fn read_light(a: &Attributes<'_, '_>, light: &mut LightSpec) {
    a.set("name", &mut light.name);
    a.exclusive(&["directional", "type"]);
    if let Some(directional) = a.get::<bool>("directional") {
        light.kind = if directional {
            LightKind::Directional
        } else {
            LightKind::Spot
        };
    }
    a.set("type", &mut light.kind);
    a.set("castshadow", &mut light.cast_shadow);
    a.set("active", &mut light.active);
    a.set("pos", &mut light.position);
    a.set("dir", &mut light.direction);
    for name in ["bulbradius", "intensity", "range", "softness"] {
        a.get::<f64>(name);
    }
    a.set("attenuation", &mut light.attenuation);
    a.set("cutoff", &mut light.cutoff);
    a.set("exponent", &mut light.exponent);
    a.set("ambient", &mut light.ambient);
    a.set("diffuse", &mut light.diffuse);
    a.set("specular", &mut light.specular);
    a.set("mode", &mut light.mode);
    a.set("target", &mut light.target);
}

/// Reads the attributes of a texture over the values of its class.
pub(super) fn read_texture(a: &Attributes<'_, '_>, texture: &mut TextureSpec) {
    a.set("name", &mut texture.name);
    a.set("type", &mut texture.kind);
    a.set("file", &mut texture.source);
    let sides = [
        "fileright",
        "fileleft",
        "fileup",
        "filedown",
        "filefront",
        "fileback",
    ];
    for (side, source) in sides.into_iter().zip(&mut texture.cube_sources) {
        a.set(side, source);
    }
    if let Some(TextureWord(word)) = a.get("builtin") {
        word.clone_into(&mut texture.builtin);
    }
    a.set("rgb1", &mut texture.rgb1);
    a.set("rgb2", &mut texture.rgb2);
    if let Some(MarkWord(word)) = a.get("mark") {
        word.clone_into(&mut texture.mark);
    }
    a.set("markrgb", &mut texture.mark_rgb);
    a.set("random", &mut texture.random);
    a.set("width", &mut texture.width);
    a.set("height", &mut texture.height);
    if let Some(size) = a.get::<[i32; 2]>("gridsize") {
        match size.map(u32::try_from) {
            [Ok(rows), Ok(columns)] => texture.grid_size = [rows, columns],
            _ => a.error(codes::VALUE_RANGE, "gridsize", "cannot be negative"),
        }
    }
    a.set("gridlayout", &mut texture.grid_layout);
    a.set("hflip", &mut texture.horizontal_flip);
    a.set("vflip", &mut texture.vertical_flip);
    a.get::<i32>("nchannel");
}

/// Reads the attributes of a material over the values of its class.
pub(super) fn read_material(a: &Attributes<'_, '_>, tree: &Tree, material: &mut MaterialSpec) {
    a.set("name", &mut material.name);
    a.set("texture", &mut material.texture);
    a.set("texrepeat", &mut material.texture_repeat);
    a.set("texuniform", &mut material.texture_uniform);
    a.set("emission", &mut material.emission);
    a.set("specular", &mut material.specular);
    a.set("shininess", &mut material.shininess);
    a.set("reflectance", &mut material.reflectance);
    a.set("metallic", &mut material.metallic);
    a.set("roughness", &mut material.roughness);
    a.set("rgba", &mut material.rgba);
    for layer in tree.children(a.element) {
        if layer.tag() != "layer" {
            continue;
        }
        let b = Attributes::new(layer, a.problems);
        if a.has("texture") {
            let message = "a material has either the attribute 'texture' or layers";
            a.problems.error(codes::EXCLUSIVE, layer.span(), message);
        }
        let role = b.require::<ColorRole>("role");
        let texture = b.require::<Reference>("texture");
        if let Some(ColorRole(true)) = role {
            material.texture = texture;
        }
    }
}
