//! Keyframes and custom data.

use super::ObjectReference;
use crate::span::Span;

/// A stored state. Vectors left out in the file are empty and mean the initial value.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct KeyframeSpec {
    /// Name; empty when unnamed.
    pub name: String,
    /// Place of the start tag.
    pub span: Span,
    /// Time (s).
    pub time: f64,
    /// Joint positions.
    pub qpos: Vec<f64>,
    /// Joint velocities.
    pub qvel: Vec<f64>,
    /// Activations.
    pub activation: Vec<f64>,
    /// Mocap positions.
    pub mocap_position: Vec<f64>,
    /// Mocap quaternions.
    pub mocap_quaternion: Vec<f64>,
    /// Controls.
    pub control: Vec<f64>,
}

/// Named numbers.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct NumericSpec {
    /// Name.
    pub name: String,
    /// Place of the start tag.
    pub span: Span,
    /// Size of the array; the data are padded with zeros to it.
    pub size: usize,
    /// Values.
    pub data: Vec<f64>,
}

/// A named text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TextSpec {
    /// Name.
    pub name: String,
    /// Place of the start tag.
    pub span: Span,
    /// Text.
    pub data: String,
}

/// One element of a tuple.
#[derive(Clone, Debug, PartialEq)]
pub struct TupleElement {
    /// The element referred to.
    pub object: ObjectReference,
    /// A parameter of the user.
    pub parameter: f64,
}

/// A named list of elements.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TupleSpec {
    /// Name.
    pub name: String,
    /// Place of the start tag.
    pub span: Span,
    /// Elements.
    pub elements: Vec<TupleElement>,
}
