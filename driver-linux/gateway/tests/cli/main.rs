//! The built program from end to end, as a person at a terminal or a script meets it.

mod bad_input;
mod check;
mod common;
mod delivery;
mod disk;
mod downlink;
mod faults;
mod firmware;
mod gateway;
mod help;
mod http;
mod ingest;
mod million;
mod outbox;
mod peers;
mod query;
mod rollback;
mod secrets;
mod serve;
mod space;
mod strace;
mod strangers;
mod torrent;
