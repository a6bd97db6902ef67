//! Hostile bytes against the whole state machine, from a seed: no panic, no runaway memory, no endless loop.
//!
//! Valid conversations are mutated (bits, bytes, lengths, cuts, repeats, splices) and fed in random pieces.
//! EVENKEEL_FUZZ_SECONDS (2) says for how long, EVENKEEL_FUZZ_SEED repeats one run; a failure names its seed.

use std::time::{Duration, Instant};

use wire::{
    Capabilities, Command, Connection, ConnectionConfig, Event, PRE_AUTH_PACKET_MAX, PacketWriter,
    ParameterBinding, Salt,
};

const PACKET_MAX: usize = 1 << 20;

struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, limit: usize) -> usize {
        (self.next() % limit.max(1) as u64) as usize
    }
}

fn part(sequence: u8, payload: &[u8]) -> Vec<u8> {
    let length = (payload.len() as u32).to_le_bytes();
    let mut bytes = vec![length[0], length[1], length[2], sequence];
    bytes.extend_from_slice(payload);
    bytes
}

fn handshake_response(random: &mut Random) -> Vec<u8> {
    let optional = Capabilities(random.next() as u32);
    let mut payload = (Capabilities::SERVER & optional | Capabilities::PROTOCOL_41).0.to_le_bytes().to_vec();
    payload.extend_from_slice(&[0, 0, 0, 1, 255]);
    payload.extend_from_slice(&[0; 23]);
    payload.extend_from_slice(b"root\0\x04abcdshop\0caching_sha2_password\0\x06\x02ab\x02cd");
    payload
}

/// One command of each kind, well formed.
fn command(random: &mut Random) -> Vec<u8> {
    let samples: [&[u8]; 16] = [
        b"\x02shop",
        b"\x03select 1",
        b"\x03\x00\x01select 1",
        b"\x03\x02\x01\x02\x01\x08\x00\x01n\x06\x00\x01m\x07\x00\x00\x00\x00\x00\x00\x00do 1",
        b"\x04t\0%",
        b"\x09",
        b"\x0c\x01\x00\x00\x00",
        b"\x0e",
        b"\x11root\0\x04abcdshop\0\xff\x00caching_sha2_password\0\x06\x02ab\x02cd",
        b"\x16select ?",
        b"\x17\x01\x00\x00\x00\x00\x01\x00\x00\x00\x00\x01\x08\x00\x07\x00\x00\x00\x00\x00\x00\x00",
        b"\x17\x01\x00\x00\x00\x09\x01\x00\x00\x00\x04\x00\x01\x0c\x00\x0b\x00\xfe\x00\x01\x80\x00\x08\
          \x0b\xe8\x07\x02\x1d\x01\x02\x03\x04\x00\x00\x00\x0c\x01\x01\x00\x00\x00\x01\x02\x03\x04\x00\x00\x00\x02hi\x09",
        b"\x18\x01\x00\x00\x00\x00\x00data",
        b"\x19\x01\x00\x00\x00",
        b"\x1b\x01\x00",
        b"\x1c\x01\x00\x00\x00\x0a\x00\x00\x00",
    ];
    samples[random.below(samples.len())].to_vec()
}

fn mutate(bytes: &mut Vec<u8>, random: &mut Random) {
    for _ in 0..random.below(4) {
        let at = random.below(bytes.len());
        match random.below(7) {
            0 if !bytes.is_empty() => bytes[at] ^= 1 << random.below(8),
            1 if !bytes.is_empty() => {
                bytes[at] = [0, 1, 0x7f, 0x80, 0xfb, 0xfc, 0xfd, 0xfe, 0xff][random.below(9)]
            }
            2 => bytes.truncate(at),
            3 => bytes.insert(at, random.next() as u8),
            4 => {
                let tail = bytes[at..].to_vec();
                bytes.extend_from_slice(&tail);
            }
            5 if bytes.len() > 8 => {
                let value = random.next().to_le_bytes();
                let at = random.below(bytes.len() - 8);
                bytes[at..at + 8].copy_from_slice(&value);
            }
            _ => {}
        }
    }
}

fn conversation(random: &mut Random) -> Vec<u8> {
    let mut stream = Vec::new();
    let mut response = handshake_response(random);
    if random.below(4) == 0 {
        mutate(&mut response, random);
    }
    stream.extend(part(1, &response));
    for _ in 0..random.below(8) {
        let mut payload = command(random);
        mutate(&mut payload, random);
        stream.extend(part(0, &payload));
    }
    if random.below(4) == 0 {
        mutate(&mut stream, random);
    }
    stream
}

fn converse(random: &mut Random) {
    let config = ConnectionConfig {
        version: "fuzz".to_owned(),
        connection_id: 1,
        offers_tls: random.below(2) == 0,
        collation: 255,
        plugin: "caching_sha2_password",
        max_allowed_packet: PACKET_MAX,
    };
    let mut writer = PacketWriter::new();
    let mut connection = Connection::new(&config, &Salt::from_random([7; 20]), &mut writer);
    let mut binding = ParameterBinding::new(random.below(5) as u16);
    let stream = conversation(random);
    let mut rest = &stream[..];
    while !rest.is_empty() {
        let (piece, tail) = rest.split_at((1 + random.below(40)).min(rest.len()));
        rest = tail;
        connection.feed(piece);
        loop {
            let capabilities = connection.capabilities();
            match connection.next_event(&mut writer) {
                Ok(Some(Event::Introduced(response))) => {
                    assert!(response.user.len() + response.proof.len() <= PRE_AUTH_PACKET_MAX);
                    let _ = response.attributes.iter().count();
                    connection.authenticated();
                }
                Ok(Some(Event::TlsRequested)) => {
                    let _ = connection.take_tls_bytes();
                    connection.tls_established();
                }
                Ok(Some(Event::Command(Command::StatementExecute { flags, parameters, .. }))) => {
                    if let Ok(values) = binding.decode(parameters, flags, capabilities) {
                        assert!(values.len() <= 4);
                    }
                }
                Ok(Some(Event::Command(Command::StatementSendLongData { parameter, data, .. }))) => {
                    binding.append_long_data(parameter, data, PACKET_MAX);
                }
                Ok(Some(_)) => {}
                Ok(None) => break,
                Err(error) => {
                    assert!(error.is_fatal());
                    return;
                }
            }
        }
        writer.clear();
    }
}

#[test]
fn hostile_bytes_do_no_harm() {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    if let Some(seed) = number("EVENKEEL_FUZZ_SEED") {
        return converse(&mut Random(seed | 1));
    }
    let deadline = Instant::now() + Duration::from_secs(number("EVENKEEL_FUZZ_SECONDS").unwrap_or(2));
    let mut seeds = Random(0x2545_f491_4f6c_dd1d);
    let mut count = 0u64;
    while Instant::now() < deadline {
        for _ in 0..1000 {
            let seed = seeds.next();
            if std::panic::catch_unwind(|| converse(&mut Random(seed | 1))).is_err() {
                panic!("replay with EVENKEEL_FUZZ_SEED={seed} cargo test -p wire --test fuzz");
            }
            count += 1;
        }
    }
    println!("{count} conversations");
}
