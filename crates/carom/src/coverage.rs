//! What a model asks for and the engine does not do yet, in sentences: said when a model is loaded, so that no number
//! is wrong in silence.

use crate::model::{Model, SensorKind};
use crate::stages::collision;

/// One sentence for each thing of this model that has no effect yet; empty for a model that is simulated in full.
pub fn gaps(model: &Model) -> Vec<String> {
    [colliders(model), sensors(model)]
        .into_iter()
        .flatten()
        .collect()
}

fn colliders(model: &Model) -> Option<String> {
    let pairs = collision::unsupported_pairs(model);
    let name = |pair: &[crate::model::GeomKind; 2]| format!("{:?}-{:?}", pair[0], pair[1]);
    let list: Vec<_> = pairs.iter().map(name).collect();
    (!list.is_empty()).then(|| {
        format!(
            "contacts of {} are not found yet; such geoms pass through each other",
            list.join(", ").to_lowercase()
        )
    })
}

/// Whether a kind of sensor is evaluated; others read zero.
pub fn is_evaluated(kind: SensorKind) -> bool {
    !matches!(kind, SensorKind::InsideSite(true) | SensorKind::User(_))
}

fn sensors(model: &Model) -> Option<String> {
    let structure = &*model.structure;
    let list: Vec<_> = structure
        .sensors
        .list
        .iter()
        .enumerate()
        .filter(|(_, sensor)| !is_evaluated(sensor.kind))
        .map(
            |(sensor, _)| match structure.names.sensors[sensor].as_str() {
                "" => sensor.to_string(),
                name => format!("'{name}'"),
            },
        )
        .collect();
    (!list.is_empty()).then(|| {
        format!(
            "sensors {} are not evaluated yet and read zero",
            list.join(", ")
        )
    })
}

#[cfg(test)]
mod tests {
    use super::gaps;
    use crate::testing::model_from_mjcf;

    #[test]
    fn what_has_no_effect_is_said() {
        let model = model_from_mjcf(
            r#"<mujoco><worldbody>
              <body name="a"><freejoint/><geom type="box" size=".1 .1 .1"/><site name="s"/></body>
              <body name="b"><freejoint/><geom type="box" size=".1 .1 .1"/></body></worldbody>
              <sensor><user name="finger" dim="1"/><touch site="s"/><clock/></sensor></mujoco>"#,
        );
        let said = gaps(&model).join("\n");
        assert!(said.contains("sensors 'finger' are"), "{said}");
        let model = model_from_mjcf(
            r#"<mujoco><worldbody><geom type="plane" size="1 1 1"/>
              <body><freejoint/><geom type="box" size=".1 .1 .1"/></body></worldbody></mujoco>"#,
        );
        assert_eq!(gaps(&model), Vec::<String>::new());
    }
}
