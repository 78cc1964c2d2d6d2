//! Every shipped model has reference results.

use super::Repository;

const MANIFEST: &str = "tests/reference/manifest.json";

/// Model files under `models/` appear in the manifest, except parts that other models include.
pub(super) fn references_are_listed(repository: &Repository) -> Vec<String> {
    let manifest = repository.text(MANIFEST).unwrap_or_default();
    let models = repository
        .with_extension("xml")
        .chain(repository.with_extension("urdf"));
    models
        .filter(|file| file.path.starts_with("models/") && !file.path.contains("/parts/"))
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
