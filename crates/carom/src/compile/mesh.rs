//! Meshes: reference frame and scale, convex hull, inertia, and the turn into the frame of the inertia.
//!
//! The inertia is that of the body inside of a closed surface (`exact`), of the hull (`convex`), of pyramids with unsigned
//! volume over all faces (`legacy`, which forgives flipped triangles), or of the surface alone (`shell`).

use carom_hull::{FlatPoints, Hull, HullTopology, convex_hull};
use carom_spec::model_spec::{MeshInertia, MeshSpec, ProcessedMesh};

use super::mesh_moments::{MIN, Triangle, second_moments, solid_center, surface_center, triangle};
use super::principal_frame::{Tolerance, principal_frame};
use super::report::{Report, code};
use crate::math::{Pose, Quat, Vec3};

/// Triangles at least this large take part in the check of orientation (m²).
const MIN_ORIENTED_AREA: f64 = 3.162_277_660_168_379e-8;
/// Tolerances of the triangle inequality of moments, relative and absolute.
const TRIANGLE_TOLERANCE: (f64, f64) = (1e-6, 1e-9);

/// A mesh in the frame of its inertia.
#[derive(Clone, Debug)]
pub(super) struct CompiledMesh {
    /// Vertices, rounded to single precision as MuJoCo stores them (m).
    pub(super) vertices: Vec<Vec3>,
    /// Triangles.
    pub(super) faces: Vec<Triangle>,
    /// Triangles of the convex hull; empty when nothing needs it.
    pub(super) hull: Vec<Triangle>,
    /// Vertices, edges and polygons of the hull.
    pub(super) topology: HullTopology,
    pose: Pose,
    volume: f64,
    inertia_box: [f64; 3],
    low: [f64; 3],
    high: [f64; 3],
}

impl CompiledMesh {
    /// Processes a mesh; none after an error.
    pub(super) fn new(mesh: &MeshSpec, needs_hull: bool, report: &mut Report) -> Option<Self> {
        let checked = &mut report.checked("mesh", &mesh.name, mesh.span);
        let compiled = check(mesh, &checked.to_string()).and_then(|raw| {
            let is_finite = checked.all_finite(&[
                ("scale", &mesh.scale),
                ("refpos", &mesh.reference_position),
                ("refquat", &mesh.reference_quaternion),
            ]);
            match &mesh.processed {
                _ if !is_finite => Ok(None),
                Some(processed) if processed.fits(raw.len()) => {
                    Ok(Some(taken_over(mesh, raw, processed)))
                }
                Some(_) => Err((
                    format!("the hull of {checked} refers to vertices that do not exist"),
                    "leave it to the compiler",
                )),
                None => process(mesh, raw, needs_hull, &checked.to_string()).map(Some),
            }
        });
        compiled.unwrap_or_else(|(message, help)| {
            checked.error_help(code::MESH, message, help);
            None
        })
    }

    /// Pose of the mesh's frame in the frame of its file.
    pub(super) fn pose(&self) -> Pose {
        self.pose
    }

    /// Volume (m³), or surface (m²) of a shell.
    pub(super) fn volume(&self) -> f64 {
        self.volume
    }

    /// Half sides of the box with the same inertia (m).
    pub(super) fn inertia_box(&self) -> [f64; 3] {
        self.inertia_box
    }

    /// Lowest and highest corner of the bounding box (m).
    pub(super) fn bounds(&self) -> ([f64; 3], [f64; 3]) {
        (self.low, self.high)
    }

    /// How far it reaches from its origin along each axis.
    pub(super) fn reach(&self) -> [f64; 3] {
        std::array::from_fn(|axis| self.low[axis].abs().max(self.high[axis].abs()))
    }

    /// Centre of the bounding box (m).
    pub(super) fn bounding_center(&self) -> Vec3 {
        Vec3(std::array::from_fn(|axis| {
            f64::midpoint(self.low[axis], self.high[axis])
        }))
    }
}

/// A mesh that is in the frame of its inertia. Whoever has processed it has the masses of bodies too, so it has none.
fn taken_over(mesh: &MeshSpec, vertices: Vec<Vec3>, hull: &ProcessedMesh) -> CompiledMesh {
    let (low, high) = corners(&vertices);
    CompiledMesh {
        faces: mesh.faces.clone(),
        hull: hull.faces.clone(),
        topology: HullTopology {
            vertices: hull.vertices.clone(),
            neighbors: hull.neighbors.iter().cloned().collect(),
            polygons: hull.polygons.iter().cloned().collect(),
            polygons_around: hull.polygons_around.iter().cloned().collect(),
        },
        pose: Pose::new(Vec3::ZERO, Quat::identity()),
        volume: 0.0,
        inertia_box: [0.0; 3],
        low,
        high,
        vertices,
    }
}

