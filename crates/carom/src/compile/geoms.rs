//! Geoms: shape, frame, mass, bounds and contact parameters.

use carom_spec::model_spec::{CompilerSettings, GeomKind, GeomSpec};

use super::Source;
use super::added_mass::added_mass;
use super::assets::Assets;
use super::inertia::{Inertials, Part, counts_for_inertia};
use super::mesh::CompiledMesh;
use super::primitive::{self, Solid};
use super::report::{Checked, Report, code};
use crate::math::{Pose, Quat, Vec3};
use crate::model::{GeomRecipe, GeomShape, MassSource, Model, SourceNumbers, Structure};
use crate::scalar::Scalar;

/// Lengths and volumes below this count as zero, as in MuJoCo.
const MIN: f64 = 1e-14;

/// A geom after its conveniences are resolved.
#[derive(Clone, Debug)]
pub(super) struct CompiledGeom {
    /// Frame in the body, mass and diagonal inertia in that frame; no mass when the body's inertia is not inferred.
    pub(super) part: Part,
    /// Frame in the body as the description gives it: before meshes are turned and bodies aligned.
    pub(super) written_pose: Pose,
    /// Sizes.
    pub(super) size: [f64; 3],
    /// Frame of the mesh's inertia in the frame that the file gives to the geom.
    mesh_frame: Pose,
}

impl CompiledGeom {
    /// Resolves a geom; none when it is unusable, which is reported unless it is the asset that was.
    pub(super) fn new(
        geom: &GeomSpec,
        assets: &Assets,
        settings: &CompilerSettings,
        infers_inertia: bool,
        report: &mut Report,
    ) -> Option<Self> {
        let checked = &mut report.checked("geom", &geom.name, geom.span);
        if !numbers_are_finite(geom, checked) {
            return None;
        }
        let (pose, size) = own_frame(geom, checked)?;
        let mut compiled = Self {
            part: Part::new(0.0, pose, [0.0; 3]),
            written_pose: pose,
            size,
            mesh_frame: Pose::identity(),
        };
        let mesh = match &geom.mesh {
            Some(reference) => Some(assets.mesh(assets.mesh_id(reference)?)?),
            None => None,
        };
        if let Some(mesh) = mesh {
            compiled.take_mesh_frame(geom, mesh, settings, checked)?;
        }
        if geom.kind != GeomKind::Mesh {
            compiled.written_pose = compiled.part.pose;
        }
        check_size(geom, compiled.size, checked)?;
        compiled.take_asset_size(geom, assets)?;
        if infers_inertia {
            let own_mesh = mesh.filter(|_| geom.kind == GeomKind::Mesh);
            compiled.find_mass(geom, own_mesh, checked)?;
        }
        Some(compiled)
    }

    /// Moves the geom to where the mesh's inertia frame is, and fits a primitive to the mesh.
    fn take_mesh_frame(
        &mut self,
        geom: &GeomSpec,
        mesh: &CompiledMesh,
        settings: &CompilerSettings,
        checked: &mut Checked<'_>,
    ) -> Option<()> {
        let mut center = Vec3::ZERO;
        if geom.kind == GeomKind::Mesh {
            if geom.shell_inertia {
                checked.error_help(
                    code::GEOM_ASSET,
                    format!("{checked} asks for shell inertia, which belongs to its mesh"),
                    "set inertia=\"shell\" at the mesh",
                );
                return None;
            }
        } else {
            let fit = if settings.fit_bounding_box {
                center = mesh.bounding_center();
                fit_to_bounding_box(geom.kind, mesh)
            } else {
                fit_to_inertia_box(geom.kind, mesh)
            };
            let Some(size) = fit else {
                checked.error(
                    code::GEOM_ASSET,
                    format!("shape of {checked} cannot be fitted to a mesh"),
                );
                return None;
            };
            self.size = size.map(|side| side * geom.fit_scale);
        }
        let mesh_pose = mesh.pose();
        let center = Pose::new(mesh_pose.transform_point(center), mesh_pose.quat);
        self.part.pose = self.part.pose.mul(center);
        self.mesh_frame = center;
        Some(())
    }

