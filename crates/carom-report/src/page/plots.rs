//! Charts of the report. Their colours are those of the page, light or dark: the style sheet sets them.

use carom_plot::{Chart, Scale, Series};
use carom_tasks::evaluate::Signal;
use carom_tasks::identify::{Outcome, ParameterProfile};
use carom_tasks::problem::FrameResidual;

/// Points of a chart, beyond which nothing more can be seen.
const MAX_POINTS: usize = 2_000;
/// Losses that span less than this factor are shown as they are, others by their logarithms.
const MAX_LINEAR_RATIO: f64 = 5.0;
/// Stretches of time over which residuals are summed up.
const TIME_BINS: usize = 40;

/// Some charts beside each other.
pub(super) fn grid(charts: &[String]) -> String {
    let charts: Vec<String> = charts
        .iter()
        .map(|chart| format!("<div class=\"chart\">{chart}</div>"))
        .collect();
    format!("<div class=\"charts\">{}</div>", charts.concat())
}

/// The loss of every evaluation, and the lowest so far.
pub(super) fn loss(found: &Outcome) -> String {
    let mut lowest = f64::INFINITY;
    let (mut best, mut each) = (Vec::new(), Vec::new());
    for (index, &value) in found.solution.history.iter().enumerate() {
        lowest = lowest.min(value);
        best.push([(index + 1) as f64, lowest]);
        each.push([(index + 1) as f64, value]);
    }
    let finite = best.iter().map(|point| point[1]).filter(|y| y.is_finite());
    let (least, most) = finite.fold((f64::INFINITY, 0.0_f64), |(low, high), y| {
        (low.min(y), high.max(y))
    });
    let scale = if least > 0.0 && most > MAX_LINEAR_RATIO * least {
        Scale::Logarithmic
    } else {
        Scale::Linear
    };
    let series = [
        Series::line("lowest so far", thinned(&best)),
        Series::dots("each evaluation", thinned(&each)).cut_off(),
    ];
    Chart {
        title: "Loss",
        x: ("evaluations", Scale::Linear),
        y: ("loss", scale),
        series: &series,
    }
    .svg()
}

/// A signal over time, measured and simulated.
pub(super) fn signal(signal: &Signal) -> String {
    let line = |place: usize| -> Vec<[f64; 2]> {
        let points = signal.points.iter();
        points.map(|point| [point[0], point[place]]).collect()
    };
    let series = [
        Series::line("simulated", thinned(&line(2))),
        Series::dots("measured", thinned(&line(1))),
    ];
    Chart {
        title: &signal.name,
        x: ("time (s)", Scale::Linear),
        y: (signal.unit, Scale::Linear),
        series: &series,
    }
    .svg()
}

/// How large residuals are over the time of the trajectories, before and after.
pub(super) fn residuals(found: &Outcome) -> String {
    let frames = &found.identified.frames;
    let end = frames.iter().map(|frame| frame.time).fold(0.0, f64::max);
    let mean = |number: fn(&FrameResidual) -> f64| -> Vec<[f64; 2]> {
        let mut sums = vec![[0.0; 3]; TIME_BINS];
        for frame in frames {
            #[allow(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "a place among the stretches"
            )]
            let place = (frame.time / end.max(f64::MIN_POSITIVE) * TIME_BINS as f64) as usize;
            let [time, square, count] = &mut sums[place.min(TIME_BINS - 1)];
            *time += frame.time;
            *square += number(frame).powi(2);
            *count += 1.0;
        }
        let full = sums.into_iter().filter(|[_, _, count]| *count > 0.0);
        full.map(|[time, square, count]| [time / count, (square / count).sqrt()])
            .collect()
    };
    let dots: Vec<[f64; 2]> = frames.iter().map(|f| [f.time, f.after]).collect();
    let series = [
        Series::marked("after, all frames", mean(|frame| frame.after)),
        Series::marked("before, all frames", mean(|frame| frame.before)),
        Series::dots("after, each frame", thinned(&dots)),
    ];
    let label = if found.settings.loss.by_noise {
        "root mean square, in units of the noise"
    } else {
        "root mean square"
    };
    Chart {
        title: "Residuals over time",
        x: ("time in the trajectory (s)", Scale::Linear),
        y: (label, Scale::Logarithmic),
        series: &series,
    }
    .svg()
}

/// The profile of a parameter beside the parabola of its interval.
pub(super) fn profile(profile: &ParameterProfile, unit: &str) -> String {
    let of = |number: fn(&carom_tasks::identify::Held) -> [f64; 2]| -> Vec<[f64; 2]> {
        profile.curve.iter().map(number).collect()
    };
    let ends =
        [profile.points.first(), profile.points.last()].map(|point| point.map(|one| one.value));
    let [first, last] = ends.map(|end| end.unwrap_or(f64::NAN));
    let fits = profile.points.iter().map(|point| [point.value, point.rise]);
    let series = [
        Series::line("profile", of(|held| [held.value, held.rise])),
        Series::line("parabola", of(|held| [held.value, held.parabola])).cut_off(),
        Series::line("limit", vec![[first, 1.0], [last, 1.0]]),
        Series::dots("fits", fits.collect()),
    ];
    let label = match unit {
        "" | "1" => profile.name.clone(),
        unit => format!("{} ({unit})", profile.name),
    };
    Chart {
        title: &profile.name,
        x: (&label, Scale::Linear),
        y: ("rise of the loss, 1 at the interval's ends", Scale::Linear),
        series: &series,
    }
    .svg()
}

fn thinned(points: &[[f64; 2]]) -> Vec<[f64; 2]> {
    let step = points.len().div_ceil(MAX_POINTS).max(1);
    points.iter().step_by(step).copied().collect()
}
