//! Plan outlines of bodies that stand upright on a table: convex polygons about the centre of mass.

use carom::math::Vec3;
use carom::model::{GeomKind, GeomShape, Model};
use carom::{Error, ErrorKind};

/// Corners of the polygon that stands for a circle.
const CIRCLE: usize = 96;

/// A line of the plane by its outward normal and its distance from the origin.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Side {
    /// Outward, of length one.
    pub normal: [f64; 2],
    /// Distance from the origin along the normal (m).
    pub distance: f64,
}

/// A convex outline, counter-clockwise.
#[derive(Clone, Debug, PartialEq)]
pub struct Outline {
    /// Corners about the origin of the outline (m).
    pub corners: Vec<[f64; 2]>,
    /// Sides, from each corner to the next.
    pub sides: Vec<Side>,
}

impl Outline {
    /// The convex hull of points.
    ///
    /// # Errors
    /// When they span no area.
    pub fn of_points(points: &[[f64; 2]]) -> Result<Self, Error> {
        let corners = hull(points.to_vec());
        let sides: Vec<Side> = (0..corners.len())
            .map(|at| {
                let ([x, y], [u, v]) = (corners[at], corners[(at + 1) % corners.len()]);
                let length = (u - x).hypot(v - y);
                let normal = [(v - y) / length, (x - u) / length];
                let distance = normal[0] * x + normal[1] * y;
                Side { normal, distance }
            })
            .collect();
        if corners.len() < 3 {
            let why = "the outline of a body spans no area on the table";
            return Err(Error::new(ErrorKind::Unsupported, why)
                .remedy("give the body geoms with a volume: meshes, boxes, cylinders"));
        }
        Ok(Self { corners, sides })
    }

    /// How far a point is outside; negative within, there minus the distance to the nearest side.
    pub fn separation(&self, point: [f64; 2]) -> f64 {
        let mut most = f64::NEG_INFINITY;
        for side in &self.sides {
            let ahead = side.normal[0] * point[0] + side.normal[1] * point[1] - side.distance;
            most = most.max(ahead);
        }
        most
    }

    /// How deep a point is within; none for one outside.
    pub fn depth(&self, point: [f64; 2]) -> Option<f64> {
        let mut least = f64::INFINITY;
        for side in &self.sides {
            let behind = side.distance - side.normal[0] * point[0] - side.normal[1] * point[1];
            if behind <= 0.0 {
                return None;
            }
            least = least.min(behind);
        }
        Some(least)
    }

    /// Points evenly over the area.
    pub fn cells(&self, across: usize) -> Vec<[f64; 2]> {
        let (mut low, mut high) = ([f64::INFINITY; 2], [f64::NEG_INFINITY; 2]);
        for corner in &self.corners {
            for axis in 0..2 {
                low[axis] = low[axis].min(corner[axis]);
                high[axis] = high[axis].max(corner[axis]);
            }
        }
        let mut cells = Vec::new();
        for i in 0..across {
            for j in 0..across {
                let part = [i, j].map(|k| (k as f64 + 0.5) / across as f64);
                let point = [0, 1].map(|k| low[k] + (high[k] - low[k]) * part[k]);
                if self.separation(point) <= 0.0 {
                    cells.push(point);
                }
            }
        }
        cells
    }
}

/// The convex hull, counter-clockwise, without points on its sides.
fn hull(mut points: Vec<[f64; 2]>) -> Vec<[f64; 2]> {
    points.sort_by(|a, b| a[0].total_cmp(&b[0]).then(a[1].total_cmp(&b[1])));
    let extent = points
        .iter()
        .flatten()
        .fold(0.0f64, |most, x| most.max(x.abs()));
    points.dedup_by(|a, b| (a[0] - b[0]).hypot(a[1] - b[1]) < 1e-9 * extent);
    let half = |points: &mut dyn Iterator<Item = [f64; 2]>| {
        let mut chain: Vec<[f64; 2]> = Vec::new();
        for point in points {
            while let [.., a, b] = chain[..] {
                let turn = (b[0] - a[0]) * (point[1] - a[1]) - (b[1] - a[1]) * (point[0] - a[0]);
                if turn > 1e-10 * extent * extent {
                    break;
                }
                chain.pop();
            }
            chain.push(point);
        }
        chain.pop();
        chain
    };
    let mut lower = half(&mut points.iter().copied());
    let upper = half(&mut points.iter().rev().copied());
    lower.extend(upper);
    lower
}

