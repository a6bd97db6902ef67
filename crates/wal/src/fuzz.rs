//! Logs of any content, for fuzzing: the reader ends or names the damage, and a log that it accepts can be
//! continued, after which it holds the same groups and the new ones.
//!
//! Checksums would stop nearly every input at its first block, so the bytes say what the chunks contain, and most
//! chunks are then sealed as the log itself does it. Called by the fuzz target and by a test here.

use crate::format::{BLOCK_BYTES, CHUNK_HEADER_BYTES, ChunkHeader, align_up, segment_path};
use crate::group::group_checksum;
use crate::{Lsn, Priority, Wal, WalError, WalGroup, WalOptions, WalReader};
use env::sim::{InputBytes, SimOptions, World};
use env::{Env, IoBuf, OpenOptions};

/// A group as it came back: where it ends, and its records.
type Found = (Lsn, Vec<(u8, u64, Vec<u8>)>);

/// Reads a log made from `bytes`, and continues it when it is sound.
///
/// # Panics
/// If the log breaks a promise.
pub fn fuzz_one(bytes: &[u8]) {
    let mut input = InputBytes(bytes);
    let known_durable = Lsn(u64::from(input.byte()) * 64);
    let segment = lay_out(&mut input);
    let world = World::new(1, SimOptions::default());
    world.block_on(check(world.env(), segment, known_durable)).unwrap();
}

/// As small as may be: most of the time goes into making segments.
fn options() -> WalOptions {
    WalOptions {
        segment_bytes: 32 << 10,
        capacity_bytes: 256 << 10,
        reserve_bytes: 8 << 10,
        buffer_bytes: 32 << 10,
        group_bytes_max: 8 << 10,
        ..WalOptions::default()
    }
}

async fn check(env: Env, segment: Vec<u8>, known_durable: Lsn) {
    let options = options();
    env.disk.create_dir(&options.directory).await.expect("a directory can be made");
    let path = segment_path(&options.directory, 0);
    let file = env.disk.open(&path, OpenOptions::create().direct()).await.expect("a file can be made");
    let (_, written) = file.write_at(0, IoBuf::copy_of(&segment)).await;
    written.expect("the disk is sound");
    let Ok((mut groups, reader)) = read_all(&env, known_durable).await else { return };
    let end = reader.into_tail();
    let mut group = WalGroup::new();
    group.push(7, 9, b"continued");
    let wal = Wal::resume(&env, options, end).await.expect("a sound log can be continued");
    wal.wait_for_space(group.encoded_len(), Priority::Normal).await.expect("the disk has room");
    let lsns = wal.append(&group).expect("there is room");
    wal.wait_durable(lsns.end).await.expect("the disk is sound");
    drop(wal);
    groups.push((lsns.end, vec![(7, 9, b"continued".to_vec())]));
    let (again, _) = read_all(&env, lsns.end).await.expect("a continued log is sound");
    assert_eq!(again, groups, "a continued log holds what it held, and the new group");
}

async fn read_all(env: &Env, known_durable: Lsn) -> Result<(Vec<Found>, WalReader), WalError> {
    let mut reader = WalReader::open(env, &options().directory, Lsn::ZERO, known_durable).await?;
    let mut groups: Vec<Found> = Vec::new();
    while let Some(group) = reader.next_group().await? {
        assert!(groups.last().is_none_or(|(end, _)| *end <= group.start), "groups come in order");
        assert!(group.start < group.end);
        let records = group.records().map(|(_, record)| (record.kind, record.txn, record.payload.to_vec()));
        groups.push((group.end, records.collect()));
    }
    Ok((groups, reader))
}

/// A segment of chunks, one behind the other unless the input leaves a gap, as long as there is input.
fn lay_out(input: &mut InputBytes<'_>) -> Vec<u8> {
    let mut segment = vec![0; options().segment_bytes as usize];
    let mut position = 0;
    while !input.is_empty() && position < segment.len() {
        let choice = input.byte();
        let mut chunk = vec![0; CHUNK_HEADER_BYTES];
        for _ in 0..choice >> 6 {
            add_group(input, &mut chunk, position as u64);
        }
        let header = ChunkHeader {
            log_id: 1 + u64::from(choice & 1),
            start: Lsn(position as u64),
            // Zero is kept for "none": no log writes it.
            epoch: 1 + u64::from(input.byte() >> 4),
            previous_epoch: u64::from(input.byte() >> 4),
            durable: Lsn(u64::from(input.byte()) * 64),
            used: chunk.len() as u32,
            flags: u16::from(choice >> 1 & 1),
        };
        header.seal(&mut chunk);
        if choice & 0b1100 == 0b1100 {
            // Damage behind the seal, wherever the input wants it.
            let at = usize::from(input.byte()) % chunk.len();
            chunk[at] ^= input.byte();
        }
        let end = (position + chunk.len()).min(segment.len());
        segment[position..end].copy_from_slice(&chunk[..end - position]);
        let gap = if choice & 0b11_0000 == 0b11_0000 { BLOCK_BYTES } else { 0 };
        position += align_up(chunk.len() as u64) as usize + gap;
    }
    segment
}

/// A group whose length and checksum are right, around bytes that need not be records.
fn add_group(input: &mut InputBytes<'_>, chunk: &mut Vec<u8>, position: u64) {
    let shape = input.byte();
    let start = Lsn(position + chunk.len() as u64);
    let records = if shape & 1 == 0 {
        let mut group = WalGroup::new();
        let payload = input.take(usize::from(shape));
        group.push(shape, u64::from(shape), payload);
        group.record_bytes().to_vec()
    } else {
        // Now and then longer than a block.
        input.take(usize::from(shape)).repeat(1 + usize::from(shape >> 7) * 100)
    };
    chunk.extend_from_slice(&(records.len() as u32).to_le_bytes());
    chunk.extend_from_slice(&group_checksum(crc_fast::crc32_iscsi(&records), start).to_le_bytes());
    chunk.extend_from_slice(&records);
}

#[cfg(test)]
mod tests {
    use super::*;
    use env::Random;
    use env::sim::SeededRandom;

    #[test]
    fn logs_of_any_content_are_read_or_refused() {
        let random = SeededRandom::new(5);
        for length in 0..300 {
            let bytes: Vec<u8> = (0..length).map(|_| random.u64() as u8).collect();
            fuzz_one(&bytes);
        }
    }

    #[test]
    fn a_sealed_chunk_is_accepted() {
        let mut input = InputBytes(&[0b0100_0000, 6, 1, 2, 3, 4, 5, 6, 0x20, 0, 0]);
        let segment = lay_out(&mut input);
        let header = ChunkHeader::read(&segment).expect("a header");
        assert!(header.verify(&segment) && header.used as usize > CHUNK_HEADER_BYTES);
    }
}
