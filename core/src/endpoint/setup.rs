//! The gateway end of session set-up (wire-format §4): nothing is kept until long DATA proves that the device is there.

use super::Cx;
use super::links::expand;
use super::receive::{Handled, Opened};
use crate::crypto::{self, Crypto, Label as KeyLabel, Psk, Suite, TAG_LEN, Tag};
use crate::deliver::Deliver;
use crate::discard::{Discard, Fault};
use crate::ids::{Boot, Label, PeerIx};
use crate::path::Path;
use crate::peer::{End, Session, SetUp};
use crate::time::Instant;
use crate::wire::frame;
use crate::wire::handshake::{HELLO_CORE_MAX, VERSION, WELCOME_CORE_MAX, reads};
use crate::wire::packet::{UnknownLabel, kind};
use crate::wire::{Hello, LongData, Reject, RejectReason, Welcome, Writer};
use core::num::NonZeroU16;

/// How long a device that finds no free link is told to wait: links are lent for as long as a disk takes.
const NO_LINK_RETRY_S: u16 = 2;
/// How long a device whose id is used twice is told to wait at the most, in tens of seconds; ten seconds at first.
const SHARED_RETRY_MOST: u16 = 360;

impl<C: Crypto> Cx<'_, C> {
    /// Answers HELLO in place: the answer is never longer.
    pub(super) fn on_hello(&mut self, datagram: &mut [u8], at: Option<PeerIx>) -> Result<Handled, Discard> {
        let Ok(crate::wire::Packet::Hello(hello)) = crate::wire::Packet::parse(datagram) else {
            return Err(Discard::Malformed);
        };
        let at = at.ok_or(Discard::UnknownPeer)?;
        let peer = self.p.peers.get(at.at()).ok_or(Discard::UnknownPeer)?;
        if peer.end != Some(End::Gateway) {
            return Err(Discard::WrongEnd);
        }
        let key = peer.key(hello.key).ok_or(Discard::UnknownKey)?;
        let (body, tag) = datagram.split_last_chunk::<TAG_LEN>().ok_or(Discard::Malformed)?;
        tag_of_hello(key, &hello, body).verify(&Tag::from_bytes(*tag)).map_err(|_| Discard::Forged)?;
        // Anybody can replay the HELLO of an earlier boot: only one that has gone live again counts.
        let older = hello.boot == peer.boots[1] && hello.boot != peer.boots[0];
        let used_twice =
            peer.shared_since.filter(|_| older).map(|since| tens_of_seconds(self.now).wrapping_sub(since.get()));
        let has_link = peer.link.some().is_some();
        let answer_key = answer_key(key, &hello);
        let no_link = !has_link && !self.link_available();
        let peer = self.p.peers.get_mut(at.at()).ok_or(Discard::UnknownPeer)?;
        if !peer.may_be_answered(self.now, self.st.counter & 15 == 15) || !self.st.may_answer(self.now) {
            return Err(Discard::ReplyLimit);
        }
        let mut answer = [0; WELCOME_CORE_MAX];
        let mut w = Writer::new(&mut answer);
        let written = if hello.version_min > VERSION || hello.version_max < VERSION {
            reject(&hello, RejectReason::Version, 0).write(&mut w)
        } else if let Some(waited) = used_twice {
            // As long again as it has waited already: replayed HELLOs change nothing about that.
            let seconds = waited.clamp(1, SHARED_RETRY_MOST).saturating_mul(10);
            reject(&hello, RejectReason::Busy, seconds).write(&mut w)
        } else if no_link {
            reject(&hello, RejectReason::Busy, NO_LINK_RETRY_S).write(&mut w)
        } else if let Some(suite) = self.choose(&hello) {
            let nonce = self.next_nonce();
            self.welcome(&hello, nonce, suite).write(&mut w)
        } else {
            reject(&hello, RejectReason::Suite, 0).write(&mut w)
        };
        written.map_err(|_| Discard::Malformed)?;
        let answer = w.into_written();
        let tag = crypto::mac(&answer_key, &[body, answer]);
        let len = answer.len().saturating_add(TAG_LEN);
        let mut out = Writer::new(datagram);
        out.bytes(answer).and_then(|()| out.bytes(tag.as_bytes())).map_err(|_| Discard::Malformed)?;
        Ok(Handled::Reply(len))
    }

    /// The suite for a HELLO: the one that suits both processors. The same for the same HELLO throughout a boot.
    fn choose(&self, hello: &Hello<'_>) -> Option<Suite> {
        let both = crypto::Suites::from_raw(hello.suites).intersect(self.st.suites);
        both.choose(self.crypto.has_fast_aes())
    }

    fn next_nonce(&mut self) -> [u8; 16] {
        self.st.counter = self.st.counter.saturating_add(1);
        let mut nonce = [0; 16];
        if let Some((boot, count)) = nonce.split_first_chunk_mut::<8>() {
            *boot = self.st.boot.0;
            count.copy_from_slice(&self.st.counter.to_be_bytes());
        }
        nonce
    }

    /// The WELCOME that answers `hello` with this nonce: the same whenever it is made in this boot.
    fn welcome(&self, hello: &Hello<'_>, gateway_nonce: [u8; 16], suite: Suite) -> Welcome<'static> {
        Welcome {
            version: VERSION,
            key: hello.key,
            peer: hello.peer,
            device_nonce: hello.nonce,
            gateway_nonce,
            suite: suite.number(),
            limits: self.st.config.limits(),
            tlvs: self.st.config.extensions(),
        }
    }

    /// Long DATA: rebuilds the session from it, and lets it go live if the packet opens.
    pub(super) fn on_long_data(
        &mut self,
        path: &Path,
        datagram: &mut [u8],
        at: Option<PeerIx>,
        to: &mut dyn Deliver,
    ) -> Result<Handled, Discard> {
        let Ok(crate::wire::Packet::LongData(long)) = crate::wire::Packet::parse(datagram) else {
            return Err(Discard::Malformed);
        };
        let at = at.ok_or(Discard::UnknownPeer)?;
        let peer = self.p.peers.get(at.at()).ok_or(Discard::UnknownPeer)?;
        if peer.end != Some(End::Gateway) {
            return Err(Discard::WrongEnd);
        }
        let (boot, count) = long.gateway_nonce.split_first_chunk::<8>().ok_or(Discard::Malformed)?;
        let counter = u64::from_be_bytes(count.try_into().unwrap_or_default());
        if Boot(*boot) != self.st.boot || counter > self.st.counter {
            return self.hint(Label(0), long.hello.peer, datagram, Discard::OtherBoot);
        }
        let (header_len, number) = (long.header_len(), long.number);
        if counter == peer.last_live && peer.has_session() {
            return self.opened_by_session(at, number, header_len, path, datagram, to);
        }
        if counter <= peer.last_live {
            return self.hint(Label(0), long.hello.peer, datagram, Discard::EndedSession);
        }
        let session = self.rebuild(at, &long)?;
        let (boot, nonces) = (long.hello.boot, (long.hello.nonce, long.gateway_nonce));
        let (tx, rx) = expand(self.crypto, Some(End::Gateway), &session);
        let Some(opener) = rx.as_ref() else {
            return Err(Discard::Forged);
        };
        Opened::open(self.crypto, opener, number, header_len, datagram)?;
        let link = self.go_live(at, session, counter, boot, (tx, rx));
        self.name_epochs(at, &nonces.0, &nonces.1);
        self.set_first_path(at, path);
        let Some(link) = link else {
            return self.without_link(at, number, datagram);
        };
        self.accept_opened(link, number, header_len, path, datagram, to)
    }

    /// Derives the session that `long` claims to belong to.
    fn rebuild(&self, at: PeerIx, long: &LongData<'_>) -> Result<Session, Discard> {
        let hello = &long.hello;
        let peer = self.p.peers.get(at.at()).ok_or(Discard::UnknownPeer)?;
        let psk = peer.key(hello.key).ok_or(Discard::UnknownKey)?;
        if hello.version_min > VERSION || hello.version_max < VERSION {
            return Err(Discard::Malformed);
        }
        let suite = self.choose(hello).ok_or(Discard::Forged)?;
        let welcome = self.welcome(hello, long.gateway_nonce, suite);
        Ok(Session {
            key: session_key(psk, hello, &welcome).ok_or(Discard::Malformed)?,
            suite: Some(suite),
            limits: hello.limits,
            window: u64::from(hello.limits.credit),
            granted: u64::from(self.st.config.first_credit),
            theirs: hello.label,
            ecn: self.st.config.ecn && reads(hello.tlvs, frame::kind::ACK_ECN),
            ..Session::none()
        })
    }

    /// The session is proven: it takes the place of whatever was. `None` when no link is free: it waits for one.
    fn go_live(
        &mut self,
        at: PeerIx,
        session: Session,
        counter: u64,
        boot: Boot,
        keys: (Option<C::Key>, Option<C::Key>),
    ) -> Option<crate::ids::LinkIx> {
        let ix = self.acquire(at);
        // Streams may wait in the list of a link that never had a session: they are listed anew below.
        self.forget_session(at);
        if let Some(ix) = ix {
            self.reset_link(ix);
        }
        let random = self.st.draw_u32();
        let bits = self.st.config.label_bits();
        let peer = self.p.peers.get_mut(at.at())?;
        peer.session = session;
        peer.session.ours = Label(random.checked_shl(bits).unwrap_or(0) | at.0);
        peer.last_live = counter;
        let returned = peer.boots[1] == boot && peer.boots[0] != boot && boot != Boot::default();
        if returned {
            peer.shared_since = NonZeroU16::new(tens_of_seconds(self.now));
        }
        if peer.boots[0] != boot {
            peer.boots = [boot, peer.boots[0]];
        }
        self.st.totals.sessions = self.st.totals.sessions.saturating_add(1);
        self.tell_peer(at, |news| news.connected = true);
        if returned {
            self.tell_peer(at, |news| news.set_up = Some(SetUp::IdUsedTwice));
        }
        let ix = ix?;
        let link = self.p.links.get_mut(ix.at())?;
        (link.tx, link.rx) = keys;
        link.say.label = true;
        self.begin_size(ix, at);
        self.requeue_streams(ix);
        Some(ix)
    }

    /// Answers a packet of a session that is not known with a hint, in place.
    pub(super) fn hint(
        &mut self,
        label: Label,
        peer: crate::ids::PeerId,
        datagram: &mut [u8],
        why: Discard,
    ) -> Result<Handled, Discard> {
        if self.st.devices == 0 {
            return Err(why);
        }
        self.st.counters.count_discard(why);
        if !self.st.may_hint(self.now) {
            return Err(Discard::ReplyLimit);
        }
        UnknownLabel { label, peer }.write(&mut Writer::new(datagram)).map_err(|_| Discard::Malformed)?;
        Ok(Handled::Reply(UnknownLabel::LEN))
    }

    /// Device end, or a gateway whose session broke: everything that was sent is sent again.
    pub(super) fn fault(&mut self, at: PeerIx, why: Fault) -> Discard {
        self.end_session(at, why);
        Discard::EndedByFault
    }
}

