//! Every shipped model has reference results, unless MuJoCo lacks what it says.

use super::Repository;

const MANIFEST: &str = "tests/reference/manifest.json";

/// Texts of this name say what MuJoCo ignores: the motion of such a model is not MuJoCo's.
const EXTENSION: &str = "<text name=\"carom/";

/// Model files under `models/` appear in the manifest, except parts that other models include and models with texts that
/// MuJoCo ignores.
pub(super) fn references_are_listed(repository: &Repository) -> Vec<String> {
    let manifest = repository.text(MANIFEST).unwrap_or_default();
    let models = repository
        .with_extension("xml")
        .chain(repository.with_extension("urdf"));
    models
        .filter(|file| file.path.starts_with("models/") && !file.path.contains("/parts/"))
        .filter(|file| !file.text.contains(EXTENSION))
        .filter(|file| !manifest.contains(&format!("/{}\"", file.path)))
        .map(|file| format!("{}: not in {MANIFEST}", file.path))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::{MANIFEST, Repository, references_are_listed};

    #[test]
    fn a_model_without_reference_is_reported() {
        let repository = Repository::of(&[
            ("models/a.xml", ""),
            ("models/b.urdf", ""),
            ("models/parts/c.xml", ""),
            (
                "models/d.xml",
                "<text name=\"carom/joint/j\" data=\"law=cogging; joint=j\"/>",
            ),
            (
                MANIFEST,
                r#"[{"name": "a", "file": "../../../models/a.xml"}]"#,
            ),
        ]);
        assert_eq!(
            references_are_listed(&repository),
            [format!("models/b.urdf: not in {MANIFEST}")]
        );
    }
}
