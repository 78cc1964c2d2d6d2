//! Names of model elements in messages.

use carom::Model;

/// `'floor'–'left foot'`; geoms without a name by kind, number and body.
pub fn pair_name(model: &Model, [first, second]: [usize; 2]) -> String {
    format!("{}–{}", geom_name(model, first), geom_name(model, second))
}

/// The name of a geom in quotes, or its kind, number and body.
pub fn geom_name(model: &Model, geom: usize) -> String {
    let structure = &*model.structure;
    let name = structure.names.geoms.get(geom);
    if let Some(name) = name.filter(|name| !name.is_empty()) {
        return format!("'{name}'");
    }
    let (Some(kind), Some(&body)) = (
        structure.geoms.kind.get(geom),
        structure.geoms.body.get(geom),
    ) else {
        return format!("geom {geom}");
    };
    let kind = format!("{kind:?}").to_lowercase();
    let owner = match structure.names.bodies.get(body) {
        _ if body == 0 => "the world".to_owned(),
        Some(name) if !name.is_empty() => format!("body '{name}'"),
        _ => format!("body {body}"),
    };
    format!("{kind} of {owner} (geom {geom})")
}