/// Lowest and highest coordinates.
fn corners(points: &[Vec3]) -> ([f64; 3], [f64; 3]) {
    let extreme = |pick: fn(f64, f64) -> f64, start: f64| {
        let fold = |axis: usize| points.iter().map(|point| point[axis]).fold(start, pick);
        [fold(0), fold(1), fold(2)]
    };
    (
        extreme(f64::min, f64::INFINITY),
        extreme(f64::max, f64::NEG_INFINITY),
    )
}

/// A message and advice.
type Problem = (String, &'static str);

/// Checks sizes and indices; gives the vertices in single precision.
fn check(mesh: &MeshSpec, name: &str) -> Result<Vec<Vec3>, Problem> {
    if let Some(builtin) = &mesh.builtin {
        return Err((
            format!(
                "{name} is generated (builtin {:?}), which is not supported",
                builtin.kind
            ),
            "save the mesh to a file, or use a primitive geom",
        ));
    }
    if mesh.vertices.len() < 4 {
        return Err((
            format!(
                "{name} has {} vertices, at least 4 are required",
                mesh.vertices.len()
            ),
            "give vertices or a mesh file",
        ));
    }
    let narrowed = |vertex: &[f64; 3]| Vec3(vertex.map(single_precision));
    let vertices: Vec<Vec3> = mesh.vertices.iter().map(narrowed).collect();
    if let Some(index) = vertices.iter().position(|vertex| !vertex.is_finite()) {
        return Err((
            format!("vertex {index} of {name} is not finite"),
            "repair the mesh",
        ));
    }
    for (index, face) in mesh.faces.iter().enumerate() {
        if let Some(vertex) = face
            .iter()
            .find(|&&vertex| vertex as usize >= vertices.len())
        {
            return Err((
                format!("face {index} of {name} refers to vertex {vertex}, which does not exist"),
                "vertices are counted from 0",
            ));
        }
    }
    if mesh.inertia == MeshInertia::Exact
        && let Some((first, second)) = inconsistent_edge(&vertices, &mesh.faces)
    {
        return Err((
            format!("faces of {name} are oriented inconsistently at vertices {first} and {second}"),
            "repair the mesh, or use inertia=\"legacy\" or \"convex\"",
        ));
    }
    Ok(vertices)
}

#[allow(
    clippy::cast_possible_truncation,
    reason = "rounding to single precision is the purpose"
)]
fn single_precision(number: f64) -> f64 {
    f64::from(number as f32)
}

/// An edge that two faces run through in the same direction.
fn inconsistent_edge(vertices: &[Vec3], faces: &[Triangle]) -> Option<(u32, u32)> {
    let mut edges = Vec::with_capacity(3 * faces.len());
    for face in faces {
        if triangle(face.map(|vertex| vertices[vertex as usize])).area > MIN_ORIENTED_AREA {
            for corner in 0..3 {
                edges.push((face[corner], face[(corner + 1) % 3]));
            }
        }
    }
    edges.sort_unstable();
    edges
        .windows(2)
        .find(|pair| pair[0] == pair[1])
        .map(|pair| pair[0])
}

fn process(
    mesh: &MeshSpec,
    raw: Vec<Vec3>,
    needs_hull: bool,
    name: &str,
) -> Result<CompiledMesh, Problem> {
    let needs_hull = needs_hull || mesh.faces.is_empty() || mesh.inertia == MeshInertia::Convex;
    let Hull {
        triangles: mut hull,
        mut topology,
    } = if needs_hull {
        hull_of(mesh, &raw, name)?
    } else {
        Hull::default()
    };
    let mut faces = if mesh.faces.is_empty() {
        hull.clone()
    } else {
        mesh.faces.clone()
    };
    // A mirrored mesh would be inside out.
    let [sx, sy, sz] = mesh.scale;
    if sx * sy * sz <= 0.0 {
        faces
            .iter_mut()
            .chain(&mut hull)
            .for_each(|face| face.swap(1, 2));
        topology.turn_inside_out();
    }
    let vertices = transform(mesh, raw);
    let solid = if mesh.inertia == MeshInertia::Convex {
        &hull
    } else {
        &faces
    };
    let (center, quat, volume, moments) =
        inertia_frame(mesh.inertia, &vertices, &faces, solid, name)?;
    let inertia_box = std::array::from_fn(|axis| {
        let [one, other] = [moments[(axis + 1) % 3], moments[(axis + 2) % 3]];
        0.5 * (6.0 * (one + other - moments[axis]).max(0.0) / volume).sqrt()
    });
    let pose = Pose::new(center, quat);
    let rotation = quat.conjugate().to_mat3();
    let turned: Vec<Vec3> = vertices
        .iter()
        .map(|&vertex| rotation.mul_vec(vertex - center))
        .collect();
    let (low, high) = corners(&turned);
    let vertices = turned
        .iter()
        .map(|vertex| vertex.map(single_precision))
        .collect();
    Ok(CompiledMesh {
        vertices,
        faces,
        hull,
        topology,
        pose,
        volume,
        inertia_box,
        low,
        high,
    })
}

