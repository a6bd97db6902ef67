//! Packets in and out: every cut of the stream, every size around the 16 MB border, every wrong number.

use proptest::prelude::*;

use super::part;
use crate::{PACKET_PART_MAX, PacketReader, PacketWriter, ProtocolError};

fn read_all(reader: &mut PacketReader, limit: usize) -> Vec<Vec<u8>> {
    let mut packets = Vec::new();
    while let Some((range, _)) = reader.next_packet(0, limit).expect("valid stream") {
        packets.push(reader.payload(range).to_vec());
    }
    packets
}

fn framed(payload: &[u8]) -> Vec<u8> {
    let mut writer = PacketWriter::new();
    writer.packet(|out| out.extend_from_slice(payload));
    writer.pending().to_vec()
}

proptest! {
    #[test]
    fn any_fragmentation_gives_the_same_packets(
        payloads in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..300), 1..8),
        cuts in prop::collection::vec(1usize..64, 1..50),
    ) {
        let stream: Vec<u8> = payloads.iter().flat_map(|payload| framed(payload)).collect();
        let mut reader = PacketReader::default();
        let mut packets = Vec::new();
        let mut rest = &stream[..];
        let mut cut = cuts.iter().cycle();
        while !rest.is_empty() {
            let (head, tail) = rest.split_at((*cut.next().expect("cycle")).min(rest.len()));
            reader.feed(head);
            packets.extend(read_all(&mut reader, 1 << 20));
            rest = tail;
        }
        prop_assert_eq!(packets, payloads);
        prop_assert_eq!(reader.pending(), 0);
    }

    #[test]
    fn arbitrary_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..2000)) {
        let mut reader = PacketReader::default();
        for chunk in bytes.chunks(7) {
            reader.feed(chunk);
            while let Ok(Some((range, _))) = reader.next_packet(0, 4096) {
                prop_assert!(reader.payload(range).len() <= 4096);
            }
        }
    }
}

#[test]
fn packets_around_the_part_border_survive() {
    for length in [PACKET_PART_MAX - 1, PACKET_PART_MAX, PACKET_PART_MAX + 1, 2 * PACKET_PART_MAX + 5] {
        let payload: Vec<u8> = (0..length).map(|index| (index % 251) as u8).collect();
        let stream = framed(&payload);
        let part_count = length / PACKET_PART_MAX + 1;
        assert_eq!(stream.len(), length + 4 * part_count, "of {length}");
        let mut reader = PacketReader::default();
        let mut found = None;
        for chunk in stream.chunks(64 * 1024) {
            assert!(found.is_none(), "complete before its last byte");
            reader.feed(chunk);
            found = reader.next_packet(0, usize::MAX).expect("valid stream");
        }
        let (range, next_sequence) = found.expect("complete");
        assert_eq!(usize::from(next_sequence), part_count);
        assert!(reader.payload(range) == payload, "of {length}");
    }
}

#[test]
fn a_large_announcement_is_refused_before_its_bytes() {
    let mut reader = PacketReader::default();
    reader.feed(&[0xff, 0xff, 0x0f, 0]);
    assert_eq!(reader.next_packet(0, 1 << 16), Err(ProtocolError::PacketTooLarge));

    // The sum over parts counts, not each part.
    let mut reader = PacketReader::default();
    reader.feed(&part(0, &vec![1; PACKET_PART_MAX]));
    assert_eq!(reader.next_packet(0, PACKET_PART_MAX + 10), Ok(None));
    reader.feed(&[11, 0, 0, 1]);
    assert_eq!(reader.next_packet(0, PACKET_PART_MAX + 10), Err(ProtocolError::PacketTooLarge));
}

#[test]
fn wrong_numbers_are_refused() {
    let mut reader = PacketReader::default();
    reader.feed(&part(1, b"x"));
    assert_eq!(reader.next_packet(0, 100), Err(ProtocolError::OutOfOrder));

    let mut reader = PacketReader::default();
    reader.feed(&part(0, &vec![1; PACKET_PART_MAX]));
    reader.feed(&part(0, b""));
    assert_eq!(reader.next_packet(0, 1 << 25), Err(ProtocolError::OutOfOrder));
}

#[test]
fn an_idle_reader_holds_no_memory() {
    let mut reader = PacketReader::default();
    reader.feed(&part(0, &vec![1; 500_000]));
    assert!(reader.next_packet(0, 1 << 20).expect("valid").is_some());
    reader.release_memory();
    assert_eq!(reader.pending(), 0);
    reader.feed(&part(0, b"next"));
    assert_eq!(read_all(&mut reader, 100), [b"next"]);
}

#[test]
fn a_failed_packet_leaves_nothing() {
    let mut writer = PacketWriter::new();
    writer.packet(|out| out.push(1));
    let failed: Result<(), ()> = writer.try_packet(|out| {
        out.push(2);
        Err(())
    });
    assert!(failed.is_err());
    assert_eq!(writer.pending(), part(0, &[1]));
    assert_eq!(writer.sequence(), 1);
}
