//! Geoms and sites.

use super::{DEFAULT_SOLVER_IMPEDANCE, DEFAULT_SOLVER_REFERENCE, Reference};
use crate::span::Span;

/// Shape of a geom or site.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum GeomKind {
    /// Plane with normal z, infinite for collisions.
    Plane,
    /// Height field asset.
    HeightField,
    /// Sphere.
    #[default]
    Sphere,
    /// Capsule along z.
    Capsule,
    /// Ellipsoid.
    Ellipsoid,
    /// Cylinder along z.
    Cylinder,
    /// Box.
    Box,
    /// Mesh asset.
    Mesh,
}

/// One geom of a body.
#[derive(Clone, Debug, PartialEq)]
pub struct GeomSpec {
    /// Name; empty when unnamed.
    pub name: String,
    /// Place of the start tag.
    pub span: Span,
    /// Shape. A primitive shape together with a `mesh` is fitted to that mesh.
    pub kind: GeomKind,
    /// Position in the body frame (m).
    pub position: [f64; 3],
    /// Orientation in the body frame, unit quaternion (w, x, y, z).
    pub quaternion: [f64; 4],
    /// Two points that define position, orientation and length of an elongated shape (m).
    pub fromto: Option<[f64; 6]>,
    /// Sizes with a meaning that depends on the shape (m).
    pub size: [f64; 3],
    /// Height field of a height field geom.
    pub height_field: Option<Reference>,
    /// Mesh of a mesh geom, or mesh to which a primitive is fitted.
    pub mesh: Option<Reference>,
    /// Factor on the sizes of a primitive fitted to a mesh.
    pub fit_scale: f64,
    /// Whether the file asks for contacts by the mesh's signed distance (type sdf); carom uses the convex hull.
    pub signed_distance: bool,
    /// Contact type bits.
    pub contype: i32,
    /// Contact affinity bits.
    pub conaffinity: i32,
    /// Dimension of the contact space: 1, 3, 4 or 6.
    pub contact_dimension: u8,
    /// Priority of the geom's parameters in a contact.
    pub priority: i32,
    /// Friction coefficients: sliding, torsional, rolling.
    pub friction: [f64; 3],
    /// Weight when the solver parameters of two geoms are mixed.
    pub solver_mix: f64,
    /// Solver reference of contacts.
    pub solver_reference: [f64; 2],
    /// Solver impedance of contacts.
    pub solver_impedance: [f64; 5],
    /// Distance below which contacts are found (m).
    pub margin: f64,
    /// Part of the margin in which contacts are found but not active (m).
    pub gap: f64,
    /// Velocity of the surface, linear then angular; other values than 0 are not supported.
    pub surface_velocity: [f64; 6],
    /// Adhesive force of contacts; other values than 0 are not supported.
    pub adhesion: f64,
    /// Mass (kg); `None` uses the density.
    pub mass: Option<f64>,
    /// Density (kg/m³, or kg/m² for shells).
    pub density: f64,
    /// Concentrates the mass on the surface.
    pub shell_inertia: bool,
    /// Uses the ellipsoid fluid model.
    pub fluid_ellipsoid: bool,
    /// Ellipsoid fluid coefficients: blunt drag, slender drag, angular drag, Kutta lift, Magnus lift.
    pub fluid_coefficients: [f64; 5],
    /// Material for the viewer.
    pub material: Option<Reference>,
    /// Colour when there is no material.
    pub rgba: [f64; 4],
    /// Group for visualisation and for inertia inference.
    pub group: i32,
    /// User data.
    pub user: Vec<f64>,
}

impl Default for GeomSpec {
    fn default() -> Self {
        Self {
            name: String::new(),
            span: Span::default(),
            kind: GeomKind::Sphere,
            position: [0.0; 3],
            quaternion: [1.0, 0.0, 0.0, 0.0],
            fromto: None,
            size: [0.0; 3],
            height_field: None,
            mesh: None,
            fit_scale: 1.0,
            signed_distance: false,
            contype: 1,
            conaffinity: 1,
            contact_dimension: 3,
            priority: 0,
            friction: [1.0, 0.005, 0.0001],
            solver_mix: 1.0,
            solver_reference: DEFAULT_SOLVER_REFERENCE,
            solver_impedance: DEFAULT_SOLVER_IMPEDANCE,
            margin: 0.0,
            gap: 0.0,
            surface_velocity: [0.0; 6],
            adhesion: 0.0,
            mass: None,
            density: 1000.0,
            shell_inertia: false,
            fluid_ellipsoid: false,
            fluid_coefficients: [0.5, 0.25, 1.5, 1.0, 1.0],
            material: None,
            rgba: [0.5, 0.5, 0.5, 1.0],
            group: 0,
            user: Vec::new(),
        }
    }
}

/// One site: a marked frame on a body.
#[derive(Clone, Debug, PartialEq)]
pub struct SiteSpec {
    /// Name; empty when unnamed.
    pub name: String,
    /// Place of the start tag.
    pub span: Span,
    /// Shape.
    pub kind: GeomKind,
    /// Position in the body frame (m).
    pub position: [f64; 3],
    /// Orientation in the body frame, unit quaternion (w, x, y, z).
    pub quaternion: [f64; 4],
    /// Two points that define position, orientation and length of an elongated shape (m).
    pub fromto: Option<[f64; 6]>,
    /// Sizes with a meaning that depends on the shape (m).
    pub size: [f64; 3],
    /// Mesh of a mesh site.
    pub mesh: Option<Reference>,
    /// Material for the viewer.
    pub material: Option<Reference>,
    /// Colour when there is no material.
    pub rgba: [f64; 4],
    /// Group for visualisation.
    pub group: i32,
    /// User data.
    pub user: Vec<f64>,
}

impl Default for SiteSpec {
    fn default() -> Self {
        Self {
            name: String::new(),
            span: Span::default(),
            kind: GeomKind::Sphere,
            position: [0.0; 3],
            quaternion: [1.0, 0.0, 0.0, 0.0],
            fromto: None,
            size: [0.005; 3],
            mesh: None,
            material: None,
            rgba: [0.5, 0.5, 0.5, 1.0],
            group: 0,
            user: Vec::new(),
        }
    }
}
