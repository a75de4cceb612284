//! Which addresses are the same.

use super::Path;

fn path(remote: &str) -> Path {
    Path::to(remote.parse().expect("an address"))
}

fn from(local: &str, remote: &str) -> Path {
    Path { local: Some(local.parse().expect("an address")), ..path(remote) }
}

#[test]
fn a_mapped_address_is_the_one_that_it_maps() {
    assert!(path("10.0.0.1:5").same(&path("[::ffff:10.0.0.1]:5")));
    assert!(path("[::ffff:10.0.0.1]:5").same(&path("[::ffff:10.0.0.1%7]:5")));
    assert!(!path("10.0.0.1:5").same(&path("[::10.0.0.1]:5")), "a compatible address is another");
    assert!(!path("10.0.0.1:5").same(&path("10.0.0.1:6")));
}

#[test]
fn a_link_local_address_is_another_on_each_link() {
    assert!(path("[fe80::1%3]:5").same(&path("[fe80::1%3]:5")));
    assert!(!path("[fe80::1%3]:5").same(&path("[fe80::1%4]:5")));
    assert!(path("[2001:db8::1%3]:5").same(&path("[2001:db8::1]:5")), "others are the same everywhere");
}

#[test]
fn an_unknown_local_address_makes_no_difference() {
    let known = from("10.0.0.2", "10.0.0.1:5");
    assert!(known.same(&path("10.0.0.1:5")));
    assert!(known.same(&from("::ffff:10.0.0.2", "[::ffff:10.0.0.1]:5")));
    assert!(!known.same(&from("10.0.0.3", "10.0.0.1:5")));
}
