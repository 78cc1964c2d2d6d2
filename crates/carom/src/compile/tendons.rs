//! Tendons: paths resolved to ids and checked, limits, the pattern of their Jacobians.
//!
//! The length of a fixed tendon is a sum of joint values with coefficients. A spatial tendon runs through sites and
//! around spheres and cylinders; pulleys cut it into branches whose lengths are divided. Its Jacobian row holds all
//! dofs that move any body of the path. Dofs that move all of them together give zeros there.

use carom_spec::model_spec::{Reference, TendonPath, TendonSpec, WrapSpec};
use carom_spec::span::Span;

use super::Source;
use super::checks::is_limited;
use super::report::{Report, called, code};
use crate::model::{GeomKind, JointKind, Model, Structure, Wrap};

/// Spring lengths that mean "the length at the reference configuration", until the constants are derived.
pub(super) const SPRING_AT_REST: [f64; 2] = [-1.0; 2];

/// Fills the structure of tendons.
pub(super) fn structure(source: Source<'_>, structure: &mut Structure, report: &mut Report) {
    for tendon in &source.spec.tendons {
        let owner = called("tendon", &tendon.name);
        let start = structure.tendons.path.len();
        let path = match &tendon.path {
            TendonPath::Fixed(joints) => {
                fixed_path(source, structure, &owner, tendon.span, joints, report)
            }
            TendonPath::Spatial(wraps) => {
                spatial_path(source, structure, &owner, tendon, wraps, report)
            }
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
        let mut limited = |switch, range, attribute| {
            let place = (tendon.span, owner.as_str(), attribute);
            is_limited(switch, range, auto_limits, report, place)
        };
        let length_limited = limited(tendon.limited, tendon.range, "");
        let force_limited = limited(
            tendon.actuator_force_limited,
            tendon.actuator_force_range,
            "actuatorfrc",
        );
        check_numbers(tendon, &owner, force_limited, report);
        structure.tendons.limited.push(length_limited);
        structure.tendons.actuator_force_limited.push(force_limited);
        structure.has_tendon_armature |= tendon.armature != 0.0;
    }
    let counts = &mut structure.counts;
    counts.ntendon = source.spec.tendons.len();
    counts.nwrap = structure.tendons.path.len();
    counts.ntendon_jacobian = structure.tendons.jacobian.entries();
}

fn check_numbers(tendon: &TendonSpec, owner: &str, force_limited: bool, report: &mut Report) {
    let mut refuse = |code, message: String| report.error(code, tendon.span, message);
    if tendon.armature < 0.0 {
        refuse(code::BAD_NUMBER, format!("armature of {owner} is negative"));
    }
    let is_spatial = matches!(tendon.path, TendonPath::Spatial(_));
    if is_spatial && tendon.width <= 0.0 {
        refuse(
            code::BAD_NUMBER,
            format!("width of {owner} is not positive"),
        );
    }
    if tendon.spring_yield != 0.0 {
        refuse(
            code::UNSUPPORTED,
            format!("springyield of {owner} is not supported"),
        );
    }
    if tendon.spring_length.is_some_and(|[low, high]| low > high) {
        refuse(
            code::RANGE,
            format!("springlength of {owner} has a lower bound above the upper one"),
        );
    }
    let [low, high] = tendon.actuator_force_range;
    if force_limited && (low > 0.0 || high < 0.0) {
        refuse(
            code::RANGE,
            format!("actuatorfrcrange {low} {high} of {owner} does not hold zero"),
        );
    }
}

/// Resolves the joints of a fixed tendon: distinct, sliding or turning about one axis.
fn fixed_path(
    source: Source<'_>,
    structure: &Structure,
    owner: &str,
    span: Span,
    joints: &[(Reference, f64)],
    report: &mut Report,
) -> Vec<Wrap> {
    if joints.is_empty() {
        report.error(code::TENDON_PATH, span, format!("{owner} has no joints"));
    }
    let mut path = Vec::with_capacity(joints.len());
    for (reference, _) in joints {
        let user = || owner.to_owned();
        let Some(joint) = source.lookup.joints.resolve(reference, user, report) else {
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
        let message = format!("joint '{}' of {owner} {problem}", reference.name);
        report.error(code::TENDON_PATH, reference.span, message);
    }
    path
}

/// Resolves the path of a spatial tendon and checks the order of its elements.
fn spatial_path(
    source: Source<'_>,
    structure: &Structure,
    owner: &str,
    tendon: &TendonSpec,
    wraps: &[WrapSpec],
    report: &mut Report,
) -> Vec<Wrap> {
    if wraps.len() < 2 {
        let message = format!("path of {owner} has fewer than two elements");
        report.error(code::TENDON_PATH, tendon.span, message);
    } else {
        check_sequence(owner, wraps, report);
    }
    let mut path = Vec::with_capacity(wraps.len());
    for wrap in wraps {
        let user = || owner.to_owned();
        match wrap {
            WrapSpec::Site { site, .. } => {
                let site = source.lookup.sites.resolve(site, user, report);
                path.extend(site.map(Wrap::Site));
            }
            WrapSpec::Pulley { divisor, span } => {
                if *divisor <= 0.0 {
                    let message = format!("pulley divisor {divisor} of {owner} is not positive");
                    report.error(code::TENDON_PATH, *span, message);
                }
                path.push(Wrap::Pulley);
            }
            WrapSpec::Geom {
                geom,
                side_site,
                span,
            } => {
                if tendon.armature > 0.0 {
                    let message = format!("{owner} has armature and wraps around a geom");
                    report.error_help(
                        code::UNSUPPORTED,
                        *span,
                        message,
                        "armature is defined for tendons through sites only",
                    );
                }
                path.extend(wrapped_geom(
                    source,
                    structure,
                    owner,
                    geom,
                    side_site.as_ref(),
                    report,
                ));
            }
        }
    }
    path
}

fn wrapped_geom(
    source: Source<'_>,
    structure: &Structure,
    owner: &str,
    geom: &Reference,
    side_site: Option<&Reference>,
    report: &mut Report,
) -> Option<Wrap> {
    let user = || owner.to_owned();
    let side = side_site.map(|site| source.lookup.sites.resolve(site, user, report));
    let id = source.lookup.geoms.resolve(geom, user, report)?;
    // A side site that does not exist was reported; the model is refused.
    let side = side.flatten();
    match structure.geoms.kind[id] {
        GeomKind::Sphere => Some(Wrap::Sphere { geom: id, side }),
        GeomKind::Cylinder => Some(Wrap::Cylinder { geom: id, side }),
        _ => {
            let message = format!(
                "geom '{}' of {owner} is neither a sphere nor a cylinder",
                geom.name
            );
            report.error(code::TENDON_PATH, geom.span, message);
            None
        }
    }
}

/// Every branch needs two points, and a geom a site on either side.
fn check_sequence(owner: &str, wraps: &[WrapSpec], report: &mut Report) {
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
        report.error(
            code::TENDON_PATH,
            *span,
            format!("path of {owner} {problem}"),
        );
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
pub(super) fn numbers(source: Source<'_>, model: &mut Model, _report: &mut Report) {
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
