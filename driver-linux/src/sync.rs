//! What threads share is made of these: the standard library's, or loom's where every order of steps is tried
//! (`.ci/loom`).

#[cfg(tallylink_loom)]
pub(crate) use loom::{
    sync::{Condvar, Mutex, MutexGuard, atomic},
    thread::{Thread, current, yield_now},
};
#[cfg(not(tallylink_loom))]
pub(crate) use std::{
    sync::{Condvar, Mutex, MutexGuard, atomic},
    thread::{Thread, current, yield_now},
};
