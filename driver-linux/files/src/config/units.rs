//! The types of settings: each has one text form, which is what the file holds.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use bytesize::ByteSize;

/// A value that a key may have.
pub(super) trait Setting: Sized + PartialOrd {
    /// What the text should have been, to follow "is not".
    const EXPECTED: &str;

    /// Reads the text form.
    fn parse(text: &str) -> Result<Self, ()>;

    /// The text form.
    fn text(&self) -> String;

    /// The value as it stands in a TOML file.
    fn toml(&self) -> String {
        toml::Value::String(self.text()).to_string()
    }
}

impl Setting for SocketAddr {
    const EXPECTED: &str = "an address with a port, such as \"[::]:7433\" or \"192.0.2.1:7433\"";

    fn parse(text: &str) -> Result<Self, ()> {
        text.parse().map_err(drop)
    }

    fn text(&self) -> String {
        self.to_string()
    }
}

/// A number of bytes, written with a unit: "64 MiB".
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Bytes(pub u64);

impl Bytes {
    /// Reads a size from a command line.
    ///
    /// # Errors
    /// What to write instead.
    pub fn from_argument(text: &str) -> Result<Self, String> {
        Self::parse(text).map_err(|()| format!("give {}", Self::EXPECTED))
    }

    /// Reads bytes a second from a command line: a size, with or without "/s".
    ///
    /// # Errors
    /// What to write instead.
    pub fn rate_from_argument(text: &str) -> Result<Self, String> {
        let size = text.trim().strip_suffix("/s").unwrap_or(text);
        let rate = Self::parse(size).ok().filter(|Self(rate)| *rate >= 1000);
        rate.ok_or_else(|| "give bytes a second such as \"50 kB\" or \"1 MiB\", at least 1 kB".into())
    }
}

impl Setting for Bytes {
    const EXPECTED: &str = "a size such as \"64 MiB\" or 65536";

    fn parse(text: &str) -> Result<Self, ()> {
        text.parse().map(|ByteSize(bytes)| Self(bytes)).map_err(drop)
    }

    /// In the largest unit that shows the number exactly.
    fn text(&self) -> String {
        const UNITS: [&str; 5] = ["B", "KiB", "MiB", "GiB", "TiB"];
        let (mut number, mut unit) = (self.0, 0);
        while number != 0 && number.is_multiple_of(1024) && unit + 1 < UNITS.len() {
            number /= 1024;
            unit += 1;
        }
        format!("{number} {}", UNITS[unit])
    }
}

/// How many of something.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Count(pub u32);

impl Setting for Count {
    const EXPECTED: &str = "a number such as 512";

    fn parse(text: &str) -> Result<Self, ()> {
        text.parse().map(Self).map_err(drop)
    }

    fn text(&self) -> String {
        self.0.to_string()
    }

    fn toml(&self) -> String {
        self.text()
    }
}

/// A length of time, written with a unit: "30 d".
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Span(pub Duration);

impl Setting for Span {
    const EXPECTED: &str = "a time such as \"5ms\", \"12h\" or \"30 d\"";

    fn parse(text: &str) -> Result<Self, ()> {
        humantime::parse_duration(text).map(Self).map_err(drop)
    }

    fn text(&self) -> String {
        humantime::format_duration(self.0).to_string()
    }
}

/// A bound that may be absent, written "unlimited".
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Limit<T> {
    /// At most this.
    At(T),
    /// No bound; greater than any.
    Unlimited,
}

impl<T: Setting> Setting for Limit<T> {
    const EXPECTED: &str = T::EXPECTED;

    fn parse(text: &str) -> Result<Self, ()> {
        if text == "unlimited" { Ok(Self::Unlimited) } else { T::parse(text).map(Self::At) }
    }

    fn text(&self) -> String {
        match self {
            Self::At(value) => value.text(),
            Self::Unlimited => "unlimited".into(),
        }
    }
}

