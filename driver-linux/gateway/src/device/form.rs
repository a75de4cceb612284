//! The forms in which a new key is printed for whoever provisions the device.

use std::fmt::Write as _;
use std::io::{self, Write};

use clap::ValueEnum;
use zeroize::Zeroizing;

use super::DeviceKey;
use crate::hex;
use crate::host_port::HostPort;

/// A form of a device's key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Form {
    /// The key file as TOML
    Toml,
    /// Shell lines that write the key file and send with it
    Send,
    /// Constants for Rust firmware
    Rust,
    /// Constants for C firmware
    C,
    /// All of the above
    All,
}

impl DeviceKey {
    /// Writes the key in a form.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn write(&self, form: Form, out: &mut dyn Write) -> io::Result<()> {
        match form {
            Form::Toml => out.write_all(self.to_toml().as_bytes()),
            Form::Send => self.write_send(out),
            Form::Rust => self.write_rust(out),
            Form::C => self.write_c(out),
            Form::All => {
                writeln!(out, "# The device's key file; whoever has it can send as {}:", self.name)?;
                self.write(Form::Toml, out)?;
                writeln!(out, "\n# To send from Linux:")?;
                self.write(Form::Send, out)?;
                writeln!(out, "\n// For firmware in Rust:")?;
                self.write(Form::Rust, out)?;
                writeln!(out, "\n// For firmware in C:")?;
                self.write(Form::C, out)
            }
        }
    }

    /// The key file's text.
    fn to_toml(&self) -> Zeroizing<String> {
        // Room enough that it never moves and leaves a copy behind: a gateway's name has at most 255 bytes.
        let mut text = Zeroizing::new(String::with_capacity(1024));
        let key = self.key_digits();
        // Writing to a string cannot fail.
        let _ = write!(
            text,
            "name = \"{}\"\npeer = \"{}\"\nkey_id = {}\nkey = \"{}\"\n",
            self.name, self.peer, self.key_id, *key
        );
        if let Some(gateway) = &self.gateway {
            let _ = writeln!(text, "gateway = \"{gateway}\"");
        }
        text
    }

    /// The command that sends with a key file.
    fn send_line(&self, key_file: &str) -> String {
        let to = self.gateway.as_ref().map_or("HOST:7433".into(), HostPort::to_string);
        format!("tallylink send --to {to} --key {key_file} --stream NAME")
    }

    /// One JSON object on one line.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn write_json(&self, out: &mut dyn Write) -> io::Result<()> {
        let object = Json {
            name: self.name.as_str(),
            peer: self.peer.to_string(),
            key_id: self.key_id,
            key: &self.key_digits(),
            gateway: self.gateway.as_ref().map(HostPort::to_string),
        };
        serde_json::to_writer(&mut *out, &object)?;
        out.write_all(b"\n")
    }

    fn write_send(&self, out: &mut dyn Write) -> io::Result<()> {
        let file = format!("{}.key", self.name);
        writeln!(out, "install -m 600 /dev/stdin {file} <<'END'")?;
        out.write_all(self.to_toml().as_bytes())?;
        writeln!(out, "END\n{}", self.send_line(&file))
    }

    fn write_rust(&self, out: &mut dyn Write) -> io::Result<()> {
        writeln!(out, "pub const TALLYLINK_PEER_ID: [u8; 8] = [{}];", *list(&self.peer.0))?;
        writeln!(out, "pub const TALLYLINK_KEY_ID: u8 = {};", self.key_id)?;
        writeln!(out, "pub const TALLYLINK_KEY: [u8; 16] = [{}];", *list(self.secret.expose()))
    }

    fn write_c(&self, out: &mut dyn Write) -> io::Result<()> {
        writeln!(out, "#include <stdint.h>")?;
        writeln!(out, "static const uint8_t TALLYLINK_PEER_ID[8] = {{{}}};", *list(&self.peer.0))?;
        writeln!(out, "static const uint8_t TALLYLINK_KEY_ID = {};", self.key_id)?;
        writeln!(out, "static const uint8_t TALLYLINK_KEY[16] = {{{}}};", *list(self.secret.expose()))
    }

    fn key_digits(&self) -> Zeroizing<String> {
        let mut digits = Vec::with_capacity(32);
        hex::push(&mut digits, self.secret.expose());
        Zeroizing::new(String::from_utf8(digits).unwrap_or_default())
    }
}

#[derive(serde::Serialize)]
struct Json<'a> {
    name: &'a str,
    peer: String,
    key_id: u8,
    key: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    gateway: Option<String>,
}

/// `0x00, 0x01, …`
fn list(bytes: &[u8]) -> Zeroizing<String> {
    let mut text = Zeroizing::new(String::with_capacity(6 * bytes.len()));
    for (at, byte) in bytes.iter().enumerate() {
        let comma = if at == 0 { "" } else { ", " };
        // Writing to a string cannot fail.
        let _ = write!(text, "{comma}0x{byte:02x}");
    }
    text
}
