//! Fusing static bodies and dropping what only the viewer needs, before anything else is compiled.
//!
//! Both change the description, not the mechanism: the simplified model moves like the original. What is referred to by
//! name stays.

mod discard_visual;
mod fuse_static;
mod references;

use std::borrow::Cow;

use carom_spec::ModelSpec;

use super::assets::Assets;
use super::report::Report;
pub(super) use discard_visual::needed_meshes;

/// The description that is compiled; `assets` keeps in step with its meshes and height fields.
pub(super) fn simplify<'a>(
    spec: &'a ModelSpec,
    assets: &mut Assets,
    report: &mut Report,
) -> Cow<'a, ModelSpec> {
    let mut simplified = Cow::Borrowed(spec);
    if spec.compiler.discard_visual {
        discard_visual::discard(simplified.to_mut(), assets, report);
    }
    if spec.compiler.fuse_static {
        fuse_static::fuse(simplified.to_mut(), assets);
    }
    simplified
}
