//! What loads in MuJoCo loads here with a warning; what does not is an error with a place.

use std::fmt::Write as _;

use super::*;
use crate::source::SourceMap;

fn read(text: &str) -> (Option<Document>, Vec<Diagnostic>) {
    let mut diagnostics = Vec::new();
    let document = parse(FileId(0), &text.into(), &mut diagnostics);
    (document, diagnostics)
}

fn messages(diagnostics: &[Diagnostic]) -> Vec<&str> {
    diagnostics.iter().map(|one| one.message.as_str()).collect()
}

#[test]
fn tree_attributes_and_places() {
    let text = "<?xml version=\"1.0\"?>\n<a x=\"1 2\" y='q\"'>\n  <b/>text <c z=\"&lt;&#65;\"><d/></c>\n</a>\n";
    let (document, diagnostics) = read(text);
    assert_eq!(messages(&diagnostics), Vec::<&str>::new());
    let document = document.unwrap();
    let root = document.root();
    assert_eq!(
        (root.tag(), root.value("x"), root.value("y")),
        ("a", Some("1 2"), Some("q\""))
    );
    let tags: Vec<&str> = root.children().map(super::super::Element::tag).collect();
    assert_eq!(tags, ["b", "c"]);
    let c = root.child("c").unwrap();
    assert_eq!(c.value("z"), Some("<A"));
    assert_eq!(c.child("d").unwrap().parent().unwrap().tag(), "c");
    assert_eq!(root.text(), "text");
    let x = root.attribute("x").unwrap();
    let covered = |span: Span| &text[span.start as usize..span.end as usize];
    assert_eq!(covered(x.name_span()), "x");
    assert_eq!(covered(x.value_span()), "1 2");
    assert_eq!(covered(x.part_span(2, 3)), "2");
    assert_eq!(covered(c.span()), "<c z=\"&lt;&#65;\">");
    assert_eq!(covered(c.tag_span()), "c");
}

/// Each of these loads in MuJoCo 4.0.0.
#[test]
fn leniencies_of_mujoco_are_warnings() {
    let cases = [
        (
            "<a><! foo bar=\"1\"></a>",
            "'<!…>' is neither element nor comment; it is ignored",
        ),
        ("<!DOCTYPE a><a/>", "document type declarations are ignored"),
        (
            "<a n=\"b&foo;c\"/>",
            "unknown entity '&foo;' is kept as it is",
        ),
        (
            "<a n=\"b & c\"/>",
            "'&' in an attribute value should be &amp;",
        ),
        ("<a n=\"b&\"/>", "'&' in an attribute value should be &amp;"),
        (
            "<a n=\"&#xZZ;\"/>",
            "'&' in an attribute value should be &amp;",
        ),
        ("<a n=\"b<c\"/>", "'<' in an attribute value should be &lt;"),
        (
            "<a n=\"b\"m=\"c\"/>",
            "space is missing before the attribute",
        ),
        ("junk <a/>", "text before the first element is ignored"),
        ("<a/><b/>", "a second root element is ignored"),
        (
            "<a></a b=\"1\">",
            "an end tag holds only its name; the rest is ignored",
        ),
        ("<a/></a>", "end tag without a start tag is ignored"),
    ];
    for (text, message) in cases {
        let (document, diagnostics) = read(text);
        assert!(document.is_some(), "{text}");
        assert_eq!(messages(&diagnostics), [message], "{text}");
        assert!(
            !diagnostics[0].is_error() && diagnostics[0].span.is_some(),
            "{text}"
        );
    }
}

#[test]
fn leniencies_without_a_warning() {
    let cases = [
        "<a><!-- x -- y --></a>",
        "<a><!-- x ---></a>",
        "<a>text ]]> more</a>",
        "<a><![CDATA[ <b> ]]></a>",
        "\n <?xml version=\"1.0\"?><?xml?><a/>",
        "< a></ a >",
        "<a n = \"x\"></a\n>",
        "<x:a x:b=\"1\"/>",
    ];
    for text in cases {
        let (document, diagnostics) = read(text);
        assert!(document.is_some(), "{text}");
        assert_eq!(messages(&diagnostics), Vec::<&str>::new(), "{text}");
    }
}

