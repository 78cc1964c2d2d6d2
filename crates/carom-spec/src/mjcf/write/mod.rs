//! Writes a [`ModelSpec`] as MJCF.
//!
//! The file is flat: no includes, frames or default classes; angles in radians, orientations as
//! quaternions, numbers in the fewest digits that read back to the same value, attributes only where they
//! differ from the built-in default. Reading it back gives the same [`ModelSpec`], apart from places in
//! the file and from the element an actuator was written with (all become `general`).

pub(super) mod actuator;
pub(super) mod asset;
pub(super) mod body;
pub(super) mod relation;
pub(super) mod sensor;
pub(super) mod settings;
pub(super) mod tag;

use crate::model_spec::ModelSpec;
pub(super) use tag::numbers_text;
use tag::{Output, Tag};

/// Where mesh vertices and height field elevations go.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AssetStorage {
    /// Files are named as in the model; only data without a file are written into the text.
    #[default]
    Files,
    /// All data are written into the text. Normals and texture coordinates of mesh files are left out:
    /// they do not matter to physics, and MJCF cannot hold all of them.
    Inline,
}

/// The model as MJCF text; asset files are named relative to the folder the model was read from.
///
/// ```
/// let mut spec = carom_spec::ModelSpec::default();
/// spec.name = "empty".to_owned();
/// assert!(carom_spec::mjcf::write(&spec).starts_with("<mujoco model=\"empty\">\n"));
/// ```
pub fn write(spec: &ModelSpec) -> String {
    write_with(spec, AssetStorage::Files)
}

/// The model as MJCF text, with a choice of where asset data go.
pub fn write_with(spec: &ModelSpec, storage: AssetStorage) -> String {
    let mut out = Output::default();
    out.open(&Tag::new("mujoco").text("model", &spec.name));
    settings::write(&mut out, spec);
    out.section("asset", |out| asset::write(out, spec, storage));
    body::write(&mut out, &spec.bodies);
    out.section("contact", |out| relation::write_contacts(out, spec));
    out.section("equality", |out| relation::write_equalities(out, spec));
    out.section("tendon", |out| relation::write_tendons(out, spec));
    out.section("actuator", |out| actuator::write(out, spec));
    out.section("sensor", |out| sensor::write(out, spec));
    out.section("keyframe", |out| settings::write_keyframes(out, spec));
    out.section("custom", |out| settings::write_custom(out, spec));
    out.close();
    out.finish()
}
