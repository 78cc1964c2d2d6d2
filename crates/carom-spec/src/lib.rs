//! Model files to a resolved description.
