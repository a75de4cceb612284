//! One connection: a request comes, an answer goes, and both sides part.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Instant;

use rustix::event::PollFlags;

use super::pages::{Answer, Pages};

/// The longest request, in bytes and in headers.
const REQUEST: (usize, usize) = (8 << 10, 64);

/// A connection and how far it is.
#[derive(Debug)]
pub(super) struct Connection {
    stream: TcpStream,
    /// It ends then, wherever it is.
    pub(super) until: Instant,
    state: State,
}

#[derive(Debug)]
enum State {
    /// So much of the request is here.
    Asked(Vec<u8>),
    /// So much of the answer has left.
    Answered(Vec<u8>, usize),
    /// Everything has left. What still comes is read, since closing with bytes unread takes the answer back.
    Parting,
}

impl Connection {
    pub(super) fn new(stream: TcpStream, until: Instant) -> Self {
        Self { stream, until, state: State::Asked(Vec::new()) }
    }

    /// What it waits for.
    pub(super) fn wants(&self) -> PollFlags {
        match self.state {
            State::Asked(_) | State::Parting => PollFlags::IN,
            State::Answered(..) => PollFlags::OUT,
        }
    }

    /// Does what can be done without waiting. False when the connection is over.
    pub(super) fn go_on(&mut self, pages: &impl Pages) -> bool {
        loop {
            let done = match &mut self.state {
                State::Asked(request) => {
                    let filled = fill(&mut self.stream, request);
                    if let Some(answer) = answer(request, pages) {
                        self.state = State::Answered(answer, 0);
                        continue;
                    }
                    filled
                }
                State::Answered(answer, sent) => match self.stream.write(answer.get(*sent..).unwrap_or_default()) {
                    Ok(n) if *sent + n < answer.len() => {
                        *sent += n;
                        Ok(())
                    }
                    Ok(_) => {
                        self.state = State::Parting;
                        self.stream.shutdown(Shutdown::Write)
                    }
                    Err(error) => Err(error),
                },
                // A little at a time: others have their turn.
                State::Parting => return goes_on(&fill(&mut self.stream, &mut Vec::new())),
            };
            match done {
                Err(error) if error.kind() != ErrorKind::Interrupted => return goes_on(&Err(error)),
                _ => {}
            }
        }
    }
}

fn goes_on(done: &io::Result<()>) -> bool {
    !done.as_ref().is_err_and(|error| !matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted))
}

impl AsFd for Connection {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.stream.as_fd()
    }
}

/// Reads what is there. The end is an error.
fn fill(stream: &mut TcpStream, into: &mut Vec<u8>) -> io::Result<()> {
    let mut some = [0; 1024];
    match stream.read(&mut some)? {
        0 => Err(ErrorKind::UnexpectedEof.into()),
        n => {
            into.extend_from_slice(some.get(..n).unwrap_or_default());
            Ok(())
        }
    }
}

/// The answer to a request, once it is whole or cannot become so.
fn answer(request: &[u8], pages: &impl Pages) -> Option<Vec<u8>> {
    let mut headers = [httparse::EMPTY_HEADER; REQUEST.1];
    let mut parsed = httparse::Request::new(&mut headers);
    let answer = match parsed.parse(request) {
        Ok(httparse::Status::Complete(_)) => match (parsed.method, parsed.path) {
            (Some("GET"), Some(target)) => pages.page(target.split('?').next().unwrap_or(target)),
            _ => Answer::plain(405, "only GET is answered here"),
        },
        Ok(httparse::Status::Partial) if request.len() < REQUEST.0 => return None,
        Ok(httparse::Status::Partial) | Err(httparse::Error::TooManyHeaders) => {
            Answer::plain(431, "the request is longer than any that is answered here")
        }
        Err(_) => Answer::plain(400, "this is not a request of HTTP/1.1"),
    };
    Some(answer.bytes())
}
