//! An image that reaches all of the core that a sensor uses, linked as firmware is and never run.
//!
//! The panic handler calls a function that nothing defines, so the image links only if no panic is reachable:
//! the linker drops what nothing refers to (`--gc-sections`) before it asks for missing symbols. The library is
//! built with `build-std = ["core"]`, so no allocator exists to be linked.

#![no_std]
#![no_main]

use core::panic::PanicInfo;

#[cfg(feature = "planted-alloc")]
extern crate alloc;

mod reach;
mod sizes;

/// Where the image starts; whatever this refers to is linked.
#[unsafe(no_mangle)]
extern "C" fn reset() -> ! {
    reach::everything();
    #[cfg(feature = "planted-panic")]
    planted_panic();
    loop {
        core::hint::spin_loop();
    }
}

/// The kind of mistake that the check exists for: an index that the compiler cannot prove.
#[cfg(feature = "planted-panic")]
fn planted_panic() {
    use core::hint::black_box;

    let table = black_box([0u8; 4]);
    black_box(table[black_box(3)]);
}

#[panic_handler]
fn panic(_: &PanicInfo<'_>) -> ! {
    #[cfg(not(feature = "explain"))]
    {
        unsafe extern "C" {
            fn a_panic_is_reachable() -> !;
        }
        // SAFETY: never linked, hence never run; an image that refers to it does not exist.
        unsafe { a_panic_is_reachable() }
    }
    #[cfg(feature = "explain")]
    loop {
        core::hint::spin_loop();
    }
}
