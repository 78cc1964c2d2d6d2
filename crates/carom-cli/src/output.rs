//! Writing result files; the work is in [`carom_spec::output`], which other crates use as well.

pub(crate) use carom_spec::output::{check_distinct, check_target, write_whole};
