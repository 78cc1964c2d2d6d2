//! ModelSpec to Model.
