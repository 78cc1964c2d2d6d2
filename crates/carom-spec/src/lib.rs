//! Model files to a resolved description.

pub mod model_spec;
pub mod span;

pub use model_spec::ModelSpec;
