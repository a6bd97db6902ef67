//! Values as MySQL gives them, and consistency on random numbers.
use std::cmp::Ordering;

use super::*;

fn decimal(text: &str) -> Decimal {
    Decimal::parse(text).unwrap_or_else(|| panic!("{text} is a decimal"))
}

#[test]
fn parsing_and_printing() {
    for (text, expected) in [
        ("0", "0"),
        ("-0.00", "0.00"),
        ("1.50", "1.50"),
        (".5", "0.5"),
        ("5.", "5"),
        ("-12345678.90", "-12345678.90"),
        ("1e3", "1000"),
        ("1.5e-3", "0.0015"),
        ("12345e-40", "0.0000000000000000000000000000000000012345"),
        ("9".repeat(65).as_str(), "9".repeat(65).as_str()),
        ("9".repeat(81).as_str(), "9".repeat(81).as_str()),
        ("0.1234567890123456789012345678905", "0.1234567890123456789012345678905"),
        // Groups of nine digits that there is no room for are left out.
        (format!("{}.1234567899", "9".repeat(66)).as_str(), format!("{}.123456789", "9".repeat(66)).as_str()),
        (
            "123456789012345678901234567890123456789012345.5",
            "123456789012345678901234567890123456789012345.5",
        ),
        ("0000000000000000000000000000000000000000000000000001.5", "1.5"),
    ] {
        assert_eq!(decimal(text).to_string(), expected, "{text}");
    }
    assert_eq!(Decimal::parse_prefix(b"  12.5abc").consumed, 6);
    assert_eq!(Decimal::parse_prefix(b"1e").consumed, 1);
    assert_eq!(Decimal::parse_prefix(b"abc").consumed, 0);
    assert!(Decimal::parse_prefix("9".repeat(82).as_bytes()).is_overflow);
    assert!(Decimal::parse_prefix(b"1e100").is_overflow);
}

#[test]
fn arithmetic() {
    let check = |result: Decimal, expected: &str| assert_eq!(result.to_string(), expected);
    check(decimal("1.5").add(&decimal("2.25")).unwrap(), "3.75");
    check(decimal("1.5").subtract(&decimal("2.25")).unwrap(), "-0.75");
    check(decimal("1.5").multiply(&decimal("2.25")).unwrap(), "3.375");
    check(decimal("1").divide(&decimal("3"), 4).unwrap().unwrap(), "0.333333333");
    check(decimal("-7").divide(&decimal("2"), 4).unwrap().unwrap(), "-3.500000000");
    check(decimal("7.5").remainder(&decimal("2")).unwrap(), "1.5");
    check(decimal("-7.5").remainder(&decimal("2")).unwrap(), "-1.5");
    assert_eq!(decimal("1").divide(&Decimal::ZERO, 4), Ok(None));
    let wide = "9".repeat(60);
    check(decimal(&wide).add(&decimal("1")).unwrap(), &format!("1{}", "0".repeat(60)));
    check(decimal(&wide).multiply(&decimal("10.5")).unwrap(), &format!("104{}89.5", "9".repeat(57)));
    assert_eq!(decimal(&wide).multiply(&decimal(&wide)), Err(DecimalOverflow));
    let nines = "9".repeat(65);
    check(decimal(&nines).add(&decimal("1")).unwrap(), &format!("1{}", "0".repeat(65)));
    check(decimal(&nines).multiply(&decimal("10.5")).unwrap(), &format!("104{}89.5", "9".repeat(62)));
    // Factors lose the groups of digits for which the product has no room.
    let left = decimal("123456789012345678901234567890.123456789012345678901234567891");
    let right = decimal("12345678901234567.123456789012345678901234567891");
    let product = "1524157875323883580399330108230454010823045401.071178187518366104763907942";
    check(left.multiply(&right).unwrap(), product);
    let quotient = decimal("12345678901234567890.123456789012345678901234567890");
    let quotient = quotient.divide(&decimal("9223372036854775807"), 4).unwrap().unwrap();
    check(quotient.rescale(30).unwrap(), "1.338521188552697383678617745053");
    check(decimal(&wide).divide(&decimal(&wide), 4).unwrap().unwrap(), "1.000000000");
}

