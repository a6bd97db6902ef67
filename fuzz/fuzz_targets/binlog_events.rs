//! Events of the binary log: any bytes are events or an error, and what is an event is written again as it was.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| binlog::fuzz_one(bytes));
