//! HTML pages: headings, paragraphs, tables and charts, one below the other.

use std::fmt::Write as _;

use super::{Chart, escape};

/// A page that needs nothing but a browser.
#[derive(Clone, Debug, PartialEq)]
pub struct Page {
    title: String,
    body: String,
    /// File names and pictures.
    charts: Vec<(String, String)>,
}

const STYLE: &str = "body{font-family:sans-serif;max-width:1340px;margin:2em auto;padding:0 1em;color:#222}\
    h1{font-size:1.6em}h2{font-size:1.2em;margin-top:1.6em}p{max-width:46em;line-height:1.45}\
    table{border-collapse:collapse;margin:1em 0}td,th{padding:.25em .8em;border-bottom:1px solid #ddd;text-align:right}\
    td:first-child,th:first-child{text-align:left}svg{margin:.4em .4em .4em 0;max-width:100%;height:auto}";

impl Page {
    /// An empty page.
    pub fn new(title: &str) -> Self {
        Self {
            title: escape(title),
            body: String::new(),
            charts: Vec::new(),
        }
    }

    /// Adds a heading.
    #[must_use]
    pub fn heading(mut self, text: &str) -> Self {
        let _ = writeln!(self.body, "<h2>{}</h2>", escape(text));
        self
    }

    /// Adds a paragraph.
    #[must_use]
    pub fn text(mut self, text: &str) -> Self {
        let _ = writeln!(self.body, "<p>{}</p>", escape(text));
        self
    }

    /// Adds a table.
    #[must_use]
    pub fn table(mut self, head: &[&str], rows: &[Vec<String>]) -> Self {
        self.body.push_str("<table>");
        self.row("th", head.iter().copied());
        for row in rows {
            self.row("td", row.iter().map(String::as_str));
        }
        self.body.push_str("</table>\n");
        self
    }

    fn row<'a>(&mut self, tag: &str, cells: impl Iterator<Item = &'a str>) {
        self.body.push_str("<tr>");
        for cell in cells {
            let _ = write!(self.body, "<{tag}>{}</{tag}>", escape(cell));
        }
        self.body.push_str("</tr>\n");
    }

    /// Adds a chart.
    #[must_use]
    pub fn chart(mut self, chart: &Chart<'_>) -> Self {
        let svg = chart.svg();
        self.body.push_str(&svg);
        let word = |letter: char| {
            if letter.is_alphanumeric() {
                letter
            } else {
                ' '
            }
        };
        let words: String = chart.title.to_lowercase().chars().map(word).collect();
        let words: Vec<&str> = words.split_whitespace().collect();
        self.charts.push((format!("{}.svg", words.join("_")), svg));
        self
    }

    /// What to write into a folder, by file names: each chart as a picture of its own, and at the end the page as `index.html`.
    pub fn files(&self) -> Vec<(String, String)> {
        let mut files = self.charts.clone();
        files.push(("index.html".to_owned(), self.html()));
        files
    }

    /// The page.
    pub fn html(&self) -> String {
        let Self { title, body, .. } = self;
        format!(
            "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>{title}</title><style>{STYLE}</style></head>\n\
             <body><h1>{title}</h1>\n{body}</body></html>\n"
        )
    }
}