#[test]
fn kept_values_match_mujoco() {
    let value = |text: &str| read(text).0.unwrap().root().value("n").map(str::to_owned);
    assert_eq!(value("<a n=\"b&foo;c\"/>").as_deref(), Some("b&foo;c"));
    assert_eq!(value("<a n=\"b & c\"/>").as_deref(), Some("b & c"));
    assert_eq!(value("<a n=\"a&#65b\"/>").as_deref(), Some("a&#65b"));
    assert_eq!(
        value("<a n=\"b\r\nc\rd\te\"/>").as_deref(),
        Some("b\nc\nd\te")
    );
    assert_eq!(
        value("<a n=\"&#x110000;\"/>").as_deref(),
        Some("&#x110000;")
    );
    assert_eq!(
        value("<a n='&lt;&gt;&amp;&quot;&apos;&#65;&#x42;'/>").as_deref(),
        Some("<>&\"'AB")
    );
}

/// MuJoCo refuses each of these too.
#[test]
fn what_mujoco_refuses_is_an_error_with_a_place() {
    let cases = [
        (
            "<a n=\"b\" n=\"c\"/>",
            "attribute 'n' of <a> is given twice",
            (1, 10),
        ),
        (
            "<a n=b/>",
            "value of attribute 'n' is not in quotes",
            (1, 6),
        ),
        ("<a n/>", "attribute 'n' has no value", (1, 4)),
        (
            "<a n=\"b/>",
            "value of attribute 'n' is never closed",
            (1, 6),
        ),
        (
            "<a / >",
            "expected an attribute, '>' or '/>' in <a>",
            (1, 4),
        ),
        ("<a>\n<!-- x", "comment is never closed", (2, 1)),
        (
            "<a>\n <b></c></a>",
            "end tag </c> does not match <b>",
            (2, 7),
        ),
        ("<a><b>", "element <b> is never closed", (1, 4)),
        ("<a><b/>", "element <a> is never closed", (1, 1)),
        ("<a> x < 3 </a>", "'<' is not followed by a name", (1, 7)),
        ("<a><1b/></a>", "'<' is not followed by a name", (1, 4)),
        ("<a/>junk", "text after the last element", (1, 5)),
        ("<a/><", "'<' is not followed by a name", (1, 5)),
        ("<!-- x -->", "file has no element", (1, 11)),
        ("<a x=\"1\"\n", "start tag <a is never closed", (1, 2)),
    ];
    for (text, message, (line, column)) in cases {
        let (_, diagnostics) = read(text);
        let error = diagnostics.iter().find(|one| one.is_error()).unwrap();
        assert_eq!(error.message, message, "{text}");
        let mut sources = SourceMap::new();
        sources.add("a.xml", text, None);
        let position = sources.position(error.span.unwrap()).unwrap();
        assert_eq!((position.line, position.column), (line, column), "{text}");
    }
}

#[test]
fn a_forgotten_quote_is_suspected() {
    let (_, diagnostics) = read("<a name=\"b pos=\"1\"/>");
    let help = diagnostics.last().unwrap().help.as_deref();
    assert_eq!(help, Some("the value of 'name' may lack its closing quote"));
}

#[test]
fn depth_attributes_and_entities_are_bounded() {
    let deep = "<a>".repeat(100_000);
    let (document, diagnostics) = read(&deep);
    assert!(document.is_none());
    assert_eq!(
        messages(&diagnostics),
        ["elements are nested more than 500 deep"]
    );
    assert!(
        read(&format!("{}{}", "<a>".repeat(500), "</a>".repeat(500)))
            .0
            .is_some()
    );

    let mut many = String::from("<a");
    for index in 0..100_000 {
        write!(many, " a{index}=\"\"").unwrap();
    }
    many.push_str("/>");
    assert_eq!(
        messages(&read(&many).1),
        ["element has more than 256 attributes"]
    );

    let mut laughs = String::from("<!DOCTYPE lolz [<!ENTITY lol0 \"lol\">");
    for level in 1..20 {
        let previous = format!("&lol{};", level - 1);
        write!(laughs, "<!ENTITY lol{level} \"{}\">", previous.repeat(10)).unwrap();
    }
    laughs.push_str("]><a n=\"&lol19;\"/>");
    let (document, diagnostics) = read(&laughs);
    assert!(document.is_none());
    assert_eq!(
        diagnostics.last().unwrap().message,
        "entity '&lol19;' is not expanded"
    );
}

#[test]
fn warnings_are_limited() {
    let (document, diagnostics) = read(&format!("<a>{}</a>", "<! >".repeat(100_000)));
    assert!(document.is_some());
    assert_eq!(diagnostics.len(), MAX_WARNINGS);
}
