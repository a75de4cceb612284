//! The device end of session set-up (wire-format §4): HELLO, its answers, and when a new session takes over.

use super::Cx;
use super::links::expand;
use super::receive::Handled;
use super::setup::{answer_key, session_key, tag_of_hello};
use crate::crypto::{self, Crypto, Suite, TAG_LEN, Tag};
use crate::discard::Discard;
use crate::ids::{Boot, Epoch, Label, LinkIx, PeerIx};
use crate::link::{Exchange, LongHeader};
use crate::peer::{End, Session, SetUp};
use crate::recovery::rtt::Rtt;
use crate::time::{Duration, Instant};
use crate::wire::frame;
use crate::wire::handshake::{VERSION, reads};
use crate::wire::packet::UnknownLabel;
use crate::wire::{Hello, Packet, RejectReason, Welcome, Writer};

/// A HELLO is repeated after this long, then after twice as long, and so on.
const FIRST_RETRY: Duration = Duration::from_secs(1);
/// ... but at least this often.
const LAST_RETRY: Duration = Duration::from_secs(60);

impl<C: Crypto> Cx<'_, C> {
    /// Begins to ask for a new session, unless that is being done.
    pub(super) fn start_exchange(&mut self, ix: LinkIx) {
        self.ask(ix, Duration::ZERO, false);
    }

    /// Begins to ask for a new session because the one that lives may be gone: its next ACK ends the exchange. Until
    /// `patience` is over, it is left for another gateway boot only.
    pub(super) fn doubt_session(&mut self, ix: LinkIx, patience: Duration) {
        self.ask(ix, patience, true);
    }

    fn ask(&mut self, ix: LinkIx, patience: Duration, doubt: bool) {
        let move_after = self.now + patience;
        let Some(link) = self.p.links.get_mut(ix.at()) else {
            return;
        };
        if let Some(exchange) = &mut link.exchange {
            exchange.move_after = exchange.move_after.min(move_after);
            exchange.doubt &= doubt;
            return;
        }
        let nonce = self.st.draw();
        let random = self.st.draw_u32();
        let bits = self.st.config.label_bits();
        let label = Label(random.checked_shl(bits).unwrap_or(0) | link.peer.0);
        link.exchange = Some(Exchange { nonce, label, at: self.now, tries: 0, move_after, doubt });
        self.wake(ix);
    }

    /// The HELLO of a link's exchange, without padding and tag.
    pub(super) fn hello(&self, ix: LinkIx) -> Option<Hello<'static>> {
        let link = self.p.links.get(ix.at())?;
        let peer = self.p.peers.get(link.peer.at())?;
        let exchange = link.exchange.as_ref()?;
        let key = peer.newest_key()?.0;
        Some(self.hello_of(peer.id, key, exchange.nonce, exchange.label))
    }

    fn hello_of(
        &self,
        peer: crate::ids::PeerId,
        key: crate::ids::KeyId,
        nonce: [u8; 16],
        label: Label,
    ) -> Hello<'static> {
        Hello {
            version_min: VERSION,
            version_max: VERSION,
            key,
            peer,
            nonce,
            boot: self.st.boot,
            suites: self.st.suites.offer(self.crypto.has_fast_aes()).raw(),
            label,
            limits: self.st.config.limits(),
            tlvs: self.st.config.extensions(),
        }
    }

    /// The HELLO that long DATA carries.
    pub(super) fn long_hello(&self, ix: LinkIx) -> Option<(Hello<'static>, [u8; 16])> {
        let link = self.p.links.get(ix.at())?;
        let peer = self.p.peers.get(link.peer.at())?;
        let long = link.long?;
        Some((self.hello_of(peer.id, long.key, long.nonce, peer.session.ours), long.gateway_nonce))
    }

    /// Writes the HELLO packet of an exchange.
    pub(super) fn write_hello(&mut self, ix: LinkIx, out: &mut [u8]) -> bool {
        let Some(hello) = self.hello(ix) else {
            return false;
        };
        let Some((body, tag)) = out.split_last_chunk_mut::<TAG_LEN>() else {
            return false;
        };
        body.fill(0);
        if hello.write(&mut Writer::new(body)).is_err() {
            return false;
        }
        let Some(link) = self.p.links.get_mut(ix.at()) else {
            return false;
        };
        let Some((_, psk)) = self.p.peers.get(link.peer.at()).and_then(|p| p.newest_key()) else {
            return false;
        };
        *tag = *tag_of_hello(psk, &hello, body).as_bytes();
        let random = self.st.draw_u32();
        if let Some(exchange) = &mut link.exchange {
            let wait = FIRST_RETRY.doubled(exchange.tries).min(LAST_RETRY);
            // The first is awaited; those after it are many when a gateway with thousands of devices was away.
            let spread = if exchange.tries == 0 { 3 } else { 1 };
            exchange.at = self.now + wait + part_of(wait, random, spread);
            exchange.tries = exchange.tries.saturating_add(1);
        }
        self.st.totals.hellos_sent = self.st.totals.hellos_sent.saturating_add(1);
        true
    }

    /// WELCOME: the session begins, if the exchange still waits and the old session may be left.
    pub(super) fn on_welcome(&mut self, datagram: &[u8], at: Option<PeerIx>) -> Result<Handled, Discard> {
        let Ok(Packet::Welcome(welcome)) = Packet::parse(datagram) else {
            return Err(Discard::Malformed);
        };
        let (at, ix, hello) = self.asked(at, welcome.device_nonce)?;
        let key = self.verify_answer(at, &hello, datagram)?;
        let suite = Suite::from_number(welcome.suite)
            .filter(|s| self.st.suites.contains(*s) && welcome.version == VERSION && welcome.key == hello.key)
            .ok_or(Discard::Malformed)?;
        let peer = self.p.peers.get_mut(at.at()).ok_or(Discard::Unasked)?;
        let link = self.p.links.get_mut(ix.at()).ok_or(Discard::Unasked)?;
        let (boot, _) = welcome.gateway_nonce.split_first_chunk::<8>().ok_or(Discard::Malformed)?;
        let boot = Boot(*boot);
        let patient = link.exchange.as_ref().is_some_and(|e| self.now < e.move_after);
        if peer.session.lives() && peer.boots[0] == boot && patient {
            return Err(Discard::Unasked);
        }
        let key = session_key(&key, &hello, &welcome).ok_or(Discard::Malformed)?;
        link.exchange = None;
        self.begin_session(at, ix, &hello, &welcome, key, suite, boot);
        Ok(Handled::Session)
    }

    #[expect(clippy::too_many_arguments, reason = "what a session is made of, each once")]
    fn begin_session(
        &mut self,
        at: PeerIx,
        ix: LinkIx,
        hello: &Hello<'_>,
        welcome: &Welcome<'_>,
        key: crypto::Psk,
        suite: Suite,
        boot: Boot,
    ) {
        let session = Session {
            key,
            suite: Some(suite),
            limits: welcome.limits,
            window: u64::from(welcome.limits.credit),
            granted: u64::from(self.st.config.first_credit),
            ours: hello.label,
            ecn: self.st.config.ecn && reads(welcome.tlvs, frame::kind::ACK_ECN),
            ..Session::none()
        };
        let (tx, rx) = expand(self.crypto, Some(End::Device), &session);
        self.forget_session(at);
        if let Some(link) = self.p.links.get_mut(ix.at()).filter(|l| l.recovery.unanswered > 0) {
            // A session that never answered in time: its round-trip time may have been the reason.
            link.rtt = Rtt::new();
        }
        self.reset_link(ix);
        if let Some(peer) = self.p.peers.get_mut(at.at()) {
            peer.session = session;
            peer.boots = [boot, Boot::default()];
            peer.heard = self.now;
        }
        if let Some(link) = self.p.links.get_mut(ix.at()) {
            (link.tx, link.rx) = (tx, rx);
            link.long = Some(LongHeader { key: hello.key, nonce: hello.nonce, gateway_nonce: welcome.gateway_nonce });
            // With nothing to send, a PING still lets the session go live at the gateway.
            link.say.ping = true;
        }
        self.begin_size(ix, at);
        self.name_epochs(at, &hello.nonce, &welcome.gateway_nonce);
        self.st.totals.sessions = self.st.totals.sessions.saturating_add(1);
        self.tell_peer(at, |news| news.connected = true);
        self.requeue_streams(ix);
        self.wake(ix);
    }

    /// Streams without storage take their epoch from the nonces of the first session that they see (wire-format §7.1).
    pub(super) fn name_epochs(&mut self, at: PeerIx, device_nonce: &[u8; 16], gateway_nonce: &[u8; 16]) {
        let tag = crypto::mac(device_nonce, &[b"epoch", gateway_nonce]);
        let epoch = Epoch(tag.as_bytes().first_chunk::<8>().copied().unwrap_or_default());
        let mut out = self.p.peers.get(at.at()).map(|p| p.first_out).unwrap_or_default();
        while let Some(stream) = out.some().and_then(|o| self.p.outbound.get_mut(o.at())) {
            stream.epoch.get_or_insert(epoch);
            out = stream.next_of_peer;
        }
    }

    /// REJECT: the next HELLO waits.
    pub(super) fn on_reject(&mut self, datagram: &[u8], at: Option<PeerIx>) -> Result<Handled, Discard> {
        let Ok(Packet::Reject(reject)) = Packet::parse(datagram) else {
            return Err(Discard::Malformed);
        };
        let (at, ix, hello) = self.asked(at, reject.device_nonce)?;
        self.verify_answer(at, &hello, datagram)?;
        let wait = match reject.reason {
            RejectReason::Busy => Duration::from_secs(u64::from(reject.retry_after_s.max(1))),
            RejectReason::Version | RejectReason::Suite => LAST_RETRY,
        };
        // Whoever was refused together does not come back together.
        let wait = wait + part_of(wait, self.st.draw_u32(), 1);
        if let Some(exchange) = self.p.links.get_mut(ix.at()).and_then(|l| l.exchange.as_mut()) {
            // An answer ends the exchange; the next HELLO is one of its own.
            exchange.at = self.now + wait;
        }
        let nonce = self.st.draw();
        if let Some(exchange) = self.p.links.get_mut(ix.at()).and_then(|l| l.exchange.as_mut()) {
            exchange.nonce = nonce;
        }
        self.wake(ix);
        self.tell_peer(at, |news| news.set_up = Some(SetUp::Rejected(reject.reason)));
        Ok(Handled::Session)
    }

    /// Finds the exchange that an answer with this nonce belongs to.
    fn asked(&self, at: Option<PeerIx>, nonce: [u8; 16]) -> Result<(PeerIx, LinkIx, Hello<'static>), Discard> {
        let at = at.ok_or(Discard::UnknownPeer)?;
        let peer = self.p.peers.get(at.at()).ok_or(Discard::UnknownPeer)?;
        if peer.end != Some(End::Device) {
            return Err(Discard::WrongEnd);
        }
        let ix = peer.link.some().ok_or(Discard::Unasked)?;
        let hello = self.hello(ix).filter(|h| h.nonce == nonce).ok_or(Discard::Unasked)?;
        Ok((at, ix, hello))
    }

    /// Verifies the tag of an answer to `hello` and returns the key that both were made with.
    fn verify_answer(&self, at: PeerIx, hello: &Hello<'_>, datagram: &[u8]) -> Result<crypto::Psk, Discard> {
        let psk = self.p.peers.get(at.at()).and_then(|p| p.key(hello.key)).ok_or(Discard::UnknownKey)?;
        let (answer, tag) = datagram.split_last_chunk::<TAG_LEN>().ok_or(Discard::Malformed)?;
        let mut asked = [0; crate::wire::handshake::HELLO_CORE_MAX];
        let body_len = hello.packet_len().saturating_sub(TAG_LEN);
        let body = asked.get_mut(..body_len).ok_or(Discard::Malformed)?;
        hello.write(&mut Writer::new(body)).map_err(|_| Discard::Malformed)?;
        let computed = crypto::mac(&answer_key(psk, hello), &[body, answer]);
        computed.verify(&Tag::from_bytes(*tag)).map_err(|_| Discard::Forged)?;
        Ok(psk.clone())
    }

    /// UNKNOWN_LABEL: anybody can have sent it. With something outstanding, a PING tests the session while a HELLO goes out
    /// (wire-format §5.3).
    pub(super) fn on_hint(&mut self, hint: UnknownLabel) -> Result<Handled, Discard> {
        let named = |ix: &PeerIx| {
            self.p.peers.get(ix.at()).is_some_and(|p| {
                p.session.lives()
                    && if p.session.confirmed { p.session.theirs == hint.label } else { p.id == hint.peer }
            })
        };
        let at = self.st.gateways.iter().copied().find(named).ok_or(Discard::UnusedHint)?;
        let link = self.p.peers.get(at.at()).and_then(|p| p.link.some()).ok_or(Discard::UnusedHint)?;
        let waiting = self.p.links.get(link.at()).is_some_and(|l| l.exchange.is_none() && !l.flight.is_empty());
        if !waiting {
            return Err(Discard::UnusedHint);
        }
        let patience = self.probe_timeout(link);
        self.doubt_session(link, patience);
        if let Some(link) = self.p.links.get_mut(link.at()) {
            link.say.ping = true;
        }
        Ok(Handled::Session)
    }

    /// When the exchange of a link wants to send, `NEVER` when there is none.
    pub(super) fn exchange_at(&self, ix: LinkIx) -> Instant {
        self.p.links.get(ix.at()).and_then(|l| l.exchange.as_ref()).map_or(Instant::NEVER, |e| e.at)
    }
}

/// A random part of a wait, below the wait shifted down by `shift`: who lost their gateway at once do not come back at once.
fn part_of(wait: Duration, random: u32, shift: u32) -> Duration {
    let part = wait.as_micros().saturating_mul(u64::from(random & 0xffff)) >> 16;
    Duration::from_micros(part).shifted_down(shift)
}
