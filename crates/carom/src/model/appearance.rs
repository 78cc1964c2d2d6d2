//! What a model looks like; no part of the physics.

/// Colours and materials of what is drawn, by id. Every number is finite.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Appearance {
    /// Geoms.
    pub geoms: Vec<Look>,
    /// Sites.
    pub sites: Vec<Look>,
    /// Tendons.
    pub tendons: Vec<Look>,
    /// Radius of each tendon (m).
    pub tendon_width: Vec<f64>,
    /// Extent of the model, where the file gives it (m).
    pub extent: Option<f64>,
    /// Centre of the model, where the file gives it (m).
    pub center: Option<[f64; 3]>,
}

// Equality is total, since all numbers are finite.
impl Eq for Appearance {}

/// Colour and material of one element.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Look {
    /// Red, green, blue and opacity, 0…1.
    pub rgba: [f64; 4],
    /// How it shines, where the file gives it a material.
    pub material: Option<Shine>,
}

/// How a material answers to light, each 0…1.
#[derive(Clone, Copy, Debug, PartialEq)]
#[allow(missing_docs, reason = "the file format's names")]
pub struct Shine {
    pub specular: f64,
    pub shininess: f64,
    pub reflectance: f64,
    pub emission: f64,
}
