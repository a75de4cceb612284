//! Seals packets and opens them again, and nothing else, for a counter of instructions to watch.
//!
//! `seal SUITE PACKETS` with a suite's name in lower case. Two runs of different length differ by what the packets between them take;
//! `.ci/pi-cost` counts under an emulator of a gateway's processor.

use std::process::ExitCode;

use tallylink_core::crypto::{Crypto, Secret, Suite};
use tallylink_linux::crypto::AwsLc;

const HEADER: &[u8] = b"a header";
/// What a packet of 1,452 bytes seals.
const BODY: usize = 1_427;

fn main() -> ExitCode {
    let words: Vec<_> = std::env::args().skip(1).collect();
    let asked = match &words[..] {
        [suite, packets] => {
            let suite = Suite::ALL.into_iter().find(|known| known.name().eq_ignore_ascii_case(suite));
            suite.zip(packets.parse().ok())
        }
        _ => None,
    };
    let Some((suite, packets)) = asked else {
        eprintln!("say a suite and how many packets: seal chacha20-poly1305 100");
        return ExitCode::from(2);
    };
    if seal(suite, packets) { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Whether each packet opened.
fn seal(suite: Suite, packets: u64) -> bool {
    let mut key = None;
    AwsLc.expand(suite, &Secret::from_bytes([7; 32]), &mut key);
    let Some(key) = key else { return false };
    let mut body = vec![0x55; BODY];
    (0..packets).all(|number| {
        let tag = AwsLc.seal(&key, number, HEADER, &mut body);
        AwsLc.open(&key, number, HEADER, &mut body, &tag).is_ok()
    })
}
