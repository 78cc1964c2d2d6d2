//! Axes: where a number lies, and which numbers are marked.

/// How numbers are spread over an axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scale {
    /// Equal differences are equally long.
    Linear,
    /// Equal ratios are equally long; for positive numbers.
    Logarithmic,
}

/// An axis over a range of pixels.
pub(crate) struct Axis {
    scale: Scale,
    /// Ends, as numbers or as exponents of ten.
    ends: [f64; 2],
    pub(crate) pixels: [f64; 2],
}

impl Axis {
    /// An axis that shows all numbers that it can.
    pub(crate) fn over(scale: Scale, numbers: impl Iterator<Item = f64>, pixels: [f64; 2]) -> Self {
        let shown = numbers.filter(|&number| can_show(scale, number));
        let (low, high) = shown.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), number| {
            (low.min(number), high.max(number))
        });
        let ends = match scale {
            _ if low > high => [0.0, 1.0],
            Scale::Logarithmic => {
                let low = low.log10().floor();
                [low, high.log10().ceil().max(low + 1.0)]
            }
            Scale::Linear => {
                let spread = if high > low {
                    high - low
                } else {
                    low.abs().max(1.0)
                };
                [low - 0.04 * spread, high + 0.04 * spread]
            }
        };
        Self {
            scale,
            ends,
            pixels,
        }
    }

    pub(crate) fn shows(&self, number: f64) -> bool {
        can_show(self.scale, number)
    }

    pub(crate) fn place(&self, number: f64) -> f64 {
        let [low, high] = self.ends;
        let number = match self.scale {
            Scale::Linear => number,
            Scale::Logarithmic => number.log10(),
        };
        let share = (number - low) / (high - low);
        self.pixels[0] + share * (self.pixels[1] - self.pixels[0])
    }

    /// Numbers to mark, with a label or without.
    pub(crate) fn ticks(&self) -> Vec<(f64, Option<String>)> {
        let [low, high] = self.ends;
        match self.scale {
            Scale::Linear => {
                let step = round_step((high - low) / 6.0);
                let first = (low / step).ceil();
                (0..20)
                    .map(|index| (first + f64::from(index)) * step)
                    .take_while(|&tick| tick <= high)
                    .map(|tick| (tick, Some(label(tick, step))))
                    .collect()
            }
            Scale::Logarithmic => {
                let end = 10_f64.powf(high) * 1.000_001;
                std::iter::successors(Some(low), |decade| Some(decade + 1.0))
                    .flat_map(|decade| {
                        (1..10).map(move |k| {
                            let tick = f64::from(k) * 10_f64.powf(decade);
                            (tick, (k == 1).then(|| power_label(decade)))
                        })
                    })
                    .take_while(|(tick, _)| *tick <= end)
                    .collect()
            }
        }
    }
}

fn can_show(scale: Scale, number: f64) -> bool {
    number.is_finite() && (scale == Scale::Linear || number > 0.0)
}

/// 1, 2 or 5 times a power of ten, at least as long as asked for.
fn round_step(length: f64) -> f64 {
    let decade = 10_f64.powf(length.log10().floor());
    let rounded = [1.0, 2.0, 5.0].map(|factor| factor * decade);
    (rounded.into_iter().find(|&step| step >= length)).unwrap_or(10.0 * decade)
}

/// A number with as many digits as tell it from its neighbours.
fn label(tick: f64, step: f64) -> String {
    let tick = if tick.abs() < 1e-9 * step { 0.0 } else { tick };
    if tick.abs() >= 1e5 || (step < 1e-4 && tick != 0.0) {
        return format!("{tick:.0e}");
    }
    let digits = (0..5_usize)
        .find(|&digits| step * 10_f64.powf(digits as f64) >= 0.999)
        .unwrap_or(5);
    format!("{tick:.digits$}")
}

fn power_label(decade: f64) -> String {
    if (-3.0..=5.0).contains(&decade) {
        format!("{}", 10_f64.powf(decade))
    } else {
        format!("1e{decade}")
    }
}

#[cfg(test)]
mod tests {
    use super::{Axis, Scale, label, round_step};

    #[test]
    fn ticks_are_round_and_cover_the_axis() {
        assert_eq!(round_step(0.7), 1.0);
        assert_eq!(round_step(0.11), 0.2);
        assert_eq!(round_step(6.0), 10.0);
        assert_eq!(label(0.25, 0.05), "0.25");
        assert_eq!(label(-3.0, 1.0), "-3");
        for scale in [Scale::Linear, Scale::Logarithmic] {
            let axis = Axis::over(scale, [0.3, 7.0, 42.0].into_iter(), [0.0, 100.0]);
            let labelled = axis.ticks().iter().filter(|tick| tick.1.is_some()).count();
            assert!((2..=9).contains(&labelled), "{scale:?}: {labelled}");
            assert!(axis.place(0.3) >= 0.0 && axis.place(42.0) <= 100.0);
        }
    }
}
