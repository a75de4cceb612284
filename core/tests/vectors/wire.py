#!/usr/bin/env python3
"""Makes the wire-*.hex vectors from core/docs/wire-format.md, without a line of the project's own code.

This is a second implementation of the wire format's writing side, kept small enough to be read beside the text. It
needs Python 3.11 and `cryptography` 44 or later, on OpenSSL 3.2 or later. Run it in this folder: the same files come out.
"""

import struct

from cryptography.hazmat.primitives.ciphers.aead import AESGCM, AESGCMSIV, ChaCha20Poly1305
from cryptography.hazmat.primitives.ciphers.algorithms import AES128
from cryptography.hazmat.primitives.cmac import CMAC

HEAD = """\
# {what}
# Made by wire.py beside this file, with Python's `cryptography`, independently of this project's code.
# Source: this project, under its own licence.
#
# A case is a run of lines `name = hex`, closed by an empty line; an empty value is an empty string of bytes. The README
# beside this file says what each name means.
"""


def varint(value):
    """wire-format §2: the shortest form only."""
    for size, bits, mark in ((1, 6, 0), (2, 14, 1), (4, 30, 2), (8, 62, 3)):
        if value < 1 << bits:
            return (value | mark << (8 * size - 2)).to_bytes(size, "big")
    raise ValueError(value)


def cmac(key, message):
    mac = CMAC(AES128(key))
    mac.update(message)
    return mac.finalize()


