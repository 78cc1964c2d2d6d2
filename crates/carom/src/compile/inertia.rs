//! Inertia of bodies: as written, or summed over their geoms.

use carom_spec::ModelSpec;
use carom_spec::model_spec::{
    BodySpec, CompilerSettings, GeomSpec, InertiaFromGeom, InertiaSpec, InertialSpec,
};
use carom_spec::span::Span;

use super::Source;
use super::assets::Assets;
use super::geoms::CompiledGeom;
use super::principal_frame::{Tolerance, principal, principal_frame};
use super::report::{Report, called, code};
use crate::math::{Pose, Quat, Vec3};
use crate::model::BodyRecipe;
use crate::scalar::Scalar;
use carom_spec::model_spec::{JointKind, with_parents};

/// Masses and moments below this are not enough for a body that moves, as in MuJoCo.
const MIN_MOVING: f64 = 1e-15;
/// Geoms lighter than this (kg), and moments below (kg·m²), count as nothing.
pub(super) const MIN: f64 = 1e-14;

/// A body's inertia, its frame and its geoms.
#[derive(Clone, Debug)]
pub(super) struct BodyInertial {
    /// Frame of the body in its parent, before it is aligned.
    pub(super) pose: Pose,
    /// Inertia as the description gives it, before bounds are applied.
    pub(super) written: Part,
    /// Inertia in principal axes.
    pub(super) part: Part,
    /// Whether the body frame moves to the inertial frame.
    pub(super) aligned: bool,
    /// Geoms; none where they are unusable.
    pub(super) geoms: Vec<Option<CompiledGeom>>,
    /// Whether nothing was reported about the inertia.
    pub(super) is_sound: bool,
}

/// All bodies.
pub(super) struct Inertials {
    /// In order of ids.
    pub(super) bodies: Vec<BodyInertial>,
}

/// Computes geoms and inertias of all bodies, and checks them.
pub(super) fn compute(source: Source<'_>, report: &mut Report) -> Inertials {
    let spec = source.spec;
    let mut has_children = vec![false; spec.bodies.len()];
    for (_, body) in with_parents(&spec.bodies) {
        has_children[body.parent] = true;
    }
    let mut bodies: Vec<BodyInertial> = Vec::with_capacity(spec.bodies.len());
    for (id, body) in spec.bodies.iter().enumerate() {
        let mut inertial = body_inertial(spec, source.assets, id, report);
        if !has_children[id] && aligns_free_joint(body, &spec.compiler) {
            inertial.aligned = true;
        }
        bodies.push(inertial);
    }
    check_moving(spec, &bodies, report);
    Inertials { bodies }
}

/// Geoms and inertia of one body.
pub(super) fn body_inertial(
    spec: &ModelSpec,
    assets: &Assets,
    id: usize,
    report: &mut Report,
) -> BodyInertial {
    let body = &spec.bodies[id];
    let settings = &spec.compiler;
    let infers = |geom: &GeomSpec| counts_for_inertia(id, body, geom, settings);
    let geoms: Vec<Option<CompiledGeom>> = body
        .geoms
        .iter()
        .map(|geom| CompiledGeom::new(geom, assets, settings, infers(geom), report))
        .collect();
    let pose = if id == 0 {
        Pose::identity()
    } else {
        Pose::new(Vec3(body.position), Quat(body.quaternion).normalized())
    };
    // Without mass the inertial frame has no meaning; MuJoCo leaves the body's own pose there.
    let nothing = Part::new(0.0, pose, [0.0; 3]);
    let mut inertial = BodyInertial {
        pose,
        written: nothing,
        part: nothing,
        aligned: false,
        geoms,
        is_sound: true,
    };
    if id > 0 {
        inertial.is_sound = inertial.find_inertia(body, settings, report);
    }
    inertial
}

