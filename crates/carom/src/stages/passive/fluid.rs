//! Forces of the surrounding medium: inertia-box and ellipsoid models.
