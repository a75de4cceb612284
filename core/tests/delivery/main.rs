//! Two endpoints and a wire: what each does for the other, whatever happens on the way. One behaviour a file.

mod basics;
mod busy;
mod credit;
mod crowd;
mod ecn;
mod fairness;
mod hostile;
mod idle;
mod names;
mod outbox;
mod peers;
mod poll;
mod positions;
mod recovery;
mod restart;
mod roaming;
mod session;
mod sharing;
mod size;
mod sleep;
mod sleep_images;
mod stranger;
mod streams;
mod support;
