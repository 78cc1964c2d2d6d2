//! Tests of the optimisers from outside.

mod dual;
mod failures;
mod functions;
mod nist;
mod peers;
mod resume;
mod standard;
mod statistics;
