use super::*;
use crate::testing::ball_and_pendulum;

fn between<'a>(text: &'a str, from: &str, to: &str) -> &'a str {
    let rest = &text[text.find(from).unwrap() + from.len()..];
    &rest[..rest.find(to).unwrap()]
}

#[test]
fn the_page_holds_scene_and_recordings() {
    let model = ball_and_pendulum();
    let start = crate::Start::reference(&model);
    let (first, _) = Recording::simulate("a \"run\" <b>", &model, &start, 0.1, |_| true).unwrap();
    let (second, _) = Recording::simulate("ghost", &model, &start, 0.2, |_| true).unwrap();
    let films = [first.clone(), second.clone(), second];
    let page = export_html(&model, &films);
    assert!(!page.contains(MARKER));
    let policy = "http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; ";
    assert!(page.contains(policy));
    let scene = between(&page, "id=\"carom-scene\">", "</script>");
    let scene: serde_json::Value = serde_json::from_str(scene).unwrap();
    // The name would end the script if it were not escaped.
    assert_eq!(scene["name"], "ball </script> and pendulum");
    assert_eq!(page.matches("id=\"carom-recording\"").count(), 2);
    assert!(page.contains("data-name=\"a &quot;run&quot; &lt;b&gt;\""));
    let marked = "data-name=\"a &quot;run&quot; &lt;b&gt;\">";
    let bytes = STANDARD.decode(between(&page, marked, "</script>"));
    assert_eq!(bytes.unwrap(), first.to_bytes());
}

#[test]
fn without_a_recording_the_model_stands_still() {
    let page = export_html(&ball_and_pendulum(), &[]);
    assert_eq!(page.matches("id=\"carom-recording\"").count(), 1);
}

#[test]
fn the_page_has_one_place_for_data() {
    assert_eq!(PAGE.matches(MARKER).count(), 1);
    let (head, _) = PAGE.split_once("</head>").unwrap();
    assert!(head.contains(MARKER));
}
