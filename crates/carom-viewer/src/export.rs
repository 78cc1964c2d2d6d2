//! One file that shows it all: the page with a scene and recordings inside.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use carom::Model;

use crate::recording::Recording;
use crate::{PAGE, scene};

/// Where data goes in the page.
const MARKER: &str = "<!--carom-data-->";

/// What such a page may do: run what is in it. No name or number of a model can make it reach for a network.
const POLICY: &str = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; \
    img-src data: blob:; font-src data:; worker-src blob:; base-uri 'none'; form-action 'none'";

/// Recordings that a page shows at most: a motion, and a second one as its ghost.
pub const MAX_RECORDINGS: usize = 2;

/// A page that shows recordings of a model, complete in itself: it opens from disk and asks for nothing from any
/// network. The second recording is shown as the ghost of the first, further ones are left out. Without a recording it
/// shows the model at its start.
pub fn export_html(model: &Model, recordings: &[Recording]) -> String {
    let still;
    let recordings = if recordings.is_empty() {
        still = at_start(model);
        &still[..]
    } else {
        &recordings[..recordings.len().min(MAX_RECORDINGS)]
    };
    let has_gradients = recordings.iter().any(Recording::has_gradients);
    let scene = scene::scene(model, has_gradients);
    let mut data = format!(
        "<meta http-equiv=\"Content-Security-Policy\" content=\"{POLICY}\">\n\
         <script type=\"application/json\" id=\"carom-scene\">{}</script>",
        escape_json(&scene.to_string())
    );
    for recording in recordings {
        let name = escape_attribute(&recording.name);
        data.push_str(
            "\n<script type=\"application/octet-stream\" id=\"carom-recording\" data-name=\"",
        );
        data.push_str(&name);
        data.push_str("\">");
        STANDARD.encode_string(recording.to_bytes(), &mut data);
        data.push_str("</script>");
    }
    PAGE.replacen(MARKER, &data, 1)
}

/// A recording of one frame.
fn at_start(model: &Model) -> Vec<Recording> {
    let start = crate::Start::reference(model);
    let film = Recording::simulate("start", model, &start, 0.0, |_| true);
    film.map(|(recording, _)| vec![recording])
        .unwrap_or_default()
}

/// No text of the model can end the script or open a comment in it.
fn escape_json(json: &str) -> String {
    json.replace('<', "\\u003c")
}

fn escape_attribute(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            other => escaped.push(other),
        }
    }
    escaped
}

#[cfg(test)]
mod tests;
