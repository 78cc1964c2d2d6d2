//! Volume, surface, inertia and bounds of the primitive shapes.
//!
//! Inertia is about the centre, in the axes of the shape, for a given mass. Mass fills the volume, or is spread over
//! the surface (`shell`). Sizes are MuJoCo's: radius and half length of capsules and cylinders along z, half axes of
//! ellipsoids and boxes.

use std::f64::consts::PI;

use carom_spec::model_spec::GeomKind;

use crate::scalar::Scalar;

/// Volumes below this count as zero, as in MuJoCo.
const MIN_VOLUME: f64 = 1e-14;
/// Half sizes of planes in bounding boxes: as good as infinite.
const UNBOUNDED: f64 = 1e10;
/// Exponent of Thomsen's approximation of the surface of an ellipsoid.
const THOMSEN: f64 = 1.6075;
/// Thickness of the layer that stands for the surface of an ellipsoid (m).
const SHELL_THICKNESS: f64 = 1e-6;

/// Number of sizes that a shape needs.
pub(super) fn size_count(kind: GeomKind) -> usize {
    match kind {
        GeomKind::Plane | GeomKind::Ellipsoid | GeomKind::Box => 3,
        GeomKind::Capsule | GeomKind::Cylinder => 2,
        GeomKind::Sphere => 1,
        GeomKind::HeightField | GeomKind::Mesh => 0,
    }
}

/// Volume (m³), or surface (m²) of a shell. Planes and meshes have none here.
pub(super) fn volume<T: Scalar>(kind: GeomKind, size: [T; 3], shell: bool) -> T {
    let [a, b, c] = size;
    match (kind, shell) {
        (GeomKind::Sphere, false) => a * (4.0 * PI) * a * a / 3.0,
        (GeomKind::Sphere, true) => a * (4.0 * PI) * a,
        (GeomKind::Capsule, false) => (a * a * (b * 2.0) + a * 4.0 * a * a / 3.0) * PI,
        (GeomKind::Capsule, true) => a * (4.0 * PI) * a + a * (2.0 * PI) * (b * 2.0),
        (GeomKind::Cylinder, false) => a * PI * a * (b * 2.0),
        (GeomKind::Cylinder, true) => a * (2.0 * PI) * a + a * (2.0 * PI) * (b * 2.0),
        (GeomKind::Ellipsoid, false) => a * (4.0 * PI) * b * c / 3.0,
        (GeomKind::Ellipsoid, true) => {
            let sum = (a * b).powf(THOMSEN) + (b * c).powf(THOMSEN) + (c * a).powf(THOMSEN);
            (sum / 3.0).powf(1.0 / THOMSEN) * (4.0 * PI)
        }
        (GeomKind::Box | GeomKind::HeightField, false) => a * b * c * 8.0,
        (GeomKind::Box | GeomKind::HeightField, true) => (a * b + b * c + c * a) * 8.0,
        (GeomKind::Plane | GeomKind::Mesh, _) => T::ZERO,
    }
}

/// Diagonal inertia for a mass.
pub(super) fn inertia<T: Scalar>(kind: GeomKind, size: [T; 3], shell: bool, mass: T) -> [T; 3] {
    let [a, b, c] = size;
    match (kind, shell) {
        (GeomKind::Sphere, _) => [mass * 2.0 * a * a / if shell { 3.0 } else { 5.0 }; 3],
        (GeomKind::Capsule, false) => capsule(a, b, mass),
        (GeomKind::Capsule, true) => capsule_shell(a, b, mass),
        (GeomKind::Cylinder, false) => {
            let across = mass * (a * 3.0 * a + b * 4.0 * b) / 12.0;
            [across, across, mass * a * a / 2.0]
        }
        (GeomKind::Cylinder, true) => cylinder_shell(a, b, mass),
        (GeomKind::Ellipsoid, false) => across_squares(size, mass / 5.0),
        (GeomKind::Ellipsoid, true) => ellipsoid_shell(size, mass),
        (GeomKind::Box | GeomKind::HeightField, false) => across_squares(size, mass / 3.0),
        (GeomKind::Box | GeomKind::HeightField, true) => box_shell([a, b, c], mass),
        (GeomKind::Plane | GeomKind::Mesh, _) => [T::ZERO; 3],
    }
}