    /// The field of surface velocities in the geom's final frame.
    fn surface_velocity(&self, geom: &GeomSpec) -> [f64; 6] {
        let [vx, vy, vz, wx, wy, wz] = geom.surface_velocity;
        let (linear, angular) = (Vec3([vx, vy, vz]), Vec3([wx, wy, wz]));
        let Pose { position, quat } = self.mesh_frame;
        let Vec3([vx, vy, vz]) = quat.rotate_inverse(linear + angular.cross(position));
        let Vec3([wx, wy, wz]) = quat.rotate_inverse(angular);
        [vx, vy, vz, wx, wy, wz]
    }

    /// Takes the size that a mesh or height field gives; none where that is unusable.
    fn take_asset_size(&mut self, geom: &GeomSpec, assets: &Assets) -> Option<()> {
        if geom.kind == GeomKind::HeightField {
            let id = assets.height_field_id(geom.height_field.as_ref()?)?;
            (_, _, self.size) = primitive::height_field_bounds(assets.height_field(id)?.size);
        } else if geom.kind == GeomKind::Mesh {
            self.size = assets.mesh(assets.mesh_id(geom.mesh.as_ref()?)?)?.reach();
        }
        Some(())
    }

    fn find_mass(
        &mut self,
        geom: &GeomSpec,
        mesh: Option<&CompiledMesh>,
        checked: &mut Checked<'_>,
    ) -> Option<()> {
        let solid = match mesh {
            Some(mesh) => Solid::Mesh {
                volume: mesh.volume(),
                inertia_box: mesh.inertia_box(),
            },
            None => Solid::Primitive {
                kind: geom.kind,
                size: self.size,
                shell: geom.shell_inertia,
            },
        };
        let (mass, inertia) = solid.mass_and_inertia(geom.mass, geom.density);
        self.part = Part::new(mass, self.part.pose, inertia);
        let mut numbers = [mass, geom.density].into_iter().chain(inertia);
        if numbers.any(|number| number < 0.0) {
            checked.error(
                code::MASS,
                format!("mass, inertia or density of {checked} is negative"),
            );
            return None;
        }
        if !(mass.is_finite() && inertia.iter().all(|moment| moment.is_finite())) {
            checked.error_help(
                code::MASS,
                format!("mass or inertia of {checked} is too large to compute"),
                "check size and density; lengths are in metres",
            );
            return None;
        }
        Some(())
    }

    /// Parameters of the ellipsoid fluid model; zeros when the geom does not use it.
    fn fluid(&self, geom: &GeomSpec) -> [f64; 12] {
        if !geom.fluid_ellipsoid {
            return [0.0; 12];
        }
        let [blunt, slender, angular, kutta, magnus] = geom.fluid_coefficients;
        let [mx, my, mz, ix, iy, iz] = virtual_inertia(geom.kind, self.size);
        [
            1.0, blunt, slender, angular, kutta, magnus, mx, my, mz, ix, iy, iz,
        ]
    }
}

/// Virtual mass and inertia of a shape in the ellipsoid fluid model.
pub(super) fn virtual_inertia<T: Scalar>(kind: GeomKind, size: [T; 3]) -> [T; 6] {
    let axes = primitive::equivalent_ellipsoid(kind, size);
    let ([mx, my, mz], [ix, iy, iz]) = added_mass(axes);
    [mx, my, mz, ix, iy, iz]
}

fn numbers_are_finite(geom: &GeomSpec, checked: &mut Checked<'_>) -> bool {
    let fromto = geom.fromto.as_ref().map_or(&[][..], |points| &points[..]);
    checked.all_finite(&[
        ("pos", &geom.position),
        ("orientation", &geom.quaternion),
        ("fromto", fromto),
        ("size", &geom.size),
        ("fitscale", &[geom.fit_scale]),
        ("friction", &geom.friction),
        ("solmix", &[geom.solver_mix]),
        ("solref", &geom.solver_reference),
        ("solimp", &geom.solver_impedance),
        ("margin or gap", &[geom.margin, geom.gap]),
        ("surfacevel", &geom.surface_velocity),
        ("adhesion", &[geom.adhesion]),
        ("mass", geom.mass.as_slice()),
        ("density", &[geom.density]),
        ("fluidcoef", &geom.fluid_coefficients),
    ])
}

