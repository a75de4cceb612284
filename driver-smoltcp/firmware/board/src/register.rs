//! Registers of a peripheral, and the bytes of words.

use core::marker::PhantomData;

/// A 32-bit register at a fixed address.
#[derive(Clone, Copy)]
pub(crate) struct Register {
    address: usize,
    not_shared: PhantomData<*mut u32>,
}

impl Register {
    /// The register at `address`.
    ///
    /// # Safety
    /// There is a 32-bit register at this address, whose reading and writing cannot touch memory that Rust knows of.
    pub(crate) const unsafe fn at(address: usize) -> Self {
        Self { address, not_shared: PhantomData }
    }

    pub(crate) fn read(self) -> u32 {
        // SAFETY: promised to `at`.
        unsafe { (self.address as *const u32).read_volatile() }
    }

    pub(crate) fn write(self, value: u32) {
        // SAFETY: promised to `at`.
        unsafe { (self.address as *mut u32).write_volatile(value) }
    }

    /// Waits until the bits of `mask` are what `value` says.
    pub(crate) fn wait(self, mask: u32, value: u32) {
        while self.read() & mask != value {}
    }
}

/// The bytes of words, in the order in which a little-endian processor keeps them.
pub(crate) fn bytes(words: &mut [u32]) -> &mut [u8] {
    // SAFETY: every byte of a `u32` is one, bytes need no alignment, and the borrow is handed on.
    unsafe { core::slice::from_raw_parts_mut(words.as_mut_ptr().cast(), words.len() * 4) }
}
