//! The progress of `send` on a terminal; nothing where standard error is none.

use indicatif::{ProgressBar, ProgressStyle};

use super::watch::Reached;
use crate::log;

/// One line that changes.
#[derive(Debug)]
pub(super) struct Progress {
    bar: ProgressBar,
}

impl Progress {
    /// Shown on standard error if that is a terminal.
    pub(super) fn new() -> Self {
        let bar = ProgressBar::new_spinner();
        if let Ok(style) = ProgressStyle::with_template("{spinner} {msg} {per_sec} {elapsed}") {
            bar.set_style(style);
        }
        Self { bar }
    }

    pub(super) fn show(&self, reached: Reached) {
        if self.bar.is_hidden() {
            return;
        }
        let Reached { pushed, received, stored } = reached;
        self.bar.set_position(stored);
        self.bar.set_message(format!("{pushed} records sent, {received} received, {stored} stored,"));
        self.bar.tick();
    }

    /// A line that stays, also where there is no terminal.
    pub(super) fn say(&self, line: &str) {
        self.bar.suspend(|| log::say(format_args!("{line}")));
    }

    pub(super) fn finish(&self, reached: Reached) {
        self.show(reached);
        self.bar.finish();
    }
}
