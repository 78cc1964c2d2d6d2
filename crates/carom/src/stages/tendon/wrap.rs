//! Geometry of a path around a sphere or cylinder.