/// Frame and sizes as the geom itself gives them.
pub(super) fn own_frame(geom: &GeomSpec, checked: &mut Checked<'_>) -> Option<(Pose, [f64; 3])> {
    let position = Vec3(geom.position);
    let Some(fromto) = geom.fromto else {
        return Some((
            Pose::new(position, Quat(geom.quaternion).normalized()),
            geom.size,
        ));
    };
    let frame = segment_frame(fromto);
    let (message, help) = match (geom.kind, frame) {
        _ if geom.mesh.is_some() => (
            format!("fromto of {checked} cannot be used with a mesh"),
            "use pos and quat",
        ),
        _ if geom.position != [0.0; 3] => (
            format!("{checked} has both pos and fromto"),
            "remove one of them",
        ),
        (GeomKind::Capsule | GeomKind::Cylinder, Some((pose, half))) => {
            return Some((pose, [geom.size[0], half, geom.size[2]]));
        }
        (GeomKind::Ellipsoid | GeomKind::Box, Some((pose, half))) => {
            return Some((pose, [geom.size[0], geom.size[0], half]));
        }
        (GeomKind::Capsule | GeomKind::Cylinder | GeomKind::Ellipsoid | GeomKind::Box, None) => (
            format!("the points of fromto of {checked} coincide"),
            "give two points",
        ),
        _ => (
            format!("fromto of {checked} needs a capsule, cylinder, ellipsoid or box"),
            "set type, or use pos and size",
        ),
    };
    checked.error_help(code::SIZE, message, help);
    None
}

/// The frame whose z axis runs through two points (from the second to the first), and half their distance; none when
/// the points coincide.
pub(super) fn segment_frame(points: [f64; 6]) -> Option<(Pose, f64)> {
    let [ax, ay, az, bx, by, bz] = points;
    let (from, to) = (Vec3([ax, ay, az]), Vec3([bx, by, bz]));
    let difference = from - to;
    let length = difference.norm();
    let is_long = difference.norm_squared() >= MIN && length / 2.0 >= MIN;
    if !is_long || !length.is_finite() {
        return None;
    }
    let direction = Vec3(difference.0.map(|x| x / length));
    let middle = Vec3(std::array::from_fn(|axis| {
        f64::midpoint(from[axis], to[axis])
    }));
    Some((Pose::new(middle, rotation_from_z(direction)), length / 2.0))
}

/// The shortest rotation from the z axis to a unit vector; directions almost along z are taken as exactly so, and the
/// half turn is about x, as in MuJoCo.
fn rotation_from_z(direction: Vec3) -> Quat {
    let axis = Vec3([-direction[1], direction[0], 0.0]);
    let square = axis.norm_squared();
    let (axis, sine) = if square < MIN {
        (Vec3::X, 0.0)
    } else {
        let sine = square.sqrt();
        (Vec3(axis.0.map(|x| x / sine)), sine)
    };
    let half = sine.atan2(direction[2]) / 2.0;
    Quat::from_parts(half.cos(), axis * half.sin())
}

/// Sizes of a primitive with about the inertia of a mesh.
fn fit_to_inertia_box(kind: GeomKind, mesh: &CompiledMesh) -> Option<[f64; 3]> {
    let [x, y, z] = mesh.inertia_box();
    Some(match kind {
        GeomKind::Sphere => [(x + y + z) / 3.0, 0.0, 0.0],
        GeomKind::Capsule => {
            let radius = f64::midpoint(x, y);
            [radius, (z - radius / 2.0).max(0.0), 0.0]
        }
        GeomKind::Cylinder => [f64::midpoint(x, y), z, 0.0],
        GeomKind::Ellipsoid | GeomKind::Box => [x, y, z],
        GeomKind::Plane | GeomKind::HeightField | GeomKind::Mesh => return None,
    })
}

/// Sizes of the smallest primitive whose bounding box holds that of a mesh.
fn fit_to_bounding_box(kind: GeomKind, mesh: &CompiledMesh) -> Option<[f64; 3]> {
    let (_, high) = mesh.bounds();
    let center = mesh.bounding_center();
    let [x, y, z] = std::array::from_fn(|axis| high[axis] - center[axis]);
    Some(match kind {
        GeomKind::Sphere => [x.max(y).max(z), 0.0, 0.0],
        GeomKind::Capsule => [x.max(y), z - x.max(y), 0.0],
        GeomKind::Cylinder => [x.max(y), z, 0.0],
        GeomKind::Ellipsoid | GeomKind::Box => [x, y, z],
        GeomKind::Plane | GeomKind::HeightField | GeomKind::Mesh => return None,
    })
}

