//! Tendons: paths resolved to ids and checked, limits, the pattern of their Jacobians.
//!
//! The length of a fixed tendon is a sum of joint values with coefficients. A spatial tendon runs through sites and
//! around spheres and cylinders; pulleys cut it into branches whose lengths are divided. Its Jacobian row holds all
//! dofs that move any body of the path. Dofs that move all of them together give zeros there.

use carom_spec::diagnostic::Diagnostic;
use carom_spec::model_spec::{Reference, TendonPath, TendonSpec, WrapSpec};

use super::Source;
use super::report::{Checked, Report, code};
use crate::model::{GeomKind, JointKind, Model, Structure, Wrap};

/// Spring lengths that mean "the length at the reference configuration", until the constants are derived.
pub(super) const SPRING_AT_REST: [f64; 2] = [-1.0; 2];

/// Fills the structure of tendons.
pub(super) fn structure(source: Source<'_>, structure: &mut Structure, report: &mut Report) {
    for tendon in &source.spec.tendons {
        let checked = &mut report.checked("tendon", &tendon.name, tendon.span);
        let start = structure.tendons.path.len();
        let path = match &tendon.path {
            TendonPath::Fixed(joints) => fixed_path(source, structure, joints, checked),
            TendonPath::Spatial(wraps) => spatial_path(source, structure, tendon, wraps, checked),
        };
        let dofs = path_dofs(structure, &path);
        let tendons = &mut structure.tendons;
        tendons.path.extend(path);
        tendons.wraps.push(start..tendons.path.len());
        tendons.jacobian.push_row(dofs);
        tendons
            .spatial
            .push(matches!(tendon.path, TendonPath::Spatial(_)));
        let auto_limits = source.spec.compiler.auto_limits;
        let length_limited = checked.is_limited("", tendon.limited, tendon.range, auto_limits);
        let (switch, range) = (tendon.actuator_force_limited, tendon.actuator_force_range);
        let force_limited = checked.is_limited("actuatorfrc", switch, range, auto_limits);
        check_numbers(tendon, force_limited, checked);
        structure.tendons.limited.push(length_limited);
        structure.tendons.actuator_force_limited.push(force_limited);
        structure.has_tendon_armature |= tendon.armature != 0.0;
    }
    let counts = &mut structure.counts;
    counts.ntendon = source.spec.tendons.len();
    counts.nwrap = structure.tendons.path.len();
    counts.ntendon_jacobian = structure.tendons.jacobian.entries();
}

fn check_numbers(tendon: &TendonSpec, force_limited: bool, checked: &mut Checked<'_>) {
    if tendon.armature < 0.0 {
        let message = format!("armature of {checked} is negative");
        checked.error(code::BAD_NUMBER, message);
    }
    let is_spatial = matches!(tendon.path, TendonPath::Spatial(_));
    if is_spatial && tendon.width <= 0.0 {
        let message = format!("width of {checked} is not positive");
        checked.error(code::BAD_NUMBER, message);
    }
    if tendon.spring_yield != 0.0 {
        let message = format!("springyield of {checked} is not supported");
        checked.error(code::UNSUPPORTED, message);
    }
    if tendon.spring_length.is_some_and(|[low, high]| low > high) {
        let message = format!("springlength of {checked} has a lower bound above the upper one");
        checked.error(code::RANGE, message);
    }
    let [low, high] = tendon.actuator_force_range;
    if force_limited && (low > 0.0 || high < 0.0) {
        let message = format!("actuatorfrcrange {low} {high} of {checked} does not hold zero");
        checked.error(code::RANGE, message);
    }
}

/// Resolves the joints of a fixed tendon: distinct, sliding or turning about one axis.
fn fixed_path(
    source: Source<'_>,
    structure: &Structure,
    joints: &[(Reference, f64)],
    checked: &mut Checked<'_>,
) -> Vec<Wrap> {
    if joints.is_empty() {
        checked.error(code::TENDON_PATH, format!("{checked} has no joints"));
    }
    let mut path = Vec::with_capacity(joints.len());
    for (reference, _) in joints {
        let Some(joint) = checked.resolve(&source.lookup.joints, reference) else {
            continue;
        };
        let wrap = Wrap::Joint(joint);
        let problem = match structure.joints.kind[joint] {
            JointKind::Free | JointKind::Ball => "is neither a slide nor a hinge",
            _ if path.contains(&wrap) => "is repeated",
            _ => {
                path.push(wrap);
                continue;
            }
        };
        let message = format!("joint '{}' of {checked} {problem}", reference.name);
        checked.error_at(code::TENDON_PATH, reference.span, message);
    }
    path
}

/// Resolves the path of a spatial tendon and checks the order of its elements.
fn spatial_path(
    source: Source<'_>,
    structure: &Structure,
    tendon: &TendonSpec,
    wraps: &[WrapSpec],
    checked: &mut Checked<'_>,
) -> Vec<Wrap> {
    if wraps.len() < 2 {
        let message = format!("path of {checked} has fewer than two elements");
        checked.error(code::TENDON_PATH, message);
    } else {
        check_sequence(wraps, checked);
    }
    let mut path = Vec::with_capacity(wraps.len());
    for wrap in wraps {
        match wrap {
            WrapSpec::Site { site, .. } => {
                let site = checked.resolve(&source.lookup.sites, site);
                path.extend(site.map(Wrap::Site));
            }
            WrapSpec::Pulley { divisor, span } => {
                if *divisor <= 0.0 {
                    let message = format!("pulley divisor {divisor} of {checked} is not positive");
                    checked.error_at(code::TENDON_PATH, *span, message);
                }
                path.push(Wrap::Pulley);
            }
            WrapSpec::Geom {
                geom,
                side_site,
                span,
            } => {
                if tendon.armature > 0.0 {
                    let message = format!("{checked} has armature and wraps around a geom");
                    let help = "armature is defined for tendons through sites only";
                    let diagnostic = Diagnostic::error(code::UNSUPPORTED, message);
                    checked.push(diagnostic.at(*span).help(help));
                }
                let side = side_site.as_ref();
                path.extend(wrapped_geom(source, structure, geom, side, checked));
            }
        }
    }
    path
}

