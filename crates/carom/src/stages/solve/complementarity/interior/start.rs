//! Where paths start.

use super::{Admitted, Interior};

/// Residuals count as at least this at the start of a path (m/s), so that κ is not zero.
const MIN_INITIAL_RESIDUAL: f64 = 1e-9;

impl Interior {
    /// Moves the impulses at hand to where (1) holds for κ, a share of residual times impulse.
    pub(super) fn center_at_hand(&mut self, share: f64) {
        self.find_velocities();
        let residual = self.residual().max(MIN_INITIAL_RESIDUAL);
        let missing = residual / self.typical();
        let impulse = self.x.iter().fold(missing, |most, x| most.max(x.abs()));
        self.center(share * residual * impulse);
    }

    /// Starts where everything pushes and moves fast, and (1) holds for all blocks.
    pub(super) fn center_far_away(&mut self, scale: f64) {
        let fastest = self
            .free
            .iter()
            .fold(MIN_INITIAL_RESIDUAL, |most, w| most.max(w.abs()));
        let speed = scale * fastest;
        self.x.fill(0.0);
        self.y.clear();
        self.y.resize(self.x.len(), 0.0);
        self.slack.clear();
        self.slack.resize(self.members.len(), speed);
        for member in &self.members {
            match member.admitted {
                Admitted::All => {}
                Admitted::Within(_) => self.y[member.row] = speed,
                Admitted::Push | Admitted::Cone => {
                    self.y[member.row] = speed;
                    self.x[member.row] = speed / self.own[member.row];
                }
            }
        }
    }

    /// Moves the impulses at hand to where (1) holds for κ, as far as each block by itself can tell.
    fn center(&mut self, kappa: f64) {
        self.y.clear();
        self.y.extend_from_slice(&self.velocity);
        self.slack.clear();
        self.slack.resize(self.members.len(), 0.0);
        for (index, member) in self.members.iter().enumerate() {
            let row = member.row;
            match member.admitted {
                Admitted::All => {}
                Admitted::Within(bound) => {
                    self.x[row] = self.x[row].clamp(-0.9 * bound, 0.9 * bound);
                    self.y[row] = kappa / (bound + self.x[row]);
                    self.slack[index] = kappa / (bound - self.x[row]);
                }
                Admitted::Push | Admitted::Cone => {
                    let own = self.own[row] + self.mixing[row];
                    let wanted = self.x[row] * own - self.velocity[row];
                    let root = (wanted * wanted + 4.0 * kappa * own).sqrt();
                    self.y[row] = if wanted < 0.0 {
                        0.5 * (root - wanted)
                    } else {
                        2.0 * kappa * own / (root + wanted)
                    };
                    self.x[row] = kappa / self.y[row];
                    if member.count > 1 {
                        let rows = row + 1..row + member.count;
                        let (own, speed) = (self.own[row + 1], self.y[row]);
                        let lists = (&mut self.x[rows.clone()], &mut self.y[rows]);
                        let contact = (own, kappa / speed, 0.5 * speed);
                        self.slack[index] = center_tangents(contact, lists);
                    }
                }
            }
        }
    }
}

/// Tangents with x = −n·w/ψ and d·x − w as at hand, for ψ = h + √(h² + |w|²), h = κ/2n; ψ.
fn center_tangents((own, normal, half): (f64, f64, f64), (x, w): (&mut [f64], &mut [f64])) -> f64 {
    let mut square = 0.0;
    for (x, w) in x.iter_mut().zip(&*w) {
        *x = own * *x - w;
        square += *x * *x;
    }
    let wanted = square.sqrt();
    let slack = |speed: f64| half + half.hypot(speed);
    let (mut low, mut high) = (0.0, wanted);
    for _ in 0..40 {
        let speed = 0.5 * (low + high);
        if own * normal * speed / slack(speed) + speed > wanted {
            high = speed;
        } else {
            low = speed;
        }
    }
    let inverse = wanted.max(f64::MIN_POSITIVE).recip();
    for (x, w) in x.iter_mut().zip(w) {
        let direction = *x * inverse;
        *w = -low * direction;
        *x = normal * low / slack(low) * direction;
    }
    slack(low)
}
