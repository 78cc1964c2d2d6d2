//! A simulation that the page acts on; it knows no threads and no clock.

use std::sync::Arc;

use carom::model::JointKind;
use carom::{Data, Dynamics, Input, Model, State};

use crate::frame::{self, Moment};
use crate::live::Start;
use crate::message::Message;
use crate::pull::Pull;

/// A simulation with what the page has set.
pub(crate) struct Simulation {
    model: Arc<Model>,
    start: Start,
    state: State,
    input: Input,
    data: Data,
    pull: Option<Pull>,
    /// Why no further step can be taken.
    error: Option<String>,
    frames: u32,
}

impl Simulation {
    pub(crate) fn new(model: Arc<Model>, start: Start) -> Self {
        let mut simulation = Self {
            state: start.state.clone(),
            input: Input::zeros(&model),
            data: Data::new(&model),
            pull: None,
            error: None,
            frames: 0,
            model,
            start,
        };
        simulation.reset();
        simulation
    }

    /// Length of a step (s).
    pub(crate) fn timestep(&self) -> f64 {
        self.model.option.timestep[0]
    }

    pub(crate) fn error(&self) -> Option<&str> {
        self.error.as_deref()
    }

    /// Back to the start.
    pub(crate) fn reset(&mut self) {
        self.state.clone_from(&self.start.state);
        self.input.ctrl.clone_from(&self.start.ctrl);
        self.cleared();
    }

    /// To a keyframe; says so if there is no such one.
    pub(crate) fn go_to_keyframe(&mut self, index: usize) -> Result<(), String> {
        let start = Start::keyframe(&self.model, index);
        let start = start.ok_or_else(|| {
            let count = self.model.counts().nkeyframe;
            format!("there is no keyframe {index}; the model has {count}")
        })?;
        self.state = start.state;
        self.input.ctrl = start.ctrl;
        self.cleared();
        Ok(())
    }

    fn cleared(&mut self) {
        self.release();
        self.error = None;
    }

    /// One step. A number that is not finite, or beyond all measure, stops the simulation until it is reset.
    pub(crate) fn step(&mut self) {
        if self.error.is_some() {
            return;
        }
        let time = self.state.time;
        if let Some(pull) = self.pull {
            pull.apply(
                &self.model,
                &mut self.state,
                &mut self.input,
                &mut self.data,
            );
        }
        let report = (self.model).step(&mut self.state, &self.input, &mut self.data);
        if let Some(place) = report.not_finite.or(report.large) {
            self.error = Some(format!(
                "{} in the step from t = {time:.4} s; reset, and try a smaller time step or gentler controls",
                self.model.describe(place)
            ));
        }
    }

    /// The present frame; none where numbers are not finite.
    pub(crate) fn frame(&mut self) -> Option<Vec<u8>> {
        if self.error.is_some() {
            return None;
        }
        carom::forward_and_sense(&self.model, &self.state, &self.input, &mut self.data);
        self.frames = self.frames.wrapping_add(1);
        let moment = Moment {
            model: &self.model,
            state: &self.state,
            input: &self.input,
            data: &self.data,
        };
        let mut bytes = Vec::new();
        frame::write(&mut bytes, self.frames, &moment, None);
        Some(bytes)
    }

    /// Sets what a message asks for; an error says why it cannot be done. Pace and pause are not the simulation's.
    pub(crate) fn apply(&mut self, message: &Message) -> Result<(), String> {
        match *message {
            Message::Reset => self.reset(),
            Message::Keyframe(index) => return self.go_to_keyframe(index),
            Message::Control { index, value } => {
                let count = self.input.ctrl.len();
                let control =
                    self.input.ctrl.get_mut(index).ok_or_else(|| {
                        format!("there is no control {index}; the model has {count}")
                    })?;
                *control = value;
            }
            Message::Qpos { index, value } => return self.set_coordinate(index, value),
            Message::Drag {
                body,
                point,
                target,
            } => return self.drag(body, point, target),
            Message::Release => self.release(),
            Message::Pause
            | Message::Resume
            | Message::Step(_)
            | Message::Speed(_)
            | Message::Shown(_) => {}
        }
        Ok(())
    }

    /// Moves a hinge or slide, and lets it rest there.
    fn set_coordinate(&mut self, index: usize, value: f64) -> Result<(), String> {
        let joints = &self.model.structure.joints;
        let is_scalar =
            |joint: &usize| matches!(joints.kind[*joint], JointKind::Hinge | JointKind::Slide);
        let joint = joints.qpos.iter().position(|&first| first == index);
        let joint = joint.filter(is_scalar).ok_or_else(|| {
            format!("coordinate {index} is not that of a hinge or slide, so it cannot be set alone")
        })?;
        if self.error.is_some() {
            return Err("the simulation has stopped; reset it first".to_owned());
        }
        self.state.qpos[index] = value;
        self.state.qvel[joints.dof[joint]] = 0.0;
        Ok(())
    }

    fn drag(
        &mut self,
        body: usize,
        point: carom::math::Vec3,
        target: carom::math::Vec3,
    ) -> Result<(), String> {
        let count = self.model.counts().nbody;
        if body >= count {
            return Err(format!("there is no body {body}; the model has {count}"));
        }
        if self.error.is_some() {
            return Err("the simulation has stopped; reset it first".to_owned());
        }
        match &mut self.pull {
            Some(pull) if pull.holds(body, point) => pull.target = target,
            _ => {
                self.release();
                carom::forward(&self.model, &self.state, &self.input, &mut self.data);
                self.pull = Some(Pull::new(&self.model, &self.data, (body, point), target));
            }
        }
        Ok(())
    }

    /// While time stands still: the body that is dragged goes to the hand.
    pub(crate) fn follow_hand(&mut self) {
        if let Some(pull) = self.pull
            && self.error.is_none()
        {
            pull.bring(&self.model, &mut self.state, &mut self.data);
        }
    }

    fn release(&mut self) {
        if let Some(pull) = self.pull.take() {
            self.input.body_force[pull.body] = carom::math::Spatial::default();
        }
    }
}

#[cfg(test)]
mod tests;
