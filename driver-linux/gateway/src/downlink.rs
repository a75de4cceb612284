//! Records on their way to devices, on disk (storage §11): what `push` hands over, what `serve` has taken, and how much of
//! both waits.
//!
//! `push` only adds parcels, and only under the peer's lock; `serve` alone takes them into its outboxes. Neither writes
//! to what the other has open.

mod parcel;
mod place;
mod waiting;

pub(crate) use parcel::{Parcel, Unusable, parcels, put};
pub(crate) use place::{PeerPlace, Place};
pub(crate) use waiting::{all_waiting, streams_waiting};
