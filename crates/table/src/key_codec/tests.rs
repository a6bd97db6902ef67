//! Keys order as their values and read back.
use super::*;
use proptest::prelude::*;

fn part(kind: StorageKind, nullable: bool, descending: bool) -> KeyPart {
    KeyPart { column: 0, kind, nullable, descending, prefix_length: None, array: false }
}

fn key(part: &KeyPart, value: &Value) -> Vec<u8> {
    let mut key = Vec::new();
    part.write(value, &mut key).expect("a value of the part's kind");
    key
}

fn check_pair(kind: StorageKind, left: Value, right: Value, order: std::cmp::Ordering) {
    for nullable in [false, true] {
        let up = part(kind, nullable, false);
        let down = part(kind, nullable, true);
        assert_eq!(key(&up, &left).cmp(&key(&up, &right)), order, "{left:?} {right:?}");
        assert_eq!(key(&down, &left).cmp(&key(&down, &right)), order.reverse(), "{left:?} {right:?}");
        for value in [&left, &right] {
            for part in [&up, &down] {
                let mut bytes = key(part, value);
                let length = bytes.len();
                bytes.extend_from_slice(b"more");
                assert_eq!(part.read(&bytes), Ok((value.clone(), length)));
                assert_eq!(part.length(&bytes), Some(length));
            }
        }
        if nullable {
            assert!(key(&up, &Value::Null) < key(&up, &left));
            assert!(key(&down, &Value::Null) > key(&down, &left));
            assert_eq!(down.read(&key(&down, &Value::Null)), Ok((Value::Null, 1)));
        }
    }
}

proptest! {
    #[test]
    fn integers(left: i64, right: i64) {
        check_pair(StorageKind::Signed(8), Value::Int(left), Value::Int(right), left.cmp(&right));
        for (width, bits) in [(1, 8), (2, 16), (3, 24), (4, 32)] {
            let cut = |number: i64| number << (64 - bits) >> (64 - bits);
            let (left, right) = (cut(left), cut(right));
            check_pair(StorageKind::Signed(width), Value::Int(left), Value::Int(right), left.cmp(&right));
        }
        let (left, right) = (left as u64, right as u64);
        check_pair(StorageKind::Unsigned(8), Value::UInt(left), Value::UInt(right), left.cmp(&right));
    }

    #[test]
    fn doubles(left in -1e300f64..1e300, right in -1e300f64..1e300) {
        let order = left.total_cmp(&right);
        check_pair(StorageKind::Double, Value::Double(left), Value::Double(right), order);
        let (left, right) = (left as f32, right as f32);
        if left.is_finite() && right.is_finite() {
            check_pair(StorageKind::Float, Value::Float(left), Value::Float(right), left.total_cmp(&right));
        }
    }

    #[test]
    fn binary_strings(left: Vec<u8>, right: Vec<u8>) {
        let order = left.cmp(&right);
        check_pair(StorageKind::Binary, Value::Bytes(left), Value::Bytes(right), order);
    }

    #[test]
    fn damaged_keys_do_not_panic(bytes: Vec<u8>, descending: bool, nullable: bool) {
        for kind in [
            StorageKind::Signed(3), StorageKind::Unsigned(8), StorageKind::Float, StorageKind::Double,
            StorageKind::Decimal { scale: 2 }, StorageKind::Binary, StorageKind::Date, StorageKind::Time,
            StorageKind::DateTime, StorageKind::Timestamp, StorageKind::Year, StorageKind::Enum,
            StorageKind::Set, StorageKind::Bit,
        ] {
            let _ = part(kind, nullable, descending).read(&bytes);
        }
    }

    #[test]
    fn the_head_of_a_text_begins_its_key(head in "[ -~äöß]{0,6}", tail in "[ -~äöß]{0,6}") {
        for collation in [
            CollationId::UTF8MB4_0900_AI_CI, CollationId::UTF8MB4_GENERAL_CI, CollationId::UTF8MB4_BIN,
        ] {
            let part = part(StorageKind::Text(collation), true, false);
            let whole = key(&part, &Value::bytes(format!("{head}{tail}")));
            let mut bound = Vec::new();
            part.write_text_head(head.as_bytes(), &mut bound).expect("a text part");
            prop_assert!(whole.starts_with(&bound), "{head:?} {tail:?} {collation:?}");
        }
    }
}
