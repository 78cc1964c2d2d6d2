//! What is measured, and sums of it.

use std::f64::consts::TAU;

use crate::error;
use carom::Error;
use carom::{Data, Model};

use crate::loss::{Loss, Observer, RotationError, Weights};
use crate::problem::runner::Predicted;
use crate::recording::{Channel, Quantity, Recordings, Trajectory};

/// One column of a report.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Metric {
    /// Its name, such as `position`.
    pub name: String,
    /// Its unit; empty for plain numbers.
    pub unit: &'static str,
}

impl Metric {
    /// Its name with its unit, for the head of a column.
    pub fn head(&self) -> String {
        let name = (self.name)
            .trim_end_matches("_percent")
            .trim_end_matches("_degrees");
        let name = match name.strip_suffix("_end") {
            Some(name) => format!("{name} at end"),
            None => name.to_owned(),
        };
        if self.unit.is_empty() {
            return name;
        }
        format!("{name} [{}]", self.unit)
    }
}

/// Numbers of one metric, added up.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Sum {
    sum: f64,
    count: f64,
}

/// Numbers of all metrics, added up.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Sums(Vec<Sum>);

impl Sums {
    fn push(&mut self, metric: usize, number: f64) {
        if self.0.len() <= metric {
            self.0.resize(metric + 1, Sum::default());
        }
        self.0[metric].sum += number;
        self.0[metric].count += 1.0;
    }

    pub(super) fn add(&mut self, other: &Self) {
        if self.0.len() < other.0.len() {
            self.0.resize(other.0.len(), Sum::default());
        }
        for (sum, other) in self.0.iter_mut().zip(&other.0) {
            sum.sum += other.sum;
            sum.count += other.count;
        }
    }

    pub(super) fn add_means(&mut self, means: &[f64]) {
        for (metric, &mean) in means.iter().enumerate().filter(|(_, mean)| !mean.is_nan()) {
            self.push(metric, mean);
        }
    }

    pub(super) fn means(&self, count: usize) -> Vec<f64> {
        let mean = |metric: usize| self.0.get(metric).map_or(f64::NAN, |s| s.sum / s.count);
        (0..count).map(mean).collect()
    }
}

/// A metric's kind.
#[derive(Clone, Debug, PartialEq)]
enum Kind {
    Mae18,
    Mae13,
    Position,
    PositionOf(f64),
    /// Distance over a length, and angle.
    DistanceAndAngle(f64),
    Rotation,
    AngleRad,
    AngleDeg,
    Slide,
    MseQ,
    MseV,
    Mse,
    Sensor,
    /// Channels and factors.
    Distance(Vec<(usize, f64)>),
    /// Channels and factors of a sum.
    Sum(Vec<(usize, f64)>),
    /// An error at the last frame of a window alone.
    AtEnd(End),
}

/// What is measured at the last frame of a window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    Position,
    Velocity,
    Rotation,
    Rate,
    Angle,
    Slide,
}

impl End {
    const ALL: [Self; 6] = [
        Self::Position,
        Self::Velocity,
        Self::Rotation,
        Self::Rate,
        Self::Angle,
        Self::Slide,
    ];

    /// Its name and its unit.
    const fn words(self) -> (&'static str, &'static str) {
        match self {
            Self::Position => ("position_end", "m"),
            Self::Velocity => ("velocity_end", "m/s"),
            Self::Rotation => ("rotation_end", "rad"),
            Self::Rate => ("rate_end", "rad/s"),
            Self::Angle => ("angle_end", "rad"),
            Self::Slide => ("slide_end", "m"),
        }
    }

    /// Whether a channel counts.
    fn is_of(self, channel: &Channel) -> bool {
        match (self, channel.quantity) {
            (Self::Position, Quantity::Position(_))
            | (Self::Rotation, Quantity::Rotation(_))
            | (Self::Velocity, Quantity::LinearVelocity { .. })
            | (Self::Rate, Quantity::AngularVelocity { .. }) => true,
            (Self::Angle, Quantity::JointPosition { .. }) => channel.is_angle,
            (Self::Slide, Quantity::JointPosition { .. }) => !channel.is_angle,
            _ => false,
        }
    }
}

/// Errors of a frame, channel by channel.
struct Frame {
    vector: Vec<Option<Vec<f64>>>,
    matrix: Vec<Option<Vec<f64>>>,
    quaternion: Vec<Option<Vec<f64>>>,
}

