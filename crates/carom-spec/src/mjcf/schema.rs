//! Which elements and attributes MJCF has, and the check of a whole file against it.
//!
//! The grammar itself is the text `schema.txt`.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use super::codes;
use super::include::Tree;
use super::problems::Problems;
use crate::diagnostic::{Diagnostic, nearest_name};
use crate::xml::Element;

static SCHEMA: LazyLock<Schema> = LazyLock::new(|| Schema::parse(include_str!("schema.txt")));

/// What is known about one element.
#[derive(Debug, Default)]
struct Rule {
    tag: &'static str,
    /// Tag of the element that it stands in; empty for the root.
    parent: &'static str,
    /// At most one in the parent.
    unique: bool,
    /// Code and message of an element that is refused.
    unsupported: Option<(&'static str, &'static str)>,
    attributes: Vec<&'static str>,
    children: Vec<usize>,
}

/// An element of MJCF as this reader knows it, for tables of what is supported.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KnownElement {
    /// Its tag.
    pub tag: &'static str,
    /// Tag of the element that it stands in; empty for the root. What stands in `body` may stand in `worldbody`,
    /// `frame` and `replicate` too.
    pub parent: &'static str,
    /// Names of its attributes.
    pub attributes: &'static [&'static str],
    /// Code and sentence with which it is refused.
    pub refusal: Option<(&'static str, &'static str)>,
}

/// Every element of MJCF, parents before their children.
pub fn known_elements() -> impl Iterator<Item = KnownElement> {
    SCHEMA.rules.iter().map(|rule| KnownElement {
        tag: rule.tag,
        parent: rule.parent,
        attributes: &rule.attributes,
        refusal: rule.unsupported,
    })
}

/// All rules; rule 0 is the root.
struct Schema {
    rules: Vec<Rule>,
}

impl Schema {
    fn parse(text: &'static str) -> Self {
        let mut groups: BTreeMap<&str, Vec<&'static str>> = BTreeMap::new();
        let mut rules: Vec<Rule> = Vec::new();
        let mut open: Vec<usize> = Vec::new();
        for line in text.lines().filter(|line| !line.starts_with('#')) {
            let content = line.trim_start();
            let depth = (line.len() - content.len()) / 2;
            if let Some((name, members)) = content
                .strip_prefix("group ")
                .and_then(|group| group.split_once(':'))
            {
                groups.insert(name, members.split_whitespace().collect());
            } else if !content.is_empty() {
                let index = rules.len();
                open.truncate(depth);
                let mut rule = parse_rule(content, &groups);
                if let Some(&parent) = open.last() {
                    rule.parent = rules[parent].tag;
                    rules[parent].children.push(index);
                }
                open.push(index);
                rules.push(rule);
            }
        }
        share_body_content(&mut rules);
        Self { rules }
    }

    fn child(&self, parent: usize, tag: &str) -> Option<usize> {
        let children = &self.rules[parent].children;
        children
            .iter()
            .copied()
            .find(|&child| self.rules[child].tag == tag)
    }
}

impl Schema {
    /// The first element, other than defaults, that can hold an element with that tag.
    fn home_of(&self, tag: &str) -> Option<&'static str> {
        let holds = |rule: &&Rule| {
            rule.tag != "default"
                && rule
                    .children
                    .iter()
                    .any(|&child| self.rules[child].tag == tag)
        };
        self.rules.iter().find(holds).map(|rule| rule.tag)
    }
}

fn parse_rule(content: &'static str, groups: &BTreeMap<&str, Vec<&'static str>>) -> Rule {
    if let Some((tag, (code, message))) = content
        .split_once('!')
        .and_then(|(tag, rest)| Some((tag, rest.split_once(' ')?)))
    {
        return Rule {
            tag,
            unsupported: Some((code, message)),
            ..Rule::default()
        };
    }
    let (tag, list) = content.split_once(':').unwrap_or((content, ""));
    let mut attributes = Vec::new();
    for word in list.split_whitespace() {
        match word.strip_prefix('@') {
            Some(group) => attributes.extend(groups.get(group).into_iter().flatten()),
            None => attributes.push(word),
        }
    }
    Rule {
        tag: tag.trim_end_matches('?'),
        unique: tag.ends_with('?'),
        attributes,
        ..Rule::default()
    }
}

