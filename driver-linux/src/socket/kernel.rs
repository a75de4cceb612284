//! What the kernel really gave: buffer sizes, and how many datagrams it dropped for want of them.

use rustix::net::sockopt;
use socket2::Socket;
use std::fs;
use std::io;
use std::os::fd::{AsFd, AsRawFd};
use tracing::warn;

/// The socket's buffers, in bytes of payload and overhead as the kernel counts them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Buffers {
    /// What was asked for receiving.
    pub receive_asked: usize,
    /// What the kernel gave for receiving.
    pub receive: usize,
    /// What was asked for sending.
    pub send_asked: usize,
    /// What the kernel gave for sending.
    pub send: usize,
}

/// Asks for buffers, the send buffer only if `send` is not 0, and reads back what became of it. A smaller one is named once, with both figures.
pub(crate) fn set_buffers(socket: &Socket, receive: usize, send: usize) -> io::Result<Buffers> {
    // With the right privilege the limit of the system does not apply.
    if sockopt::set_socket_recv_buffer_size_force(socket, receive).is_err() {
        socket.set_recv_buffer_size(receive)?;
    }
    if send > 0 {
        socket.set_send_buffer_size(send)?;
    }
    // The kernel doubles what it grants, for its own overhead, and tells the double (socket(7)).
    let given = Buffers {
        receive_asked: receive,
        receive: socket.recv_buffer_size()? / 2,
        send_asked: send,
        send: socket.send_buffer_size()? / 2,
    };
    given.warn_if_smaller();
    Ok(given)
}

impl Buffers {
    /// True when the kernel gave less than was asked for.
    #[must_use]
    pub fn smaller(&self) -> bool {
        self.receive < self.receive_asked || self.send < self.send_asked
    }

    fn warn_if_smaller(&self) {
        if self.smaller() {
            warn!(
                "the kernel gave a receive buffer of {} bytes where {} were asked for, and a send buffer of {} where {} \
                 were asked for; raise net.core.rmem_max and net.core.wmem_max, or bursts are dropped",
                self.receive, self.receive_asked, self.send, self.send_asked
            );
        }
    }
}

/// How many datagrams the kernel dropped at this socket since it was made, from /proc/net/udp and udp6: column `drops`.
pub(crate) fn drops(socket: &(impl AsFd + AsRawFd)) -> Option<u64> {
    let inode = rustix::fs::fstat(socket).ok()?.st_ino.to_string();
    // A thread may live in another network namespace than its process.
    ["/proc/thread-self/net/udp6", "/proc/thread-self/net/udp"]
        .iter()
        .filter_map(|table| fs::read_to_string(table).ok())
        .find_map(|table| drops_in(&table, &inode))
}

/// Finds the line of `inode` and returns its last column.
fn drops_in(table: &str, inode: &str) -> Option<u64> {
    let line = table.lines().skip(1).find(|line| line.split_whitespace().nth(9) == Some(inode))?;
    line.split_whitespace().last()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::{drops_in, set_buffers};
    use socket2::{Domain, Socket, Type};

    #[test]
    fn f10_a_smaller_buffer_is_read_back() {
        let socket = Socket::new(Domain::IPV4, Type::DGRAM, None).unwrap();
        let given = set_buffers(&socket, 1 << 16, 1 << 30).unwrap();
        assert_eq!((given.receive, given.receive_asked), (1 << 16, 1 << 16));
        assert!(given.send < given.send_asked, "nobody gets 1 GiB");
        assert!(given.smaller());
    }

    #[test]
    fn f10_the_kernels_drops_are_found_by_the_inode() {
        // Two lines of a udp6 table as the kernel prints it.
        let table = "  sl  local_address                         remote_address                        st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode ref pointer drops\n\
            4094: 00000000000000000000000000000000:1E78 00000000000000000000000000000000:0000 07 00000000:00000000 00:00000000 00000000     0        0 1234567 2 0000000000000000 0\n\
            4095: 00000000000000000000000000000000:1E79 00000000000000000000000000000000:0000 07 00000000:00000000 00:00000000 00000000     0        0 7654321 2 0000000000000000 4711\n";
        assert_eq!(drops_in(table, "7654321"), Some(4711));
        assert_eq!(drops_in(table, "1234567"), Some(0));
        assert_eq!(drops_in(table, "123"), None);
    }
}
