//! Adam with decoupled decay, a clipped gradient, and a running mean of the weights.

use super::Real;

/// How steps are taken.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AdamSettings {
    /// Mean of the gradient: what is kept a step.
    pub momentum: f64,
    /// Mean of its square: what is kept a step.
    pub memory: f64,
    /// Longest gradient (norm); longer ones are shortened.
    pub clip: f64,
    /// What the mean of the weights keeps a step.
    pub average: f64,
}

impl Default for AdamSettings {
    fn default() -> Self {
        Self {
            momentum: 0.9,
            memory: 0.999,
            clip: 1.0,
            average: 0.999,
        }
    }
}

/// The state of a search.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Adam<F> {
    /// Steps so far.
    pub steps: u64,
    /// Mean of the gradient.
    pub first: Vec<F>,
    /// Mean of its square.
    pub second: Vec<F>,
    /// Running mean of the weights.
    pub mean: Vec<F>,
}

impl<F: Real> Adam<F> {
    /// At the start of a search from these weights.
    pub fn new(weights: &[F]) -> Self {
        Self {
            steps: 0,
            first: vec![F::default(); weights.len()],
            second: vec![F::default(); weights.len()],
            mean: weights.to_vec(),
        }
    }

    /// A step of length `rate` along a gradient.
    pub fn step(&mut self, settings: &AdamSettings, rate: f64, gradient: &[F], weights: &mut [F]) {
        self.steps += 1;
        let norm: f64 = gradient
            .iter()
            .map(|g| g.wide() * g.wide())
            .sum::<f64>()
            .sqrt();
        if !norm.is_finite() {
            return;
        }
        let scale = F::of((settings.clip / norm.max(1e-30)).min(1.0));
        let count = i32::try_from(self.steps).unwrap_or(i32::MAX);
        let [first_bias, second_bias] =
            [settings.momentum, settings.memory].map(|kept| 1.0 - kept.powi(count));
        // The mean starts short, so that it does not remember the first weights.
        let kept = settings
            .average
            .min((1.0 + self.steps as f64) / (10.0 + self.steps as f64));
        let [kept, new] = [kept, 1.0 - kept].map(F::of);
        let [m_kept, m_new] = [settings.momentum, 1.0 - settings.momentum].map(F::of);
        let [s_kept, s_new] = [settings.memory, 1.0 - settings.memory].map(F::of);
        let [rate, root, tiny] = [rate / first_bias, 1.0 / second_bias, 1e-8].map(F::of);
        let moments = self.first.iter_mut().zip(&mut self.second);
        let weights = weights.iter_mut().zip(&mut self.mean);
        for (((m, s), (weight, mean)), g) in moments.zip(weights).zip(gradient) {
            let g = *g * scale;
            *m = m_kept * *m + m_new * g;
            *s = s_kept * *s + s_new * g * g;
            *weight -= rate * *m / ((*s * root).sqrt() + tiny);
            *mean = kept * *mean + new * *weight;
        }
    }
}
