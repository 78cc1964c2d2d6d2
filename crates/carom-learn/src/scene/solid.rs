//! What bodies are made of: convex polytopes, and planes that stay where they are.

use carom::math::{Mat3, Vec3};

/// A flat face of a convex solid.
#[derive(Clone, Debug, PartialEq)]
pub struct Face {
    /// Outward unit normal.
    pub normal: Vec3,
    /// Distance of its plane from the centre (m).
    pub offset: f64,
    /// Its corners in order, indices of vertices.
    pub corners: Vec<usize>,
}

/// A convex solid, or a plane.
#[derive(Clone, Debug, PartialEq)]
pub struct Solid {
    /// Vertices (m) from their mean, in axes of the body; none for a plane.
    pub vertices: Vec<Vec3>,
    /// Faces; that of a plane is its own.
    pub faces: Vec<Face>,
    /// Edges, each once.
    pub edges: Vec<[usize; 2]>,
    /// Mass (kg); none if nothing moves it.
    pub mass: Option<f64>,
    /// Coefficient of friction.
    pub friction: f64,
    /// Principal moments of a homogeneous box of its size (kg m²) in axes of the body.
    pub inertia: Vec3,
    /// Second moment of the vertices, Σ r rᵀ (m²).
    pub spread: Mat3,
    /// The farthest vertex (m).
    pub radius: f64,
}

/// Points in a plane or fewer than four: they bound nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlatSolid;

impl Solid {
    /// A plane with its top at z = 0 of its frame.
    pub fn plane(friction: f64) -> Self {
        Self {
            vertices: Vec::new(),
            faces: vec![Face {
                normal: Vec3::Z,
                offset: 0.0,
                corners: Vec::new(),
            }],
            edges: Vec::new(),
            mass: None,
            friction,
            inertia: Vec3::ZERO,
            spread: Mat3::default(),
            radius: f64::INFINITY,
        }
    }

    /// A box.
    pub fn cuboid(half_size: Vec3, mass: Option<f64>, friction: f64) -> Self {
        let corner = |index: usize| {
            Vec3(std::array::from_fn(|axis| {
                if index >> axis & 1 == 1 {
                    half_size[axis]
                } else {
                    -half_size[axis]
                }
            }))
        };
        // Two corners of each axis's faces, anticlockwise from outside.
        let faces = (0..6).map(|face| {
            let (axis, is_high) = (face / 2, face % 2 == 1);
            let (u, v) = (1 << ((axis + 1) % 3), 1 << ((axis + 2) % 3));
            let base = if is_high { 1 << axis } else { 0 };
            let mut corners = vec![base, base + u, base + u + v, base + v];
            if !is_high {
                corners.reverse();
            }
            let mut normal = Vec3::ZERO;
            normal[axis] = if is_high { 1.0 } else { -1.0 };
            Face {
                normal,
                offset: half_size[axis],
                corners,
            }
        });
        Self::polytope(
            (0..8).map(corner).collect(),
            faces.collect(),
            mass,
            friction,
        )
    }

    /// The convex hull of points, and where the mean of its vertices is.
    ///
    /// # Errors
    /// When the points bound no volume.
    pub fn hull(
        points: &[[f64; 3]],
        mass: Option<f64>,
        friction: f64,
    ) -> Result<(Self, Vec3), FlatSolid> {
        let hull = carom_hull::convex_hull(points, None).map_err(|_| FlatSolid)?;
        let topology = hull.topology;
        let vertices = topology.vertices.iter();
        let corners: Vec<Vec3> = vertices.map(|&v| Vec3(points[v as usize])).collect();
        let mut center = Vec3::ZERO;
        for &corner in &corners {
            center += corner * (1.0 / corners.len() as f64);
        }
        let corners: Vec<Vec3> = corners.iter().map(|&corner| corner - center).collect();
        let face = |outline: &[u32]| {
            let outline: Vec<usize> = outline.iter().map(|&v| v as usize).collect();
            // Newell's normal: right for outlines that are flat only nearly.
            let mut normal = Vec3::ZERO;
            let mut middle = Vec3::ZERO;
            for (place, &corner) in outline.iter().enumerate() {
                let next = outline[(place + 1) % outline.len()];
                normal += corners[corner].cross(corners[next]);
                middle += corners[corner] * (1.0 / outline.len() as f64);
            }
            let normal = normal.normalized().0;
            Face {
                normal,
                offset: normal.dot(middle),
                corners: outline,
            }
        };
        let faces = topology.polygons.iter().map(face).collect();
        Ok((Self::polytope(corners, faces, mass, friction), center))
    }

    fn polytope(vertices: Vec<Vec3>, faces: Vec<Face>, mass: Option<f64>, friction: f64) -> Self {
        let mut edges = Vec::new();
        for face in &faces {
            for (place, &from) in face.corners.iter().enumerate() {
                let to = face.corners[(place + 1) % face.corners.len()];
                // The neighbour face has it the other way round.
                if from < to {
                    edges.push([from, to]);
                }
            }
        }
        let (mut spread, mut radius, mut size) = (Mat3::default(), 0.0_f64, Vec3::<f64>::ZERO);
        for &vertex in &vertices {
            spread += vertex.outer(vertex);
            radius = radius.max(vertex.norm());
            size = Vec3(std::array::from_fn(|axis| {
                size[axis].max(vertex[axis].abs())
            }));
        }
        let third = mass.unwrap_or(0.0) / 3.0;
        let [x, y, z] = size.0.map(|half| half * half);
        Self {
            vertices,
            faces,
            edges,
            mass,
            friction,
            inertia: Vec3::new(third * (y + z), third * (z + x), third * (x + y)),
            spread,
            radius,
        }
    }

    /// Half of its largest extent along axes of the body (m).
    pub fn half_extent(&self) -> f64 {
        let sizes = self.vertices.iter().flat_map(|vertex| vertex.0);
        sizes.fold(0.0, |most, size| most.max(size.abs()))
    }

    /// Whether its mirror image is itself: a box, or a plane.
    pub fn is_symmetric(&self) -> bool {
        let flipped = |vertex: &Vec3| Vec3::new(vertex[0], -vertex[1], vertex[2]);
        let is_there = |mirrored: Vec3| {
            let mut others = self.vertices.iter();
            others.any(|vertex| vertex.distance(mirrored) <= 1e-9 * self.radius)
        };
        self.vertices.iter().map(flipped).all(is_there)
    }

    /// Whether nothing moves it.
    pub fn is_static(&self) -> bool {
        self.mass.is_none()
    }
}

/// All solids of a graph. Those that move come first.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Scene {
    /// What there is.
    pub solids: Vec<Solid>,
}

impl Scene {
    /// How many move.
    pub fn moving(&self) -> usize {
        self.solids
            .iter()
            .take_while(|solid| !solid.is_static())
            .count()
    }

    /// Whether mirror images of its solids are themselves.
    pub fn is_symmetric(&self) -> bool {
        self.solids.iter().all(Solid::is_symmetric)
    }

    /// Mesh nodes: vertices of what moves.
    pub fn nodes(&self) -> usize {
        let moving = self.solids.iter().filter(|solid| !solid.is_static());
        moving.map(|solid| solid.vertices.len()).sum()
    }
}
