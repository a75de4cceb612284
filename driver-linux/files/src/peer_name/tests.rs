//! Which texts may name a peer.

use super::*;

#[test]
fn names_of_up_to_64_bytes_are_taken_in_any_script() {
    for text in ["a", "roof-north", "Küche_2", "温度計", "x.y-z", &"n".repeat(64)] {
        assert_eq!(text.parse::<PeerName>().map(|n| n.to_string()), Ok(text.to_owned()));
    }
}

#[test]
fn each_bad_name_is_refused_for_its_own_reason() {
    let refused = |text: &str| text.parse::<PeerName>().unwrap_err();
    assert_eq!(refused(""), PeerNameError::Empty);
    assert!(matches!(refused(&"n".repeat(65)), PeerNameError::Long(_)));
    assert!(matches!(refused("two words"), PeerNameError::Character(_, ' ')));
    assert!(matches!(refused("a/b"), PeerNameError::Character(_, '/')));
    assert!(matches!(refused("line\nbreak"), PeerNameError::Character(_, '\n')));
    assert!(matches!(refused("--json"), PeerNameError::Begin(_, '-')));
    assert!(matches!(refused(".hidden"), PeerNameError::Begin(_, '.')));
    assert!(matches!(refused("70b3d5fffe000001"), PeerNameError::LikeId(_)));
}
