//! Curves over two logarithmic axes, as SVG.

use std::fmt::Write as _;

/// A curve with its name in the legend.
pub(super) struct Series {
    pub(super) name: String,
    /// Points (x, y), positive numbers.
    pub(super) points: Vec<[f64; 2]>,
}

const WIDTH: f64 = 640.0;
const HEIGHT: f64 = 420.0;
/// Left, top, right, bottom.
const MARGIN: [f64; 4] = [70.0, 40.0, 20.0, 55.0];
/// Distinguishable without seeing red and green apart.
const COLORS: [&str; 4] = ["#0072b2", "#d55e00", "#009e73", "#cc79a7"];

/// An axis from one power of ten to another, over a range of pixels.
struct Axis {
    /// Exponents of the ends.
    decades: [f64; 2],
    pixels: [f64; 2],
}

impl Axis {
    fn over(numbers: impl Iterator<Item = f64> + Clone, pixels: [f64; 2]) -> Self {
        let low = numbers.clone().fold(f64::INFINITY, f64::min).log10();
        let high = numbers.fold(0.0, f64::max).log10();
        let low = low.floor();
        Self {
            decades: [low, high.ceil().max(low + 1.0)],
            pixels,
        }
    }

    fn place(&self, number: f64) -> f64 {
        let [low, high] = self.decades;
        let share = (number.log10() - low) / (high - low);
        self.pixels[0] + share * (self.pixels[1] - self.pixels[0])
    }

    /// Powers of ten, and whether they carry a label: 1 to 9 times each.
    fn ticks(&self) -> impl Iterator<Item = (f64, bool)> {
        let [low, high] = self.decades;
        let end = 10_f64.powf(high) * 1.000_001;
        std::iter::successors(Some(low), |decade| Some(decade + 1.0))
            .flat_map(|decade| (1..10).map(move |k| (f64::from(k) * 10_f64.powf(decade), k == 1)))
            .take_while(move |(tick, _)| *tick <= end)
    }
}

/// Draws curves over two logarithmic axes.
pub(super) fn log_log(title: &str, x_label: &str, y_label: &str, series: &[Series]) -> String {
    let [left, top, right, bottom] = MARGIN;
    let numbers = |axis: usize| {
        series
            .iter()
            .flat_map(move |series| series.points.iter().map(move |point| point[axis]))
    };
    let x = Axis::over(numbers(0), [left, WIDTH - right]);
    let y = Axis::over(numbers(1), [HEIGHT - bottom, top]);
    let mut body = String::new();
    grid(&mut body, &x, &y);
    for (index, series) in series.iter().enumerate() {
        let color = COLORS[index % COLORS.len()];
        curve(&mut body, [&x, &y], series, color);
        let (line, text) = (left + 15.0, top + 20.0 + 20.0 * index as f64);
        let _ = writeln!(
            body,
            r#"<line x1="{line}" y1="{0}" x2="{1}" y2="{0}" stroke="{color}" stroke-width="2"/><text x="{2}" y="{text}">{3}</text>"#,
            text - 4.0,
            line + 24.0,
            line + 32.0,
            series.name
        );
    }
    let (middle_x, middle_y) = (0.5 * (left + WIDTH - right), 0.5 * (top + HEIGHT - bottom));
    format!(
        r#"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}" font-family="sans-serif" font-size="13">
<rect width="100%" height="100%" fill="white"/>
<text x="{middle_x}" y="24" text-anchor="middle" font-size="16">{title}</text>
{body}<text x="{middle_x}" y="{}" text-anchor="middle">{x_label}</text>
<text x="18" y="{middle_y}" text-anchor="middle" transform="rotate(-90 18 {middle_y})">{y_label}</text>
</svg>
"#,
        HEIGHT - 12.0
    )
}

/// Lines and labels of both axes.
fn grid(body: &mut String, x: &Axis, y: &Axis) {
    let shade = |labelled: bool| if labelled { "#bbbbbb" } else { "#eeeeee" };
    let ([left, right], [low, high]) = (x.pixels, y.pixels);
    for (tick, labelled) in x.ticks() {
        let (at, color) = (x.place(tick), shade(labelled));
        let _ = writeln!(
            body,
            r#"<line x1="{at:.1}" y1="{low}" x2="{at:.1}" y2="{high}" stroke="{color}"/>"#
        );
        if labelled {
            let below = low + 18.0;
            let _ = writeln!(
                body,
                r#"<text x="{at:.1}" y="{below}" text-anchor="middle">{tick}</text>"#
            );
        }
    }
    for (tick, labelled) in y.ticks() {
        let (at, color) = (y.place(tick), shade(labelled));
        let _ = writeln!(
            body,
            r#"<line x1="{left}" y1="{at:.1}" x2="{right}" y2="{at:.1}" stroke="{color}"/>"#
        );
        if labelled {
            let (beside, middle) = (left - 8.0, at + 4.0);
            let _ = writeln!(
                body,
                r#"<text x="{beside}" y="{middle:.1}" text-anchor="end">{tick}</text>"#
            );
        }
    }
}

fn curve(body: &mut String, [x, y]: [&Axis; 2], series: &Series, color: &str) {
    let places = series
        .points
        .iter()
        .map(|point| [x.place(point[0]), y.place(point[1])]);
    let path: Vec<String> = places
        .clone()
        .map(|[x, y]| format!("{x:.1},{y:.1}"))
        .collect();
    let _ = writeln!(
        body,
        r#"<polyline points="{}" fill="none" stroke="{color}" stroke-width="2"/>"#,
        path.join(" ")
    );
    for [x, y] in places {
        let _ = writeln!(
            body,
            r#"<circle cx="{x:.1}" cy="{y:.1}" r="3.5" fill="{color}"/>"#
        );
    }
}
