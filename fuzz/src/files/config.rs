//! A configuration file: what is taken is shown as a file that says the same, and a mistake is named in one line.

use tallylink_files::config::Config;

/// The file's text.
pub fn config(data: &[u8]) {
    let Ok(text) = str::from_utf8(data) else { return };
    let config = match Config::parse(text) {
        Ok(config) => config,
        Err((at, reason)) => {
            assert!(at <= text.len(), "a mistake at {at} of {}", text.len());
            let sentence = reason.to_string();
            assert!(!sentence.chars().any(char::is_control), "{sentence:?} is not one line");
            return;
        }
    };
    let mut shown = config.to_toml();
    if crate::planted::here() && shown.contains("unlimited") && !text.is_empty() {
        // Limits are shown that there are none of.
        shown = shown.replace("unlimited", "1 GiB");
    }
    assert_eq!(Config::parse(&shown), Ok(config), "it reads back as something else: {shown}");
}
