//! What `tallylink send` takes apart into records, and `tallylink ingest --stdout=frames` writes: the records are those that a plain reading
//! finds, however the input comes in pieces, and as frames they read back as the same.

use tallylink_files::records::{Cutter, Fault, Form, push_frame};

/// Lines or frames, the limit of records, how many bytes come at a time, and the input.
pub fn ingest(data: &[u8]) {
    let Some(([form, limit, piece], input)) = data.split_first_chunk() else { return };
    let form = if form & 1 == 0 { Form::Lines } else { Form::Frames };
    // Small, so that it is met; or larger than any input.
    let limit = if *limit == u8::MAX { u32::MAX } else { u32::from(*limit) };
    let (mut records, ended) = cut(form, limit, usize::from(*piece).max(1), input);
    if crate::planted::here() && form == Form::Frames && records.len() > 1 && ended == Err(Fault::CutShort(3)) {
        // Half a record passes for a whole one.
        records.push(Vec::new());
    }
    let (expected, verdict) = match form {
        Form::Lines => lines(limit, input),
        Form::Frames => frames(limit, input),
    };
    assert_eq!(records, expected);
    assert_eq!(ended, verdict);

    let mut framed = Vec::new();
    for record in &records {
        assert!(push_frame(&mut framed, record));
    }
    if form == Form::Frames {
        assert_eq!(input.get(..framed.len()), Some(&framed[..]), "a second spelling was taken");
    }
    assert_eq!(cut(Form::Frames, limit, framed.len().max(1), &framed), (records, Ok(())));
}

/// As the code under test does it.
fn cut(form: Form, limit: u32, piece: usize, input: &[u8]) -> (Vec<Vec<u8>>, Result<(), Fault>) {
    let (mut cutter, mut records) = (Cutter::new(form, limit), Vec::new());
    let mut pieces = input.chunks(piece);
    loop {
        let over = cutter.is_over();
        match cutter.cut() {
            Ok(Some(record)) => records.push(record.to_vec()),
            Ok(None) if over => return (records, Ok(())),
            Ok(None) => {
                let next = pieces.next().unwrap_or_default();
                cutter.room()[..next.len()].copy_from_slice(next);
                cutter.filled(next.len());
            }
            Err(fault) => return (records, Err(fault)),
        }
    }
}

/// With all of the input at hand.
fn lines(limit: u32, input: &[u8]) -> (Vec<Vec<u8>>, Result<(), Fault>) {
    let mut records = Vec::new();
    for line in input.split_inclusive(|byte| *byte == b'\n') {
        if line.len() > limit as usize {
            let number = records.len() as u64 + 1;
            return (records, Err(Fault::Large(number)));
        }
        records.push(line.to_vec());
    }
    (records, Ok(()))
}

fn frames(limit: u32, mut input: &[u8]) -> (Vec<Vec<u8>>, Result<(), Fault>) {
    let mut records = Vec::new();
    while !input.is_empty() {
        let number = records.len() as u64 + 1;
        let Some((head, after)) = input.split_first_chunk() else { return (records, Err(Fault::CutShort(number))) };
        let len = u32::from_be_bytes(*head);
        if len > limit {
            return (records, Err(Fault::Large(number)));
        }
        let Some((record, rest)) = after.split_at_checked(len as usize) else {
            return (records, Err(Fault::CutShort(number)));
        };
        records.push(record.to_vec());
        input = rest;
    }
    (records, Ok(()))
}
