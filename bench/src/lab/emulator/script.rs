//! What happens at set times.
use std::time::Duration;

/// Times are since the emulator began, in ascending order.
#[derive(Clone, Debug, Default)]
pub(crate) struct Script {
    /// From when on another MTU applies.
    pub(crate) mtu: Vec<(Duration, u16)>,
    /// When the sender gets another outer address.
    pub(crate) moves: Vec<Duration>,
    /// How often someone elsewhere sends a copy of an old packet of the sender.
    pub(crate) replay_every: Option<Duration>,
    pub(crate) forgery: Option<Forgery>,
}

/// Someone who tells the sender lies about the path's MTU, quoting packets that it really sent.
#[derive(Clone, Debug)]
pub(crate) struct Forgery {
    /// What is told, in turn.
    pub(crate) mtus: Vec<u16>,
    pub(crate) every: Duration,
}

impl Script {
    /// The MTU that applies at `now`, if the script has one.
    pub(super) fn mtu_at(&self, now: Duration) -> Option<u16> {
        self.mtu.iter().rev().find(|(from, _)| *from <= now).map(|(_, mtu)| *mtu)
    }

    /// Whether the next move has come; then it is the past.
    pub(super) fn move_due(&mut self, now: Duration) -> bool {
        let due = self.moves.first().is_some_and(|at| *at <= now);
        if due {
            self.moves.remove(0);
        }
        due
    }
}
