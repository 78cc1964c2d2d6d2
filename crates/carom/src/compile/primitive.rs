//! Volume, surface, inertia and bounds of the primitive shapes.
//!
//! Inertia is about the centre, in the axes of the shape, for a given mass. Mass fills the volume, or is spread over
//! the surface (`shell`). Sizes are MuJoCo's: radius and half length of capsules and cylinders along z, half axes of
//! ellipsoids and boxes.

use std::f64::consts::PI;

use carom_spec::model_spec::GeomKind;

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
pub(super) fn volume(kind: GeomKind, size: [f64; 3], shell: bool) -> f64 {
    let [a, b, c] = size;
    match (kind, shell) {
        (GeomKind::Sphere, false) => 4.0 * PI * a * a * a / 3.0,
        (GeomKind::Sphere, true) => 4.0 * PI * a * a,
        (GeomKind::Capsule, false) => PI * (a * a * (2.0 * b) + 4.0 * a * a * a / 3.0),
        (GeomKind::Capsule, true) => 4.0 * PI * a * a + 2.0 * PI * a * (2.0 * b),
        (GeomKind::Cylinder, false) => PI * a * a * (2.0 * b),
        (GeomKind::Cylinder, true) => 2.0 * PI * a * a + 2.0 * PI * a * (2.0 * b),
        (GeomKind::Ellipsoid, false) => 4.0 * PI * a * b * c / 3.0,
        (GeomKind::Ellipsoid, true) => {
            let sum = (a * b).powf(THOMSEN) + (b * c).powf(THOMSEN) + (c * a).powf(THOMSEN);
            4.0 * PI * (sum / 3.0).powf(1.0 / THOMSEN)
        }
        (GeomKind::Box | GeomKind::HeightField, false) => a * b * c * 8.0,
        (GeomKind::Box | GeomKind::HeightField, true) => 8.0 * (a * b + b * c + c * a),
        (GeomKind::Plane | GeomKind::Mesh, _) => 0.0,
    }
}

/// Diagonal inertia for a mass.
pub(super) fn inertia(kind: GeomKind, size: [f64; 3], shell: bool, mass: f64) -> [f64; 3] {
    let [a, b, c] = size;
    match (kind, shell) {
        (GeomKind::Sphere, _) => [2.0 * mass * a * a / if shell { 3.0 } else { 5.0 }; 3],
        (GeomKind::Capsule, false) => capsule(a, b, mass),
        (GeomKind::Capsule, true) => capsule_shell(a, b, mass),
        (GeomKind::Cylinder, false) => {
            let across = mass * (3.0 * a * a + 4.0 * b * b) / 12.0;
            [across, across, mass * a * a / 2.0]
        }
        (GeomKind::Cylinder, true) => cylinder_shell(a, b, mass),
        (GeomKind::Ellipsoid, false) => across_squares(size, mass / 5.0),
        (GeomKind::Ellipsoid, true) => ellipsoid_shell(size, mass),
        (GeomKind::Box | GeomKind::HeightField, false) => across_squares(size, mass / 3.0),
        (GeomKind::Box | GeomKind::HeightField, true) => box_shell([a, b, c], mass),
        (GeomKind::Plane | GeomKind::Mesh, _) => [0.0; 3],
    }
}

/// factor·(b² + c², a² + c², a² + b²).
pub(super) fn across_squares([a, b, c]: [f64; 3], factor: f64) -> [f64; 3] {
    [
        factor * (b * b + c * c),
        factor * (a * a + c * c),
        factor * (a * a + b * b),
    ]
}

/// A cylinder and two half balls.
fn capsule(radius: f64, half: f64, mass: f64) -> [f64; 3] {
    let height = 2.0 * half;
    let ball_mass = mass * 4.0 * radius / (4.0 * radius + 3.0 * height);
    let tube_mass = mass - ball_mass;
    let ball = 2.0 * ball_mass * radius * radius / 5.0;
    let displaced = ball_mass * height * (3.0 * radius + 2.0 * height) / 8.0;
    let across = tube_mass * (3.0 * radius * radius + height * height) / 12.0 + (ball + displaced);
    [across, across, tube_mass * radius * radius / 2.0 + ball]
}

/// The surface of a cylinder without lids and of two half balls, whose centres of mass are at half their radius.
fn capsule_shell(radius: f64, half: f64, mass: f64) -> [f64; 3] {
    let height = 2.0 * half;
    let ball_area = 4.0 * PI * radius * radius;
    let tube_area = 2.0 * PI * radius * height;
    let ball_mass = mass * ball_area / (ball_area + tube_area);
    let tube_mass = mass - ball_mass;
    let ball = 2.0 * ball_mass * radius * radius / 3.0;
    let (offset, place) = (radius / 2.0, half + radius / 2.0);
    let displaced = ball_mass * (place * place - offset * offset);
    let across = tube_mass * (6.0 * radius * radius + height * height) / 12.0 + (ball + displaced);
    [across, across, tube_mass * radius * radius + ball]
}

