//! Charts as SVG, and HTML pages that show them. Nothing here depends on anything, so that every tool can draw.
//!
//! ```
//! use carom_plot::{Chart, Page, Scale, Series};
//!
//! let square = (0..10).map(|x| [f64::from(x), f64::from(x * x)]).collect();
//! let chart = Chart {
//!     title: "Squares",
//!     x: ("x", Scale::Linear),
//!     y: ("x²", Scale::Linear),
//!     series: &[Series::line("square", square)],
//! };
//! let page = Page::new("Numbers").text("They grow.").chart(&chart);
//! assert!(page.html().contains("<svg"));
//! ```

mod axis;
mod page;

pub use axis::Scale;
pub use page::Page;

use axis::Axis;
use std::fmt::Write as _;

/// A curve with its name in the legend.
#[derive(Clone, Debug, PartialEq)]
pub struct Series {
    /// Its name.
    pub name: String,
    /// Points (x, y). Those that are not finite, or not positive on a logarithmic axis, leave a gap.
    pub points: Vec<[f64; 2]>,
    /// Whether points are marked.
    pub marked: bool,
    /// Whether points are joined by a line.
    pub joined: bool,
    /// Whether the axes reach as far as its points. Others are cut off where they leave the frame.
    pub framed: bool,
}

impl Series {
    /// A line.
    pub fn line(name: impl Into<String>, points: Vec<[f64; 2]>) -> Self {
        Self {
            name: name.into(),
            points,
            marked: false,
            joined: true,
            framed: true,
        }
    }

    /// A line through marked points.
    pub fn marked(name: impl Into<String>, points: Vec<[f64; 2]>) -> Self {
        Self {
            marked: true,
            ..Self::line(name, points)
        }
    }

    /// Points alone.
    pub fn dots(name: impl Into<String>, points: Vec<[f64; 2]>) -> Self {
        Self {
            joined: false,
            ..Self::marked(name, points)
        }
    }

    /// The same in a frame that the other series make: for curves that scatter far beyond what is to be seen.
    #[must_use]
    pub fn cut_off(self) -> Self {
        Self {
            framed: false,
            ..self
        }
    }
}

/// Curves over two axes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Chart<'a> {
    /// What it shows.
    pub title: &'a str,
    /// Label and scale of the horizontal axis.
    pub x: (&'a str, Scale),
    /// Label and scale of the vertical axis.
    pub y: (&'a str, Scale),
    /// The curves.
    pub series: &'a [Series],
}

const WIDTH: f64 = 640.0;
const HEIGHT: f64 = 420.0;
/// Left, top, right, bottom.
const MARGIN: [f64; 4] = [75.0, 40.0, 20.0, 55.0];
/// Distinguishable without seeing red and green apart.
const COLORS: [&str; 8] = [
    "#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#222222", "#999999",
];
/// As many names find room in a corner of the picture; more stand beside it.
const MAX_NAMES_INSIDE: usize = 4;

impl Chart<'_> {
    /// The picture.
    pub fn svg(&self) -> String {
        let [left, top, right, bottom] = MARGIN;
        let numbers = |axis: usize| {
            let framed = self.series.iter().filter(|series| series.framed);
            let points = framed.flat_map(|series| &series.points);
            points.map(move |point| point[axis])
        };
        let x = Axis::over(self.x.1, numbers(0), [left, WIDTH - right]);
        let y = Axis::over(self.y.1, numbers(1), [HEIGHT - bottom, top]);
        let mut body = String::new();
        grid(&mut body, &x, &y);
        let (width, height) = (WIDTH - left - right, HEIGHT - top - bottom);
        let _ = writeln!(
            body,
            r#"<svg x="{left}" y="{top}" width="{width}" height="{height}" viewBox="{left} {top} {width} {height}">"#
        );
        for (index, series) in self.series.iter().enumerate() {
            let color = COLORS[index % COLORS.len()];
            curve(&mut body, [&x, &y], series, color);
        }
        body.push_str("</svg>\n");
        let mut whole_width = WIDTH;
        if self.series.len() > MAX_NAMES_INSIDE {
            whole_width += legend_size(self.series)[0];
            names(&mut body, [WIDTH - right, top], self.series);
        } else if self.series.len() > 1 {
            legend(&mut body, [&x, &y], self.series);
        }
        let (middle_x, middle_y) = (0.5 * (left + WIDTH - right), 0.5 * (top + HEIGHT - bottom));
        let [title, x_label, y_label] = [self.title, self.x.0, self.y.0].map(escape);
        format!(
            r#"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {whole_width:.0} {HEIGHT}" width="{whole_width:.0}" height="{HEIGHT}" font-family="sans-serif" font-size="13">
<rect width="100%" height="100%" fill="white"/>
<text x="{middle_x}" y="24" text-anchor="middle" font-size="16">{title}</text>
{body}<text x="{middle_x}" y="{}" text-anchor="middle">{x_label}</text>
<text x="18" y="{middle_y}" text-anchor="middle" transform="rotate(-90 18 {middle_y})">{y_label}</text>
</svg>
"#,
            HEIGHT - 12.0
        )
    }
}

