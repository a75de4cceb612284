//! How much waits for a device: in parcels, and in the gateway's outboxes.

use std::io;
use std::thread;
use std::time::Duration;

use super::parcel::{Parcel, Unusable, parcels};
use super::place::{PeerPlace, Place};
use crate::outbox::{Held, held};
use crate::{Error, PeerId};

/// How often a look is repeated that the gateway came between.
const LOOKS: u32 = 100;
const BETWEEN: Duration = Duration::from_millis(5);

/// What waits of one stream.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct StreamWaits {
    pub(crate) stream: String,
    /// Records that the device has not stored.
    pub(crate) records: u64,
    /// Their bytes on disk, with their sizes.
    pub(crate) bytes: u64,
    /// How many records were ever handed over.
    pub(crate) ever: u64,
}

impl StreamWaits {
    /// Of the records ever handed over, how many the device has stored.
    pub(crate) fn stored(&self) -> u64 {
        self.ever.saturating_sub(self.records)
    }
}

/// Everything that waits, by peer.
///
/// # Errors
/// Something of it cannot be read.
pub(crate) fn all_waiting(place: &Place) -> Result<Vec<(PeerId, Vec<StreamWaits>)>, Error> {
    let mut all = Vec::new();
    for peer in place.peers().map_err(|error| Error::Downlink { dir: place.dir().to_owned(), error })? {
        let mut streams = streams_waiting(&place.of(peer))?;
        streams.retain(|waits| waits.records > 0);
        if !streams.is_empty() {
            all.push((peer, streams));
        }
    }
    Ok(all)
}

/// What waits for one peer, by stream.
///
/// # Errors
/// Something of it cannot be read.
pub(crate) fn streams_waiting(place: &PeerPlace) -> Result<Vec<StreamWaits>, Error> {
    let failed = |error| Error::Downlink { dir: place.dir().to_owned(), error };
    let streams = place.streams().map_err(failed)?;
    streams.into_iter().map(|stream| waiting(place, stream)).collect()
}

fn waiting(place: &PeerPlace, stream: String) -> Result<StreamWaits, Error> {
    let failed = |error| Error::Downlink { dir: place.dir().to_owned(), error };
    let (spool, outbox) = (place.spool(&stream), place.outbox(&stream));
    let mut looks = 0;
    loop {
        looks += 1;
        let before = match held(&outbox) {
            // The gateway is just making it.
            Err(Error::Journal(_)) if looks < LOOKS => {
                thread::sleep(BETWEEN);
                continue;
            }
            before => before?,
        };
        let mut waits = StreamWaits {
            stream: stream.clone(),
            records: before.waiting,
            bytes: before.waiting_bytes,
            ever: before.ever,
        };
        let listed = parcels(&spool).map_err(failed)?;
        let counted = listed.iter().try_for_each(|parcel| waits.add(parcel, &before));
        match counted {
            // The gateway took one meanwhile.
            Err(Unusable::Io(error)) if error.kind() == io::ErrorKind::NotFound && looks < LOOKS => continue,
            Err(Unusable::Io(error)) => return Err(failed(error)),
            Err(Unusable::Damaged) | Ok(()) => {}
        }
        // What it took since the outbox was read would be missing, or counted twice.
        if held(&outbox).is_ok_and(|now| now.ever == before.ever) || looks >= LOOKS {
            return Ok(waits);
        }
    }
}

impl StreamWaits {
    /// Adds what the outbox has not taken of a parcel.
    fn add(&mut self, parcel: &Parcel, outbox: &Held) -> Result<(), Unusable> {
        let head = match parcel.head() {
            // The gateway puts it aside when it comes to it.
            Err(Unusable::Damaged) => return Ok(()),
            head => head?,
        };
        let taken = parcel.taken_at.map_or(0, |at| outbox.ever.saturating_sub(at)).min(head.records);
        self.records += head.records - taken;
        self.ever += head.records - taken;
        if taken < head.records {
            self.bytes += head.bytes;
        }
        Ok(())
    }
}
