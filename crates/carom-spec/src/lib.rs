//! Model files to a resolved description.

pub mod builder;
pub mod diagnostic;
pub mod mesh;
pub mod mjcf;
pub mod model_spec;
pub mod output;
pub mod read;
pub mod source;
pub mod span;
pub mod urdf;
pub mod xml;

pub use diagnostic::{Diagnostic, Severity};
pub use model_spec::ModelSpec;
pub use read::{ReadModel, read_file};
pub use source::{DiskSource, FileSource, MemorySource, SourceMap};
pub use span::{FileId, Span};
