//! The append-only segmented log in which Tallylink keeps records on Linux.
