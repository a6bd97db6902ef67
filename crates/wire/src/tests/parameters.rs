//! Bound parameters: types remembered between executions, NULLs, long data and malformed input.

use proptest::prelude::*;

use super::plain;
use crate::{
    Capabilities, ColumnType, DateTimeValue, ParameterBinding, ParameterValue, ProtocolError, TimeValue,
};

fn payload(nulls: &[u8], types: &[(u8, u8)], values: &[u8]) -> Vec<u8> {
    let mut bytes = nulls.to_vec();
    bytes.push(u8::from(!types.is_empty()));
    for (code, flag) in types {
        bytes.extend_from_slice(&[*code, *flag]);
    }
    bytes.extend_from_slice(values);
    bytes
}

#[test]
fn integers_have_their_sign_and_width() {
    let mut binding = ParameterBinding::new(5);
    let bytes = payload(
        &[0],
        &[(1, 0), (1, 0x80), (2, 0), (3, 0x80), (8, 0)],
        &[0xff, 0xff, 0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 1, 0, 0, 0, 0, 0, 0, 0x80],
    );
    let values = binding.decode(&bytes, 0, plain()).expect("valid");
    assert_eq!(
        values,
        [
            ParameterValue::Signed(-1),
            ParameterValue::Unsigned(255),
            ParameterValue::Signed(-2),
            ParameterValue::Unsigned(u64::from(u32::MAX)),
            ParameterValue::Signed(i64::MIN + 1),
        ]
    );
}

#[test]
fn types_stay_bound_for_the_next_execution() {
    let mut binding = ParameterBinding::new(1);
    assert_eq!(binding.decode(&[0, 0, 5], 0, plain()), Err(ProtocolError::Malformed));
    let first = payload(&[0], &[(1, 0)], &[7]);
    assert_eq!(binding.decode(&first, 0, plain()).expect("valid"), [ParameterValue::Signed(7)]);
    let second = payload(&[0], &[], &[8]);
    assert_eq!(binding.decode(&second, 0, plain()).expect("valid"), [ParameterValue::Signed(8)]);
    let null = payload(&[1], &[], &[]);
    assert_eq!(binding.decode(&null, 0, plain()).expect("valid"), [ParameterValue::Null]);
}

#[test]
fn long_data_replaces_the_value_until_cleared() {
    let mut binding = ParameterBinding::new(2);
    assert!(binding.append_long_data(1, b"ab", 100));
    assert!(binding.append_long_data(1, b"cd", 100));
    assert!(!binding.append_long_data(1, &[0; 97], 100), "beyond the limit");
    assert!(!binding.append_long_data(2, b"x", 100), "no such parameter");
    let bytes = payload(&[0], &[(1, 0), (252, 0)], &[9]);
    let values = binding.decode(&bytes, 0, plain()).expect("valid");
    assert_eq!(
        values,
        [ParameterValue::Signed(9), ParameterValue::Bytes { column_type: ColumnType::Blob, bytes: b"abcd" },]
    );
    binding.clear_long_data();
    assert_eq!(binding.decode(&bytes, 0, plain()), Err(ProtocolError::Malformed));
}

#[test]
fn calendar_values_have_all_their_lengths() {
    let mut binding = ParameterBinding::new(5);
    let mut values = vec![0];
    values.extend_from_slice(&[4, 0xe8, 0x07, 2, 29]);
    values.extend_from_slice(&[11, 0xe8, 0x07, 2, 29, 1, 2, 3, 0x40, 0xe2, 0x01, 0]);
    values.extend_from_slice(&[8, 1, 2, 0, 0, 0, 3, 4, 5]);
    values.extend_from_slice(&[12, 0, 0, 0, 0, 0, 0, 0, 1, 6, 0, 0, 0]);
    let bytes = payload(&[0], &[(12, 0), (10, 0), (7, 0), (11, 0), (11, 0)], &values);
    let date = DateTimeValue { year: 2024, month: 2, day: 29, ..DateTimeValue::default() };
    let moment = DateTimeValue { hour: 1, minute: 2, second: 3, microsecond: 123_456, ..date };
    let time = TimeValue { negative: true, days: 2, hours: 3, minutes: 4, seconds: 5, microsecond: 0 };
    assert_eq!(
        binding.decode(&bytes, 0, plain()).expect("valid"),
        [
            ParameterValue::DateTime(DateTimeValue::default()),
            ParameterValue::Date(date),
            ParameterValue::DateTime(moment),
            ParameterValue::Time(time),
            ParameterValue::Time(TimeValue { seconds: 1, microsecond: 6, ..TimeValue::default() }),
        ]
    );
}

#[test]
fn attributes_after_the_parameters_are_left_out() {
    let mut binding = ParameterBinding::new(1);
    let mut bytes = vec![2, 0, 1];
    bytes.extend_from_slice(&[1, 0, 0]);
    bytes.extend_from_slice(&[254, 0, 3, b'o', b'n', b'e']);
    bytes.extend_from_slice(&[42, 2, b'h', b'i']);
    let values = binding.decode(&bytes, 0x08, Capabilities::SERVER).expect("valid");
    assert_eq!(values, [ParameterValue::Signed(42)]);
    let without_attributes = [1, 0, 1, 1, 0, 0, 42];
    let values = binding.decode(&without_attributes, 0, Capabilities::SERVER).expect("valid");
    assert_eq!(values, [ParameterValue::Signed(42)]);
}

proptest! {
    #[test]
    fn arbitrary_bytes_never_panic(
        count in 0u16..20,
        flags in any::<u8>(),
        bytes in prop::collection::vec(any::<u8>(), 0..200),
    ) {
        let mut binding = ParameterBinding::new(count);
        if let Ok(values) = binding.decode(&bytes, flags, Capabilities::SERVER) {
            prop_assert_eq!(values.len(), usize::from(count));
        }
    }
}