fn wrapped_geom(
    source: Source<'_>,
    structure: &Structure,
    geom: &Reference,
    side_site: Option<&Reference>,
    checked: &mut Checked<'_>,
) -> Option<Wrap> {
    // A side site that does not exist is reported; the model is refused.
    let side = side_site.and_then(|site| checked.resolve(&source.lookup.sites, site));
    let id = checked.resolve(&source.lookup.geoms, geom)?;
    match structure.geoms.kind[id] {
        GeomKind::Sphere => Some(Wrap::Sphere { geom: id, side }),
        GeomKind::Cylinder => Some(Wrap::Cylinder { geom: id, side }),
        _ => {
            let name = &geom.name;
            let message = format!("geom '{name}' of {checked} is neither a sphere nor a cylinder");
            checked.error_at(code::TENDON_PATH, geom.span, message);
            None
        }
    }
}

/// Every branch needs two points, and a geom a site on either side.
fn check_sequence(wraps: &[WrapSpec], checked: &mut Checked<'_>) {
    let is_pulley =
        |wrap: Option<&WrapSpec>| wrap.is_none_or(|wrap| matches!(wrap, WrapSpec::Pulley { .. }));
    let site_name = |wrap: Option<&WrapSpec>| match wrap {
        Some(WrapSpec::Site { site, .. }) => Some(site.name.clone()),
        _ => None,
    };
    for (index, wrap) in wraps.iter().enumerate() {
        let previous = index.checked_sub(1).map(|index| &wraps[index]);
        let next = wraps.get(index + 1);
        let (span, problem) = match wrap {
            WrapSpec::Pulley { span, .. } if previous.is_some() && is_pulley(previous) => {
                (span, "has two pulleys in a row")
            }
            WrapSpec::Pulley { span, .. } if next.is_none() => (span, "ends with a pulley"),
            WrapSpec::Site { span, .. } if is_pulley(previous) && is_pulley(next) => {
                (span, "has a branch with a single site")
            }
            WrapSpec::Site { site, span } if site_name(next).as_ref() == Some(&site.name) => {
                (span, "passes the same site twice in a row")
            }
            WrapSpec::Geom { span, .. }
                if site_name(previous).is_none() || site_name(next).is_none() =>
            {
                (span, "has a geom that is not between two sites")
            }
            _ => continue,
        };
        let message = format!("path of {checked} {problem}");
        checked.error_at(code::TENDON_PATH, *span, message);
    }
}

/// The dofs that move any element of a path, increasing.
fn path_dofs(structure: &Structure, path: &[Wrap]) -> Vec<usize> {
    let mut dofs = Vec::new();
    for &wrap in path {
        let body = match wrap {
            Wrap::Joint(joint) => {
                dofs.push(structure.joints.dof[joint]);
                continue;
            }
            Wrap::Pulley => continue,
            Wrap::Site(site) => structure.sites.body[site],
            Wrap::Sphere { geom, .. } | Wrap::Cylinder { geom, .. } => structure.geoms.body[geom],
        };
        dofs.extend_from_slice(structure.bodies.moving_dofs.columns(body));
    }
    dofs.sort_unstable();
    dofs.dedup();
    dofs
}

/// Fills the numbers of tendons; [`SPRING_AT_REST`] stands for spring lengths that are derived later.
pub(super) fn numbers(source: Source<'_>, model: &mut Model) {
    let numbers = &mut model.tendons;
    let mut coefficients = Vec::with_capacity(model.wraps.coefficient.len());
    for (id, tendon) in source.spec.tendons.iter().enumerate() {
        let [stiffness, stiffness_poly @ ..] = tendon.stiffness;
        let [damping, damping_poly @ ..] = tendon.damping;
        numbers.range[id] = tendon.range;
        numbers.actuator_force_range[id] = tendon.actuator_force_range;
        numbers.margin[id] = tendon.margin;
        numbers.stiffness[id] = stiffness;
        numbers.stiffness_poly[id] = stiffness_poly;
        numbers.damping[id] = damping;
        numbers.damping_poly[id] = damping_poly;
        numbers.armature[id] = tendon.armature;
        numbers.frictionloss[id] = tendon.friction_loss;
        numbers.spring_length[id] = tendon.spring_length.unwrap_or(SPRING_AT_REST);
        numbers.solref_limit[id] = tendon.limit_solver_reference;
        numbers.solimp_limit[id] = tendon.limit_solver_impedance;
        numbers.solref_friction[id] = tendon.friction_solver_reference;
        numbers.solimp_friction[id] = tendon.friction_solver_impedance;
        match &tendon.path {
            TendonPath::Fixed(joints) => {
                coefficients.extend(joints.iter().map(|(_, coefficient)| *coefficient));
            }
            TendonPath::Spatial(wraps) => {
                coefficients.extend(wraps.iter().map(|wrap| match wrap {
                    WrapSpec::Pulley { divisor, .. } => *divisor,
                    WrapSpec::Site { .. } | WrapSpec::Geom { .. } => 0.0,
                }));
            }
        }
    }
    model.wraps.coefficient = coefficients;
}
