//! Hands the linker the image's layout.

fn main() {
    println!("cargo:rustc-link-arg-bins=-T{}/image.x", env!("CARGO_MANIFEST_DIR"));
    println!("cargo:rerun-if-changed=image.x");
}