/// Text that can stand in XML.
fn escape(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}

/// Lines and labels of both axes.
fn grid(body: &mut String, x: &Axis, y: &Axis) {
    let shade = |labelled: bool| if labelled { "#bbbbbb" } else { "#eeeeee" };
    let ([left, right], [low, high]) = (x.pixels, y.pixels);
    for (tick, label) in x.ticks() {
        let (at, color) = (x.place(tick), shade(label.is_some()));
        let _ = writeln!(
            body,
            r#"<line x1="{at:.1}" y1="{low}" x2="{at:.1}" y2="{high}" stroke="{color}"/>"#
        );
        if let Some(label) = label {
            let below = low + 18.0;
            let _ = writeln!(
                body,
                r#"<text x="{at:.1}" y="{below}" text-anchor="middle">{label}</text>"#
            );
        }
    }
    for (tick, label) in y.ticks() {
        let (at, color) = (y.place(tick), shade(label.is_some()));
        let _ = writeln!(
            body,
            r#"<line x1="{left}" y1="{at:.1}" x2="{right}" y2="{at:.1}" stroke="{color}"/>"#
        );
        if let Some(label) = label {
            let (beside, middle) = (left - 8.0, at + 4.0);
            let _ = writeln!(
                body,
                r#"<text x="{beside}" y="{middle:.1}" text-anchor="end">{label}</text>"#
            );
        }
    }
}

fn curve(body: &mut String, [x, y]: [&Axis; 2], series: &Series, color: &str) {
    let is_shown = |point: &[f64; 2]| x.shows(point[0]) && y.shows(point[1]);
    let place = |point: &[f64; 2]| [x.place(point[0]), y.place(point[1])];
    if series.joined {
        for run in series.points.split(|point| !is_shown(point)) {
            let path: Vec<String> = run
                .iter()
                .map(place)
                .map(|[x, y]| format!("{x:.1},{y:.1}"))
                .collect();
            if path.len() > 1 {
                let _ = writeln!(
                    body,
                    r#"<polyline points="{}" fill="none" stroke="{color}" stroke-width="2"/>"#,
                    path.join(" ")
                );
            }
        }
    }
    if series.marked {
        let shown = series.points.iter().filter(|point| is_shown(point));
        for [x, y] in shown.map(place) {
            let _ = writeln!(
                body,
                r#"<circle cx="{x:.1}" cy="{y:.1}" r="3" fill="{color}"/>"#
            );
        }
    }
}

/// Width and height of the names of curves.
fn legend_size(series: &[Series]) -> [f64; 2] {
    let longest = series.iter().map(|series| series.name.chars().count());
    let width = 45.0 + 7.2 * longest.max().unwrap_or(0) as f64;
    [width, 20.0 * series.len() as f64 + 4.0]
}

/// Names of the curves, in the corner that hides the fewest points.
fn legend(body: &mut String, [x, y]: [&Axis; 2], series: &[Series]) {
    let [width, height] = legend_size(series);
    let [near, far] = [MARGIN[0] + 10.0, WIDTH - MARGIN[2] - 10.0 - width];
    let [above, below] = [MARGIN[1] + 8.0, HEIGHT - MARGIN[3] - 8.0 - height];
    let hidden = |&[left, top]: &[f64; 2]| {
        let points = series.iter().flat_map(|series| &series.points);
        points
            .map(|point| [x.place(point[0]) - left, y.place(point[1]) - top])
            .filter(|[x, y]| (0.0..=width).contains(x) && (0.0..=height).contains(y))
            .count()
    };
    let corners = [[near, above], [far, above], [near, below], [far, below]];
    let best = corners.into_iter().min_by_key(hidden);
    let [left, top] = best.unwrap_or(corners[0]);
    let _ = writeln!(
        body,
        r#"<rect x="{left:.0}" y="{top}" width="{width:.0}" height="{height}" fill="white" fill-opacity="0.8"/>"#
    );
    names(body, [left, top], series);
}

/// Names of the curves below each other, from a place on.
fn names(body: &mut String, [left, top]: [f64; 2], series: &[Series]) {
    for (index, series) in series.iter().enumerate() {
        let (color, text) = (
            COLORS[index % COLORS.len()],
            top + 17.0 + 20.0 * index as f64,
        );
        let (start, middle) = (left + 5.0, text - 4.0);
        let _ = writeln!(
            body,
            r#"<line x1="{start}" y1="{middle}" x2="{}" y2="{middle}" stroke="{color}" stroke-width="3"/><text x="{}" y="{text}">{}</text>"#,
            start + 24.0,
            start + 32.0,
            escape(&series.name)
        );
    }
}

