//! Segments as the page cache and the disk hold them.

/// What a page is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Page {
    /// In the cache, to be written.
    Dirty,
    /// In the cache only, after a failed sync: readable until the power goes.
    Clean,
    /// On the disk.
    Durable,
    /// Written again while it was on the disk already: the same bytes, so it stays there.
    Rewritten,
    /// Not there.
    Gone,
}

impl Page {
    fn is_unsynced(self) -> bool {
        self == Self::Dirty
    }

    fn synced(self) -> Self {
        match self {
            Self::Dirty | Self::Rewritten => Self::Durable,
            other => other,
        }
    }
}

/// What a block says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Block {
    /// A group begins; this many blocks of the segment were synced before it.
    Group {
        proven: usize,
    },
    Record(u8),
    /// A record that rotted. Its number is for the check alone: a reader only sees that it is bad.
    Rotten(u8),
}

#[derive(Clone, Debug, Hash)]
struct Segment {
    header: Page,
    /// The segment that comes before this one, and how many of its blocks count.
    predecessor: Option<(usize, usize)>,
    blocks: Vec<(Block, Page)>,
}

/// All segments, by id.
#[derive(Clone, Debug, Hash)]
pub(super) struct Disk(Vec<Segment>);

impl Disk {
    pub(super) fn formatted() -> Self {
        Self(vec![Segment { header: Page::Durable, predecessor: None, blocks: Vec::new() }])
    }

    pub(super) fn segments(&self) -> usize {
        self.0.len()
    }

    pub(super) fn length(&self, segment: usize) -> usize {
        self.0[segment].blocks.len()
    }

    pub(super) fn header(&self, segment: usize) -> Page {
        self.0[segment].header
    }

    pub(super) fn predecessor(&self, segment: usize) -> Option<(usize, usize)> {
        self.0[segment].predecessor
    }

    /// The blocks of a segment as a reader finds them now: `None` where nothing valid stands.
    pub(super) fn blocks(&self, segment: usize) -> impl Iterator<Item = Option<Block>> {
        self.0[segment].blocks.iter().map(|(block, page)| (*page != Page::Gone).then_some(*block))
    }

    pub(super) fn append(&mut self, segment: usize, block: Block) {
        self.0[segment].blocks.push((block, Page::Dirty));
    }

    pub(super) fn begin_segment(&mut self, predecessor: Option<(usize, usize)>) -> usize {
        self.0.push(Segment { header: Page::Dirty, predecessor, blocks: Vec::new() });
        self.0.len() - 1
    }

    pub(super) fn rewrite(&mut self, segment: usize, blocks: usize) {
        for page in self.0[segment].pages().take(blocks + 1) {
            *page = match *page {
                Page::Durable | Page::Rewritten => Page::Rewritten,
                Page::Dirty | Page::Clean => Page::Dirty,
                Page::Gone => Page::Gone,
            };
        }
    }

    pub(super) fn unsynced_in(&self, segment: usize) -> usize {
        let Segment { header, blocks, .. } = &self.0[segment];
        usize::from(header.is_unsynced()) + blocks.iter().filter(|(_, page)| page.is_unsynced()).count()
    }

    pub(super) fn unsynced(&self) -> usize {
        (0..self.0.len()).map(|segment| self.unsynced_in(segment)).sum()
    }

    pub(super) fn sync(&mut self, segment: usize) {
        self.0[segment].pages().for_each(|page| *page = page.synced());
    }

    pub(super) fn sync_fails(&mut self, segment: usize, mut kept: u16) {
        for page in self.0[segment].pages() {
            if page.is_unsynced() {
                *page = if kept & 1 == 1 { Page::Durable } else { Page::Clean };
                kept >>= 1;
            } else {
                *page = page.synced();
            }
        }
    }

    /// The cache is gone; so are what ends a segment without anything valid, and ends without segments.
    pub(super) fn power_cut(&mut self, mut kept: u16) {
        for page in self.0.iter_mut().flat_map(Segment::pages) {
            *page = match *page {
                Page::Dirty => {
                    let reached = kept & 1 == 1;
                    kept >>= 1;
                    if reached { Page::Durable } else { Page::Gone }
                }
                Page::Durable | Page::Rewritten => Page::Durable,
                Page::Clean | Page::Gone => Page::Gone,
            };
        }
        for segment in &mut self.0 {
            if segment.header == Page::Gone {
                segment.blocks.clear();
                segment.predecessor = None;
            }
            while segment.blocks.last().is_some_and(|(_, page)| *page == Page::Gone) {
                segment.blocks.pop();
            }
        }
        while self.0.last().is_some_and(|segment| segment.header == Page::Gone) {
            self.0.pop();
        }
    }

    /// What a power cut would leave if no unsynced page reached the disk.
    pub(super) fn durable(&self) -> Self {
        let mut rest = self.clone();
        rest.power_cut(0);
        rest
    }

    pub(super) fn damage(&mut self, segment: usize, block: usize) {
        if let (Block::Record(number), _) = self.0[segment].blocks[block] {
            self.0[segment].blocks[block].0 = Block::Rotten(number);
        }
    }
}

impl Segment {
    fn pages(&mut self) -> impl Iterator<Item = &mut Page> {
        std::iter::once(&mut self.header).chain(self.blocks.iter_mut().map(|(_, page)| page))
    }
}
