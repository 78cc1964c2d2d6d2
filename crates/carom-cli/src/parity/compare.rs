//! One comparison of two arrays, and what is said about it.

use carom::model::Names;
pub(crate) use carom_mujoco::Family;

/// Names of rows: of elements where they have one, `dof 3 (knee)` for what belongs to an element.
pub(crate) struct RowNames<'a> {
    /// Names of the model.
    pub names: &'a Names,
    /// Joint of each dof.
    pub dof_joint: &'a [usize],
    /// Joint of each coordinate.
    pub qpos_joint: Vec<usize>,
    /// Sensor of each output value.
    pub value_sensor: Vec<usize>,
    /// The model itself.
    pub model: &'a carom::Model,
}

impl<'a> RowNames<'a> {
    /// Names of the rows of a model's arrays.
    pub(crate) fn new(model: &'a carom::Model) -> Self {
        let structure = &*model.structure;
        let mut qpos_joint = Vec::with_capacity(structure.counts.nq);
        for (joint, &start) in structure.joints.qpos.iter().enumerate() {
            qpos_joint.resize(start.max(qpos_joint.len()), joint);
            qpos_joint.push(joint);
        }
        qpos_joint.resize(
            structure.counts.nq,
            structure.counts.njoint.saturating_sub(1),
        );
        let mut value_sensor = Vec::with_capacity(structure.counts.nsensor_value);
        for (sensor, &dimension) in structure.sensors.dimension.iter().enumerate() {
            value_sensor.extend(std::iter::repeat_n(sensor, dimension));
        }
        // Coordinates of a joint run up to the next joint's first.
        for (joint, &start) in structure.joints.qpos.iter().enumerate() {
            let end = structure
                .joints
                .qpos
                .get(joint + 1)
                .copied()
                .unwrap_or(structure.counts.nq);
            qpos_joint[start..end].fill(joint);
        }
        Self {
            names: &structure.names,
            dof_joint: &structure.dofs.joint,
            qpos_joint,
            value_sensor,
            model,
        }
    }

    /// The name of a row.
    pub(crate) fn row(&self, family: Family, row: usize) -> String {
        let n = self.names;
        let (kind, list, index) = match family {
            Family::Body => ("body", &n.bodies, row),
            Family::Joint => ("joint", &n.joints, row),
            Family::Geom => ("geom", &n.geoms, row),
            Family::Site => ("site", &n.sites, row),
            Family::Mesh => ("mesh", &n.meshes, row),
            Family::HeightField => ("hfield", &n.height_fields, row),
            Family::Pair => ("pair", &n.pairs, row),
            Family::Equality => ("equality", &n.equalities, row),
            Family::Tendon => ("tendon", &n.tendons, row),
            Family::Actuator => ("actuator", &n.actuators, row),
            Family::Sensor => ("sensor", &n.sensors, row),
            Family::Keyframe => ("keyframe", &n.keyframes, row),
            Family::Dof => {
                return self.of("dof", row, &n.joints, self.dof_joint.get(row).copied());
            }
            Family::Qpos => {
                return self.of("qpos", row, &n.joints, self.qpos_joint.get(row).copied());
            }
            Family::SensorValue => {
                return self.of(
                    "value",
                    row,
                    &n.sensors,
                    self.value_sensor.get(row).copied(),
                );
            }
            Family::Output => {
                let outputs = &self.model.structure.actuators.outputs;
                let owner = outputs.partition_point(|outputs| outputs.end <= row);
                return self.of("force", row, &n.actuators, Some(owner));
            }
            Family::Control => {
                let owners = &self.model.structure.actuators.control_owner;
                return self.of("control", row, &n.actuators, owners.get(row).copied());
            }
            Family::Model => return "model".to_owned(),
            Family::Exclude => return format!("exclude {row}"),
            Family::Wrap => return format!("wrap {row}"),
            Family::Activation => return format!("activation {row}"),
            Family::Row => return format!("constraint row {row}"),
        };
        match list.get(index) {
            Some(name) if !name.is_empty() => format!("{kind} '{name}'"),
            _ => format!("{kind} {index}"),
        }
    }

    fn of(&self, kind: &str, row: usize, owners: &[String], owner: Option<usize>) -> String {
        let _ = self;
        match owner.and_then(|owner| owners.get(owner)) {
            Some(name) if !name.is_empty() => format!("{kind} {row} of '{name}'"),
            _ => format!("{kind} {row}"),
        }
    }
}

