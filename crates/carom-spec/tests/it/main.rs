//! Integration tests of the model readers.

mod mjcf_models;