/// Measures errors.
pub(super) struct Meter<'a> {
    pub(super) metrics: Vec<Metric>,
    kinds: Vec<Kind>,
    observers: [Observer<'a>; 3],
    /// Channels of position, rotation, linear and angular velocity of each body that has all four.
    bodies: Vec<[usize; 4]>,
}

impl<'a> Meter<'a> {
    pub(super) fn new(recordings: &'a Recordings, is_flow: bool) -> Result<Self, Error> {
        let channels = &recordings.channels;
        let weights = Weights {
            sensor: f64::from(u8::from(!is_flow)),
            ..Weights::default()
        };
        let observer = |rotation| {
            let loss = Loss {
                rotation,
                weights,
                by_noise: false,
                ..Loss::default()
            };
            Observer::new(loss, channels)
        };
        let mut meter = Self {
            metrics: Vec::new(),
            kinds: Vec::new(),
            observers: [
                observer(RotationError::Vector),
                observer(RotationError::Matrix),
                observer(RotationError::Quaternion),
            ],
            bodies: whole_bodies(recordings),
        };
        let any = |is: &dyn Fn(&crate::recording::Channel) -> bool| {
            channels
                .iter()
                .any(|channel| channel.is_compared && is(channel))
        };
        let is_position = |q: Quantity| matches!(q, Quantity::JointPosition { .. });
        let is_velocity = |q: Quantity| matches!(q, Quantity::JointVelocity { .. });
        if !meter.bodies.is_empty() {
            meter.add("mae18", "", Kind::Mae18);
            meter.add("mae13", "", Kind::Mae13);
        }
        if any(&|c| matches!(c.quantity, Quantity::Position(_))) {
            meter.add("position", "m", Kind::Position);
            if let Some(size) = recordings.evaluate.size {
                meter.add("position", "%", Kind::PositionOf(size));
            }
        }
        if any(&|c| matches!(c.quantity, Quantity::Rotation(_))) {
            meter.add("rotation", "deg", Kind::Rotation);
            let has_positions = any(&|c| matches!(c.quantity, Quantity::Position(_)));
            if let Some(size) = recordings.evaluate.size.filter(|_| has_positions) {
                meter.add("distance_and_angle", "", Kind::DistanceAndAngle(size));
            }
        }
        meter.add_distances(recordings)?;
        if any(&|c| is_position(c.quantity) && c.is_angle) {
            meter.add("angle", "rad", Kind::AngleRad);
            meter.add("angle", "deg", Kind::AngleDeg);
        }
        if any(&|c| is_position(c.quantity) && !c.is_angle) {
            meter.add("slide", "m", Kind::Slide);
        }
        let (has_q, has_v) = (
            any(&|c| is_position(c.quantity)),
            any(&|c| is_velocity(c.quantity)),
        );
        if has_q {
            meter.add("mse q", "", Kind::MseQ);
        }
        if has_v {
            meter.add("mse v", "", Kind::MseV);
        }
        if has_q && has_v {
            meter.add("mse", "", Kind::Mse);
        }
        if meter.needs_sensors() {
            meter.add("sensor", "", Kind::Sensor);
        }
        let has_ends = recordings.evaluate.ends;
        for end in End::ALL.into_iter().filter(|_| has_ends) {
            if any(&|channel| end.is_of(channel)) {
                let (name, unit) = end.words();
                meter.add(name, unit, Kind::AtEnd(end));
            }
        }
        if meter.metrics.is_empty() {
            return Err(error::recording(
                "nothing is compared: every channel of the mapping is left out by 'compare'"
                    .to_owned(),
            ));
        }
        Ok(meter)
    }

    fn add(&mut self, name: &str, unit: &'static str, kind: Kind) {
        self.metrics.push(Metric {
            name: if unit == "%" || (name == "angle" && unit == "deg") {
                format!("{name}_{}", if unit == "%" { "percent" } else { "degrees" })
            } else {
                name.to_owned()
            },
            unit,
        });
        self.kinds.push(kind);
    }