/// Gives worldbody, frame and replicate the content of bodies, and defaults their nested defaults.
fn share_body_content(rules: &mut [Rule]) {
    let find = |tag: &str| rules.iter().position(|rule| rule.tag == tag);
    let (Some(body), Some(world), Some(frame), Some(replicate), Some(default)) = (
        find("body"),
        find("worldbody"),
        find("frame"),
        find("replicate"),
        find("default"),
    ) else {
        return;
    };
    let mut content = rules[body].children.clone();
    content.push(body);
    for container in [world, body, frame, replicate] {
        rules[container].children.clone_from(&content);
    }
    rules[default].children.push(default);
    // A body stands in the world, not beside it.
    rules[0].children.retain(|&child| child != body);
}

/// Most elements of one model: of its files, of its tree and of every list outside the tree.
pub(super) const MAX_ELEMENTS: usize = 500_000;

/// Reports every unknown element and attribute, repeated unique elements and unsupported elements.
///
/// False when there are too many elements to go on.
pub(super) fn check(tree: &Tree, root: Element<'_>, problems: &Problems<'_>) -> bool {
    let schema = &*SCHEMA;
    let mut open = vec![(root, 0_usize)];
    let mut count = 0;
    while let Some((element, index)) = open.pop() {
        count += 1;
        if count + open.len() > MAX_ELEMENTS {
            let message = format!("the model has more than {MAX_ELEMENTS} elements");
            problems.error(codes::TOO_LARGE, element.span(), message);
            return false;
        }
        let rule = &schema.rules[index];
        check_attributes(element, rule, problems);
        let mut seen: Vec<usize> = Vec::new();
        let first = open.len();
        for child in tree.children(element) {
            let Some(known) = schema.child(index, child.tag()) else {
                unknown_element(schema, rule, child, problems);
                continue;
            };
            let child_rule = &schema.rules[known];
            if let Some((code, message)) = child_rule.unsupported {
                problems.unsupported(code, child.span(), message);
                continue;
            }
            if child_rule.unique && seen.contains(&known) {
                let message = format!("<{}> may appear only once in <{}>", child.tag(), rule.tag);
                problems.error(codes::REPEATED_ELEMENT, child.span(), message);
            }
            seen.push(known);
            open.push((child, known));
        }
        // The last one pushed is taken next: keep the order of the file.
        open[first..].reverse();
    }
    true
}

fn check_attributes(element: Element<'_>, rule: &Rule, problems: &Problems<'_>) {
    for attribute in element.attributes() {
        let name = attribute.name();
        if rule.attributes.contains(&name) {
            continue;
        }
        let message = format!("<{}> has no attribute '{name}'", element.tag());
        // MuJoCo does not look at the attributes of these two, and files rely on it.
        let is_lenient = matches!(rule.tag, "frame" | "replicate");
        let diagnostic = if is_lenient {
            Diagnostic::warning(codes::UNKNOWN_ATTRIBUTE, message + "; ignored")
        } else {
            Diagnostic::error(codes::UNKNOWN_ATTRIBUTE, message)
        };
        let mut diagnostic = diagnostic.at(attribute.name_span());
        if let Some(near) = nearest_name(name, rule.attributes.iter().copied()) {
            diagnostic = diagnostic.help(format!("did you mean '{near}'?"));
        }
        problems.push(diagnostic);
    }
}

fn unknown_element(schema: &Schema, parent: &Rule, child: Element<'_>, problems: &Problems<'_>) {
    let tag = child.tag();
    let message = format!("<{tag}> is not known inside <{}>", parent.tag);
    let mut diagnostic = Diagnostic::error(codes::UNKNOWN_ELEMENT, message).at(child.tag_span());
    let children = parent.children.iter().map(|&index| schema.rules[index].tag);
    if let Some(near) = nearest_name(tag, children) {
        diagnostic = diagnostic.help(format!("did you mean <{near}>?"));
    } else if let Some(place) = schema.home_of(tag) {
        diagnostic = diagnostic.help(format!("<{tag}> belongs inside <{place}>"));
    }
    problems.push(diagnostic);
}
