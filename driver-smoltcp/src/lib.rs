//! Tallylink over a smoltcp UDP socket, without a heap.