    fn add_distances(&mut self, recordings: &Recordings) -> Result<(), Error> {
        for distance in &recordings.evaluate.distances {
            let find = |name: &String, part: &str| {
                let wanted = format!("joint {name} {part}");
                let mut channels = recordings.channels.iter();
                channels
                    .position(|channel| channel.name == wanted && channel.is_compared)
                    .ok_or_else(|| {
                        error::recording(format!(
                            "[[evaluate.distance]] \"{}\": the {part} of joint '{name}' is not mapped, or not compared",
                            distance.name
                        ))
                    })
            };
            let positions = distance.positions.iter().map(|name| find(name, "position"));
            let velocities = distance
                .velocities
                .iter()
                .map(|name| find(name, "velocity"));
            let channels: Vec<usize> = positions.chain(velocities).collect::<Result<_, _>>()?;
            let factors = distance
                .factors
                .clone()
                .unwrap_or_else(|| vec![1.0; channels.len()]);
            if factors.len() != channels.len() || channels.is_empty() {
                return Err(error::recording(format!(
                    "[[evaluate.distance]] \"{}\": {} joints and {} factors; give one factor for each, or none at all",
                    distance.name,
                    channels.len(),
                    factors.len()
                )));
            }
            let parts = channels.into_iter().zip(factors).collect();
            let kind = if distance.sum {
                Kind::Sum(parts)
            } else {
                Kind::Distance(parts)
            };
            self.add(&distance.name, "", kind);
        }
        Ok(())
    }

    pub(super) fn needs_sensors(&self) -> bool {
        self.observers[0].needs_sensors()
    }

    /// Adds the errors of a prediction, which `is_end` says to be the last one of its run.
    pub(super) fn measure(
        &self,
        model: &Model,
        trajectory: &Trajectory,
        (known, is_end): (&Predicted, bool),
        data: &mut Data,
        sums: &mut Sums,
    ) {
        let Predicted {
            state,
            sensors,
            frame,
        } = known;
        self.observers[0].prepare_with(model, state, sensors, data);
        let has_sensors = !sensors.is_empty();
        let errors = |observer: &Observer<'_>| {
            let mut all: Vec<Option<Vec<f64>>> = vec![None; observer.channels.len()];
            for (index, recorded) in observer.compared(trajectory, *frame) {
                let is_sensor =
                    matches!(observer.channels[index].quantity, Quantity::Sensor { .. });
                if is_sensor && !has_sensors {
                    continue;
                }
                let mut errors = Vec::new();
                observer.errors(index, recorded, (state, data), &mut errors);
                all[index] = Some(errors);
            }
            all
        };
        let [vector, matrix, quaternion] = self.observers.each_ref().map(errors);
        let frame = Frame {
            vector,
            matrix,
            quaternion,
        };
        let is_due = |kind: &Kind| is_end || !matches!(kind, Kind::AtEnd(_));
        for (metric, kind) in self
            .kinds
            .iter()
            .enumerate()
            .filter(|(_, kind)| is_due(kind))
        {
            if let Some(number) = self.number(kind, &frame) {
                sums.push(metric, number);
            }
        }
        // After the metrics, squares in units of the noise.
        for number in self.over_noise(&frame) {
            sums.push(self.metrics.len(), number);
        }
    }

    /// Squared errors of all channels whose noise is stated, in units of it.
    fn over_noise<'f>(&'f self, frame: &'f Frame) -> impl Iterator<Item = f64> + 'f {
        let channels = self.observers[0].channels.iter().zip(&frame.vector);
        let stated =
            channels.filter_map(|(channel, errors)| Some((channel.noise?, errors.as_ref()?)));
        stated.flat_map(|(noise, errors)| errors.iter().map(move |error| (error / noise).powi(2)))
    }

    /// Root mean square of all errors whose noise is stated, in units of it.
    pub(super) fn residuals_over_noise(&self, sums: &Sums) -> Option<f64> {
        let squares = sums.0.get(self.metrics.len())?;
        Some((squares.sum / squares.count).sqrt())
    }

    /// The error of a metric at a frame; none where nothing was recorded.
    fn number(&self, kind: &Kind, frame: &Frame) -> Option<f64> {
        let channels = self.observers[0].channels;
        let of = |is: &dyn Fn(usize) -> bool| -> Vec<&Vec<f64>> {
            let all = frame.vector.iter().enumerate();
            all.filter(|(index, _)| is(*index))
                .filter_map(|(_, errors)| errors.as_ref())
                .collect()
        };
        let joint = |index: usize, velocity: bool| match channels[index].quantity {
            Quantity::JointPosition { .. } => !velocity,
            Quantity::JointVelocity { .. } => velocity,
            _ => false,
        };
        let absolute = |errors: Vec<&Vec<f64>>| mean(errors.into_iter().flatten().map(|e| e.abs()));
        let angle = |index: usize| {
            let errors = frame.vector[index].iter().flatten();
            let turn = if channels[index].modulo_turns {
                TAU
            } else {
                f64::INFINITY
            };
            errors.map(move |error| (error - (error / turn).round() * TAU).abs())
        };
        let angles = || {
            let all = 0..channels.len();
            mean(
                all.filter(|i| joint(*i, false) && channels[*i].is_angle)
                    .flat_map(angle),
            )
        };
        let squared = |errors: Vec<&Vec<f64>>| mean(errors.into_iter().flatten().map(|e| e * e));
        let lengths = |errors: Vec<&Vec<f64>>| mean(errors.into_iter().map(|e| length(e)));
        let positions = |index: usize| matches!(channels[index].quantity, Quantity::Position(_));
        let rotations = |index: usize| matches!(channels[index].quantity, Quantity::Rotation(_));
        let is_angle = |index: usize| channels[index].is_angle;
        match kind {
            Kind::Mae18 => self.absolute_of_bodies(&frame.matrix, &frame.vector),
            Kind::Mae13 => self.absolute_of_bodies(&frame.quaternion, &frame.vector),
            Kind::Position => lengths(of(&positions)),
            Kind::PositionOf(size) => {
                lengths(of(&positions)).map(|distance| 100.0 * distance / size)
            }
            Kind::DistanceAndAngle(size) => {
                Some(lengths(of(&positions))? / size + lengths(of(&rotations))?)
            }
            Kind::Rotation => lengths(of(&rotations)).map(f64::to_degrees),
            Kind::AngleRad | Kind::AtEnd(End::Angle) => angles(),
            Kind::AngleDeg => angles().map(f64::to_degrees),
            Kind::Slide => absolute(of(&|i| joint(i, false) && !is_angle(i))),
            Kind::MseQ => squared(of(&|i| joint(i, false))),
            Kind::MseV => squared(of(&|i| joint(i, true))),
            Kind::Mse => squared(of(&|i| joint(i, false) || joint(i, true))),
            Kind::Sensor => absolute(of(&|i| {
                matches!(channels[i].quantity, Quantity::Sensor { .. })
            })),
            Kind::Distance(parts) => scaled(parts, frame).map(|errors| length(&errors)),
            Kind::Sum(parts) => scaled(parts, frame).map(|errors| errors.iter().sum::<f64>().abs()),
            Kind::AtEnd(end) => lengths(of(&|i| end.is_of(&channels[i]))),
        }
    }

    /// The mean absolute error over all numbers of each body that is seen as a whole.
    fn absolute_of_bodies(
        &self,
        rotations: &[Option<Vec<f64>>],
        others: &[Option<Vec<f64>>],
    ) -> Option<f64> {
        let body = |&[position, rotation, linear, angular]: &[usize; 4]| {
            let parts = [
                others[position].as_ref()?,
                rotations[rotation].as_ref()?,
                others[linear].as_ref()?,
                others[angular].as_ref()?,
            ];
            mean(parts.into_iter().flatten().map(|e| e.abs()))
        };
        mean(self.bodies.iter().filter_map(body))
    }
}

