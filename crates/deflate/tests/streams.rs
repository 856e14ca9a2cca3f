//! Streams beside those of today's zlib, which makes the same of data in one piece, and back through its decompressor.

use ffslab_deflate::{Deflate, Flush, Status, INPUT_BYTES_MAX};
use flate2::{Compress, Compression, Decompress, FlushCompress, FlushDecompress};
use proptest::collection::vec;
use proptest::prelude::*;

/// Pieces of noise, of few letters, runs, and repetitions of what came before.
fn data() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        vec(any::<u8>(), 0..600).prop_map(Piece::Bytes),
        vec(b'a'..b'g', 0..600).prop_map(Piece::Bytes),
        (any::<u8>(), 0..700usize).prop_map(|(byte, count)| Piece::Bytes(vec![byte; count])),
        (1..5000usize, 3..300usize).prop_map(|(back, count)| Piece::Again { back, count }),
    ];
    vec(piece, 0..24).prop_map(|pieces| {
        let mut data = Vec::new();
        for piece in pieces {
            match piece {
                Piece::Bytes(bytes) => data.extend(bytes),
                Piece::Again { back, count } => {
                    for _ in 0..count {
                        data.push(data.len().checked_sub(back).map_or(0, |at| data[at]));
                    }
                }
            }
        }
        data.truncate(INPUT_BYTES_MAX);
        data
    })
}

#[derive(Clone, Debug)]
enum Piece {
    Bytes(Vec<u8>),
    Again { back: usize, count: usize },
}

fn by_zlib(data: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(2 * data.len() + 100);
    let status = Compress::new(Compression::new(3), true).compress_vec(data, &mut out, FlushCompress::Finish).unwrap();
    assert_eq!(status, flate2::Status::StreamEnd);
    out
}

fn plain(stream: &[u8], bytes: usize) -> Vec<u8> {
    let mut plain = Vec::with_capacity(bytes + 1);
    let status = Decompress::new(true).decompress_vec(stream, &mut plain, FlushDecompress::Finish).unwrap();
    assert_eq!(status, flate2::Status::StreamEnd);
    plain
}

proptest! {
    #[test]
    fn one_piece_becomes_what_zlib_makes_of_it(streams in vec(data(), 1..4)) {
        let mut deflate = Deflate::default();
        for data in streams {
            deflate.reset();
            let mut out = Vec::new();
            prop_assert_eq!(deflate.deflate(&data, &mut out, usize::MAX >> 1, Flush::Finish), Status::StreamEnd);
            prop_assert_eq!((deflate.total_in(), deflate.total_out()), (data.len(), out.len()));
            prop_assert_eq!(out, by_zlib(&data));
        }
    }

    /// With room for some bytes at a time too, and it can be read after each flush. (Where the room ends with a flush the
    /// next call flushes once more, as zlib says.)
    #[test]
    fn pieces_come_back(data in data(), cuts in vec(1..3000usize, 1..6), room in 16..200usize) {
        let whole = |room: usize| {
            let mut deflate = Deflate::default();
            deflate.reset();
            let (mut out, mut rest) = (Vec::new(), &data[..]);
            for &cut in &cuts {
                let (piece, others) = rest.split_at(cut.min(rest.len()));
                let mut input = piece;
                while deflate.deflate(input, &mut out, room, Flush::Partial) == Status::Ok {
                    input = &rest[deflate.total_in() - (data.len() - rest.len())..piece.len()];
                }
                rest = others;
                let mut so_far = vec![0; deflate.total_in() + 1];
                let mut reader = Decompress::new(true);
                reader.decompress(&out, &mut so_far, FlushDecompress::Sync).unwrap();
                assert_eq!(&so_far[..reader.total_out() as usize], &data[..data.len() - rest.len()]);
            }
            let mut input = rest;
            while deflate.deflate(input, &mut out, room, Flush::Finish) != Status::StreamEnd {
                input = if deflate.total_in() == data.len() { &[] } else { input };
            }
            out
        };
        let at_once = whole(1 << 20);
        prop_assert_eq!(&plain(&at_once, data.len()), &data);
        prop_assert_eq!(whole(room).len() >= at_once.len(), true);
        prop_assert_eq!(plain(&whole(room), data.len()), data);
    }
}

#[test]
fn nothing_to_do_is_said() {
    let mut deflate = Deflate::default();
    deflate.reset();
    let mut out = Vec::new();
    assert_eq!(deflate.deflate(b"abc", &mut out, 0, Flush::Partial), Status::NothingToDo);
    assert_eq!(deflate.deflate(b"abc", &mut out, 100, Flush::Partial), Status::Ok);
    assert_eq!(deflate.deflate(b"", &mut out, 100, Flush::Partial), Status::NothingToDo);
    assert_eq!(deflate.deflate(b"", &mut out, 100, Flush::Finish), Status::StreamEnd);
    assert_eq!(deflate.deflate(b"", &mut out, 100, Flush::Finish), Status::StreamEnd);
    assert_eq!(plain(&out, 3), b"abc");
}
