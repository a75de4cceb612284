//! Askers of every kind, each of whom is answered or done without.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};
use std::thread;

use super::pages::Answer;
use super::*;

/// Pages of a test's own.
struct Fixed;

impl Pages for Fixed {
    fn page(&self, path: &str) -> Answer {
        match path {
            "/ok" => Answer::plain(200, "fine"),
            "/long" => Answer::plain(200, &"x".repeat(4 << 20)),
            other => Answer::plain(404, other),
        }
    }
}

/// A server on a thread that ends with the test process.
fn start() -> SocketAddr {
    let listening = "127.0.0.1:0".parse().unwrap();
    let server = Server::bind(Door::At(listening), listening, &Health::default()).unwrap().unwrap();
    let address = server.address();
    thread::spawn(move || server.run(&Fixed));
    address
}

fn ask(server: SocketAddr, request: &[u8]) -> String {
    let mut stream = TcpStream::connect(server).unwrap();
    // It may be refused before it is all written.
    let _ = stream.write_all(request);
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

fn status(answer: &str) -> &str {
    answer.split(' ').nth(1).unwrap_or_default()
}

#[test]
fn a_get_is_answered_and_the_connection_ends() {
    let server = start();
    let answer = ask(server, b"GET /ok?x=1 HTTP/1.1\r\nHost: here\r\n\r\n");
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    assert!(head.starts_with("HTTP/1.1 200 OK\r\n") && head.contains("Content-Length: 5\r\n"), "{head}");
    assert!(head.contains("Connection: close"));
    assert_eq!(body, "fine\n");
    assert_eq!(ask(server, b"GET /long HTTP/1.0\r\n\r\n").len(), answer.len() + (4 << 20) - 4 + 6);
}

#[test]
fn bad_requests_are_told_what_is_wrong() {
    let server = start();
    let long_header = [&b"GET /ok HTTP/1.1\r\nA: "[..], &[b'a'; 9000]].concat();
    let many_headers = [&b"GET /ok HTTP/1.1\r\n"[..], &b"A: b\r\n".repeat(65), b"\r\n"].concat();
    let cases: [(&[u8], &str); 8] = [
        (b"POST /ok HTTP/1.1\r\nContent-Length: 3\r\n\r\nabc", "405"),
        (b"HEAD /ok HTTP/1.1\r\n\r\n", "405"),
        (b"GET /nothing HTTP/1.1\r\n\r\n", "404"),
        (b"GET * HTTP/1.1\r\n\r\n", "404"),
        (b"GET /ok HTTP/9.9\r\n\r\n", "400"),
        (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03 a TLS hello", "400"),
        (&long_header, "431"),
        (&many_headers, "431"),
    ];
    for (request, expected) in cases {
        let answer = ask(server, request);
        assert_eq!(status(&answer), expected, "{}", String::from_utf8_lossy(&request[..request.len().min(40)]));
        assert!(answer.ends_with('\n'));
    }
    assert!(ask(server, b"PUT /ok HTTP/1.1\r\n\r\n").contains("Allow: GET\r\n"));
}

#[test]
fn a_request_may_come_byte_by_byte() {
    let mut stream = TcpStream::connect(start()).unwrap();
    for byte in b"GET /ok HTTP/1.1\r\n\r\n" {
        stream.write_all(&[*byte]).unwrap();
    }
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert_eq!(status(&answer), "200");
}

#[test]
fn the_silent_the_stuck_and_the_many_keep_nobody_waiting() {
    let server = start();
    let silent: Vec<_> = (0..CONNECTIONS).map(|_| TcpStream::connect(server).unwrap()).collect();
    let mut stuck: Vec<_> = (0..CONNECTIONS).map(|_| TcpStream::connect(server).unwrap()).collect();
    for stream in &mut stuck {
        // Asks for much and reads nothing; or has made room for a younger one already.
        let _ = stream.write_all(b"GET /long HTTP/1.1\r\n\r\n");
    }
    assert_eq!(status(&ask(server, b"GET /ok HTTP/1.1\r\n\r\n")), "200");
    drop((silent, stuck));
    assert_eq!(status(&ask(server, b"GET /ok HTTP/1.1\r\n\r\n")), "200");
}

#[test]
fn an_asker_that_leaves_early_is_forgotten() {
    let server = start();
    for _ in 0..3 * CONNECTIONS {
        let mut stream = TcpStream::connect(server).unwrap();
        stream.write_all(b"GET /o").unwrap();
        stream.shutdown(Shutdown::Both).unwrap();
    }
    assert_eq!(status(&ask(server, b"GET /ok HTTP/1.1\r\n\r\n")), "200");
}

#[test]
fn an_address_that_is_taken_is_an_error_only_where_it_was_asked_for() {
    let taken = start();
    let health = Health::default();
    assert!(Server::bind(Door::Off, taken, &health).unwrap().is_none());
    assert!(health.troubles().is_empty());
    assert!(Server::bind(Door::Auto, taken, &health).unwrap().is_none());
    let told = health.troubles();
    assert!(told[0].what.contains(&taken.to_string()) && !told[0].stops);
    let error = Server::bind(Door::At(taken), taken, &health).unwrap_err().to_string();
    assert!(error.contains(&taken.to_string()) && error.contains("--http"), "{error}");
}
