//! What only the viewer needs: cameras, lights, statistics, visual settings.

use super::Reference;
use crate::span::Span;

/// How a camera or light follows its body.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TrackingMode {
    /// Fixed in the body.
    #[default]
    Fixed,
    /// Position follows, orientation stays.
    Track,
    /// Position follows the subtree's centre of mass, orientation stays.
    TrackCom,
    /// Looks at a target body.
    TargetBody,
    /// Looks at a target subtree's centre of mass.
    TargetBodyCom,
}

/// A camera.
#[derive(Clone, Debug, PartialEq)]
pub struct CameraSpec {
    /// Name; empty when unnamed.
    pub name: String,
    /// Place of the start tag.
    pub span: Span,
    /// How it follows.
    pub mode: TrackingMode,
    /// Target of the target modes.
    pub target: Option<Reference>,
    /// Position in the body frame (m).
    pub position: [f64; 3],
    /// Orientation in the body frame, unit quaternion (w, x, y, z).
    pub quaternion: [f64; 4],
    /// Orthographic rather than perspective.
    pub orthographic: bool,
    /// Vertical field of view (degrees, or m when orthographic).
    pub field_of_view: f64,
    /// Distance between pupils (m).
    pub inter_pupillary_distance: f64,
    /// Resolution (pixels).
    pub resolution: [u32; 2],
    /// Size of the sensor (m); zeros when not given.
    pub sensor_size: [f64; 2],
    /// Focal length (m); zeros when not given.
    pub focal_length: [f64; 2],
    /// Focal length (pixels); zeros when not given.
    pub focal_pixels: [f64; 2],
    /// Principal point (m).
    pub principal_length: [f64; 2],
    /// Principal point (pixels).
    pub principal_pixels: [f64; 2],
    /// User data.
    pub user: Vec<f64>,
}

impl Default for CameraSpec {
    fn default() -> Self {
        Self {
            name: String::new(),
            span: Span::default(),
            mode: TrackingMode::Fixed,
            target: None,
            position: [0.0; 3],
            quaternion: [1.0, 0.0, 0.0, 0.0],
            orthographic: false,
            field_of_view: 45.0,
            inter_pupillary_distance: 0.068,
            resolution: [1, 1],
            sensor_size: [0.0; 2],
            focal_length: [0.0; 2],
            focal_pixels: [0.0; 2],
            principal_length: [0.0; 2],
            principal_pixels: [0.0; 2],
            user: Vec::new(),
        }
    }
}

/// Type of a light.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LightKind {
    /// Spot light.
    #[default]
    Spot,
    /// Parallel light.
    Directional,
    /// Point light.
    Point,
    /// Image-based light.
    Image,
}

/// A light.
#[derive(Clone, Debug, PartialEq)]
pub struct LightSpec {
    /// Name; empty when unnamed.
    pub name: String,
    /// Place of the start tag.
    pub span: Span,
    /// How it follows.
    pub mode: TrackingMode,
    /// Target of the target modes.
    pub target: Option<Reference>,
    /// Type.
    pub kind: LightKind,
    /// Position in the body frame (m).
    pub position: [f64; 3],
    /// Direction in the body frame.
    pub direction: [f64; 3],
    /// Switched on.
    pub active: bool,
    /// Casts shadows.
    pub cast_shadow: bool,
    /// Ambient colour.
    pub ambient: [f64; 3],
    /// Diffuse colour.
    pub diffuse: [f64; 3],
    /// Specular colour.
    pub specular: [f64; 3],
    /// Quadratic attenuation.
    pub attenuation: [f64; 3],
    /// Cone angle of a spot light (degrees).
    pub cutoff: f64,
    /// Exponent of a spot light.
    pub exponent: f64,
}

impl Default for LightSpec {
    fn default() -> Self {
        Self {
            name: String::new(),
            span: Span::default(),
            mode: TrackingMode::Fixed,
            target: None,
            kind: LightKind::Spot,
            position: [0.0; 3],
            direction: [0.0, 0.0, -1.0],
            active: true,
            cast_shadow: true,
            ambient: [0.0; 3],
            diffuse: [0.7; 3],
            specular: [0.3; 3],
            attenuation: [1.0, 0.0, 0.0],
            cutoff: 45.0,
            exponent: 10.0,
        }
    }
}

/// Overrides of the model statistics; `None` computes them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StatisticSpec {
    /// Mean diagonal inertia.
    pub mean_inertia: Option<f64>,
    /// Mean body mass (kg).
    pub mean_mass: Option<f64>,
    /// Mean body size (m).
    pub mean_size: Option<f64>,
    /// Extent of the model (m).
    pub extent: Option<f64>,
    /// Centre of the model (m).
    pub center: Option<[f64; 3]>,
}

/// One attribute of the `visual` section, kept as text for the viewer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct VisualSetting {
    /// Element, such as `headlight`.
    pub element: String,
    /// Attribute, such as `ambient`.
    pub attribute: String,
    /// Value as written.
    pub value: String,
}
