//! Sites: frames on bodies, with a shape that some sensors use.

use carom_spec::model_spec::{GeomKind, SiteSpec};

use super::Source;
use super::assets::Assets;
use super::geoms::segment_frame;
use super::report::{Checked, Report, code};
use crate::math::{Pose, Quat, Vec3};
use crate::model::{Model, Structure};

/// Fills the structure of sites.
pub(super) fn structure(source: Source<'_>, structure: &mut Structure, report: &mut Report) {
    for (body, description) in source.spec.bodies.iter().enumerate() {
        for site in &description.sites {
            check(
                source,
                site,
                &mut report.checked("site", &site.name, site.span),
            );
            structure.sites.kind.push(site.kind);
            structure.sites.body.push(body);
            structure.sites.group.push(site.group);
        }
    }
    structure.counts.nsite = structure.sites.body.len();
}

fn check(source: Source<'_>, site: &SiteSpec, checked: &mut Checked<'_>) {
    let fromto = site.fromto.as_ref().map_or(&[][..], |points| &points[..]);
    for (attribute, numbers) in [
        ("pos", &site.position[..]),
        ("quat", &site.quaternion[..]),
        ("size", &site.size[..]),
        ("fromto", fromto),
    ] {
        if !checked.finite(attribute, numbers) {
            return;
        }
    }
    let problem = match (&site.mesh, site.kind) {
        (_, GeomKind::Plane | GeomKind::HeightField) => {
            "is a plane or height field, which sites cannot be"
        }
        (Some(mesh), GeomKind::Mesh) => {
            checked.resolve(&source.lookup.meshes, mesh);
            return;
        }
        (None, GeomKind::Mesh) => "is a mesh but names none",
        (Some(_), _) => "names a mesh but is not of type mesh",
        (None, _) => return check_size(site, checked),
    };
    checked.error(code::GEOM_ASSET, format!("{checked} {problem}"));
}

fn check_size(site: &SiteSpec, checked: &mut Checked<'_>) {
    match own_frame(site) {
        Err(problem) => checked.error(code::SIZE, format!("{checked} {problem}")),
        Ok((_, size)) => {
            let used = match site.kind {
                GeomKind::Sphere => 1,
                GeomKind::Capsule | GeomKind::Cylinder => 2,
                _ => 3,
            };
            if size[..used].iter().any(|&length| length <= 0.0) {
                let message = format!("{checked} needs {used} positive sizes");
                checked.error(code::SIZE, message);
            }
        }
    }
}

/// Frame and sizes as the site itself gives them, or what is wrong with them.
pub(super) fn own_frame(site: &SiteSpec) -> Result<(Pose, [f64; 3]), &'static str> {
    let Some(fromto) = site.fromto else {
        let quat = Quat(site.quaternion).normalized();
        return Ok((Pose::new(Vec3(site.position), quat), site.size));
    };
    let is_elongated = matches!(
        site.kind,
        GeomKind::Capsule | GeomKind::Cylinder | GeomKind::Ellipsoid | GeomKind::Box
    );
    if !is_elongated {
        return Err("has fromto, which needs a capsule, cylinder, ellipsoid or box");
    }
    if site.position != [0.0; 3] {
        return Err("has both pos and fromto");
    }
    let (pose, half) = segment_frame(fromto).ok_or("has fromto with two points that coincide")?;
    let [width, _, unused] = site.size;
    let size = match site.kind {
        GeomKind::Capsule | GeomKind::Cylinder => [width, half, unused],
        _ => [width, width, half],
    };
    Ok((pose, size))
}

/// Half the sides of the box around a mesh, about the origin of its frame.
fn mesh_size(site: &SiteSpec, assets: &Assets) -> Option<[f64; 3]> {
    let id = assets.mesh_id(site.mesh.as_ref()?)?;
    Some(assets.mesh(id)?.reach())
}

/// Fills the numbers of sites.
pub(super) fn numbers(source: Source<'_>, model: &mut Model) {
    let sites = source.spec.bodies.iter().flat_map(|body| &body.sites);
    for (id, site) in sites.enumerate() {
        let Ok((pose, size)) = own_frame(site) else {
            continue;
        };
        model.sites.position[id] = pose.position;
        model.sites.quat[id] = pose.quat;
        model.sites.size[id] = Vec3(mesh_size(site, source.assets).unwrap_or(size));
    }
}
