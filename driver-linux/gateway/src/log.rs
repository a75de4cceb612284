//! Messages for whoever runs the gateway, on standard error.

use std::fmt;
use std::io::{self, Write as _};

use tracing::level_filters::LevelFilter;

use crate::config::Level;

/// Starts logging messages of this level and more urgent ones.
pub(crate) fn start(level: Level) {
    let level = match level {
        Level::Error => LevelFilter::ERROR,
        Level::Warn => LevelFilter::WARN,
        Level::Info => LevelFilter::INFO,
        Level::Debug => LevelFilter::DEBUG,
        Level::Trace => LevelFilter::TRACE,
    };
    // It fails only where a logger was set before: in a program that has this crate for a library.
    let _ = tracing_subscriber::fmt()
        .with_max_level(level)
        .with_writer(io::stderr)
        .with_target(false)
        // It would say so on standard error, which is what failed, and panic.
        .log_internal_errors(false)
        .with_ansi(io::IsTerminal::is_terminal(&io::stderr()))
        .try_init();
}

/// One line for a person. Where standard error takes nothing, because its disk is full or its reader is gone, nobody is left to
/// tell: it is not a reason to end.
pub(crate) fn say(line: fmt::Arguments<'_>) {
    let _ = writeln!(io::stderr().lock(), "{line}");
}
