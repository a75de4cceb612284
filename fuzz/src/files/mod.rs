//! Files and input that people write, and the file with the keys.

mod config;
mod host_port;
mod ingest;
mod keystore;

pub use config::config;
pub use host_port::host_port;
pub use ingest::ingest;
pub use keystore::keystore;
