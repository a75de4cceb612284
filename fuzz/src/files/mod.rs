//! Files that people write, and the one with the keys.

mod config;
mod host_port;
mod keystore;

pub use config::config;
pub use host_port::host_port;
pub use keystore::keystore;