/// Never zero, which stands for nothing.
fn tens_of_seconds(now: Instant) -> u16 {
    ((now.as_micros() / 10_000_000) as u16).max(1)
}

fn reject(hello: &Hello<'_>, reason: RejectReason, retry_after_s: u16) -> Reject {
    Reject {
        version_min: VERSION,
        version_max: VERSION,
        key: hello.key,
        peer: hello.peer,
        device_nonce: hello.nonce,
        reason,
        retry_after_s,
    }
}

/// The tag of a HELLO whose bytes before the tag are `body` (wire-format §4.5).
pub(super) fn tag_of_hello(psk: &Psk, hello: &Hello<'_>, body: &[u8]) -> Tag {
    let mut key = zeroize::Zeroizing::new([0; 16]);
    crypto::derive(psk, KeyLabel::HelloTag, &[&[VERSION, hello.key.0], &hello.peer.0], key.as_mut());
    crypto::mac(&key, &[body])
}

/// The key of the tags that answer a HELLO (wire-format §4.5).
pub(super) fn answer_key(psk: &Psk, hello: &Hello<'_>) -> zeroize::Zeroizing<[u8; 16]> {
    let mut key = zeroize::Zeroizing::new([0; 16]);
    crypto::derive(psk, KeyLabel::WelcomeTag, &[&[VERSION, hello.key.0], &hello.peer.0], key.as_mut());
    key
}

/// The key of a session: from the pre-shared key and the complete HELLO and WELCOME (wire-format §4.5).
pub(super) fn session_key(psk: &Psk, hello: &Hello<'_>, welcome: &Welcome<'_>) -> Option<Psk> {
    let (mut a, mut b) = ([0; HELLO_CORE_MAX], [0; WELCOME_CORE_MAX]);
    let (mut hello_w, mut welcome_w) = (Writer::new(&mut a), Writer::new(&mut b));
    hello.write(&mut hello_w).ok()?;
    welcome.write(&mut welcome_w).ok()?;
    debug_assert!(hello_w.written() == hello.core_len() && kind::HELLO.len() == 2);
    let mut key = zeroize::Zeroizing::new([0; 16]);
    crypto::derive(psk, KeyLabel::Session, &[hello_w.into_written(), welcome_w.into_written()], key.as_mut());
    Some(Psk::from_bytes(*key))
}
