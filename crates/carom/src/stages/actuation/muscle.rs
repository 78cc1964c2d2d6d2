//! Muscle curves.