/// factor·(b² + c², a² + c², a² + b²).
pub(super) fn across_squares<T: Scalar>([a, b, c]: [T; 3], factor: T) -> [T; 3] {
    [
        factor * (b * b + c * c),
        factor * (a * a + c * c),
        factor * (a * a + b * b),
    ]
}

/// A cylinder and two half balls.
fn capsule<T: Scalar>(radius: T, half: T, mass: T) -> [T; 3] {
    let height = half * 2.0;
    let ball_mass = mass * 4.0 * radius / (radius * 4.0 + height * 3.0);
    let tube_mass = mass - ball_mass;
    let ball = ball_mass * 2.0 * radius * radius / 5.0;
    let displaced = ball_mass * height * (radius * 3.0 + height * 2.0) / 8.0;
    let across = tube_mass * (radius * 3.0 * radius + height * height) / 12.0 + (ball + displaced);
    [across, across, tube_mass * radius * radius / 2.0 + ball]
}

/// The surface of a cylinder without lids and of two half balls, whose centres of mass are at half their radius.
fn capsule_shell<T: Scalar>(radius: T, half: T, mass: T) -> [T; 3] {
    let height = half * 2.0;
    let ball_area = radius * (4.0 * PI) * radius;
    let tube_area = radius * (2.0 * PI) * height;
    let ball_mass = mass * ball_area / (ball_area + tube_area);
    let tube_mass = mass - ball_mass;
    let ball = ball_mass * 2.0 * radius * radius / 3.0;
    let (offset, place) = (radius / 2.0, half + radius / 2.0);
    let displaced = ball_mass * (place * place - offset * offset);
    let across = tube_mass * (radius * 6.0 * radius + height * height) / 12.0 + (ball + displaced);
    [across, across, tube_mass * radius * radius + ball]
}

/// The surface of a cylinder with two lids.
fn cylinder_shell<T: Scalar>(radius: T, half: T, mass: T) -> [T; 3] {
    let height = half * 2.0;
    let lid_area = radius * PI * radius;
    let tube_area = radius * (2.0 * PI) * height;
    let lid_mass = mass * lid_area / (lid_area * 2.0 + tube_area);
    let tube_mass = mass - lid_mass * 2.0;
    let lid_across = lid_mass * radius * radius / 4.0 + lid_mass * half * half;
    let across = tube_mass * (radius * 6.0 * radius + height * height) / 12.0 + lid_across * 2.0;
    let along = tube_mass * radius * radius + (lid_mass * radius * radius / 2.0) * 2.0;
    [across, across, along]
}

/// The difference of two ellipsoids that are a thin layer apart, as MuJoCo approximates it.
fn ellipsoid_shell<T: Scalar>(size: [T; 3], mass: T) -> [T; 3] {
    let outer = size.map(|axis| axis + SHELL_THICKNESS);
    let (inner_volume, outer_volume) = (
        volume(GeomKind::Ellipsoid, size, false),
        volume(GeomKind::Ellipsoid, outer, false),
    );
    let density = mass / (outer_volume - inner_volume);
    // Almost everything cancels, so the order of operations shows.
    let solid = |mass: T, [a, b, c]: [T; 3]| {
        [
            mass * (b * b + c * c) / 5.0,
            mass * (a * a + c * c) / 5.0,
            mass * (a * a + b * b) / 5.0,
        ]
    };
    let within = solid(inner_volume * density, size);
    let whole = solid(outer_volume * density, outer);
    std::array::from_fn(|axis| whole[axis] - within[axis])
}

/// Six rectangles.
fn box_shell<T: Scalar>(half: [T; 3], mass: T) -> [T; 3] {
    let [x, y, z] = half.map(|side| side * side);
    let [lx, ly, lz] = half.map(|side| side * 2.0);
    let areas = [lx * ly, ly * lz, lz * lx];
    let total = (areas[0] + areas[1] + areas[2]) * 2.0;
    let [xy, yz, zx] = areas.map(|area| mass * area / total);
    let own = [
        xy * ly * ly / 12.0 + yz * (ly * ly + lz * lz) / 12.0 + zx * lz * lz / 12.0,
        xy * lx * lx / 12.0 + yz * lz * lz / 12.0 + zx * (lx * lx + lz * lz) / 12.0,
        xy * (lx * lx + ly * ly) / 12.0 + yz * ly * ly / 12.0 + zx * lx * lx / 12.0,
    ];
    [
        (xy * z + zx * y + own[0]) * 2.0,
        (xy * z + yz * x + own[1]) * 2.0,
        (yz * x + zx * y + own[2]) * 2.0,
    ]
}

