//! What is answered.

use std::sync::Arc;

use crate::serve::metrics;
use crate::serve::report::Reporter;

/// Where answers come from.
pub(in crate::serve) trait Pages {
    /// The answer to a GET of this path.
    fn page(&self, path: &str) -> Answer;
}

/// A status and a text.
#[derive(Debug)]
pub(in crate::serve) struct Answer {
    status: u16,
    content_type: &'static str,
    body: String,
}

impl Answer {
    pub(super) fn plain(status: u16, text: &str) -> Self {
        let body = format!("{}\n", text.trim_end_matches('\n'));
        Self { status, content_type: "text/plain; charset=utf-8", body }
    }

    /// The whole message. Every connection is of one request.
    pub(super) fn bytes(&self) -> Vec<u8> {
        let reason = match self.status {
            200 => "OK",
            400 => "Bad Request",
            404 => "Not Found",
            405 => "Method Not Allowed",
            431 => "Request Header Fields Too Large",
            _ => "Service Unavailable",
        };
        let Self { status, content_type, body } = self;
        // RFC 9110 §15.5.6: with 405, what is allowed.
        let allow = if *status == 405 { "Allow: GET\r\n" } else { "" };
        let length = body.len();
        format!(
            "HTTP/1.1 {status} {reason}\r\nContent-Type: {content_type}\r\nContent-Length: {length}\r\n{allow}\
             Cache-Control: no-store\r\nConnection: close\r\n\r\n{body}"
        )
        .into_bytes()
    }
}

impl Pages for Arc<Reporter> {
    fn page(&self, path: &str) -> Answer {
        match path {
            "/readyz" => self.ready(),
            "/livez" => match self.alive() {
                Ok(()) => Answer::plain(200, "alive"),
                Err(why) => Answer::plain(503, &why.to_string()),
            },
            "/metrics" => match self.overview().map(metrics::text) {
                Ok(Ok(body)) => Answer { status: 200, content_type: metrics::CONTENT_TYPE, body },
                Ok(Err(why)) => Answer::plain(503, &why.to_string()),
                Err(why) => Answer::plain(503, &why.to_string()),
            },
            _ => Answer::plain(404, "there are /readyz, /livez and /metrics"),
        }
    }
}

impl Reporter {
    /// A line for each reason why not; where there is none, the troubles that stop nothing.
    fn ready(&self) -> Answer {
        let troubles = self.troubles();
        let lines = |stop: bool| troubles.iter().filter(move |t| t.stops == stop).map(|t| format!("{t}\n"));
        if troubles.iter().any(|trouble| trouble.stops) {
            return Answer::plain(503, &lines(true).collect::<String>());
        }
        Answer::plain(200, &["ready\n".to_owned()].into_iter().chain(lines(false)).collect::<String>())
    }
}