/// Whether a geom of body `id` counts for its inertia.
pub(super) fn counts_for_inertia(
    id: usize,
    body: &BodySpec,
    geom: &GeomSpec,
    settings: &CompilerSettings,
) -> bool {
    let [low, high] = settings.inertia_group_range;
    let is_inferred =
        body.inertial.is_none() || settings.inertia_from_geom == InertiaFromGeom::Always;
    id > 0 && is_inferred && (low..=high).contains(&geom.group)
}

/// What the inertias of bodies follow from.
pub(super) fn recipes(source: Source<'_>, inertials: &Inertials) -> Vec<BodyRecipe> {
    let bodies = source.spec.bodies.iter().zip(&inertials.bodies);
    let recipes = bodies.map(|(body, inertial)| BodyRecipe {
        inertia_from_geoms: infers_inertia(body, &source.spec.compiler),
        aligned: inertial.aligned,
        allow_simple: body.allow_simple,
    });
    recipes.collect()
}

/// Whether geoms give the inertia of a body.
pub(super) fn infers_inertia(body: &BodySpec, settings: &CompilerSettings) -> bool {
    match settings.inertia_from_geom {
        InertiaFromGeom::Never => false,
        InertiaFromGeom::Always => true,
        InertiaFromGeom::Auto => body.inertial.is_none(),
    }
}

impl Part {
    /// The same inertia as a file would give it.
    pub(super) fn to_spec(self, span: Span) -> InertialSpec {
        InertialSpec {
            span,
            position: self.pose.position.0,
            mass: self.mass,
            inertia: InertiaSpec::Diagonal {
                quaternion: self.pose.quat.0,
                diagonal: self.inertia,
            },
        }
    }
}

impl BodyInertial {
    /// Takes or computes the inertia; false after an error, in it or in a geom.
    fn find_inertia(
        &mut self,
        body: &BodySpec,
        settings: &CompilerSettings,
        report: &mut Report,
    ) -> bool {
        if !self.read_explicit(body, settings, report) {
            return false;
        }
        self.written = self.part;
        let from_geoms = infers_inertia(body, settings);
        // An unusable geom was reported already; a guess without it would only add noise.
        let is_complete = self.geoms.iter().all(Option::is_some);
        if from_geoms && !(is_complete && self.sum_geoms(body, settings, report)) {
            return false;
        }
        self.bound(body, settings, report)
    }

    /// Takes the inertia of the file; false after an error.
    fn read_explicit(
        &mut self,
        body: &BodySpec,
        settings: &CompilerSettings,
        report: &mut Report,
    ) -> bool {
        let Some(inertial) = &body.inertial else {
            return true;
        };
        let (moments, quaternion): (&[f64], [f64; 4]) = match &inertial.inertia {
            InertiaSpec::Diagonal {
                quaternion,
                diagonal,
            } => (diagonal, *quaternion),
            InertiaSpec::Full(full) => (full, [1.0, 0.0, 0.0, 0.0]),
        };
        let checked = &mut report.checked("inertial of body", &body.name, inertial.span);
        let all_finite = checked.all_finite(&[
            ("pos", &inertial.position),
            ("mass", &[inertial.mass]),
            ("inertia", moments),
            ("orientation", &quaternion),
        ]);
        if !all_finite {
            return false;
        }
        let pose = Pose::new(Vec3(inertial.position), Quat(quaternion).normalized());
        self.part = Part::new(inertial.mass, pose, [0.0; 3]);
        match inertial.inertia {
            InertiaSpec::Diagonal { diagonal, .. } => self.part.inertia = diagonal,
            InertiaSpec::Full(full) => {
                let (quat, moments) = principal_frame(full, Tolerance::BODY);
                self.part.pose.quat = quat;
                self.part.inertia = moments;
                if !is_usable(moments, settings) {
                    let body = called("body", &body.name);
                    checked.error_help(
                        code::MASS,
                        format!("fullinertia of {body} is not positive"),
                        "its eigenvalues must be positive; compiler boundinertia sets a lower bound",
                    );
                    return false;
                }
            }
        }
        true
    }

