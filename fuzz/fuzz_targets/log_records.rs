//! Log bytes: records decode or end in an error that names the offset.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    for record in wal::decode_records(bytes) {
        match record {
            Ok(record) => {
                let _ = btree::redo::Change::decode(record.kind, record.payload);
            }
            Err(error) => assert!(error.offset <= bytes.len()),
        }
    }
});