fn check_size(geom: &GeomSpec, size: [f64; 3], checked: &mut Checked<'_>) -> Option<()> {
    let required: &[usize] = match geom.kind {
        // The first two are half sizes of the drawn patch; 0 means infinite.
        GeomKind::Plane => &[2],
        kind => &[0, 1, 2][..primitive::size_count(kind)],
    };
    for &index in required {
        let is_positive = size[index] > 0.0;
        if !is_positive {
            checked.error_help(
                code::SIZE,
                format!(
                    "size {} of {checked} must be positive, it is {}",
                    index + 1,
                    size[index]
                ),
                format!(
                    "a {} needs {}",
                    kind_name(geom.kind),
                    needed_sizes(geom.kind)
                ),
            );
            return None;
        }
    }
    Some(())
}

fn kind_name(kind: GeomKind) -> &'static str {
    match kind {
        GeomKind::Plane => "plane",
        GeomKind::HeightField => "height field",
        GeomKind::Sphere => "sphere",
        GeomKind::Capsule => "capsule",
        GeomKind::Ellipsoid => "ellipsoid",
        GeomKind::Cylinder => "cylinder",
        GeomKind::Box => "box",
        GeomKind::Mesh => "mesh",
    }
}

fn needed_sizes(kind: GeomKind) -> &'static str {
    match kind {
        GeomKind::Plane => "half sizes in x and y (0 for infinite) and a grid spacing",
        GeomKind::Sphere => "a radius",
        GeomKind::Capsule | GeomKind::Cylinder => "a radius and a half length (or fromto)",
        GeomKind::Ellipsoid => "three half axes",
        GeomKind::Box => "three half sides",
        GeomKind::HeightField | GeomKind::Mesh => "no size",
    }
}

/// Fills the structure of geoms; checks what does not need the inertia.
pub(super) fn structure(source: Source<'_>, structure: &mut Structure, report: &mut Report) {
    for (body, body_spec) in source.spec.bodies.iter().enumerate() {
        let first = structure.counts.ngeom;
        for geom in &body_spec.geoms {
            let checked = &mut report.checked("geom", &geom.name, geom.span);
            check_geom(source, geom, body, structure, checked);
            push_geom(source, geom, body, structure, checked);
            structure.has_surface_velocity |= geom.surface_velocity != [0.0; 6];
            structure.has_adhesion |= geom.adhesion != 0.0;
        }
        structure.bodies.geoms.push(first..structure.counts.ngeom);
    }
}

fn push_geom(
    source: Source<'_>,
    geom: &GeomSpec,
    body: usize,
    structure: &mut Structure,
    checked: &mut Checked<'_>,
) {
    let lookup = source.lookup;
    // Resolved also where a primitive is fitted, so that a wrong name is found.
    let mesh = geom.mesh.as_ref();
    let mesh = mesh.and_then(|mesh| checked.resolve(&lookup.meshes, mesh));
    let field = geom.height_field.as_ref();
    let field = field.and_then(|field| checked.resolve(&lookup.height_fields, field));
    let shape = match (geom.kind, mesh, field) {
        (GeomKind::Mesh, Some(mesh), _) => GeomShape::Mesh(mesh),
        (GeomKind::HeightField, _, Some(field)) => GeomShape::HeightField(field),
        _ => GeomShape::Primitive,
    };
    let geoms = &mut structure.geoms;
    geoms.kind.push(geom.kind);
    geoms.shape.push(shape);
    geoms.body.push(body);
    geoms.contype.push(geom.contype.cast_unsigned());
    geoms.conaffinity.push(geom.conaffinity.cast_unsigned());
    geoms.condim.push(geom.contact_dimension);
    geoms.priority.push(geom.priority);
    geoms.signed_distance.push(geom.signed_distance);
    geoms.group.push(geom.group);
    geoms.rgba.push(geom.rgba.map(thousandths));
    geoms.invisible.push(is_invisible(source, geom, mesh));
    structure.counts.ngeom += 1;
}

/// Whether the material, or the colour of a geom without one, is fully transparent.
fn is_invisible(source: Source<'_>, geom: &GeomSpec, mesh: Option<usize>) -> bool {
    let of_mesh = || source.spec.meshes.get(mesh?)?.material.as_ref();
    let material = geom.material.as_ref().or_else(of_mesh);
    let id = material.and_then(|material| source.lookup.materials.get(&material.name));
    let rgba = id.map_or(geom.rgba, |id| source.spec.materials[id].rgba);
    rgba[3] == 0.0
}

