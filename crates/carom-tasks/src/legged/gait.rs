//! When each leg stands and when it swings.

/// What a leg does.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Phase {
    /// It stands, and has done this part of its stance, from 0 to 1.
    Stance(f64),
    /// It swings, and has done this part of its swing, from 0 to 1.
    Swing(f64),
}

impl Phase {
    /// Whether the leg stands.
    pub fn is_stance(self) -> bool {
        matches!(self, Self::Stance(_))
    }
}

/// A schedule by the clock, whatever the feet feel.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Gait {
    /// Time of a stance (s).
    pub stance: f64,
    /// Time of a swing (s); zero for legs that always stand.
    pub swing: f64,
    /// How far each leg is into its cycle at time zero, as a part of the cycle, which begins with the stance.
    pub offsets: [f64; 4],
}

impl Gait {
    /// Diagonal pairs of legs in turns: front right with rear left, front left with rear right.
    pub fn trot(stance: f64, swing: f64) -> Self {
        Self {
            stance,
            swing,
            offsets: [0.5, 0.0, 0.0, 0.5],
        }
    }

    /// All legs stand.
    pub fn stand() -> Self {
        Self {
            stance: 1.0,
            swing: 0.0,
            offsets: [0.0; 4],
        }
    }

    /// Time of a cycle (s).
    pub fn cycle(&self) -> f64 {
        self.stance + self.swing
    }

    /// What a leg does at a time (s).
    pub fn phase(&self, leg: usize, time: f64) -> Phase {
        if self.swing <= 0.0 {
            return Phase::Stance(0.0);
        }
        let turns = time / self.cycle() + self.offsets[leg];
        let into = (turns - turns.floor()) * self.cycle();
        if into < self.stance {
            Phase::Stance(into / self.stance)
        } else {
            Phase::Swing(((into - self.stance) / self.swing).min(1.0))
        }
    }
}
