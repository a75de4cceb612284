//! How deep the stack has been, by paint that is gone where it was: cortex-m-rt paints all of it before `main`.

use cortex_m_rt::STACK_PAINT_VALUE as PAINT;

unsafe extern "C" {
    /// Places that the linker names; there is nothing to read of them but their addresses.
    static _stack_start: u32;
    static _stack_end: u32;
}

/// Bytes that are painted anew below whoever asks for the depth of some work, unless the stack ends before.
const SPAN: usize = 12 * 1024;
/// Bytes below the caller's frame that painting itself may be using.
const OWN: usize = 128;
const WORD: usize = size_of::<u32>();

/// Bytes of the stack that have been used since the start, as long as no [`Depth`] has painted over them.
#[must_use]
pub fn deepest() -> usize {
    let (start, end) = (&raw const _stack_start as usize, &raw const _stack_end as usize);
    start - end_of_paint(end, start)
}

/// The deepest of several pieces of work.
#[derive(Clone, Copy, Default)]
pub struct Depth {
    bytes: usize,
}

impl Depth {
    /// Does it, and sees how many bytes below this it took.
    pub fn of<R>(&mut self, work: impl FnOnce() -> R) -> R {
        let here = paint_below();
        let done = work();
        let end = &raw const _stack_end as usize;
        self.bytes = self.bytes.max(here - end_of_paint((here - SPAN).max(end), here));
        done
    }

    /// Bytes.
    #[must_use]
    pub fn bytes(self) -> usize {
        self.bytes
    }
}

/// Paints what lies below the stack's end of now, and returns where that is.
#[inline(never)]
fn paint_below() -> usize {
    let word = 0u32;
    let here = &raw const word as usize & !(WORD - 1);
    let end = (here - SPAN).max(&raw const _stack_end as usize);
    let mut at = here - OWN;
    while at > end {
        at -= WORD;
        // SAFETY: between the end of the stack and what is in use of it, nothing is kept. An interrupt puts its frame there, and
        // has ended when this goes on.
        unsafe { (at as *mut u32).write_volatile(PAINT) };
    }
    here
}

/// Where the paint that begins at `from` ends, below `to` at the highest.
fn end_of_paint(from: usize, to: usize) -> usize {
    let mut at = from;
    // SAFETY: both lie in the stack, which is memory that may always be read.
    while at < to && unsafe { (at as *const u32).read_volatile() } == PAINT {
        at += WORD;
    }
    at
}