/// A colour component in thousandths.
fn thousandths(component: f64) -> u16 {
    let scaled = (component * 1000.0).round().clamp(0.0, 65535.0);
    #[allow(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "clamped to the range; NaN becomes 0"
    )]
    let rounded = scaled as u16;
    rounded
}

fn check_geom(
    source: Source<'_>,
    geom: &GeomSpec,
    body: usize,
    structure: &Structure,
    checked: &mut Checked<'_>,
) {
    if !matches!(geom.contact_dimension, 1 | 3 | 4 | 6) {
        checked.error(
            code::CONTACT,
            format!(
                "condim of {checked} is {}, must be 1, 3, 4 or 6",
                geom.contact_dimension
            ),
        );
    }
    if geom.kind == GeomKind::Mesh && geom.mesh.is_none() {
        checked.error(
            code::GEOM_ASSET,
            format!("{checked} is a mesh but names none"),
        );
    }
    if (geom.kind == GeomKind::HeightField) != geom.height_field.is_some() {
        checked.error(
            code::GEOM_ASSET,
            format!("{checked} must be of type hfield and name a height field, or neither"),
        );
    }
    let weld = structure.bodies.weld[body];
    let is_fixed = weld == 0 || source.spec.bodies[weld].mocap;
    if geom.kind == GeomKind::Plane && !is_fixed {
        checked.error_help(
            code::GEOM_ASSET,
            format!("plane {checked} is in a body that moves"),
            "planes must be static; use a flat box instead",
        );
    }
}

/// Fills the given numbers of geoms.
pub(super) fn numbers(source: Source<'_>, inertials: &Inertials, model: &mut Model) {
    let specs = source.spec.bodies.iter().flat_map(|body| &body.geoms);
    let compiled = inertials.bodies.iter().flat_map(|body| &body.geoms);
    let numbers = &mut model.geoms;
    for (id, (spec, geom)) in specs.zip(compiled).enumerate() {
        let Some(geom) = geom else {
            continue;
        };
        numbers.size[id] = Vec3(geom.size);
        numbers.position[id] = geom.written_pose.position;
        numbers.quat[id] = geom.written_pose.quat;
        numbers.friction[id] = Vec3(spec.friction);
        numbers.solmix[id] = spec.solver_mix;
        numbers.solref[id] = spec.solver_reference;
        numbers.solimp[id] = spec.solver_impedance;
        numbers.margin[id] = spec.margin;
        numbers.gap[id] = spec.gap;
        numbers.surface_velocity[id] = geom.surface_velocity(spec);
        numbers.adhesion[id] = spec.adhesion;
        numbers.fluid[id] = geom.fluid(spec);
        if let GeomShape::Mesh(mesh) = model.structure.geoms.shape[id]
            && let Some(mesh) = source.assets.mesh(mesh)
        {
            let (low, high) = mesh.bounds();
            numbers.bounding_box[id] = primitive::box_between(low, high);
            numbers.bounding_radius[id] = numbers.size[id].norm();
        }
    }
}

/// What the masses of geoms follow from.
pub(super) fn recipes(source: Source<'_>) -> Vec<GeomRecipe> {
    let settings = &source.spec.compiler;
    let bodies = source.spec.bodies.iter().enumerate();
    let recipes = bodies.flat_map(|(body, body_spec)| {
        body_spec.geoms.iter().map(move |geom| GeomRecipe {
            mass: match geom.mass {
                _ if !counts_for_inertia(body, body_spec, geom, settings) => MassSource::None,
                Some(_) => MassSource::Mass,
                None => MassSource::Density,
            },
            shell: geom.shell_inertia,
            fitted: geom.mesh.is_some() && geom.kind != GeomKind::Mesh,
        })
    });
    recipes.collect()
}

/// Fills the numbers that masses follow from.
pub(super) fn sources(source: Source<'_>, numbers: &mut SourceNumbers) {
    let geoms = source.spec.bodies.iter().flat_map(|body| &body.geoms);
    for (id, geom) in geoms.enumerate() {
        numbers.geom_mass[id] = geom.mass.unwrap_or(0.0);
        numbers.geom_density[id] = geom.density;
    }
}
