use super::{ALIKE, Names};

#[test]
fn every_name_is_found_at_its_place() {
    let mut names = Names::default();
    let given: Vec<_> = (0..3 * ALIKE).map(|n| "x".repeat(n % 65)).collect();
    let places: Vec<_> = given.iter().map(|name| names.add(name.as_bytes())).collect();
    for (name, place) in given.iter().zip(places) {
        assert_eq!(names.get(place), name.as_bytes());
    }
}

#[test]
fn names_that_devices_have_in_common_take_room_once() {
    let mut names = Names::default();
    let of_each = ["readings", "alarms", "", "log"];
    for _ in 0..1000 {
        for (place, name) in (0..).zip(of_each) {
            assert_eq!(names.add(name.as_bytes()), place);
        }
    }
    assert_eq!((names.text.len(), names.ends.len()), ("readingsalarmslog".len(), of_each.len()));
}