#[test]
fn rounding() {
    for (text, digits, expected) in [
        ("1.5", 0, "2"),
        ("2.5", 0, "3"),
        ("-2.5", 0, "-3"),
        ("1.45", 1, "1.5"),
        ("0.05", 1, "0.1"),
        ("15", -1, "20"),
        ("14", -1, "10"),
        ("15", -2, "0"),
        ("55", -2, "100"),
        ("9.99", 1, "10.0"),
        ("1.2", 5, "1.2"),
    ] {
        assert_eq!(decimal(text).round(digits).unwrap().to_string(), expected, "ROUND({text}, {digits})");
    }
    assert_eq!(decimal("-1.99").truncate(1).to_string(), "-1.9");
    assert_eq!(decimal("1.1").ceiling().unwrap().to_string(), "2");
    assert_eq!(decimal("-1.1").ceiling().unwrap().to_string(), "-1");
    assert_eq!(decimal("-1.1").floor().unwrap().to_string(), "-2");
    assert_eq!(decimal("1").rescale(3).unwrap().to_string(), "1.000");
    assert_eq!(Decimal::max_of(5, 2).to_string(), "999.99");
}

#[test]
fn numbers() {
    assert_eq!(Decimal::from_f64(0.1).unwrap().to_string(), "0.1");
    assert_eq!(Decimal::from_f64(1e20).unwrap().to_string(), "100000000000000000000");
    assert_eq!(decimal("123456789012345678901234567890.5").to_f64(), 1.234_567_890_123_456_8e29);
    assert_eq!(decimal("2.5").to_i64(), Some(3));
    assert_eq!(decimal("9223372036854775807.5").to_i64(), None);
    assert_eq!(decimal("-1").to_u64(), None);
}

#[test]
fn keys_order_like_values_and_read_back() {
    let values = [
        "-100000000000000000000000000000000000000000000000000000000000000000",
        "-12.5",
        "-12.49",
        "-1",
        "-0.001",
        "0",
        "0.001",
        "0.01",
        "0.0101",
        "1",
        "1.00",
        "9",
        "10",
        "10.5",
        "99.99",
        "100",
        "99999999999999999999999999999999999999999999999999999999999999999",
    ];
    for left in values {
        for right in values {
            let Some(left) = Decimal::parse(left) else { continue };
            let Some(right) = Decimal::parse(right) else { continue };
            let (mut left_key, mut right_key) = (Vec::new(), Vec::new());
            left.write_key(&mut left_key);
            right.write_key(&mut right_key);
            assert_eq!(left_key.cmp(&right_key), left.compare(&right), "{left} {right}");
            let (read, count) = Decimal::read_key(&left_key, left.scale()).unwrap();
            assert_eq!((read, count), (left.clone(), left_key.len()));
        }
    }
    assert_eq!(decimal("1.0").compare(&decimal("1.00")), Ordering::Equal);
}

#[test]
fn wide_and_small_paths_agree() {
    let mut seed = 42u64;
    let mut next = || {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        i128::from((seed >> 20) as i64 % 1_000_000) * if seed & 1 == 0 { 1 } else { -1 }
    };
    for _ in 0..2_000 {
        let (a, b) = (next(), next());
        let shift = Decimal::assemble(false, Magnitude::power_of_ten(45), 0);
        let (left, right) = (Decimal::new(a, 3), Decimal::new(b, 3));
        let shifted = left.add(&shift).unwrap().add(&right).unwrap().subtract(&shift).unwrap();
        assert_eq!(shifted.compare(&left.add(&right).unwrap()), Ordering::Equal, "{a} {b}");
    }
}
