//! Reading configurations, right and wrong ones.

use std::collections::HashMap;
use std::time::Duration;

use super::*;

fn refused(text: &str) -> (usize, Reason) {
    Config::parse(text).unwrap_err()
}

#[test]
fn an_empty_file_is_the_default_configuration() {
    assert_eq!(Config::parse(""), Ok(Config::default()));
}

#[test]
fn every_default_keeps_its_own_bounds() {
    for key in KEYS {
        let mut config = Config::default();
        assert_eq!((key.set)(&mut config, key.default), Ok(()), "{}", key.name);
        assert_eq!(config, Config::default(), "{}", key.name);
    }
}

#[test]
fn what_is_shown_reads_back_to_the_same_values() {
    let config = Config::parse(
        "listen = '127.0.0.1:9'\nmax_record = 65536\nretain_age = '30 d'\nretain_bytes = '5 GiB'\n\
         suites = ['AES-128-GCM']\nlog = 'trace'\ndata = '/tmp/a \"b\"'\ncommit_interval = '1500us'",
    )
    .unwrap();
    assert_eq!(Config::parse(&config.to_toml()), Ok(config));
    assert_eq!(Config::parse(&Config::default().to_toml()), Ok(Config::default()));
}

#[test]
fn the_address_for_http_may_be_chosen_or_left_out() {
    let door = |text: &str| Config::parse(&format!("http = '{text}'")).unwrap().http;
    assert_eq!(Config::default().http, Door::Auto);
    assert_eq!((door("off"), door("auto")), (Door::Off, Door::Auto));
    assert_eq!(door("[::1]:9100"), Door::At("[::1]:9100".parse().unwrap()));
    assert!(matches!(refused("http = 'on'").1, Reason::Value { key: "http", .. }));
}

#[test]
fn units_are_understood() {
    let config = Config::parse("segment = '128 MiB'\nretain_age = '1d 12h'\ncommit_interval = 0").unwrap();
    assert_eq!(config.segment, Bytes(128 << 20));
    assert_eq!(config.retain_age, Limit::At(Span(Duration::from_secs(36 * 3600))));
    assert_eq!(config.commit_interval, Span(Duration::ZERO));
}

#[test]
fn an_unknown_key_is_named_with_its_place_and_the_nearest_key() {
    let (at, reason) = refused("log = 'info'\n\nlistn = '[::]:1'");
    assert_eq!(at, 14);
    assert_eq!(reason, Reason::UnknownKey { key: "listn".into(), nearest: "listen" });
    let nearest = |text| match refused(text).1 {
        Reason::UnknownKey { nearest, .. } => nearest,
        other => panic!("{other}"),
    };
    assert_eq!(nearest("max-record = 1"), "max_record");
    assert_eq!(nearest("maxrecordsize = 1"), "max_record");
    assert_eq!(nearest("retention_age = 1"), "retain_age");
    assert_eq!(nearest("[suite]\nfirst = 1"), "suites");
}

#[test]
fn the_first_mistake_of_the_file_is_told() {
    assert!(matches!(refused("zeta = 1\nalpha = 2").1, Reason::UnknownKey { key, .. } if key == "zeta"));
}

#[test]
fn a_wrong_value_is_named_with_what_would_be_right() {
    for (text, sentence) in [
        ("max_record = 'much'", "max_record = 'much' is not a size such as \"64 MiB\" or 65536"),
        ("max_record = 3", "max_record = 3 is not between 64 B and 64 MiB"),
        ("max_record = -3", "max_record = -3 is not a size such as \"64 MiB\" or 65536"),
        ("segment = 1.5", "segment = 1.5 is not of its kind; the default is \"64 MiB\""),
        ("retain_age = '3 s'", "retain_age = '3 s' is not between 1m and unlimited"),
        ("retain_age = '30'", "retain_age = '30' is not a time such as \"5ms\", \"12h\" or \"30 d\""),
        (
            "listen = 'localhost'",
            "listen = 'localhost' is not an address with a port, such as \"[::]:7433\" or \"192.0.2.1:7433\"",
        ),
        ("log = 'loud'", "log = 'loud' is not one of \"error\", \"warn\", \"info\", \"debug\" and \"trace\""),
        ("data = ''", "data = '' is not a path, or \"auto\""),
    ] {
        assert_eq!(refused(text).1.to_string(), sentence);
    }
    for text in ["suites = []", "suites = ['DES']", "suites = ['AES-128-GCM', 'AES-128-GCM']"] {
        assert!(refused(text).1.to_string().contains("a list of the suites"), "{text}");
    }
}

#[test]
fn text_that_is_not_toml_is_one_line_of_complaint() {
    for text in ["listen", "listen = [::]:1", "log = 'info'\nlog = 'info'", "= 3", "a = 'b", "\u{0}"] {
        let (_, reason) = refused(text);
        assert!(matches!(reason, Reason::Syntax(_)), "{text}: {reason}");
        assert!(!reason.to_string().contains('\n'), "{reason}");
    }
}

#[test]
fn the_largest_record_must_fit_into_the_largest_credit() {
    assert_eq!(refused("log = 'info'\ncredit_max = '1 MiB'"), (13, Reason::RecordAboveCredit));
    assert!(Config::parse("credit_max = '1 MiB'\nmax_record = '512 KiB'").is_ok());
}

#[test]
fn the_data_directory_follows_the_environment() {
    let dir = |vars: &[(&str, &str)]| {
        let vars: HashMap<_, _> = vars.iter().copied().collect();
        default_data_dir(|name| vars.get(name).map(PathBuf::from)).display().to_string()
    };
    assert_eq!(dir(&[]), "tallylink-data");
    assert_eq!(dir(&[("HOME", "/home/ada")]), "/home/ada/.local/share/tallylink");
    assert_eq!(dir(&[("HOME", "/home/ada"), ("XDG_DATA_HOME", "/x")]), "/x/tallylink");
    assert_eq!(dir(&[("HOME", "/home/ada"), ("XDG_DATA_HOME", "relative")]), "/home/ada/.local/share/tallylink");
    assert_eq!(dir(&[("STATE_DIRECTORY", "/var/lib/tallylink"), ("HOME", "/root")]), "/var/lib/tallylink");
}
