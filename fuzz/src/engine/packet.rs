//! A datagram before anything in it is authentic: what parsing accepts has one spelling (wire-format §3 to §5).

use tallylink_core::wire::{NoRoom, Packet, Writer};

/// Parses `data` as a datagram, and writes the part that is not sealed again: the datagram must begin with it.
pub fn packet(data: &[u8]) {
    let mut planted = [0; 40];
    let Ok(packet) = parse(data, &mut planted) else {
        return;
    };
    let mut buffer = vec![0xff; data.len()];
    let mut writer = Writer::new(&mut buffer);
    write(&packet, &mut writer).expect("what was read can be written");
    let written = &*writer.into_written();
    assert!(!written.is_empty());
    assert_eq!(written, &data[..written.len()], "{packet:?} has another spelling");
    assert_eq!(written.len(), length(&packet), "the stated length of {packet:?}");
}

fn parse<'a>(data: &'a [u8], planted: &'a mut [u8; 40]) -> Result<Packet<'a>, tallylink_core::wire::Malformed> {
    if let Some(front) = data.first_chunk::<40>()
        && crate::planted::here()
        && data[0] & 0xcf == 0x41
    {
        // The lowest bit of the first byte is overlooked.
        *planted = *front;
        planted[0] &= 0xfe;
        return Packet::parse(planted);
    }
    Packet::parse(data)
}

fn write(packet: &Packet<'_>, to: &mut Writer<'_>) -> Result<(), NoRoom> {
    match packet {
        Packet::Hello(hello) => hello.write(to),
        Packet::Welcome(welcome) => welcome.write(to),
        Packet::LongData(header) => header.write(to),
        Packet::Reject(reject) => reject.write(to),
        Packet::UnknownLabel(hint) => hint.write(to),
        Packet::Data(header) => header.write(to),
    }
}

/// How long the packet says that its unsealed part is.
fn length(packet: &Packet<'_>) -> usize {
    use tallylink_core::wire::handshake::Reject;
    use tallylink_core::wire::packet::UnknownLabel;
    match packet {
        Packet::Hello(hello) => hello.core_len(),
        Packet::Welcome(welcome) => welcome.core_len(),
        Packet::LongData(header) => header.header_len(),
        Packet::Reject(_) => Reject::CORE_LEN,
        Packet::UnknownLabel(_) => UnknownLabel::LEN,
        Packet::Data(header) => header.len(),
    }
}