/// A body as it stands on the table.
#[derive(Clone, Debug, PartialEq)]
pub struct Standing {
    /// Its outline in its own frame, about the centre of mass for one that moves freely.
    pub outline: Outline,
    /// Mass (kg).
    pub mass: f64,
    /// Radius of gyration about the vertical (m).
    pub gyration: f64,
    /// Height of the centre of mass above the underside (m).
    pub height: f64,
    /// Acceleration of gravity (m/s²).
    pub gravity: f64,
}

/// The body of that name, with the corners of its geoms.
///
/// # Errors
/// When there is none, or its geoms have shapes that have no outline here.
pub fn standing(model: &Model, name: &str) -> Result<Standing, Error> {
    let structure = &*model.structure;
    let names = &structure.names.bodies;
    let Some(body) = names.iter().position(|known| known == name) else {
        let why = format!("there is no body '{name}' in the model");
        return Err(Error::new(ErrorKind::Name, why)
            .remedy(format!("its bodies are {}", names[1..].join(", "))));
    };
    let mut points: Vec<[f64; 3]> = Vec::new();
    for geom in 0..structure.geoms.body.len() {
        if structure.geoms.body[geom] != body {
            continue;
        }
        let (place, turn) = (model.geoms.position[geom], model.geoms.quat[geom]);
        let size = model.geoms.size[geom].0;
        let local: Vec<[f64; 3]> = match (structure.geoms.kind[geom], structure.geoms.shape[geom]) {
            (_, GeomShape::Mesh(mesh)) => {
                let range = structure.meshes.vertices[mesh].clone();
                model.meshes.vertex[range].iter().map(|v| v.0).collect()
            }
            (GeomKind::Box, _) => (0..8)
                .map(|k| [0, 1, 2].map(|i| if k >> i & 1 == 1 { size[i] } else { -size[i] }))
                .collect(),
            (GeomKind::Cylinder, _) => (0..2 * CIRCLE)
                .map(|k| {
                    let angle = std::f64::consts::TAU * (k / 2) as f64 / CIRCLE as f64;
                    let end = if k % 2 == 0 { size[1] } else { -size[1] };
                    [size[0] * angle.cos(), size[0] * angle.sin(), end]
                })
                .collect(),
            _ => {
                let why = format!("a geom of body '{name}' is no mesh, box or cylinder");
                return Err(Error::new(ErrorKind::Unsupported, why)
                    .remedy("give the body a mesh: its outline is read from the corners"));
            }
        };
        points.extend(
            local
                .iter()
                .map(|&point| (place + turn.rotate(Vec3(point))).0),
        );
    }
    let centre = model.bodies.inertial_position[body].0;
    let low = points.iter().fold(f64::INFINITY, |low, p| low.min(p[2]));
    let plan: Vec<[f64; 2]> = (points.iter())
        .map(|p| [p[0] - centre[0], p[1] - centre[1]])
        .collect();
    let outline = Outline::of_points(&plan)?;
    let mass = model.bodies.mass[body];
    let axis = model.bodies.inertial_quat[body];
    let up = axis.conjugate().rotate(Vec3([0.0, 0.0, 1.0])).0;
    let inertia = model.bodies.inertia[body].0;
    let about: f64 = (0..3).map(|i| inertia[i] * up[i] * up[i]).sum();
    Ok(Standing {
        outline,
        mass,
        gyration: (about / mass).sqrt(),
        height: centre[2] - low,
        gravity: model.option.gravity[0].0[2].abs(),
    })
}

/// The outline of a held body about the origin of its frame, as recordings have its pose.
///
/// # Errors
/// When there is no such body.
pub(super) fn about_origin(model: &Model, name: &str, held: &Standing) -> Result<Outline, Error> {
    let names = &model.structure.names.bodies;
    let body = names.iter().position(|known| known == name);
    let Some(body) = body else {
        return Err(Error::new(
            ErrorKind::Name,
            format!("there is no body '{name}'"),
        ));
    };
    let centre = model.bodies.inertial_position[body].0;
    let moved = held.outline.corners.iter();
    let points: Vec<[f64; 2]> = moved
        .map(|p| [p[0] + centre[0], p[1] + centre[1]])
        .collect();
    Outline::of_points(&points)
}