#[cfg(test)]
mod tests {
    use super::{Chart, Page, Scale, Series};

    fn chart(points: Vec<[f64; 2]>, scale: Scale) -> String {
        Chart {
            title: "a < b",
            x: ("x", scale),
            y: ("y", scale),
            series: &[
                Series::marked("curve & dots", points),
                Series::line("nothing", Vec::new()),
            ],
        }
        .svg()
    }

    #[test]
    fn points_that_cannot_be_shown_leave_gaps() {
        let points = vec![
            [1.0, 1.0],
            [2.0, 10.0],
            [3.0, f64::NAN],
            [4.0, 5.0],
            [5.0, 100.0],
        ];
        let svg = chart(points.clone(), Scale::Linear);
        assert_eq!(svg.matches("<polyline").count(), 2);
        assert_eq!(svg.matches("<circle").count(), 4);
        assert!(svg.contains("a &lt; b") && svg.contains("curve &amp; dots"));
        let mut with_zero = points;
        with_zero[2][1] = 0.0;
        assert_eq!(
            chart(with_zero, Scale::Logarithmic)
                .matches("<circle")
                .count(),
            4
        );
    }

    #[test]
    fn nothing_and_a_single_point_are_drawn_too() {
        for points in [vec![], vec![[2.0, 3.0]]] {
            for scale in [Scale::Linear, Scale::Logarithmic] {
                assert!(!chart(points.clone(), scale).contains("NaN"));
            }
        }
    }

    #[test]
    fn a_curve_that_is_cut_off_does_not_widen_the_frame() {
        let flat = Series::line("flat", vec![[0.0, 1.0], [1.0, 2.0]]);
        let wild = Series::line("wild", vec![[0.0, -900.0], [1.0, 900.0]]);
        let labels = |series: &[Series]| {
            let svg = Chart {
                title: "",
                x: ("x", Scale::Linear),
                y: ("y", Scale::Linear),
                series,
            }
            .svg();
            svg.contains(">500<")
        };
        assert!(labels(&[flat.clone(), wild.clone()]));
        assert!(!labels(&[flat, wild.cut_off()]));
    }

    #[test]
    fn names_stand_where_they_hide_nothing() {
        let falling: Vec<_> = (0..100).map(|x| [f64::from(x), -f64::from(x)]).collect();
        let rising: Vec<_> = falling.iter().map(|[x, y]| [*x, -y]).collect();
        let left = |points: Vec<[f64; 2]>| {
            let svg = chart(points, Scale::Linear);
            let legend = svg.find("fill-opacity").unwrap_or(0);
            let from = svg[..legend].rfind("<rect x=\"").unwrap_or(0) + 9;
            svg[from..from + 3].trim_end_matches('"').parse::<f64>()
        };
        assert_eq!(left(rising), Ok(85.0));
        assert!(left(falling).is_ok_and(|left| left > 300.0));
    }

    #[test]
    fn many_names_stand_beside_the_picture() {
        let series: Vec<Series> = (0..9)
            .map(|index| Series::line(format!("curve {index}"), vec![[0.0, 0.0], [1.0, 1.0]]))
            .collect();
        let svg = Chart {
            title: "",
            x: ("x", Scale::Linear),
            y: ("y", Scale::Linear),
            series: &series,
        }
        .svg();
        assert!(!svg.contains("fill-opacity") && !svg.contains("width=\"640\""));
        assert!(svg.contains("curve 8"));
    }

    #[test]
    fn pages_hold_text_tables_and_charts_in_order() {
        let series = [Series::line("line", vec![[0.0, 0.0], [1.0, 1.0]])];
        let chart = Chart {
            title: "t",
            x: ("x", Scale::Linear),
            y: ("y", Scale::Linear),
            series: &series,
        };
        let rows = vec![vec!["1".to_owned(), "<2>".to_owned()]];
        let page = Page::new("Title")
            .heading("First")
            .text("Words.")
            .table(&["a", "b"], &rows)
            .chart(&chart);
        let html = page.html();
        let places = ["<h1>Title", "<h2>First", "<p>Words", "&lt;2&gt;", "<svg"]
            .map(|part| html.find(part).unwrap_or(usize::MAX));
        assert!(places.is_sorted(), "{places:?}");
        assert!(places[4] < html.len());
        let names: Vec<_> = page.files().into_iter().map(|(name, _)| name).collect();
        assert_eq!(names, ["t.svg", "index.html"]);
        assert_eq!(page.files()[1].1, html);
    }
}
