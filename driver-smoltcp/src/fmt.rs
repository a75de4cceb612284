//! Messages, by `defmt` or `log` if the application has chosen one, else nowhere. Arguments are evaluated either way and are
//! of types that both can print: numbers and strings.

/// Something that the application's author should mend.
macro_rules! warn {
    ($text:literal $(, $arg:expr)* $(,)?) => {{
        #[cfg(feature = "defmt")]
        ::defmt::warn!($text $(, $arg)*);
        #[cfg(feature = "log")]
        ::log::warn!($text $(, $arg)*);
        #[cfg(not(any(feature = "defmt", feature = "log")))]
        let _ = ($(&$arg,)*);
    }};
}

/// Something ordinary that explains a delay.
macro_rules! debug {
    ($text:literal $(, $arg:expr)* $(,)?) => {{
        #[cfg(feature = "defmt")]
        ::defmt::debug!($text $(, $arg)*);
        #[cfg(feature = "log")]
        ::log::debug!($text $(, $arg)*);
        #[cfg(not(any(feature = "defmt", feature = "log")))]
        let _ = ($(&$arg,)*);
    }};
}
