//! The convex law of each kind of block: cost s(y), force f = −∇s and curvature K = ∇²s at the residual y = J·a − â.
//!
//! With D the weights, η the friction loss, μ(j) the coefficients:
//!
//!   equality: s = ½·Σ D·y²                                                             (1)
//!   dry friction: f = −D·y held within ±η (a Huber function)                            (2)
//!   limit, frictionless contact: s = ½·D·min(y, 0)²                                     (3)
//!   pyramid: the sum of (3) over its edges y(0) ± μ(j)·y(j)                             (4)
//!   elliptic cone, with N = μ·y(0), U(j) = μ(j)·y(j), T = |U|:                           (5)
//!     s = 0 where N ≥ μ·T;   s = ½·Σ D·y² where μ·N + T ≤ 0;
//!     s = ½·D(0)/(μ²·(1 + μ²))·(N − μ·T)² between

use crate::scalar::Scalar;
use crate::stages::constraint::BlockKind;

/// The most rows of a block.
pub const MAX_ROWS: usize = 6;

/// Which piece of its law a block is on: a switch for [`Phase::OFF`] and [`Phase::QUADRATIC`], otherwise specific to
/// the kind. For a pyramid the bits 2·j − 2 and 2·j − 1 tell whether the edges ± of tangent j push.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Phase(pub u16);

impl Phase {
    /// No force.
    pub const OFF: Self = Self(0);
    /// Force linear in the residual.
    pub const QUADRATIC: Self = Self(1);
    /// Sliding friction, negative residual: force +η.
    pub const SLIDING_DOWN: Self = Self(2);
    /// Sliding friction, positive residual: force −η.
    pub const SLIDING_UP: Self = Self(3);
    /// On the surface of the elliptic cone.
    pub const CONE: Self = Self(2);
}

/// The numbers of a block's law: one weight and one friction per row.
#[derive(Clone, Copy, Debug)]
pub struct Law<'a, T: Scalar = f64> {
    /// Kind of block.
    pub kind: BlockKind,
    /// D.
    pub weight: &'a [T],
    /// η, or μ and the coefficients μ(j).
    pub friction: &'a [T],
}

