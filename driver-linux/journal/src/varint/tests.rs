use super::{MAX, read, size, write};

#[test]
fn the_examples_of_rfc_9000_appendix_a_1_read_and_write_alike() {
    // RFC 9000, appendix A.1 (IETF Trust, Simplified BSD licence for code components).
    let examples: [(&[u8], u64); 4] = [
        (&[0xc2, 0x19, 0x7c, 0x5e, 0xff, 0x14, 0xe8, 0x8c], 151_288_809_941_952_652),
        (&[0x9d, 0x7f, 0x3e, 0x7d], 494_878_333),
        (&[0x7b, 0xbd], 15_293),
        (&[0x25], 37),
    ];
    for (bytes, value) in examples {
        assert_eq!(read(bytes), Some((value, bytes.len())));
        let mut out = [0; 8];
        let len = write(value, &mut out);
        assert_eq!(&out[..len], bytes);
    }
}

#[test]
fn a_form_longer_than_needed_is_refused() {
    assert_eq!(read(&[0x40, 37]), None);
    assert_eq!(read(&[0x80, 0, 0x3f, 0xff]), None);
}

#[test]
fn every_border_survives_a_round_trip_and_no_shorter_input_is_read() {
    for value in [0, 63, 64, 16_383, 16_384, (1 << 30) - 1, 1 << 30, MAX] {
        let mut out = [0; 8];
        let len = write(value, &mut out);
        assert_eq!(len, size(value));
        assert_eq!(read(&out[..len]), Some((value, len)));
        assert_eq!(read(&out[..len - 1]), None);
    }
}