def derive(key, label, context, length):
    """wire-format §4.5: SP 800-108 in counter mode."""
    out = b""
    for i in range(1, -(-length // 16) + 1):
        out += cmac(key, struct.pack(">I", i) + label + b"\0" + context + struct.pack(">I", 8 * length))
    return out[:length]


def limits(max_record, max_datagram, width, credit, held):
    """wire-format §4.3."""
    return struct.pack(">IHIIH", max_record, max_datagram, width, credit, held)


def extensions(tlvs):
    body = b"".join(varint(kind) + varint(len(value)) + value for kind, value in tlvs)
    return struct.pack(">H", len(body)) + body


def seal(suite, secret, number, header, frames):
    nonce = bytes(4) + struct.pack(">Q", number)
    cipher, key = {1: (AESGCMSIV, 16), 2: (AESGCM, 16), 3: (ChaCha20Poly1305, 32)}[suite]
    return header + cipher(secret[:key]).encrypt(nonce, frames, header)


class Session:
    """One HELLO exchange and the packets of its session."""

    def __init__(self, n, key_id, offered, suite, device_limits, gateway_limits, device_tlvs=(), gateway_tlvs=()):
        def draw(what, size):
            return cmac(bytes([n] * 16), what)[:size]

        self.psk = draw(b"psk", 16)
        self.key_id = key_id
        self.peer = draw(b"peer", 8)
        self.nonce = draw(b"device nonce", 16)
        self.boot = draw(b"device boot", 8)
        self.offered = offered
        self.suite = suite
        self.device_label = draw(b"device label", 4)
        self.gateway_label = draw(b"gateway label", 4)
        self.gateway_nonce = draw(b"gateway boot", 8) + struct.pack(">Q", 0x1234 + n)
        self.device_limits = device_limits
        self.gateway_limits = gateway_limits
        self.device_tlvs = extensions(device_tlvs)
        self.gateway_tlvs = extensions(gateway_tlvs)

    def hello_core(self):
        return (
            b"\0\x01"
            + b"\x01\x01"
            + bytes([self.key_id])
            + self.peer
            + self.nonce
            + self.boot
            + bytes([self.offered])
            + self.device_label
            + limits(*self.device_limits)
            + self.device_tlvs
        )

    def tag_key(self, label):
        return derive(self.psk, label, bytes([1, self.key_id]) + self.peer, 16)

    def hello_body(self):
        core = self.hello_core()
        return core + bytes(max(0, 112 - len(core)))

    def hello(self):
        body = self.hello_body()
        return body + cmac(self.tag_key(b"tallylink1 hello tag"), body)

    def welcome_core(self):
        return (
            b"\0\x02"
            + bytes([1, self.key_id])
            + self.peer
            + self.nonce
            + self.gateway_nonce
            + bytes([self.suite])
            + limits(*self.gateway_limits)
            + self.gateway_tlvs
        )

    def answer(self, core):
        return core + cmac(self.tag_key(b"tallylink1 welcome tag"), self.hello_body() + core)

    def welcome(self):
        return self.answer(self.welcome_core())

    def reject(self, reason, wait):
        core = b"\0\x04\x01\x01" + bytes([self.key_id]) + self.peer + self.nonce
        return self.answer(core + bytes([reason]) + struct.pack(">H", wait))

    def session_key(self):
        return derive(self.psk, b"tallylink1 session", self.hello_core() + self.welcome_core(), 16)

    def secret(self, direction):
        return derive(self.session_key(), b"tallylink1 " + direction, b"", 32)

    def long_data(self, number, frames):
        header = b"\0\x03" + self.hello_core()[2:] + self.gateway_nonce + struct.pack(">Q", number)
        return seal(self.suite, self.secret(b"device to gateway"), number, header, frames)

    def data(self, up, number, length, frames):
        """wire-format §5.1."""
        label = self.gateway_label if up else self.device_label
        direction = b"device to gateway" if up else b"gateway to device"
        header = bytes([{2: 0x50, 3: 0x60, 4: 0x70}[length]]) + label + struct.pack(">Q", number)[-length:]
        return seal(self.suite, self.secret(direction), number, header, frames)


SESSIONS = [
    Session(1, 0, 0b11, 2, (1 << 20, 1472, 65536, 16384, 2048), (1 << 20, 1472, 65536, 16384, 2048)),
    Session(2, 255, 0b01, 1, (1024, 1200, 64, 2048, 2), (1 << 16, 1400, 1024, 65536, 64)),
    Session(
        3,
        7,
        0b1000_0011,
        1,
        ((1 << 30) - 2, 65507, 1 << 20, (1 << 32) - 1, 65535),
        (0, 512, 64, 0, 0),
        [(1, b"\xaa" * 60)],
        [(0x4000, b""), (5, b"ignored")],
    ),
    Session(4, 1, 0b111, 3, (1 << 20, 1472, 65536, 16384, 2048), (1 << 20, 1472, 65536, 16384, 2048)),
]

# (frame, fields, bytes): wire-format §6. Numbers are given as eight bytes.
EPOCH = bytes.fromhex("e0e1e2e3e4e5e6e7")
BEFORE = bytes.fromhex("d0d1d2d3d4d5d6d7")
BIG = (1 << 62) - 1


def name(text):
    return bytes([len(text.encode())]) + text.encode()


def frames():
    n = lambda value: struct.pack(">Q", value)
    yield "padding", [("length", n(1))], b"\0"
    yield "padding", [("length", n(20))], bytes(20)
    yield "ping", [], b"\x01"
    yield "label", [("label", bytes.fromhex("8badf00d"))], b"\x02\x8b\xad\xf0\x0d"
    for stream, text, first in ((1, "t", 0), (64, "température/été", 16383), ((1 << 30) - 1, "n" * 64, BIG)):
        fields = [("stream", n(stream)), ("name", text.encode()), ("epoch", EPOCH), ("first", n(first))]
        head = b"\x03" + varint(stream) + name(text) + EPOCH + varint(first)
        yield "open", fields, head + b"\0"
        fields += [("previous_epoch", BEFORE), ("previous_end", n(first + 1 if first < BIG else BIG))]
        yield "open", fields, head + b"\x01" + BEFORE + varint(first + 1 if first < BIG else BIG)
    for kind, frame, field in ((4, "opened", "stored_below"), (8, "stored", "below")):
        for stream, below in ((1, 0), (63, 64), (16384, 1 << 30), ((1 << 30) - 1, BIG)):
            fields = [("stream", n(stream)), (field, n(below))]
            yield frame, fields, bytes([kind]) + varint(stream) + varint(below)
    for stream, number, offset, rest, body in (
        (1, 0, 0, 0, b"\0"),
        (1, 70000, 0, 0, b"\x02hi\x00\x01x"),
        (2, 5, 0, 0, varint(100) + bytes(range(63))),
        (2, 5, 65, 37, bytes(range(63, 100))),
        (3, BIG, 1, (1 << 30) - 2, b"\xff"),
        (4, 9, (1 << 30) - 2, 1, b"\x55\x03abc"),
    ):
        fields = [("stream", n(stream)), ("number", n(number)), ("offset", n(offset)), ("rest", n(rest))]
        fields += [("bytes", body)]
        middle = varint(rest) if offset else b""
        head = b"\x05" + varint(stream) + varint(number) + varint(offset) + middle
        yield "chunk", fields, head + varint(len(body)) + body
    for stream, below, reason in ((1, 1, 1), (2, 1 << 14, 2), (3, BIG, 3), (4, 77, 4)):
        fields = [("stream", n(stream)), ("below", n(below)), ("reason", bytes([reason]))]
        yield "skip", fields, b"\x06" + varint(stream) + varint(below) + bytes([reason])
    for delay, ranges in (
        (0, [(0, 0)]),
        (25000, [(0, 9)]),
        ((1 << 30) - 1, [(BIG, BIG)]),
        (64, [(1000, 1200), (900, 998), (0, 100)]),
        (1, [(2 * i, 2 * i) for i in range(20, -1, -1)]),
    ):
        low, high = ranges[0]
        body = b"\x07" + varint(high) + varint(delay) + varint(len(ranges) - 1) + varint(high - low)
        for (a, b), below in zip(ranges[1:], ranges):
            body += varint(below[0] - b - 2) + varint(b - a)
        pairs = b"".join(n(a) + n(b) for a, b in ranges)
        yield "ack", [("delay_us", n(delay)), ("ranges", pairs)], body
        for marks in ((1, 0, 0), (16383, 64, BIG)):
            counts = b"".join(map(n, marks))
            marked = b"\x0d" + body[1:] + b"".join(map(varint, marks))
            yield "ack", [("delay_us", n(delay)), ("ranges", pairs), ("ecn", counts)], marked
    for window in (0, 63, 16384, (1 << 40) - 1):
        yield "credit", [("window", n(window))], b"\x09" + varint(window)
        yield "query", [("credit", n(window))], b"\x0a\x01" + varint(window)
    yield "query", [("stored", n(1))], b"\x0a\0\x01"
    yield "query", [("stored", n((1 << 30) - 1))], b"\x0a\0" + varint((1 << 30) - 1)
    yield "busy", [], b"\x0b"
    for reason in (1, 2, 3):
        yield "refused", [("stream", n(300)), ("reason", bytes([reason]))], b"\x0c" + varint(300) + bytes([reason])


def malformed():
    """Frames that must be refused: (why, bytes)."""
    yield "type 0e is not known", b"\x0e"
    yield "padding with a byte that is not zero", b"\0\0\x01"
    yield "LABEL cut short", b"\x02\x01\x02\x03"
    yield "OPEN of stream 0", b"\x03\0" + name("t") + EPOCH + b"\0\0"
    yield "OPEN with an empty name", b"\x03\x01\0" + EPOCH + b"\0\0"
    yield "OPEN with a name of 65 bytes", b"\x03\x01" + name("n" * 65) + EPOCH + b"\0\0"
    yield "OPEN with a name that is not UTF-8", b"\x03\x01\x02\xc3\x28" + EPOCH + b"\0\0"
    yield "OPEN that neither has nor lacks a previous epoch", b"\x03\x01" + name("t") + EPOCH + b"\0\x02"
    yield "OPEN of a stream id above the largest", b"\x03" + varint(1 << 30) + name("t") + EPOCH + b"\0\0"
    yield "OPENED whose number is not minimal", b"\x04\x01\x40\x3f"
    yield "STORED whose number is not minimal", b"\x08\x01\x80\0\x3f\xff"
    yield "STORED of a stream whose id is not minimal", b"\x08\xc0\0\0\0\x3f\xff\xff\xff\0"
    yield "CHUNK without bytes", b"\x05\x01\0\0\0"
    yield "CHUNK longer than the packet", b"\x05\x01\0\0\x03\x01x"
    yield "CHUNK whose length has another spelling", b"\x05\x01\0\0\x40\x02\x01x"
    yield "CHUNK inside a record of which nothing is left", b"\x05\x01\0\x05\0\x01x"
    yield "CHUNK inside a record above the largest", b"\x05\x01\0" + varint((1 << 30) - 2) + b"\x02\x01x"
    yield "CHUNK of more than 65,535 bytes", b"\x05\x01\0\0" + varint(65536) + bytes(65536)
    yield "SKIP without a reason", b"\x06\x01\x05"
    yield "ACK below zero", b"\x07\x05\0\0\x06"
    yield "ACK with a gap below zero", b"\x07\x05\0\x01\0\x04\0"
    yield "ACK with fewer ranges than it says", b"\x07\x20\0\x02\0\0\0"
    yield "ACK with two counts of marks", b"\x0d\x05\0\0\0\x01\x02"
    yield "ACK with a delay above the largest", b"\x07\x05" + varint(1 << 30) + b"\0\0"
    yield "CREDIT above the largest", b"\x09" + varint(1 << 40)
    yield "QUERY of neither kind", b"\x0a\x02\x01"
    yield "QUERY with a window above the largest", b"\x0a\x01" + varint(1 << 40)
    yield "REFUSED cut short", b"\x0c\x01"


def write(file, what, cases):
    with open(file, "w", encoding="utf-8") as out:
        out.write(HEAD.format(what=what))
        for case in cases:
            out.write("\n")
            for key, value in case:
                out.write(f"{key} = {value.hex()}\n".replace(" \n", "\n"))


def handshakes():
    for s in SESSIONS:
        yield [
            ("psk", s.psk),
            ("key", bytes([s.key_id])),
            ("peer", s.peer),
            ("nonce", s.nonce),
            ("boot", s.boot),
            ("suites", bytes([s.offered])),
            ("label", s.device_label),
            ("limits", limits(*s.device_limits)),
            ("extensions", s.device_tlvs[2:]),
            ("hello", s.hello()),
            ("gateway_nonce", s.gateway_nonce),
            ("suite", bytes([s.suite])),
            ("gateway_limits", limits(*s.gateway_limits)),
            ("gateway_extensions", s.gateway_tlvs[2:]),
            ("welcome", s.welcome()),
            ("session_key", s.session_key()),
            ("device_to_gateway", s.secret(b"device to gateway")),
            ("gateway_to_device", s.secret(b"gateway to device")),
            ("reject_version", s.reject(1, 0)),
            ("reject_suite", s.reject(2, 0)),
            ("reject_busy", s.reject(3, 10)),
        ]


def packets():
    body = b"\x03\x01" + name("t") + EPOCH + b"\0\0" + b"\x05\x01\0\0\x04\x03abc"
    for i, s in enumerate(SESSIONS):
        up, down = s.secret(b"device to gateway"), s.secret(b"gateway to device")
        for number in (0, 1, BIG - 1):
            sealed = s.long_data(number, body)
            fields = [("hello", s.hello()), ("gateway_nonce", s.gateway_nonce), ("suite", bytes([s.suite]))]
            fields += [("secret", up), ("number", struct.pack(">Q", number)), ("frames", body), ("long_data", sealed)]
            yield fields
        for length, number, expected in (
            (2, 0, 0),
            (2, 0x1_0001, 0xFFFF),
            (2, 0xFFFF, 0x1_0001),
            (3, 0x12_3456_789A, 0x12_3456_8000),
            (4, 0xFFFF_FFFF, 0x1_0000_0005),
            (4, (1 << 62) - 2, (1 << 62) - 20),
        ):
            for direction, secret, label in ((True, up, s.gateway_label), (False, down, s.device_label)):
                sealed = s.data(direction, number, length, b"\x01" if i == 0 else body)
                fields = [("suite", bytes([s.suite])), ("secret", secret), ("label", label)]
                fields += [("number", struct.pack(">Q", number)), ("expected", struct.pack(">Q", expected))]
                fields += [("number_length", bytes([length])), ("frames", b"\x01" if i == 0 else body)]
                yield fields + [("data", sealed)]
    for label, peer in ((bytes.fromhex("01020304"), bytes(8)), (bytes(4), SESSIONS[0].peer)):
        yield [("label", label), ("peer", peer), ("unknown_label", b"\0\x05" + label + peer)]


if __name__ == "__main__":
    write("wire-handshake.hex", "Session set-up: HELLO, WELCOME, REJECT and the keys (wire-format §4).", handshakes())
    write("wire-packet.hex", "Sealed packets and UNKNOWN_LABEL (wire-format §5).", packets())
    named = ([("frame", f.encode()), *fields, ("wire", wire)] for f, fields, wire in frames())
    write("wire-frame.hex", "Every frame (wire-format §6).", named)
    bad = ([("why", why.encode()), ("wire", wire)] for why, wire in malformed() if len(wire) < 1000)
    write("wire-malformed.hex", "Frames that must be refused (wire-format §2, §6).", bad)