impl<T: Scalar> Law<'_, T> {
    /// Force at a residual; returns the phase and the cost.
    #[inline]
    pub fn respond(&self, y: &[T], force: &mut [T]) -> (Phase, T) {
        match self.kind {
            BlockKind::Equality => self.respond_quadratic(y, force),
            BlockKind::DofFriction | BlockKind::TendonFriction => self.respond_friction(y, force),
            BlockKind::JointLimit | BlockKind::TendonLimit | BlockKind::FrictionlessContact => {
                let (force_out, cost) = push(self.weight[0], y[0]);
                force[0] = force_out;
                (Phase(u16::from(y[0] < T::ZERO)), cost)
            }
            BlockKind::PyramidalContact => self.respond_pyramid(y, force),
            BlockKind::EllipticContact => self.respond_cone(y, force),
        }
    }

    /// Force at a residual on a given piece of the law, also beyond the piece's end.
    pub(super) fn force_in(&self, phase: Phase, y: &[T], force: &mut [T]) {
        match self.kind {
            BlockKind::DofFriction | BlockKind::TendonFriction => {
                force[0] = match phase {
                    Phase::SLIDING_DOWN => self.friction[0],
                    Phase::SLIDING_UP => -self.friction[0],
                    _ => -(self.weight[0] * y[0]),
                };
            }
            BlockKind::PyramidalContact => {
                force.fill(T::ZERO);
                for j in 1..y.len() {
                    for (side, sign) in [(2 * j - 2, 1.0), (2 * j - 1, -1.0)] {
                        if phase.0 & (1 << side) != 0 {
                            let along = y[0] + self.friction[j] * y[j] * sign;
                            let edge = -(self.weight[0] * along);
                            force[0] += edge;
                            force[j] += self.friction[j] * edge * sign;
                        }
                    }
                }
            }
            BlockKind::EllipticContact if phase == Phase::CONE => {
                self.force_on_cone(&Cone::new(self, y), y, force);
            }
            _ if phase == Phase::OFF => force.fill(T::ZERO),
            _ => {
                self.respond_quadratic(y, force);
            }
        }
    }

    /// A smooth function of the residual that changes its sign where the law goes from one piece to another.
    pub fn boundary(&self, y: &[T], from: Phase, to: Phase) -> T {
        match self.kind {
            BlockKind::DofFriction | BlockKind::TendonFriction => {
                let slides_up = from == Phase::SLIDING_UP || to == Phase::SLIDING_UP;
                let sign = if slides_up { 1.0 } else { -1.0 };
                self.weight[0] * y[0] * sign - self.friction[0]
            }
            BlockKind::PyramidalContact => {
                let edge = (from.0 ^ to.0).trailing_zeros() as usize;
                let (j, sign) = (
                    edge / 2 + 1,
                    if edge.is_multiple_of(2) { 1.0 } else { -1.0 },
                );
                y.get(j)
                    .map_or(y[0], |&tangent| y[0] + self.friction[j] * tangent * sign)
            }
            BlockKind::EllipticContact => {
                let cone = Cone::new(self, y);
                match (from, to) {
                    (Phase::CONE, Phase::QUADRATIC) | (Phase::QUADRATIC, Phase::CONE) => {
                        cone.mu * cone.normal + cone.tangent
                    }
                    (Phase::CONE, _) | (_, Phase::CONE) => cone.gap(),
                    _ => cone.normal,
                }
            }
            _ => y[0],
        }
    }

    /// (1)
    #[inline]
    fn respond_quadratic(&self, y: &[T], force: &mut [T]) -> (Phase, T) {
        let mut cost = T::ZERO;
        for ((force, &y), &weight) in force.iter_mut().zip(y).zip(self.weight) {
            *force = -(weight * y);
            cost -= *force * y * 0.5;
        }
        (Phase::QUADRATIC, cost)
    }

    /// (2)
    #[inline]
    fn respond_friction(&self, y: &[T], force: &mut [T]) -> (Phase, T) {
        let (weight, loss, y) = (self.weight[0], self.friction[0], y[0]);
        let linear = -(weight * y);
        let slide = |sign: f64| loss * (y * sign - loss / weight * 0.5);
        if linear >= loss {
            force[0] = loss;
            (Phase::SLIDING_DOWN, slide(-1.0))
        } else if linear <= -loss {
            force[0] = -loss;
            (Phase::SLIDING_UP, slide(1.0))
        } else {
            force[0] = linear;
            (Phase::QUADRATIC, -(linear * y) * 0.5)
        }
    }

    /// (4)
    #[inline]
    fn respond_pyramid(&self, y: &[T], force: &mut [T]) -> (Phase, T) {
        let weight = self.weight[0];
        let (mut phase, mut normal, mut cost) = (0, T::ZERO, T::ZERO);
        for j in 1..y.len() {
            let lean = self.friction[j] * y[j];
            let (plus, minus) = (y[0] + lean, y[0] - lean);
            let (force_plus, cost_plus) = push(weight, plus);
            let (force_minus, cost_minus) = push(weight, minus);
            phase |= u16::from(plus < T::ZERO) << (2 * j - 2);
            phase |= u16::from(minus < T::ZERO) << (2 * j - 1);
            force[j] = self.friction[j] * (force_plus - force_minus);
            normal += force_plus + force_minus;
            cost += cost_plus + cost_minus;
        }
        force[0] = normal;
        (Phase(phase), cost)
    }

    /// (5)
    #[inline]
    fn respond_cone(&self, y: &[T], force: &mut [T]) -> (Phase, T) {
        let cone = Cone::new(self, y);
        match cone.phase() {
            Phase::OFF => {
                force.fill(T::ZERO);
                (Phase::OFF, T::ZERO)
            }
            Phase::CONE => {
                let (scale, gap) = self.force_on_cone(&cone, y, force);
                (Phase::CONE, scale * gap * gap * 0.5)
            }
            _ => self.respond_quadratic(y, force),
        }
    }
}

