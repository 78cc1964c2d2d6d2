//! Maps of collisions in `<custom>`: texts that MuJoCo reads and ignores, and a file of weights beside the model.
//!
//! ```xml
//! <custom>
//!   <text name="carom/collision/block_prism" data="struck=prism; striker=block; table=table;
//!     arm=0.006 12 0.25 0.06; quiet=0.0025; weights=hybrid.safetensors"/>
//! </custom>
//! ```
//!
//! The label is the name of the map in the file of weights, see [`CollisionMapSpec`]. `carom learn collision` writes both.

use super::codes;
use super::extension::{self, Data, Entry, Extension};
use super::write::numbers_text;
use crate::diagnostic::Diagnostic;
use crate::model_spec::{CollisionMapSpec, ModelSpec};
use crate::weights;

/// The family of the texts.
const FAMILY: &str = "collision";

/// Keys of a map.
const KEYS: [&str; 6] = ["struck", "striker", "table", "arm", "quiet", "weights"];

/// What to do where a file of weights does not serve.
const LEARN: &str = "`carom learn collision` writes such files beside their scenes";

impl Extension<'_, '_> {
    /// Reads a map and its numbers.
    pub(super) fn read_collision_map(&self, spec: &mut ModelSpec) {
        self.check_keys("map of collisions", &KEYS.into_iter());
        let names = ["struck", "striker", "table"].map(|key| {
            let what = if key == "table" { "geom" } else { "body" };
            self.reference(key, what)
        });
        let [Some(struck), Some(striker), Some(table)] = names else {
            let message = format!(
                "'{}' does not say what strikes what on which table",
                self.name
            );
            self.refuse(
                message,
                "give it 'struck' and 'striker' (bodies), and 'table' (a geom)",
            );
            return;
        };
        if spec.collision_maps.iter().any(|map| map.name == self.label) {
            let message = format!("two maps of collisions are called '{}'", self.name);
            let problems = &self.reader.problems;
            problems.error(codes::REPEATED_NAME, self.place, message);
        }
        let mut map = CollisionMapSpec {
            name: self.label.to_owned(),
            span: self.span,
            struck,
            striker,
            table,
            arm: [0.0; 4],
            quiet: 0.0,
            numbers: Vec::new(),
            limits: Vec::new(),
            fingerprint: 0,
            weights_file: String::new(),
        };
        self.numbers("arm", &mut map.arm);
        self.number("quiet", &mut map.quiet);
        if map.arm.iter().any(|number| *number < 0.0) || map.quiet < 0.0 {
            self.problem(self.data_span, "'arm' and 'quiet' have negative numbers");
        }
        match self.find("weights") {
            Some(entry) => self.read_map(entry, &mut map),
            None => self.refuse(format!("'{}' names no file of weights", self.name), LEARN),
        }
        spec.collision_maps.push(map);
    }

    fn read_map(&self, entry: &Entry<'_>, map: &mut CollisionMapSpec) {
        let path = self.reader.find_asset(entry.value, "", self.span.file);
        let found = match self.reader.loader.source.read(&path) {
            Ok(bytes) => weights::read(&bytes),
            Err(error) => Err(error.to_string()),
        };
        entry.value.clone_into(&mut map.weights_file);
        let refuse = |message: String| {
            let diagnostic = Diagnostic::error(codes::ASSET, message);
            let diagnostic = diagnostic.at(entry.value_span).help(LEARN);
            self.reader.problems.push(diagnostic);
        };
        match found {
            Err(why) => refuse(format!("weights '{}' cannot be used: {why}", entry.value)),
            Ok(all) => match all.into_iter().find(|own| own.name == map.name) {
                None => refuse(format!("'{}' has no map '{}'", entry.value, map.name)),
                Some(own) => {
                    map.numbers = own.weights;
                    map.limits = own.range.iter().map(|ends| ends[1]).collect();
                    map.fingerprint = own.fingerprint;
                }
            },
        }
    }
}

/// Name and text of the element that describes the map.
pub(super) fn write(map: &CollisionMapSpec) -> (String, String) {
    let mut data = Data::default();
    data.push("struck", &map.struck.name);
    data.push("striker", &map.striker.name);
    data.push("table", &map.table.name);
    data.push("arm", &numbers_text(&map.arm));
    data.push("quiet", &numbers_text(&[map.quiet]));
    data.push("weights", &map.weights_file);
    (extension::name(FAMILY, &map.name), data.0)
}