    /// Sums the geoms that count; false after an error.
    fn sum_geoms(
        &mut self,
        body: &BodySpec,
        settings: &CompilerSettings,
        report: &mut Report,
    ) -> bool {
        let [low, high] = settings.inertia_group_range;
        let geoms = body.geoms.iter().zip(&self.geoms);
        let counted = geoms.filter(|(spec, _)| (low..=high).contains(&spec.group));
        let counted: Vec<Part> = counted
            .filter_map(|(_, geom)| Some(geom.as_ref()?.part))
            .filter(|part| part.mass > MIN)
            .collect();
        self.part = match counted[..] {
            [] => return true,
            [part] => part,
            _ => {
                let sum = sum_of_parts(&counted);
                Part::new(sum.mass, sum.pose, sum.inertia)
            }
        };
        if counted.len() > 1 && !is_usable(self.part.inertia, settings) {
            let body = &mut report.checked("body", &body.name, body.span);
            body.error_help(
                code::MASS,
                format!("inertia that the geoms of {body} give is not positive"),
                "geoms may be too small; compiler boundinertia sets a lower bound",
            );
            return false;
        }
        true
    }

    /// Applies the lower bounds of the compiler settings and checks the result; false after an error.
    fn bound(&mut self, body: &BodySpec, settings: &CompilerSettings, report: &mut Report) -> bool {
        let inertial = body.inertial.as_ref();
        let span = inertial.map_or(body.span, |inertial| inertial.span);
        let checked = &mut report.checked("body", &body.name, span);
        let bounds = [settings.bound_mass, settings.bound_inertia];
        let part = &mut self.part;
        let is_possible = part.bound(bounds, false);
        if part.mass < 0.0 || part.inertia.iter().any(|&moment| moment < 0.0) {
            let message = format!("mass or inertia of {checked} is negative");
            checked.error(code::MASS, message);
            return false;
        }
        if !is_possible && !settings.balance_inertia {
            let [a, b, c] = part.inertia;
            checked.error_help(
                code::INERTIA_TRIANGLE,
                format!("inertia {a} {b} {c} of {checked} is impossible: one moment exceeds the sum of the others"),
                "correct it, or set compiler balanceinertia=\"true\"",
            );
            return false;
        }
        part.bound(bounds, settings.balance_inertia);
        true
    }
}

/// Whether principal moments (in decreasing order) are positive, or will be when the lower bound is applied: then
/// they may be zero up to rounding.
fn is_usable(moments: [f64; 3], settings: &CompilerSettings) -> bool {
    if settings.bound_inertia > 0.0 {
        moments[2] >= -MIN * moments[0].max(1.0)
    } else {
        moments[2] >= MIN
    }
}

/// A rigid part of a body.
#[derive(Clone, Copy, Debug)]
pub(super) struct Part<T = f64> {
    /// Mass (kg).
    pub(super) mass: T,
    /// Centre of mass and axes of the moments.
    pub(super) pose: Pose<T>,
    /// Moments of inertia (kg·m²).
    pub(super) inertia: [T; 3],
    /// Products of inertia xy, xz, yz (kg·m²).
    pub(super) products: [T; 3],
}

impl<T: Scalar> Part<T> {
    /// A part without products of inertia.
    pub(super) fn new(mass: T, pose: Pose<T>, inertia: [T; 3]) -> Self {
        Self {
            mass,
            pose,
            inertia,
            products: [T::ZERO; 3],
        }
    }

    /// Applies lower bounds of mass and moments and, with `balance`, replaces impossible moments by their mean; whether
    /// they were possible.
    pub(super) fn bound(&mut self, [mass, inertia]: [f64; 2], balance: bool) -> bool {
        self.mass = self.mass.max(T::from(mass));
        self.inertia = self.inertia.map(|moment| moment.max(T::from(inertia)));
        let [a, b, c] = self.inertia;
        let is_possible = a + b >= c && a + c >= b && b + c >= a;
        if !is_possible && balance {
            self.inertia = [(a + b + c) / 3.0; 3];
            self.products = [T::ZERO; 3];
        }
        is_possible
    }
}

