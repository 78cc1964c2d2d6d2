//! Fusing static bodies and dropping what only the viewer needs.

use std::borrow::Cow;

use carom_spec::ModelSpec;

use super::assets::Assets;
use super::report::Report;

/// The description that is compiled; `assets` keeps in step with its meshes and height fields.
pub(super) fn simplify<'a>(
    spec: &'a ModelSpec,
    assets: &mut Assets,
    report: &mut Report,
) -> Cow<'a, ModelSpec> {
    let _ = (assets, report);
    Cow::Borrowed(spec)
}
