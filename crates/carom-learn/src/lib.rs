//! Graph networks of rigid motion.
pub mod network;