/// Radius of the sphere around the centre that holds the shape (m); 0 for planes.
pub(super) fn bounding_radius<T: Scalar>(kind: GeomKind, [a, b, c]: [T; 3]) -> T {
    match kind {
        GeomKind::Sphere => a,
        GeomKind::Capsule => a + b,
        GeomKind::Cylinder => (a * a + b * b).sqrt(),
        GeomKind::Ellipsoid => a.max(b).max(c),
        GeomKind::Box => (a * a + b * b + c * c).sqrt(),
        GeomKind::Plane | GeomKind::HeightField | GeomKind::Mesh => T::ZERO,
    }
}

/// Bounding box in the axes of the shape: centre, then half sizes (m).
pub(super) fn bounding_box<T: Scalar>(kind: GeomKind, [a, b, c]: [T; 3]) -> [T; 6] {
    let [x, y, z] = match kind {
        GeomKind::Sphere => [a, a, a],
        GeomKind::Capsule => [a, a, a + b],
        GeomKind::Cylinder => [a, a, b],
        GeomKind::Plane => {
            let (low, high) = ([-UNBOUNDED; 3], [UNBOUNDED, UNBOUNDED, 0.0]);
            return box_between(low.map(T::from), high.map(T::from));
        }
        GeomKind::Ellipsoid | GeomKind::Box | GeomKind::HeightField | GeomKind::Mesh => [a, b, c],
    };
    [T::ZERO, T::ZERO, T::ZERO, x, y, z]
}

/// Centre and half sizes of a box given by its lowest and highest corner.
pub(crate) fn box_between<T: Scalar>(low: [T; 3], high: [T; 3]) -> [T; 6] {
    let middle = |axis: usize| (high[axis] + low[axis]) / 2.0;
    let half = |axis: usize| (high[axis] - low[axis]) / 2.0;
    [middle(0), middle(1), middle(2), half(0), half(1), half(2)]
}

/// Bounding radius, bounding box and sizes of a height field with half sizes x, y, height and thickness of the base.
pub(super) fn height_field_bounds<T: Scalar>([x, y, top, base]: [T; 4]) -> (T, [T; 6], [T; 3]) {
    let radius = (x * x + y * y + (top * top).max(base * base)).sqrt();
    let bounds = box_between([-x, -y, -base], [x, y, top]);
    (radius, bounds, [x, y, top * 0.25 + base * 0.5])
}

/// What mass is spread over.
#[derive(Clone, Copy)]
pub(super) enum Solid<T> {
    /// A primitive shape.
    Primitive {
        /// Its kind.
        kind: GeomKind,
        /// Its sizes (m).
        size: [T; 3],
        /// Whether mass is on the surface alone.
        shell: bool,
    },
    /// A mesh.
    Mesh {
        /// Volume (m³), or surface (m²) of a shell.
        volume: T,
        /// Half sides of the box with the same inertia (m).
        inertia_box: [T; 3],
    },
}

impl<T: Scalar> Solid<T> {
    /// Mass and diagonal inertia, for a mass or, without it, a density.
    pub(super) fn mass_and_inertia(self, mass: Option<T>, density: T) -> (T, [T; 3]) {
        let volume = match self {
            Self::Primitive { kind, size, shell } => volume(kind, size, shell),
            Self::Mesh { volume, .. } => volume,
        };
        let mass = match mass {
            Some(mass) if mass.value() != 0.0 && volume.value() > MIN_VOLUME => mass,
            Some(_) => T::ZERO,
            None => density * volume,
        };
        if mass.value() == 0.0 && !T::HAS_DERIVATIVES {
            return (mass, [T::ZERO; 3]);
        }
        let inertia = match self {
            Self::Primitive { kind, size, shell } => inertia(kind, size, shell, mass),
            Self::Mesh { inertia_box, .. } => across_squares(inertia_box, mass / 3.0),
        };
        (mass, inertia)
    }
}

/// Half axes of the ellipsoid that stands for a shape in the ellipsoid fluid model.
pub(super) fn equivalent_ellipsoid<T: Scalar>(kind: GeomKind, [a, b, c]: [T; 3]) -> [T; 3] {
    match kind {
        GeomKind::Sphere => [a, a, a],
        GeomKind::Capsule => [a, a, b + a],
        GeomKind::Cylinder => [a, a, b],
        _ => [a, b, c],
    }
}
