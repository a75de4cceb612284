//! Every order of steps of the disk's thread and of the network's.

use super::{Block, Handover};
use crate::outbox::{Next, What};
use loom::model;
use loom::sync::Arc;
use loom::thread;
use tallylink_core::Epoch;

#[test]
fn blocks_arrive_in_order_and_their_buffers_come_back() {
    model(|| {
        let handover = Arc::new(Handover::default());
        let network = {
            let handover = Arc::clone(&handover);
            thread::spawn(move || {
                for wanted in [1, 2] {
                    let block = loop {
                        match handover.take() {
                            Some(block) => break block,
                            None => thread::yield_now(),
                        }
                    };
                    assert_eq!(block.bytes, [wanted]);
                    handover.give_back(block.bytes);
                }
            })
        };
        for byte in [1, 2] {
            assert!(handover.has_room());
            let mut bytes = handover.buffer();
            bytes.push(byte);
            let what = What::Records { first: u64::from(byte), count: 1 };
            handover.put(Block { next: Next { epoch: Epoch([0; 8]), previous: None, what }, bytes, placed: 0 });
        }
        network.join().unwrap();
        assert!(handover.is_empty());
        assert!(handover.buffer().is_empty());
    });
}
