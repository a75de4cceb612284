//! Loss recovery: RFC 9002 over the in-flight table (wire-format §8).
//!
//! [`sent::Flight`] is the table: which packets are out, in which order, and which of them were lost. [`rtt::Rtt`] tells how
//! long an answer takes, [`reordering::Reordering`] how far packets overtake each other, [`congestion::Controller`] how much
//! may be out, [`pacer::Pacer`] how fast it leaves, [`ecn::Marks`] what routers say of it,
//! [`mtu::Mtu`] how large the datagrams may be.

pub(crate) mod congestion;
#[cfg(feature = "cubic")]
mod cubic;
pub(crate) mod ecn;
#[cfg(feature = "cubic")]
mod hystart;
pub(crate) mod mtu;
mod newreno;
pub(crate) mod pacer;
pub(crate) mod reordering;
pub(crate) mod rtt;
pub(crate) mod sent;