/// Errors of channels times their factors; none where one of them was not recorded.
fn scaled(parts: &[(usize, f64)], frame: &Frame) -> Option<Vec<f64>> {
    let error = |&(index, factor): &(usize, f64)| Some(frame.vector[index].as_ref()?[0] * factor);
    parts.iter().map(error).collect()
}

/// Bodies of which position, rotation and both velocities are compared.
fn whole_bodies(recordings: &Recordings) -> Vec<[usize; 4]> {
    let find = |element: &str, part: &str| {
        let name = format!("body {element} {part}");
        let mut channels = recordings.channels.iter();
        channels.position(|channel| channel.name == name && channel.is_compared)
    };
    let whole = |element: &str| {
        Some([
            find(element, "position")?,
            find(element, "rotation")?,
            find(element, "linear_velocity")?,
            find(element, "angular_velocity")?,
        ])
    };
    let positions = recordings.channels.iter();
    positions
        .filter(|channel| matches!(channel.quantity, Quantity::Position(_)))
        .filter_map(|channel| whole(&channel.element))
        .collect()
}

fn mean(numbers: impl Iterator<Item = f64>) -> Option<f64> {
    let (mut sum, mut count) = (0.0, 0.0);
    for number in numbers {
        sum += number;
        count += 1.0;
    }
    (count > 0.0).then(|| sum / count)
}

fn length(numbers: &[f64]) -> f64 {
    numbers.iter().map(|x| x * x).sum::<f64>().sqrt()
}
