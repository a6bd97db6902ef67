//! The specification's random numbers: NURand, last names, and the strings of clause 4.3.2.
//!
//! Invariant: the constants C of load and run differ as clause 2.1.6.1 demands (by 65 to 119, not 96 and not 112).

use crate::random::Random;

const C_LAST_LOAD: i64 = 123;
const C_LAST_RUN: i64 = 223;
const C_CUSTOMER: i64 = 259;
const C_ITEM: i64 = 7911;
const SYLLABLES: [&str; 10] =
    ["BAR", "OUGHT", "ABLE", "PRI", "PRES", "ESE", "ANTI", "CALLY", "ATION", "EING"];

fn nurand(random: &mut Random, a: i64, c: i64, low: i64, high: i64) -> i64 {
    (((random.between(0, a) | random.between(low, high)) + c) % (high - low + 1)) + low
}

/// A customer's number in a district.
pub fn customer(random: &mut Random, customers: i64) -> i64 {
    nurand(random, 1023, C_CUSTOMER, 1, customers)
}

/// An item's number.
pub fn item(random: &mut Random, items: i64) -> i64 {
    nurand(random, 8191, C_ITEM, 1, items)
}

/// The last name of a number of 0 to 999.
pub fn last_name(number: i64) -> String {
    let syllable = |digit: i64| SYLLABLES[(digit % 10) as usize];
    [syllable(number / 100), syllable(number / 10), syllable(number)].concat()
}

/// The last name of the customer `id` as it is loaded: each name once among the first thousand.
pub fn loaded_name(random: &mut Random, id: i64) -> String {
    if id <= 1000 { last_name(id - 1) } else { last_name(nurand(random, 255, C_LAST_LOAD, 0, 999)) }
}

/// A last name that a terminal asks for; one that exists even where a district has few customers.
pub fn asked_name(random: &mut Random, customers: i64) -> String {
    last_name(nurand(random, 255, C_LAST_RUN, 0, 999) % customers.min(1000))
}

/// Nine digits: four of chance, then 11111.
pub fn zip(random: &mut Random) -> String {
    random.digits(4, 4) + "11111"
}

/// A text with ORIGINAL somewhere in one of ten.
pub fn data(random: &mut Random) -> String {
    let mut text = random.letters(26, 50);
    if random.happens(0.1) {
        let at = random.below(text.len() as u64 - 8) as usize;
        text.replace_range(at..at + 8, "ORIGINAL");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_three_syllables() {
        assert_eq!(last_name(371), "PRICALLYOUGHT");
        assert_eq!(last_name(40), "BARPRESBAR");
    }

    #[test]
    fn numbers_stay_in_range_and_are_not_uniform() {
        let mut random = Random::new(1, 1);
        let mut seen = vec![0; 1001];
        for _ in 0..100_000 {
            seen[item(&mut random, 1000) as usize] += 1;
        }
        assert_eq!(seen[0], 0);
        let most = seen.iter().max().unwrap();
        assert!(*most > 200, "{most}");
    }

    #[test]
    fn the_two_constants_are_as_far_apart_as_they_must_be() {
        let apart = (C_LAST_RUN - C_LAST_LOAD).abs();
        assert!((65..=119).contains(&apart) && apart != 96 && apart != 112);
    }
}
