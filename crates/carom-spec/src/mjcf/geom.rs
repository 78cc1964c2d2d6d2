//! Geoms and sites.

use super::attribute::Attributes;
use super::codes;
use super::keywords::FluidShape;
use super::orientation::{AngleNotation, from_z_axis, unit};
use crate::diagnostic::Diagnostic;
use crate::model_spec::{GeomKind, GeomSpec, SiteSpec};

/// Reads the attributes of a geom over the values of its class.
pub(super) fn read(a: &Attributes<'_, '_>, notation: AngleNotation, geom: &mut GeomSpec) {
    a.set("name", &mut geom.name);
    read_kind(a, geom);
    a.set("contype", &mut geom.contype);
    a.set("conaffinity", &mut geom.conaffinity);
    read_contact_dimension(a, &mut geom.contact_dimension);
    a.set("group", &mut geom.group);
    a.set("priority", &mut geom.priority);
    a.set_leading("size", &mut geom.size);
    a.set("material", &mut geom.material);
    a.set_leading("friction", &mut geom.friction);
    if let Some(mass) = a.get::<f64>("mass") {
        geom.mass = Some(mass);
    }
    a.set("density", &mut geom.density);
    a.set("shellinertia", &mut geom.shell_inertia);
    a.set("solmix", &mut geom.solver_mix);
    a.set_leading("solref", &mut geom.solver_reference);
    a.set_leading("solimp", &mut geom.solver_impedance);
    a.set("margin", &mut geom.margin);
    a.set("gap", &mut geom.gap);
    a.set_leading("surfacevel", &mut geom.surface_velocity);
    a.set("adhesion", &mut geom.adhesion);
    if let Some(points) = a.get::<[f64; 6]>("fromto") {
        geom.fromto = Some(points);
    }
    a.set("pos", &mut geom.position);
    a.set_orientation(notation, &mut geom.quaternion);
    a.set("hfield", &mut geom.height_field);
    a.set("mesh", &mut geom.mesh);
    a.set("fitscale", &mut geom.fit_scale);
    a.set("rgba", &mut geom.rgba);
    a.get::<bool>("castshadow");
    if let Some(FluidShape(ellipsoid)) = a.get("fluidshape") {
        geom.fluid_ellipsoid = ellipsoid;
    }
    a.set_leading("fluidcoef", &mut geom.fluid_coefficients);
    a.set("user", &mut geom.user);
}

/// Reads the attributes of a site over the values of its class.
pub(super) fn read_site(a: &Attributes<'_, '_>, notation: AngleNotation, site: &mut SiteSpec) {
    a.set("name", &mut site.name);
    a.set("type", &mut site.kind);
    a.set("group", &mut site.group);
    a.set("pos", &mut site.position);
    a.set_orientation(notation, &mut site.quaternion);
    a.set("material", &mut site.material);
    a.set("mesh", &mut site.mesh);
    a.set_leading("size", &mut site.size);
    if let Some(points) = a.get::<[f64; 6]>("fromto") {
        site.fromto = Some(points);
    }
    a.set("rgba", &mut site.rgba);
    a.set("user", &mut site.user);
}

fn read_kind(a: &Attributes<'_, '_>, geom: &mut GeomSpec) {
    geom.signed_distance = a.element.value("type") == Some("sdf")
        || (geom.signed_distance && a.element.value("type").is_none());
    if a.element.value("type") == Some("sdf") {
        let message = "type sdf: contacts use the convex hull of the mesh, not its signed distance";
        let help =
            "write type=\"mesh\" to say so; split a mesh that is not convex into convex parts";
        let warning = Diagnostic::warning(codes::SDF, message);
        a.problems.push(warning.at(a.place("type")).help(help));
        geom.kind = GeomKind::Mesh;
    } else {
        a.set("type", &mut geom.kind);
    }
}

/// Reads the dimension of contacts, which is 1, 3, 4 or 6.
pub(super) fn read_contact_dimension(a: &Attributes<'_, '_>, dimension: &mut u8) {
    match a.get::<i32>("condim") {
        None => {}
        Some(1) => *dimension = 1,
        Some(3) => *dimension = 3,
        Some(4) => *dimension = 4,
        Some(6) => *dimension = 6,
        Some(_) => a.error(codes::VALUE_RANGE, "condim", "must be 1, 3, 4 or 6"),
    }
}

/// Position, orientation and size that two end points give an elongated shape; `None` when the
/// shape has no ends, a position was given as well, or the points coincide.
pub(super) fn from_end_points(
    kind: GeomKind,
    position: [f64; 3],
    mut size: [f64; 3],
    ends: [f64; 6],
) -> Option<([f64; 3], [f64; 4], [f64; 3])> {
    let elongated = matches!(
        kind,
        GeomKind::Capsule | GeomKind::Cylinder | GeomKind::Ellipsoid | GeomKind::Box
    );
    if !elongated || position != [0.0; 3] {
        return None;
    }
    let along: [f64; 3] = std::array::from_fn(|i| ends[i] - ends[i + 3]);
    let direction = unit(along)?;
    let half_length = along.iter().map(|entry| entry * entry).sum::<f64>().sqrt() / 2.0;
    if matches!(kind, GeomKind::Ellipsoid | GeomKind::Box) {
        size[2] = half_length;
        size[1] = size[0];
    } else {
        size[1] = half_length;
    }
    let center = std::array::from_fn(|i| f64::midpoint(ends[i], ends[i + 3]));
    Some((center, from_z_axis(direction), size))
}
