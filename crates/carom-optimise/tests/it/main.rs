//! Tests of the optimisers from outside.

mod dual;
mod functions;
mod nist;
mod peers;
