//! HOST:PORT: what is taken is shown so that it is read as the same.

use tallylink_files::host_port::HostPort;

/// The text.
pub fn host_port(data: &[u8]) {
    let Ok(text) = str::from_utf8(data) else { return };
    let parsed: HostPort = match text.parse() {
        Ok(parsed) => parsed,
        Err(error) => {
            let error: tallylink_files::host_port::HostPortError = error;
            let sentence = error.to_string();
            return assert!(!sentence.chars().any(char::is_control), "{sentence:?} is not one line");
        }
    };
    assert!(parsed.port != 0 && !parsed.host.is_empty() && parsed.host.is_ascii());
    let mut shown = parsed.to_string();
    if crate::planted::here() && parsed.host.contains("::") {
        // The brackets are forgotten.
        shown = shown.replace(['[', ']'], "");
    }
    assert_eq!(shown.parse(), Ok(parsed), "{shown} reads back as something else");
}
