//! The book can be built: its chapters exist, what they include is there, and links stay within it.

use std::collections::BTreeMap;

use super::Repository;
use super::documents::{links, resolve};

pub(super) const SOURCE: &str = "book/src/";
const SUMMARY: &str = "book/src/SUMMARY.md";

/// Chapters of the summary exist, and every page is a chapter.
pub(super) fn chapters_exist(repository: &Repository) -> Vec<String> {
    let Some(summary) = repository.text(SUMMARY) else {
        return Vec::new();
    };
    let listed: Vec<String> = links(summary)
        .map(|link| resolve(SOURCE, link.split('#').next().unwrap_or_default()))
        .collect();
    let absent = (listed.iter())
        .filter(|path| repository.text(path).is_none())
        .map(|path| format!("{SUMMARY}: chapter `{path}` does not exist"));
    let idle = (repository.with_extension("md"))
        .filter(|file| file.path.starts_with(SOURCE) && file.path != SUMMARY)
        .filter(|file| !listed.contains(&file.path))
        .map(|file| format!("{}: not a chapter of {SUMMARY}", file.path));
    absent.chain(idle).collect()
}

/// Files and anchors that pages include are there; links of pages, also of included ones, lead to pages, headings and
/// images of the book.
pub(super) fn pages_are_whole(repository: &Repository) -> Vec<String> {
    let mut problems = Vec::new();
    let mut pages = BTreeMap::new();
    let files = repository.with_extension("md");
    for file in files.filter(|file| file.path.starts_with(SOURCE)) {
        let text = expand(repository, &file.path, &file.text, &mut problems);
        pages.insert(file.path.as_str(), text);
    }
    for (path, text) in &pages {
        for link in links(text).filter(|link| !link.contains("://")) {
            if let Some(reason) = broken(repository, &pages, path, link) {
                problems.push(format!("{path}: link to `{link}` {reason}"));
            }
        }
    }
    problems
}

/// Why a link of a page does not work in the book.
fn broken(
    repository: &Repository,
    pages: &BTreeMap<&str, String>,
    path: &str,
    link: &str,
) -> Option<String> {
    let (target, heading) = link.split_once('#').unwrap_or((link, ""));
    let target = if target.is_empty() {
        path.to_owned()
    } else {
        let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
        resolve(folder, target)
    };
    if !target.starts_with(SOURCE) {
        return Some("leads out of the book; name the path instead".to_owned());
    }
    let Some(page) = pages.get(target.as_str()) else {
        return (!repository.contains(&target)).then(|| "leads nowhere".to_owned());
    };
    let known = heading.is_empty() || headings(page).any(|known| known == heading);
    (!known).then(|| "names no heading".to_owned())
}

/// What headings of a page are called in links, as mdBook does.
fn headings(text: &str) -> impl Iterator<Item = String> {
    let outside_code = text.split("```").step_by(2).flat_map(str::lines);
    outside_code
        .filter_map(|line| {
            let title = line.trim_start_matches('#');
            (title.len() < line.len()).then(|| title.strip_prefix(' '))?
        })
        .map(|title| {
            let kept = title.trim().chars().filter_map(|c| match c {
                ' ' => Some('-'),
                c if c.is_alphanumeric() || c == '-' || c == '_' => Some(c),
                _ => None,
            });
            kept.flat_map(char::to_lowercase).collect()
        })
}

/// A page with the files that it includes put in.
fn expand(repository: &Repository, path: &str, text: &str, problems: &mut Vec<String>) -> String {
    const OPENING: &str = "{{#include ";
    let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
    let mut pieces = text.split(OPENING);
    let mut whole = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        let (place, rest) = piece.split_once("}}").unwrap_or((piece, ""));
        let (file, anchor) = place.split_once(':').unwrap_or((place, ""));
        match included(repository, &resolve(folder, file.trim()), anchor.trim()) {
            Ok(text) => whole.push_str(text),
            Err(reason) => problems.push(format!("{path}: includes `{place}`, {reason}")),
        }
        whole.push_str(rest);
    }
    whole
}

/// A file, or what stands between the marks of an anchor in it.
fn included<'a>(
    repository: &'a Repository,
    path: &str,
    anchor: &str,
) -> Result<&'a str, &'static str> {
    let text = repository.text(path).ok_or("which does not exist")?;
    if anchor.is_empty() {
        return Ok(text);
    }
    let after = |text: &'a str, mark: &str| {
        let at = text
            .match_indices(mark)
            .map(|(at, _)| at + mark.len())
            .find(|&end| !text[end..].starts_with(|c: char| c.is_alphanumeric() || c == '_'));
        at.map(|end| (&text[..end - mark.len()], &text[end..]))
    };
    let (_, rest) =
        after(text, &format!("ANCHOR: {anchor}")).ok_or("an anchor that is not there")?;
    let (inside, _) =
        after(rest, &format!("ANCHOR_END: {anchor}")).ok_or("an anchor that has no end")?;
    Ok(inside)
}

#[cfg(test)]
mod tests {
    use super::{Repository, chapters_exist, pages_are_whole};

    #[test]
    fn chapters_and_pages_are_the_same() {
        let repository = Repository::of(&[
            ("book/src/SUMMARY.md", "- [A](a.md)\n  - [B](maths/b.md)"),
            ("book/src/a.md", ""),
            ("book/src/forgotten.md", ""),
        ]);
        assert_eq!(
            chapters_exist(&repository),
            [
                "book/src/SUMMARY.md: chapter `book/src/maths/b.md` does not exist",
                "book/src/forgotten.md: not a chapter of book/src/SUMMARY.md",
            ]
        );
    }

    #[test]
    fn includes_links_headings_and_images_are_followed() {
        let page = "# Top\n{{#include ../../docs/a.md}}\n{{#include ../../x.rs:main}}\n{{#include ../../x.rs:gone}}\n\
                    [good](#one-more-μ_x) [bad](#two) ![plot](images/p.svg) [web](https://example.org) [code](../../x.rs)";
        let repository = Repository::of(&[
            ("book/src/page.md", page),
            (
                "docs/a.md",
                "## One more: `μ_x`\n[to](page.md) [missing](other.md)",
            ),
            (
                "x.rs",
                "// ANCHOR: main\nfn main() {}\n// ANCHOR_END: main\n// ANCHOR: gone_too",
            ),
        ]);
        let place = "book/src/page.md: ";
        assert_eq!(
            pages_are_whole(&repository),
            [
                "includes `../../x.rs:gone`, an anchor that is not there",
                "link to `other.md` leads nowhere",
                "link to `#two` names no heading",
                "link to `images/p.svg` leads nowhere",
                "link to `../../x.rs` leads out of the book; name the path instead",
            ]
            .map(|problem| format!("{place}{problem}"))
        );
    }
}