/// The surface of a cylinder with two lids.
fn cylinder_shell(radius: f64, half: f64, mass: f64) -> [f64; 3] {
    let height = 2.0 * half;
    let lid_area = PI * radius * radius;
    let tube_area = 2.0 * PI * radius * height;
    let lid_mass = mass * lid_area / (2.0 * lid_area + tube_area);
    let tube_mass = mass - 2.0 * lid_mass;
    let lid_across = lid_mass * radius * radius / 4.0 + lid_mass * half * half;
    let across = tube_mass * (6.0 * radius * radius + height * height) / 12.0 + 2.0 * lid_across;
    let along = tube_mass * radius * radius + 2.0 * (lid_mass * radius * radius / 2.0);
    [across, across, along]
}

/// The difference of two ellipsoids that are a thin layer apart, as MuJoCo approximates it.
fn ellipsoid_shell(size: [f64; 3], mass: f64) -> [f64; 3] {
    let outer = size.map(|axis| axis + SHELL_THICKNESS);
    let (inner_volume, outer_volume) = (
        volume(GeomKind::Ellipsoid, size, false),
        volume(GeomKind::Ellipsoid, outer, false),
    );
    let density = mass / (outer_volume - inner_volume);
    // Almost everything cancels, so the order of operations shows.
    let solid = |mass: f64, [a, b, c]: [f64; 3]| {
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
fn box_shell(half: [f64; 3], mass: f64) -> [f64; 3] {
    let [x, y, z] = half.map(|side| side * side);
    let [lx, ly, lz] = half.map(|side| 2.0 * side);
    let areas = [lx * ly, ly * lz, lz * lx];
    let total = 2.0 * (areas[0] + areas[1] + areas[2]);
    let [xy, yz, zx] = areas.map(|area| mass * area / total);
    let own = [
        xy * ly * ly / 12.0 + yz * (ly * ly + lz * lz) / 12.0 + zx * lz * lz / 12.0,
        xy * lx * lx / 12.0 + yz * lz * lz / 12.0 + zx * (lx * lx + lz * lz) / 12.0,
        xy * (lx * lx + ly * ly) / 12.0 + yz * ly * ly / 12.0 + zx * lx * lx / 12.0,
    ];
    [
        2.0 * (xy * z + zx * y + own[0]),
        2.0 * (xy * z + yz * x + own[1]),
        2.0 * (yz * x + zx * y + own[2]),
    ]
}

/// Radius of the sphere around the centre that holds the shape (m); 0 for planes.
pub(super) fn bounding_radius(kind: GeomKind, [a, b, c]: [f64; 3]) -> f64 {
    match kind {
        GeomKind::Sphere => a,
        GeomKind::Capsule => a + b,
        GeomKind::Cylinder => (a * a + b * b).sqrt(),
        GeomKind::Ellipsoid => a.max(b).max(c),
        GeomKind::Box => (a * a + b * b + c * c).sqrt(),
        GeomKind::Plane | GeomKind::HeightField | GeomKind::Mesh => 0.0,
    }
}

/// Bounding box in the axes of the shape: centre, then half sizes (m).
pub(super) fn bounding_box(kind: GeomKind, [a, b, c]: [f64; 3]) -> [f64; 6] {
    let [x, y, z] = match kind {
        GeomKind::Sphere => [a, a, a],
        GeomKind::Capsule => [a, a, a + b],
        GeomKind::Cylinder => [a, a, b],
        GeomKind::Plane => {
            return box_between([-UNBOUNDED; 3], [UNBOUNDED, UNBOUNDED, 0.0]);
        }
        GeomKind::Ellipsoid | GeomKind::Box | GeomKind::HeightField | GeomKind::Mesh => [a, b, c],
    };
    [0.0, 0.0, 0.0, x, y, z]
}

/// Centre and half sizes of a box given by its lowest and highest corner.
pub(super) fn box_between(low: [f64; 3], high: [f64; 3]) -> [f64; 6] {
    let middle = |axis: usize| f64::midpoint(high[axis], low[axis]);
    let half = |axis: usize| (high[axis] - low[axis]) / 2.0;
    [middle(0), middle(1), middle(2), half(0), half(1), half(2)]
}

/// Half axes of the ellipsoid that stands for a shape in the ellipsoid fluid model.
pub(super) fn equivalent_ellipsoid(kind: GeomKind, [a, b, c]: [f64; 3]) -> [f64; 3] {
    match kind {
        GeomKind::Sphere => [a, a, a],
        GeomKind::Capsule => [a, a, b + a],
        GeomKind::Cylinder => [a, a, b],
        _ => [a, b, c],
    }
}
