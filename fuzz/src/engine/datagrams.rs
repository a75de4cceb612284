//! Sealed datagrams with any frames, into an endpoint that receives or sends: they come to something that has a name, and a peer beside
//! is served.

use super::bytes::Bytes;
use super::model::limits;
use tallylink_core::End;
use tallylink_sim::hostile::Stage;

/// The most datagrams of one input.
const MOST: usize = 64;

/// A byte for the end that is attacked; then for each step a byte: what to do, and how long the frames are.
pub fn datagrams(data: &[u8]) {
    let mut bytes = Bytes(data);
    let on = match bytes.byte() {
        None => return,
        Some(side) if side & 1 == 0 => End::Gateway,
        Some(_) => End::Device,
    };
    let mut stage = Stage::new(on, &limits(), 14, || 0);
    for _ in 0..MOST {
        let Some(step) = bytes.byte() else { break };
        if !stage.lives() && !stage.try_renew() {
            break;
        }
        match step {
            0..=0xdf => {
                let len = usize::from(step);
                let outcome = stage.give(bytes.some(len));
                let bug = crate::planted::here() && outcome == "contradiction";
                assert!(!bug, "as if a contradiction had broken something");
            }
            0xe0..=0xe7 => stage.pass(1 << (2 * u32::from(step - 0xe0) + 8)),
            0xe8..=0xef if on == End::Device => {
                stage.push(usize::from(step - 0xe7), 100);
            }
            0xf0..=0xf7 => stage.channel.next = stage.channel.next.saturating_add(1 << (step - 0xf0)),
            _ if on == End::Gateway => stage.renew(),
            _ => {}
        }
    }
    stage.serve();
}