/// A path, or "auto" for the place chosen by this program.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Place {
    /// Chosen by this program.
    Auto,
    /// This one.
    Path(PathBuf),
}

impl Setting for Place {
    const EXPECTED: &str = "a path, or \"auto\"";

    fn parse(text: &str) -> Result<Self, ()> {
        match text {
            "" => Err(()),
            "auto" => Ok(Self::Auto),
            path => Ok(Self::Path(path.into())),
        }
    }

    fn text(&self) -> String {
        match self {
            Self::Auto => "auto".into(),
            Self::Path(path) => path.display().to_string(),
        }
    }
}

/// Where something is offered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Door {
    /// Where this program chooses.
    Auto,
    /// Nowhere.
    Off,
    /// Here.
    At(SocketAddr),
}

impl Door {
    /// Reads it from a command line.
    ///
    /// # Errors
    /// What to write instead.
    pub fn from_argument(text: &str) -> Result<Self, String> {
        Self::parse(text).map_err(|()| format!("give {}", Self::EXPECTED))
    }
}

impl Setting for Door {
    const EXPECTED: &str = "an address with a port, such as \"127.0.0.1:7433\", or \"auto\", or \"off\"";

    fn parse(text: &str) -> Result<Self, ()> {
        match text {
            "auto" => Ok(Self::Auto),
            "off" => Ok(Self::Off),
            address => address.parse().map(Self::At).map_err(drop),
        }
    }

    fn text(&self) -> String {
        match self {
            Self::Auto => "auto".into(),
            Self::Off => "off".into(),
            Self::At(address) => address.to_string(),
        }
    }
}

macro_rules! words {
    ($( #[$about:meta] )* $name:ident, $expected:literal: $( #[doc = $doc:literal] $word:ident = $text:literal, )+) => {
        $( #[$about] )*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub enum $name { $( #[doc = $doc] $word, )+ }

        impl Setting for $name {
            const EXPECTED: &str = $expected;

            fn parse(text: &str) -> Result<Self, ()> {
                match text { $( $text => Ok(Self::$word), )+ _ => Err(()) }
            }

            fn text(&self) -> String {
                match self { $( Self::$word => $text, )+ }.into()
            }
        }
    };
}

words! {
    /// How urgent a log message is.
    Level, "one of \"error\", \"warn\", \"info\", \"debug\" and \"trace\"":
    #[doc = "Something was not done."] Error = "error",
    #[doc = "Something needs looking at."] Warn = "warn",
    #[doc = "What the gateway does."] Info = "info",
    #[doc = "What each session does."] Debug = "debug",
    #[doc = "Everything."] Trace = "trace",
}

words! {
    /// An encryption suite.
    Suite, "a list of the suites \"AES-128-GCM-SIV\", \"AES-128-GCM\" and \"ChaCha20-Poly1305\", each at most once":
    #[doc = "RFC 8452; every peer has it."] Aes128GcmSiv = "AES-128-GCM-SIV",
    #[doc = "The fastest where the processor has AES instructions."] Aes128Gcm = "AES-128-GCM",
    #[doc = "RFC 8439: the fastest where it has none."] ChaCha20Poly1305 = "ChaCha20-Poly1305",
}

/// Suites, at least one.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd)]
pub struct Suites(pub Vec<Suite>);

impl Setting for Suites {
    const EXPECTED: &str = Suite::EXPECTED;

    fn parse(text: &str) -> Result<Self, ()> {
        let mut suites = Vec::new();
        for name in text.split(',') {
            let suite = Suite::parse(name.trim())?;
            if suites.contains(&suite) {
                return Err(());
            }
            suites.push(suite);
        }
        Ok(Self(suites))
    }

    fn text(&self) -> String {
        self.0.iter().map(Setting::text).collect::<Vec<_>>().join(", ")
    }

    fn toml(&self) -> String {
        let list = self.0.iter().map(|suite| toml::Value::String(suite.text())).collect();
        toml::Value::Array(list).to_string()
    }
}