impl<T: Scalar> Law<'_, T> {
    /// The force of a contact that slides; returns scale and gap of the cone.
    #[inline]
    fn force_on_cone(&self, cone: &Cone<T>, y: &[T], force: &mut [T]) -> (T, T) {
        let (scale, gap) = (cone.scale(self.weight[0]), cone.gap());
        let normal = -(scale * gap * cone.mu);
        force[0] = normal;
        for j in 1..y.len() {
            let friction = self.friction[j];
            force[j] = -(normal / cone.tangent * y[j] * friction * friction);
        }
        (scale, gap)
    }
}

/// Force and cost of ½·D·min(y, 0)². (3)
#[inline]
fn push<T: Scalar>(weight: T, y: T) -> (T, T) {
    if y < T::ZERO {
        let force = -(weight * y);
        (force, -(force * y) * 0.5)
    } else {
        (T::ZERO, T::ZERO)
    }
}

/// A residual in the coordinates of the regular cone.
struct Cone<T: Scalar> {
    mu: T,
    /// N.
    normal: T,
    /// T.
    tangent: T,
}

impl<T: Scalar> Cone<T> {
    #[inline]
    fn new(law: &Law<T>, y: &[T]) -> Self {
        let mut square = T::ZERO;
        for j in 1..y.len() {
            let u = law.friction[j] * y[j];
            square += u * u;
        }
        let mu = law.friction[0];
        Self {
            mu,
            normal: y[0] * mu,
            tangent: square.sqrt(),
        }
    }

    #[inline]
    fn phase(&self) -> Phase {
        let Self {
            mu,
            normal,
            tangent,
        } = *self;
        let zero = T::ZERO;
        if normal >= mu * tangent || (tangent <= zero && normal >= zero) {
            Phase::OFF
        } else if mu * normal + tangent <= zero || (tangent <= zero && normal < zero) {
            Phase::QUADRATIC
        } else {
            Phase::CONE
        }
    }

    /// D(0)/(μ²·(1 + μ²)).
    #[inline]
    fn scale(&self, weight: T) -> T {
        let square = self.mu * self.mu;
        weight / (square * (square + T::ONE))
    }

    /// N − μ·T.
    #[inline]
    fn gap(&self) -> T {
        self.normal - self.mu * self.tangent
    }
}

/// A symmetric matrix over the rows of a block; only the leading rows and columns of the block are used.
pub type Curvature = [[f64; MAX_ROWS]; MAX_ROWS];

