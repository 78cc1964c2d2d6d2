//! The mappings that docs/recordings.md shows are ones that load.

use carom_tasks::collision_map::StrikeMapping;
use carom_tasks::identify::Settings;
use carom_tasks::learn::blueprint;
use carom_tasks::recording::Mapping;
use carom_tasks::scale::Maker;

use crate::support::root;

#[test]
fn every_mapping_of_the_page_is_understood() {
    let text = std::fs::read_to_string(root().join("docs/recordings.md")).unwrap();
    let mut count = 0;
    for part in text.split("```toml\n").skip(1) {
        let (example, _) = part.split_once("```").unwrap();
        Mapping::parse(example, "docs/recordings.md")
            .unwrap_or_else(|error| panic!("{error}\n{example}"));
        count += 1;
    }
    assert!(count >= 5, "{count} examples");
}

#[test]
fn every_mapping_setting_and_blueprint_that_ships_is_understood_and_models_compile() {
    let (mut mappings, mut settings, mut blueprints) = (0, 0, 0);
    for entry in std::fs::read_dir(root().join("datasets")).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if name.ends_with("_identify.toml") {
            assert!(!Settings::read(&path).unwrap().free.is_empty(), "{name}");
            settings += 1;
        } else if name.ends_with("_blueprint.toml") {
            assert!(!blueprint::read(&path).unwrap().terms.is_empty(), "{name}");
            blueprints += 1;
        } else if name.ends_with("_recipe.toml") {
            Maker::read(&path).unwrap();
        } else if name == "clash_strikes.toml" {
            assert!(StrikeMapping::read(&path).is_ok(), "{name}");
        } else if name.ends_with(".toml") {
            Mapping::read(&path).unwrap();
            mappings += 1;
        } else if name.ends_with(".xml") {
            assert!(carom::load::file(&path, &[]).is_ok(), "{name}");
        }
    }
    assert_eq!((mappings, settings, blueprints), (17, 10, 5));
}