/// Where two arrays differ most.
#[derive(Clone, Debug)]
pub(crate) struct Worst {
    /// Name of the element.
    pub element: String,
    /// Component within the element.
    pub component: usize,
    /// carom's number.
    pub ours: f64,
    /// The reference's number.
    pub theirs: f64,
}

/// Result of comparing one quantity.
#[derive(Clone, Debug)]
pub(crate) struct Comparison {
    /// Stage the quantity belongs to.
    pub stage: &'static str,
    /// MuJoCo's name of the quantity, prefixed by the snapshot.
    pub quantity: String,
    /// max |a − b| / max(1, max |b|); infinite when shapes differ or a number is not finite.
    pub error: f64,
    /// Allowed error.
    pub tolerance: f64,
    /// Where they differ most.
    pub worst: Option<Worst>,
    /// What else to say, e.g. that the shapes differ.
    pub note: Option<String>,
    /// Whether agreement is demanded; otherwise the comparison is for information.
    pub judged: bool,
}

impl Comparison {
    /// Whether the error is within the tolerance, as far as that is demanded.
    pub(crate) fn passed(&self) -> bool {
        !self.judged || self.error <= self.tolerance
    }
}

/// What is compared, and how strictly.
#[derive(Clone, Debug)]
pub(crate) struct Quantity {
    /// Stage the quantity belongs to.
    pub stage: &'static str,
    /// Its name.
    pub name: String,
    /// What its rows are.
    pub family: Family,
    /// Allowed error.
    pub tolerance: f64,
}

/// Says what a row is.
pub(crate) type Label<'a> = &'a dyn Fn(usize) -> String;

/// Compares two arrays over the elements of a family.
pub(crate) fn compare(
    quantity: Quantity,
    rows: &RowNames<'_>,
    ours: &[f64],
    theirs: &[f64],
) -> Comparison {
    let family = quantity.family;
    let count = row_count(family, ours.len(), rows);
    compare_rows(
        quantity,
        (count, &|row| rows.row(family, row)),
        ours,
        theirs,
    )
}

/// Compares two arrays of `count` rows with a label each.
pub(crate) fn compare_rows(
    quantity: Quantity,
    (count, label): (usize, Label<'_>),
    ours: &[f64],
    theirs: &[f64],
) -> Comparison {
    let Quantity {
        stage,
        name,
        tolerance,
        ..
    } = quantity;
    let mut comparison = Comparison {
        stage,
        quantity: name,
        error: 0.0,
        tolerance,
        worst: None,
        note: None,
        judged: true,
    };
    if ours.len() != theirs.len() {
        comparison.error = f64::INFINITY;
        comparison.note = Some(format!(
            "{} numbers, the reference has {}",
            ours.len(),
            theirs.len()
        ));
        return comparison;
    }
    let scale = theirs
        .iter()
        .fold(1.0f64, |scale, number| scale.max(number.abs()));
    let mut worst = None;
    for (index, (&a, &b)) in ours.iter().zip(theirs).enumerate() {
        let difference = (a - b).abs();
        let error = if difference.is_finite() {
            difference / scale
        } else if a == b || (a.is_nan() && b.is_nan()) {
            0.0
        } else {
            f64::INFINITY
        };
        if error > comparison.error {
            comparison.error = error;
            worst = Some(index);
        }
    }
    if let Some(index) = worst {
        let width = (ours.len() / count.max(1)).max(1);
        comparison.worst = Some(Worst {
            element: label(index / width),
            component: index % width,
            ours: ours[index],
            theirs: theirs[index],
        });
    }
    comparison
}

/// Number of rows of an array with the given total length.
fn row_count(family: Family, length: usize, rows: &RowNames<'_>) -> usize {
    let n = rows.names;
    match family {
        Family::Body => n.bodies.len(),
        Family::Joint => n.joints.len(),
        Family::Dof => rows.dof_joint.len(),
        Family::Qpos => rows.qpos_joint.len(),
        Family::Geom => n.geoms.len(),
        Family::Site => n.sites.len(),
        Family::Mesh => n.meshes.len(),
        Family::HeightField => n.height_fields.len(),
        Family::Pair => n.pairs.len(),
        Family::Equality => n.equalities.len(),
        Family::Tendon => n.tendons.len(),
        Family::Actuator => n.actuators.len(),
        Family::Output => rows.model.counts().nout,
        Family::Control => rows.model.counts().nu,
        Family::Sensor => n.sensors.len(),
        Family::Keyframe => n.keyframes.len(),
        Family::Model => 1,
        _ => length,
    }
}
