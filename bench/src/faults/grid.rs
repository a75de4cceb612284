//! Every fault, and whose it is.

use super::world::{GATEWAY, VICTIM};
use crate::workload::SplitMix64;

/// One row of the table.
#[derive(Debug)]
pub(super) struct Fault {
    pub(super) name: String,
    pub(super) whose: Whose,
    pub(super) what: What,
}

/// Whom it strikes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Whose {
    /// The gateway, and so all senders.
    Gateway,
    /// The gateway, for one sender.
    OnePeer,
    /// One sender.
    Sender,
}

/// What happens.
#[derive(Clone, Debug)]
pub(super) enum What {
    /// strace lets every call fail.
    Inject(Vec<String>),
    /// The gateway's way to the sender is of this kind.
    Route(&'static str),
    /// The process is killed, so that its port is closed, and started again afterwards.
    Closed,
    /// SIGSTOP, and SIGCONT afterwards.
    Stopped,
    /// Seconds that the wall clock and the monotonic clock jump by; the wall clock jumps back afterwards.
    Jump(i64, i64),
    /// The monotonic clock began a second before the process.
    Booted,
    /// No descriptor more than it has.
    Descriptors,
    /// Standard error is /dev/full.
    LogFull,
    /// Standard error is a pipe that nobody reads from any more.
    LogUnread,
    /// Standard error is a file on a disk that fills, and has room again afterwards.
    LogFills,
    /// This end's address goes, and comes back afterwards.
    Address,
    /// This end's network device goes down, and up again afterwards.
    Device,
}

impl Fault {
    pub(super) fn place(&self) -> &'static str {
        match self.whose {
            Whose::Gateway => "the whole gateway",
            Whose::OnePeer => "the gateway, for one sender",
            Whose::Sender => "one sender",
        }
    }

    pub(super) fn is_stop(&self) -> bool {
        matches!(self.what, What::Stopped)
    }

    /// Whether the fault leaves a neighbour of the sender alone.
    pub(super) fn spares_others(&self) -> bool {
        self.whose != Whose::Gateway
            || matches!(self.what, What::Booted | What::Jump(..) | What::LogFull | What::LogUnread | What::LogFills)
    }

    /// Whether a call that failed proves that it struck.
    pub(super) fn is_counted(&self) -> bool {
        matches!(self.what, What::Inject(_) | What::Route(_))
    }
}

const SEND: &str = "sendto,sendmsg,sendmmsg";
const RECEIVE: &str = "recvmsg,recvmmsg";
const ERRORS: [&str; 7] = ["EPERM", "EIO", "ENOBUFS", "EINVAL", "ECONNREFUSED", "EMSGSIZE", "EHOSTUNREACH"];

/// All of them, in the order of the table.
pub(super) fn all() -> Vec<Fault> {
    let mut all = Vec::new();
    let mut add = |whose, name: &str, what| all.push(Fault { name: name.to_owned(), whose, what });
    for whose in [Whose::Gateway, Whose::OnePeer, Whose::Sender] {
        if whose == Whose::OnePeer {
            add(whose, "prohibit route (EACCES)", What::Route("prohibit"));
            add(whose, "unreachable route (EHOSTUNREACH)", What::Route("unreachable"));
            add(whose, "blackhole route (EINVAL)", What::Route("blackhole"));
            add(whose, "killed, its port closed (ECONNREFUSED), started again", What::Closed);
            add(whose, "the gateway's address on its network goes", What::Address);
            add(whose, "the gateway's device on its network goes down", What::Device);
            continue;
        }
        for error in ERRORS {
            add(whose, &format!("send {error}"), What::Inject(vec![format!("{SEND}:error={error}")]));
        }
        for error in ["EIO", "ENOBUFS", "ECONNREFUSED"] {
            let every_other = format!("{SEND}:error={error}:when=1+2");
            add(whose, &format!("every second send {error}"), What::Inject(vec![every_other]));
        }
        for error in ERRORS {
            add(whose, &format!("receive {error}"), What::Inject(vec![format!("{RECEIVE}:error={error}")]));
        }
        add(whose, "SIGSTOP", What::Stopped);
        add(whose, "wall clock back to 1970 and forward again", What::Jump(-1_700_000_000, 0));
        add(whose, "wall clock ten years ahead and back again", What::Jump(315_360_000, 0));
        add(whose, "monotonic clock an hour ahead", What::Jump(0, 3_600));
        add(whose, "monotonic clock one second after boot", What::Booted);
        add(whose, "no descriptor left", What::Descriptors);
        add(whose, "log to /dev/full", What::LogFull);
        add(whose, "log to a pipe without a reader", What::LogUnread);
        add(whose, "log on a disk that fills", What::LogFills);
        if whose == Whose::Gateway {
            add(whose, "killed, its port closed (ECONNREFUSED), started again", What::Closed);
        } else {
            add(whose, "its address goes", What::Address);
            add(whose, "its device goes down", What::Device);
        }
    }
    all
}

/// The places of `count` faults in an order that follows from the seed: none may depend on the one before.
pub(super) fn order(count: usize, seed: u64) -> Vec<usize> {
    let mut random = SplitMix64(seed);
    let mut order: Vec<_> = (0..count).collect();
    for last in (1..count).rev() {
        order.swap(last, (random.next() % (last as u64 + 1)) as usize);
    }
    order
}

impl Whose {
    /// Which end's address and device go, from the gateway's network to the sender.
    pub(super) fn address(self) -> &'static str {
        if self == Self::Sender { VICTIM } else { GATEWAY }
    }
}
