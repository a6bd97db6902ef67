//! Log bytes: records decode or end in an error that names the offset, the engine's own are encoded as they were
//! decoded, and whole logs are read or refused. The first byte chooses which of these the others are.
#![no_main]

use libfuzzer_sys::fuzz_target;

const WHOLE_LOG: u8 = 0;
const RECORDS: u8 = 1;

fuzz_target!(|bytes: &[u8]| {
    match bytes.split_first() {
        Some((&WHOLE_LOG, log)) => wal::fuzz_one(log),
        Some((&RECORDS, records)) => decode(records),
        // Any other byte is the kind of one record.
        Some((&kind, payload)) => look_into(kind, payload),
        None => {}
    }
});

fn decode(bytes: &[u8]) {
    for record in wal::decode_records(bytes) {
        match record {
            Ok(record) => look_into(record.kind, record.payload),
            Err(error) => assert!(error.offset <= bytes.len()),
        }
    }
}

fn look_into(kind: u8, payload: &[u8]) {
    let of_a_tree = btree::redo::Change::decode(kind, payload).is_ok();
    let of_the_engine = engine::is_engine_log_record(kind, payload);
    assert!(!(of_a_tree && of_the_engine), "a kind belongs to one layer");
}
