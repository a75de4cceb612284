//! Gives the linker the memory map of the board.

use std::path::PathBuf;
use std::{env, fs};

fn main() {
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets it"));
    let map = if env::var_os("CARGO_FEATURE_LM3S6965").is_some() { "memory-lm3s6965.x" } else { "memory-mps2.x" };
    fs::copy(map, out.join("memory.x")).expect("a memory map beside this file");
    println!("cargo:rustc-link-search={}", out.display());
    println!("cargo:rerun-if-changed={map}");
}
