use super::{HELLO_CORE, LARGEST, Noise};

fn capture() -> Vec<Vec<u8>> {
    let mut hello = vec![7; 128];
    hello[..2].copy_from_slice(&[0, 1]);
    let mut data = vec![9; 900];
    data[0] = 0x50;
    vec![hello, data]
}

#[test]
fn the_same_seed_makes_the_same_noise_and_another_other() {
    let capture = capture();
    let made = |seed| {
        let mut noise = Noise::new(seed, &capture).expect("HELLO and DATA");
        let mut datagram = Vec::new();
        let next = || {
            noise.fill(&mut datagram);
            datagram.clone()
        };
        std::iter::repeat_with(next).take(100).collect::<Vec<_>>()
    };
    assert_eq!(made(1), made(1));
    assert_ne!(made(1), made(2));
}

#[test]
fn no_datagram_is_a_captured_one_and_each_kind_comes() {
    let capture = capture();
    let mut noise = Noise::new(1, &capture).expect("HELLO and DATA");
    let (mut datagram, mut peers, mut labels, mut flips) = (Vec::new(), 0, 0, 0);
    for _ in 0..10_000 {
        noise.fill(&mut datagram);
        assert!(datagram.len() as u64 <= LARGEST && !capture.contains(&datagram));
        peers += usize::from(datagram.get(2..HELLO_CORE) == Some(&capture[0][2..HELLO_CORE]));
        labels += usize::from(datagram.starts_with(&capture[1][..5]));
        let differing = |whole: &Vec<u8>| whole.iter().zip(&datagram).map(|(a, b)| (a ^ b).count_ones()).sum::<u32>();
        flips += usize::from(capture.iter().any(|whole| whole.len() == datagram.len() && differing(whole) == 1));
    }
    assert!(peers > 1_000 && labels > 1_000 && flips > 1_000, "{peers} peers, {labels} labels, {flips} flips");
}

#[test]
fn without_a_session_there_is_nothing_to_imitate() {
    assert!(Noise::new(1, &capture()[..1]).is_err());
    assert!(Noise::new(1, &capture()[1..]).is_err());
}
