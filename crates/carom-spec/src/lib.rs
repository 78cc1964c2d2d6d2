//! Model files, MJCF and URDF, to a resolved description in which everything has its place in the file. No physics.
//!
//! ```
//! use carom_spec::{MemorySource, mjcf::ReadSettings, mjcf::write, read::read};
//!
//! let text = "<mujoco><worldbody><body name='ball'><geom size='0.1'/></body></worldbody></mujoco>";
//! let files = MemorySource::new().with("ball.xml", text);
//! let model = read("ball.xml".as_ref(), &files, &ReadSettings::default());
//! assert!(model.diagnostics.is_empty());
//! assert_eq!(model.spec.bodies[1].name, "ball");
//! assert!(write(&model.spec).contains("ball"));
//! ```
//!
//! | I want to | there is |
//! |---|---|
//! | read a model from disk, or from anywhere | [`read_file`], [`read::read`] with a [`FileSource`] |
//! | see what is wrong with it, with source lines or as JSON | [`diagnostic`], [`SourceMap`] |
//! | look at the description, or change it | [`model_spec`] |
//! | make a model in Rust code | [`builder`] |
//! | write MJCF | [`mjcf`] |
//! | read meshes | [`mesh`] |
//! | read and write weights of learned terms | [`weights`] |
//! | write a file whole or not at all | [`output`] |
//!
//! Compiling a description to a model that moves is the work of the crate `carom`.

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
pub mod weights;
pub mod xml;

pub use diagnostic::{Diagnostic, Severity};
pub use model_spec::ModelSpec;
pub use read::{ReadModel, read_file};
pub use source::{DiskSource, FileSource, MemorySource, SourceMap};
pub use span::{FileId, Span};
