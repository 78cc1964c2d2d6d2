//! Sparse maps between rows of two arrays: who hears whom, and with which weight.

use super::Real;

/// A row of one array that hears a row of another.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Link {
    /// The row that hears.
    pub to: u32,
    /// The row that is heard.
    pub from: u32,
    /// The weight.
    pub weight: f64,
}

/// A sparse map: `Y[to] += weight · X[from]` for every link.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Links(pub Vec<Link>);

impl Links {
    /// Adds a link.
    pub fn push(&mut self, to: usize, from: usize, weight: f64) {
        let index = |row: usize| u32::try_from(row).unwrap_or(u32::MAX);
        self.0.push(Link {
            to: index(to),
            from: index(from),
            weight,
        });
    }

    /// Y += M·X.
    pub fn gather<F: Real>(&self, x: &[F], y: &mut [F], width: usize) {
        for link in &self.0 {
            add(x, link.from, y, link.to, F::of(link.weight), width);
        }
    }

    /// X += Mᵀ·Y.
    pub fn scatter<F: Real>(&self, y: &[F], x: &mut [F], width: usize) {
        for link in &self.0 {
            add(y, link.to, x, link.from, F::of(link.weight), width);
        }
    }
}

#[inline]
fn add<F: Real>(x: &[F], from: u32, y: &mut [F], to: u32, weight: F, width: usize) {
    let (from, to) = (from as usize * width, to as usize * width);
    let (source, target) = (&x[from..from + width], &mut y[to..to + width]);
    for (target, source) in target.iter_mut().zip(source) {
        *target += weight * *source;
    }
}
