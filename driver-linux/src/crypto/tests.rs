//! Which of the two seals AES-128-GCM depends on the processor: here both do, whatever this one is.

use super::*;

const KEY: [u8; 16] = [0xc3; 16];

fn both() -> [AwsLcKey; 2] {
    let by_aws_lc = UnboundKey::new(&AES_128_GCM, &KEY).expect("a key");
    let by_ring = vaes::Key::new(&KEY).expect("a key");
    [AwsLcKey(Backend::AwsLc(LessSafeKey::new(by_aws_lc))), AwsLcKey(Backend::Vaes(by_ring))]
}

#[test]
fn aws_lc_and_ring_make_the_same_packets_at_every_length() {
    let [theirs, ours] = both();
    let plaintext: Vec<u8> = (0..1500_u32).map(|i| (i * 7) as u8).collect();
    for len in (0..=plaintext.len()).step_by(7).chain(1400..1480) {
        let (mut a, mut b) = (plaintext[..len].to_vec(), plaintext[..len].to_vec());
        let (pn, aad) = (len as u64, &plaintext[..len % 13]);
        let (one, other) = (AwsLc.seal(&theirs, pn, aad, &mut a), AwsLc.seal(&ours, pn, aad, &mut b));
        assert_eq!((one.as_bytes(), &a), (other.as_bytes(), &b), "{len} B");
        assert_eq!(AwsLc.open(&theirs, pn, aad, &mut b, &other), Ok(()));
        assert_eq!(AwsLc.open(&ours, pn, aad, &mut a, &one), Ok(()));
        assert_eq!((&a[..], &b[..]), (&plaintext[..len], &plaintext[..len]));
    }
}

#[test]
fn both_refuse_what_was_altered_and_leave_nothing_of_it() {
    for key in both() {
        let mut sealed = [0x77; 61];
        let tag = AwsLc.seal(&key, 5, b"header", &mut sealed);
        for bit in 0..sealed.len() * 8 {
            let mut body = sealed;
            body[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(AwsLc.open(&key, 5, b"header", &mut body, &tag), Err(Forged));
            assert_eq!(body, [0; 61]);
        }
        let mut other = *tag.as_bytes();
        other[15] ^= 1;
        assert_eq!(AwsLc.open(&key, 5, b"header", &mut sealed.clone(), &Tag::from_bytes(other)), Err(Forged));
        assert_eq!(AwsLc.open(&key, 6, b"header", &mut sealed.clone(), &tag), Err(Forged));
        assert_eq!(AwsLc.open(&key, 5, b"Header", &mut sealed.clone(), &tag), Err(Forged));
    }
}
