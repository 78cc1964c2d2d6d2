//! Colours and materials, resolved for the viewer.

use carom_spec::model_spec::{MaterialSpec, Reference};

use super::Source;
use crate::model::{Appearance, Look, Shine, Structure};

/// Colour of elements whose file says nothing: one that was left so gives way to the material's.
const DEFAULT_COLOR: [f64; 4] = [0.5, 0.5, 0.5, 1.0];

/// Fills the appearance.
pub(super) fn structure(source: Source<'_>, structure: &mut Structure) {
    let spec = source.spec;
    let geoms = spec.bodies.iter().flat_map(|body| &body.geoms);
    let geoms = geoms.map(|geom| {
        let of_mesh = || {
            let mesh = source.lookup.meshes.get(&geom.mesh.as_ref()?.name)?;
            spec.meshes.get(mesh)?.material.as_ref()
        };
        let material = geom.material.as_ref().or_else(of_mesh);
        look(source, geom.rgba, material)
    });
    let sites = spec.bodies.iter().flat_map(|body| &body.sites);
    let sites = sites.map(|site| look(source, site.rgba, site.material.as_ref()));
    let tendons = spec.tendons.iter();
    let widths = tendons.clone().map(|tendon| finite(tendon.width));
    let tendons = tendons.map(|tendon| look(source, tendon.rgba, tendon.material.as_ref()));
    let extent = spec.statistic.extent;
    let center = spec.statistic.center;
    structure.appearance = Appearance {
        geoms: geoms.collect(),
        sites: sites.collect(),
        tendons: tendons.collect(),
        tendon_width: widths.collect(),
        extent: extent.filter(|extent| extent.is_finite() && *extent > 0.0),
        center: center.filter(|center| center.iter().all(|number| number.is_finite())),
    };
}

/// A colour that was set wins over that of the material.
fn look(source: Source<'_>, rgba: [f64; 4], material: Option<&Reference>) -> Look {
    let id = material.and_then(|material| source.lookup.materials.get(&material.name));
    let material = id.and_then(|id| source.spec.materials.get(id));
    let rgba = match material {
        Some(material) if rgba == DEFAULT_COLOR => colored(source, material),
        _ => rgba,
    };
    Look {
        rgba: rgba.map(unit),
        material: material.map(|material| Shine {
            specular: unit(material.specular),
            shininess: unit(material.shininess),
            reflectance: unit(material.reflectance),
            emission: unit(material.emission),
        }),
    }
}

/// Colour of a material; one with a generated texture has the mean of its two colours.
fn colored(source: Source<'_>, material: &MaterialSpec) -> [f64; 4] {
    let [mut red, mut green, mut blue, opacity] = material.rgba;
    let id = material.texture.as_ref();
    let id = id.and_then(|texture| source.lookup.textures.get(&texture.name));
    let texture = id.and_then(|id| source.spec.textures.get(id));
    if let Some(texture) = texture.filter(|texture| texture.builtin != "none") {
        let other = if texture.builtin == "flat" {
            texture.rgb1
        } else {
            texture.rgb2
        };
        let mean = |channel: usize| 0.5 * (texture.rgb1[channel] + other[channel]);
        red *= mean(0);
        green *= mean(1);
        blue *= mean(2);
    }
    [red, green, blue, opacity]
}

fn unit(number: f64) -> f64 {
    finite(number).clamp(0.0, 1.0)
}

fn finite(number: f64) -> f64 {
    if number.is_finite() { number } else { 0.0 }
}
