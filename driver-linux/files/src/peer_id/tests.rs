//! Which texts name a peer.

use super::*;

#[test]
fn every_usual_spelling_of_an_eui64_is_the_same_id() {
    let id = PeerId([0x70, 0xb3, 0xd5, 0xff, 0xfe, 0, 0, 1]);
    for text in [
        "70b3d5fffe000001",
        "70B3D5FFFE000001",
        "70-b3-d5-ff-fe-00-00-01",
        "70:B3:D5:FF:FE:00:00:01",
        "70b3.d5ff.fe00.0001",
        "70b3:d5ff:fe00:0001",
    ] {
        assert_eq!(text.parse(), Ok(id), "{text}");
    }
    assert_eq!(id.to_string(), "70b3d5fffe000001");
}

#[test]
fn other_texts_are_refused() {
    for text in [
        "",
        "roof",
        "70b3d5fffe00000",
        "70b3d5fffe0000011",
        "70b3d5fffe00000g",
        "70-b3:d5-ff-fe-00-00-01",
        "7-0b3d5fffe00000-1",
        "70-b3-d5-ff-fe-00-0001",
        "-70b3d5fffe000001",
    ] {
        assert!(matches!(text.parse::<PeerId>(), Err(PeerIdError::Form(given)) if given == text), "{text}");
    }
}

#[test]
fn a_mac_address_is_answered_with_the_eui64_made_from_it() {
    let error = "70-b3-d5-00-00-01".parse::<PeerId>().unwrap_err();
    assert!(error.to_string().contains("70b3d5fffe000001"), "{error}");
}

#[test]
fn null_ids_are_refused() {
    for text in ["0000000000000000", "ff-ff-ff-ff-ff-ff-ff-ff"] {
        assert!(matches!(text.parse::<PeerId>(), Err(PeerIdError::Null(_))), "{text}");
    }
}

#[test]
fn random_ids_are_local_and_differ() {
    let (a, b) = (PeerId::random().unwrap(), PeerId::random().unwrap());
    assert_ne!(a, b);
    assert_eq!(a.0[0] & 0b11, 0b10);
}