/// Rigidly joined parts as one, in its principal axes.
pub(super) fn sum_of_parts<T: Scalar>(parts: &[Part<T>]) -> Part<T> {
    let mut mass = T::ZERO;
    let mut moment = Vec3::ZERO;
    for part in parts {
        mass += part.mass;
        moment += part.pose.position * part.mass;
    }
    let center = Vec3(moment.0.map(|component| component / mass));
    let mut full = [T::ZERO; 6];
    for part in parts {
        let own = rotated_inertia(part);
        let shifted = point_inertia(part.mass, part.pose.position - center);
        for (sum, (own, shifted)) in full.iter_mut().zip(own.into_iter().zip(shifted)) {
            *sum += own + shifted;
        }
    }
    let principal = principal(full, Tolerance::BODY);
    Part {
        mass,
        pose: Pose::new(center, principal.quat),
        inertia: principal.moments,
        products: principal.products,
    }
}

/// The inertia of a part in the axes outside of its frame: xx, yy, zz, xy, xz, yz.
fn rotated_inertia<T: Scalar>(part: &Part<T>) -> [T; 6] {
    let axes = part.pose.quat.to_mat3();
    let [xy, xz, yz] = part.products;
    let has_products = T::HAS_DERIVATIVES || part.products.iter().any(|entry| entry.value() != 0.0);
    let entry = |row: usize, column: usize| {
        let [x, y, z] = axes.row(column).0;
        let weighted = axes.row(column).component_mul(Vec3(part.inertia));
        let own = axes.row(row).dot(weighted);
        if has_products {
            let weighted = Vec3([xy * y + xz * z, xy * x + yz * z, xz * x + yz * y]);
            own + axes.row(row).dot(weighted)
        } else {
            own
        }
    };
    [
        entry(0, 0),
        entry(1, 1),
        entry(2, 2),
        entry(0, 1),
        entry(0, 2),
        entry(1, 2),
    ]
}

/// Inertia of a point mass about the origin.
fn point_inertia<T: Scalar>(mass: T, Vec3([x, y, z]): Vec3<T>) -> [T; 6] {
    [
        mass * (y * y + z * z),
        mass * (x * x + z * z),
        mass * (x * x + y * y),
        -mass * x * y,
        -mass * x * z,
        -mass * y * z,
    ]
}

/// Whether the frame of a body without children is moved to its inertial frame.
fn aligns_free_joint(body: &BodySpec, settings: &CompilerSettings) -> bool {
    match &body.joints[..] {
        [joint] => joint.kind == JointKind::Free && joint.align.unwrap_or(settings.align_free),
        _ => false,
    }
}

/// Bodies that move need mass and inertia, their own or that of a body fixed to them.
fn check_moving(spec: &ModelSpec, bodies: &[BodyInertial], report: &mut Report) {
    let is_heavy = |body: &BodyInertial| {
        let mut moments = body.part.inertia.iter();
        body.part.mass >= MIN_MOVING && moments.all(|&moment| moment >= MIN_MOVING)
    };
    let mut carries = bodies.iter().map(is_heavy).collect::<Vec<bool>>();
    for (id, body) in with_parents(&spec.bodies).rev() {
        if body.joints.is_empty() && carries[id] {
            carries[body.parent] = true;
        }
    }
    for (id, body) in with_parents(&spec.bodies) {
        let is_news = bodies[id].is_sound && bodies[id].geoms.iter().all(Option::is_some);
        if !body.joints.is_empty() && !carries[id] && is_news {
            let body = &mut report.checked("body", &body.name, body.span);
            body.error_help(
                code::MASS,
                format!("{body} moves but has no mass or inertia"),
                "give it a geom with density or mass, or an inertial element",
            );
        }
    }
}
