//! Bytes from a client: the protocol's state machine must answer or refuse, whatever comes, in any fragmentation.
#![no_main]

use libfuzzer_sys::fuzz_target;
use wire::{Connection, ConnectionConfig, Event, PacketWriter, Salt};

fuzz_target!(|input: (u8, Vec<Vec<u8>>)| {
    let (flags, fragments) = input;
    let config = ConnectionConfig {
        version: "9.7.0-evenkeel".to_string(),
        connection_id: 7,
        offers_tls: flags & 1 != 0,
        collation: 255,
        plugin: "caching_sha2_password",
        max_allowed_packet: 1 << 20,
    };
    let mut writer = PacketWriter::new();
    let mut connection = Connection::new(&config, &Salt::from_random([flags; Salt::LENGTH]), &mut writer);
    let mut authenticate = false;
    for fragment in &fragments {
        connection.feed(fragment);
        loop {
            if std::mem::take(&mut authenticate) {
                connection.authenticated();
            }
            match connection.next_event(&mut writer) {
                Ok(Some(Event::TlsRequested)) => {
                    connection.take_tls_bytes();
                    connection.tls_established();
                }
                Ok(Some(Event::Introduced(_))) => authenticate = flags & 2 != 0,
                Ok(Some(Event::AuthenticationData(_))) => authenticate = true,
                Ok(Some(Event::Command(_) | Event::Refused)) => {}
                Ok(None) => break,
                Err(_) => return,
            }
        }
    }
});