/// The hull, or why there is none.
fn hull_of(mesh: &MeshSpec, vertices: &[Vec3], name: &str) -> Result<Hull, Problem> {
    let points: Vec<[f64; 3]> = vertices.iter().map(|vertex| vertex.0).collect();
    let max_vertices = mesh.max_hull_vertices.map(|most| most as usize);
    convex_hull(&points, max_vertices).map_err(|flat| {
        let (shape, help) = match flat {
            FlatPoints::Coincident => ("in one place", "use a small sphere instead"),
            FlatPoints::Collinear => ("on a line", "use a thin capsule instead"),
            FlatPoints::Coplanar => ("on a plane", "use a plane or a thin box instead"),
        };
        (
            format!("{name} has no convex hull: all vertices are {shape}"),
            help,
        )
    })
}

/// Reference frame and scale of the file.
fn transform(mesh: &MeshSpec, mut vertices: Vec<Vec3>) -> Vec<Vec3> {
    if mesh.reference_position != [0.0; 3] {
        let origin = Vec3(mesh.reference_position);
        for vertex in &mut vertices {
            *vertex -= origin;
        }
    }
    if mesh.reference_quaternion != [1.0, 0.0, 0.0, 0.0] {
        let rotation = Quat(mesh.reference_quaternion).normalized().to_mat3();
        for vertex in &mut vertices {
            *vertex = rotation.transpose_mul_vec(*vertex);
        }
    }
    let scale = Vec3(mesh.scale);
    for vertex in &mut vertices {
        *vertex = vertex.component_mul(scale);
    }
    vertices
}

/// Centre of mass, principal axes, volume (or surface), and principal moments for unit density.
fn inertia_frame(
    inertia: MeshInertia,
    vertices: &[Vec3],
    faces: &[Triangle],
    solid: &[Triangle],
    name: &str,
) -> Result<(Vec3, Quat, f64, [f64; 3]), Problem> {
    let corners = |face: &Triangle| face.map(|vertex| vertices[vertex as usize]);
    let (area, middle) = surface_center(faces.iter().map(corners));
    let is_enough = area >= MIN && area.is_finite();
    if !is_enough {
        return Err((
            format!("surface of {name} is too small"),
            "check the faces and the scale",
        ));
    }
    let center = if inertia == MeshInertia::Shell {
        middle
    } else {
        let is_legacy = inertia == MeshInertia::Legacy;
        let (volume, center) = solid_center(solid.iter().map(corners), middle, is_legacy);
        if volume < 0.0 {
            return Err((
                format!("volume of {name} is negative: its triangles face inwards"),
                "reverse the triangles, or use inertia=\"legacy\"",
            ));
        }
        let is_enough = volume >= MIN && volume.is_finite();
        if !is_enough {
            return Err((
                format!("volume of {name} is too small"),
                "use inertia=\"shell\"",
            ));
        }
        center
    };
    let (volume, full) = second_moments(inertia, solid.iter().map(corners), center);
    let (quat, moments) = principal_frame(full, Tolerance::MESH);
    let [a, b, c] = moments;
    let (relative, absolute) = TRIANGLE_TOLERANCE;
    let fits = |sum: f64, one: f64| sum >= one * (1.0 - relative) - absolute;
    let is_possible = c > 0.0 && fits(a + b, c) && fits(a + c, b) && fits(b + c, a);
    if !is_possible || !volume.is_finite() {
        return Err((
            format!("inertia {a} {b} {c} of {name} is impossible"),
            "the surface may be open or misoriented; use inertia=\"convex\"",
        ));
    }
    Ok((center, quat, volume, moments))
}