impl Law<'_> {
    /// Writes K at a residual on the given phase; false if it is zero.
    pub fn curvature(&self, phase: Phase, y: &[f64], k: &mut Curvature) -> bool {
        match self.kind {
            BlockKind::PyramidalContact => {
                self.pyramid_curvature(phase, k);
                phase != Phase::OFF
            }
            BlockKind::EllipticContact if phase == Phase::CONE => {
                self.cone_curvature(y, k);
                true
            }
            _ => {
                for (i, &weight) in self.weight.iter().enumerate() {
                    k[i][..self.weight.len()].fill(0.0);
                    k[i][i] = weight;
                }
                phase == Phase::QUADRATIC
            }
        }
    }

    fn pyramid_curvature(&self, phase: Phase, k: &mut Curvature) {
        let (weight, count) = (self.weight[0], self.weight.len());
        k[0][0] = 0.0;
        for j in 1..count {
            k[j][..count].fill(0.0);
            let bit = |shift: usize| f64::from(phase.0 >> shift & 1);
            let (plus, minus) = (bit(2 * j - 2), bit(2 * j - 1));
            let friction = self.friction[j];
            k[0][0] += weight * (plus + minus);
            k[0][j] = weight * friction * (plus - minus);
            k[j][0] = k[0][j];
            k[j][j] = weight * friction * friction * (plus + minus);
        }
    }

    fn cone_curvature(&self, y: &[f64], k: &mut Curvature) {
        let Cone {
            mu,
            normal,
            tangent,
        } = Cone::new(self, y);
        let (count, scale) = (y.len(), self.weight[0] / (mu * mu * (1.0 + mu * mu)));
        let ratio = mu * normal / tangent;
        k[0][0] = scale * mu * mu;
        for j in 1..count {
            let friction = self.friction[j];
            // Direction of the tangent, in coordinates of the residual.
            let direction = |i: usize| self.friction[i] * self.friction[i] * y[i] / tangent;
            k[0][j] = -scale * mu * mu * direction(j);
            k[j][0] = k[0][j];
            for i in 1..=j {
                k[j][i] = scale * ratio * direction(i) * direction(j);
                k[i][j] = k[j][i];
            }
            k[j][j] += scale * (mu * mu - ratio) * friction * friction;
        }
    }

    /// First and second derivative of s(y + α·v) with respect to α, at α = `step`.
    #[inline]
    pub(super) fn along(&self, y: &[f64], v: &[f64], step: f64) -> (f64, f64) {
        match self.kind {
            BlockKind::Equality => self.along_quadratic(y, v, step),
            BlockKind::DofFriction | BlockKind::TendonFriction => {
                let (weight, loss) = (self.weight[0], self.friction[0]);
                let slope = weight * (y[0] + step * v[0]);
                if slope.abs() >= loss {
                    (loss.copysign(slope) * v[0], 0.0)
                } else {
                    (slope * v[0], weight * v[0] * v[0])
                }
            }
            BlockKind::JointLimit | BlockKind::TendonLimit | BlockKind::FrictionlessContact => {
                push_along(self.weight[0], y[0] + step * v[0], v[0])
            }
            BlockKind::PyramidalContact => {
                let (mut slope, mut curvature) = (0.0, 0.0);
                for j in 1..y.len() {
                    let friction = self.friction[j];
                    for friction in [friction, -friction] {
                        let rate = v[0] + friction * v[j];
                        let position = y[0] + friction * y[j] + step * rate;
                        let (s, c) = push_along(1.0, position, rate);
                        slope += s;
                        curvature += c;
                    }
                }
                (self.weight[0] * slope, self.weight[0] * curvature)
            }
            BlockKind::EllipticContact => self.along_cone(y, v, step),
        }
    }

    #[inline]
    fn along_quadratic(&self, y: &[f64], v: &[f64], step: f64) -> (f64, f64) {
        let (mut slope, mut curvature) = (0.0, 0.0);
        for ((&y, &v), &weight) in y.iter().zip(v).zip(self.weight) {
            slope += weight * (y + step * v) * v;
            curvature += weight * v * v;
        }
        (slope, curvature)
    }

    fn along_cone(&self, y: &[f64], v: &[f64], step: f64) -> (f64, f64) {
        let mut moved = [0.0; MAX_ROWS];
        let (mut uv, mut vv) = (0.0, 0.0);
        moved[0] = y[0] + step * v[0];
        for j in 1..y.len() {
            moved[j] = y[j] + step * v[j];
            let square = self.friction[j] * self.friction[j];
            uv += square * moved[j] * v[j];
            vv += square * v[j] * v[j];
        }
        let cone = Cone::new(self, &moved[..y.len()]);
        match cone.phase() {
            Phase::OFF => (0.0, 0.0),
            Phase::CONE => {
                let (mu, tangent) = (cone.mu, cone.tangent);
                let (scale, gap) = (cone.scale(self.weight[0]), cone.gap());
                // T moves at U·V/T, and its second derivative is (V² − Ṫ²)/T.
                let tangent_rate = uv / tangent;
                let rate = mu * v[0] - mu * tangent_rate;
                let curvature = -mu * (vv - tangent_rate * tangent_rate) / tangent;
                (scale * gap * rate, scale * (rate * rate + gap * curvature))
            }
            _ => self.along_quadratic(y, v, step),
        }
    }
}

/// Derivatives of ½·D·min(y, 0)² where y moves at a rate.
#[inline]
fn push_along(weight: f64, y: f64, rate: f64) -> (f64, f64) {
    if y < 0.0 {
        (weight * y * rate, weight * rate * rate)
    } else {
        (0.0, 0.0)
    }
}
