//! Which elements others refer to by name.

use std::collections::HashSet;

use carom_spec::ModelSpec;
use carom_spec::model_spec::{
    EqualityKind, EqualityObjects, ObjectKind, ObjectReference, Reference, SensorNeed, TendonPath,
    Transmission, WrapSpec,
};

/// Names of elements that must stay because others refer to them.
#[derive(Debug, Default)]
pub(super) struct References {
    /// Bodies.
    pub(super) bodies: HashSet<String>,
    /// Geoms.
    pub(super) geoms: HashSet<String>,
    /// Meshes, other than by geoms and sites.
    pub(super) meshes: HashSet<String>,
    /// Sites at which the force between a body and its parent is measured.
    pub(super) force_sites: HashSet<String>,
}

impl References {
    /// Collects the references of a description.
    pub(super) fn new(spec: &ModelSpec) -> Self {
        let mut references = Self::default();
        references.add_contacts(spec);
        references.add_viewer(spec);
        references.add_equalities(spec);
        references.add_tendons(spec);
        for actuator in &spec.actuators {
            if let Some(Transmission::Body(body)) = &actuator.transmission {
                references.add_body(body);
            }
        }
        references.add_sensors(spec);
        for member in spec.tuples.iter().flat_map(|tuple| &tuple.elements) {
            references.add_object(&member.object);
        }
        references
    }

    fn add_body(&mut self, body: &Reference) {
        self.bodies.insert(body.name.clone());
    }

    fn add_geom(&mut self, geom: &Reference) {
        self.geoms.insert(geom.name.clone());
    }

    fn add_object(&mut self, object: &ObjectReference) {
        match object.kind {
            ObjectKind::Body | ObjectKind::BodyInertial | ObjectKind::Subtree => {
                self.add_body(&object.reference);
            }
            ObjectKind::Geom => self.add_geom(&object.reference),
            ObjectKind::Mesh => {
                self.meshes.insert(object.reference.name.clone());
            }
            _ => {}
        }
    }

    fn add_contacts(&mut self, spec: &ModelSpec) {
        for pair in &spec.pairs {
            self.add_geom(&pair.geom1);
            self.add_geom(&pair.geom2);
        }
        for law in &spec.contact_laws {
            for geom in law.geom1.iter().chain(&law.geom2) {
                self.add_geom(geom);
            }
        }
        for exclude in &spec.excludes {
            self.add_body(&exclude.body1);
            self.add_body(&exclude.body2);
        }
    }

    /// Targets of cameras and lights.
    fn add_viewer(&mut self, spec: &ModelSpec) {
        for body in &spec.bodies {
            let cameras = body
                .cameras
                .iter()
                .filter_map(|camera| camera.target.as_ref());
            let lights = body.lights.iter().filter_map(|light| light.target.as_ref());
            for target in cameras.chain(lights) {
                self.add_body(target);
            }
        }
    }

    fn add_equalities(&mut self, spec: &ModelSpec) {
        for equality in &spec.equalities {
            if let EqualityKind::Connect { objects, .. } | EqualityKind::Weld { objects, .. } =
                &equality.kind
                && let EqualityObjects::Bodies { first, second } = objects
            {
                self.add_body(first);
                if let Some(second) = second {
                    self.add_body(second);
                }
            }
        }
    }

    fn add_tendons(&mut self, spec: &ModelSpec) {
        for tendon in &spec.tendons {
            let TendonPath::Spatial(path) = &tendon.path else {
                continue;
            };
            for wrap in path {
                if let WrapSpec::Geom { geom, .. } = wrap {
                    self.add_geom(geom);
                }
            }
        }
    }

    fn add_sensors(&mut self, spec: &ModelSpec) {
        for sensor in &spec.sensors {
            for object in sensor.object.iter().chain(&sensor.reference) {
                self.add_object(object);
                let reads_force = sensor.kind.row().need == SensorNeed::InteractionForce;
                if reads_force && object.kind == ObjectKind::Site {
                    self.force_sites.insert(object.reference.name.clone());
                }
            }
        }
    }
}
