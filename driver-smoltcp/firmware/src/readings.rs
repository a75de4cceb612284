//! Synthetic readings: what a record holds follows from its stream and its number, so that whoever has it can tell whether it
//! is the right one. The tests compile this file as well.

/// The largest record.
pub(crate) const LARGEST: usize = 4096;

/// A stream of this sensor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Source {
    /// A few bytes, often.
    Temperature,
    /// Up to a line of text, now and then nothing at all.
    Events,
    /// Samples of a motor's vibration.
    Waveform,
}

impl Source {
    /// All of them.
    pub(crate) const ALL: [Self; 3] = [Self::Temperature, Self::Events, Self::Waveform];

    /// The stream's name.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Temperature => "temperature",
            Self::Events => "events",
            Self::Waveform => "waveform",
        }
    }

    /// Bytes of a record, at the least and at the most.
    const fn sizes(self) -> (u32, u32) {
        match self {
            Self::Temperature => (4, 12),
            Self::Events => (0, 200),
            Self::Waveform => (0, LARGEST as u32),
        }
    }

    /// Writes record `number` into `room`, and returns what it takes.
    pub(crate) fn record(self, number: u64, room: &mut [u8; LARGEST]) -> &[u8] {
        let (least, most) = self.sizes();
        let mut random = Xorshift::from(self as u64, number);
        // Every 97th record has the largest size.
        let size = if number % 97 == 96 { most } else { least + random.next() % (most - least + 1) };
        let record = room.get_mut(..size as usize).unwrap_or_default();
        record.iter_mut().for_each(|byte| *byte = random.next() as u8);
        record
    }
}

/// Marsaglia's generator of 32 bits.
struct Xorshift(u32);

impl Xorshift {
    fn from(stream: u64, number: u64) -> Self {
        let mixed =
            (number + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(stream.wrapping_mul(0x5851_f42d_4c95_7f2d));
        Self((mixed >> 32) as u32 | 1)
    }

    fn next(&mut self) -> u32 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 17;
        self.0 ^= self.0 << 5;
        self.0
    }
}
