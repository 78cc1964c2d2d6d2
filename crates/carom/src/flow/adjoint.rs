//! Ways to the gradient of a motion.

/// How the gradient of a motion is computed.
///
/// The first two read the very steps backwards that were taken (discretise, then differentiate): exact for these steps, and
/// as right as they are. The others follow the differential equation of the cotangents with steps of their own
/// (differentiate, then discretise): right where derivatives change faster than the motion, as under contacts from distance.
/// All of them know the jumps at onsets.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Adjoint {
    /// By the steps of the motion, all of which are stored.
    Stored,
    /// By the steps of the motion, with so many bytes to store them; the others are taken again, with the same bits.
    Checkpointed {
        /// The budget for steps; of their states, room for three is used in any case.
        bytes: usize,
    },
    /// By the equation of the cotangents along the stored motion.
    Continuous {
        /// Allowed error of a step of the cotangents, relative to the largest of them.
        tolerance: f64,
    },
    /// By the equation of the cotangents along the motion followed backwards from its end, of which nothing is stored.
    ///
    /// Fragile: what a contact or damping has swallowed grows when time runs backwards, and the motion is lost within a few
    /// of its time constants. It is there to compare with, and for smooth motions without damping.
    Backsolve {
        /// As for [`Self::Continuous`].
        tolerance: f64,
    },
}

impl Adjoint {
    /// Whether cotangents have steps of their own.
    pub(super) fn is_continuous(self) -> bool {
        matches!(self, Self::Continuous { .. } | Self::Backsolve { .. })
    }

    /// Bytes for steps.
    pub(super) fn bytes(self) -> usize {
        match self {
            Self::Stored | Self::Continuous { .. } => usize::MAX,
            Self::Checkpointed { bytes } => bytes,
            Self::Backsolve { .. } => 0,
        }
    }
}
