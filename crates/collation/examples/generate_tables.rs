//! Writes the weight tables that the crate includes: run it once when the input data changes.
//!
//! `cargo run -p collation --example generate_tables -- uca allkeys-9.0.0.txt src/uca_primary_9_0_0.bin`
//! takes the primary weights of the Unicode Collation Algorithm's default table (unicode.org, UCA 9.0.0);
//! `src/uca_primary_5_2_0.bin` is made from allkeys-5.2.0.txt in the same way.
//! `cargo run -p collation --example generate_tables -- lists weights.txt src/uca_primary_4_0_0.bin`
//! takes lines of `code-point weight weight ..` in hexadecimal, which is the default table of UCA 4.0.0 without
//! what no collation here reads.
//! `cargo run -p collation --example generate_tables -- pages weights.txt src/general_weights.bin`
//! takes lines of `code-point weight` in hexadecimal, for characters whose weight is not their code point.
//!
//! Both files have one layout, little endian u16: page count N, the directory (one entry per 256 code points,
//! directory length first; 0xFFFF means no page), N pages of 256 entries, then the expansions.
use std::collections::BTreeMap;
use std::{env, fs};

/// Entries from here on are offsets into the expansions; DUCET 9.0.0 has no primary weight above 0x54A3.
const EXPANSION_BASE: u16 = 0x8000;
const NO_ENTRY: u16 = 0xFFFF;
/// MySQL keeps at most this many collation elements of one character.
const ELEMENTS_MAX: usize = 8;

fn main() {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let [kind, input, output] = arguments.as_slice() else {
        panic!("usage: generate_tables uca|lists|pages INPUT OUTPUT");
    };
    let text = fs::read_to_string(input).expect("the input file is readable");
    let weights = if kind == "uca" { parse_allkeys(&text) } else { parse_lists(&text) };
    fs::write(output, encode(&weights, kind != "pages")).expect("the output file is writable");
}

fn parse_allkeys(text: &str) -> BTreeMap<u32, Vec<u16>> {
    let mut weights = BTreeMap::new();
    for line in text.lines() {
        let line = line.split('#').next().unwrap_or("").trim();
        let Some((characters, elements)) = line.split_once(';') else { continue };
        // Sequences are contractions, which this collation does not use.
        let Ok(code_point) = u32::from_str_radix(characters.trim(), 16) else { continue };
        let primaries = elements
            .split('[')
            .skip(1)
            .take(ELEMENTS_MAX)
            .map(|element| u16::from_str_radix(&element[1..5], 16).expect("a primary weight"))
            .filter(|weight| *weight != 0)
            .collect();
        weights.insert(code_point, primaries);
    }
    weights
}

fn parse_lists(text: &str) -> BTreeMap<u32, Vec<u16>> {
    let number = |word: &str| u32::from_str_radix(word, 16).expect("hexadecimal");
    text.lines()
        .map(|line| {
            let (code_point, weights) = line.split_once(' ').expect("a code point and weights");
            (number(code_point), weights.split_whitespace().map(|word| number(word) as u16).collect())
        })
        .collect()
}

fn encode(weights: &BTreeMap<u32, Vec<u16>>, is_uca: bool) -> Vec<u8> {
    let page_count_max = weights.keys().last().expect("weights exist") / 256 + 1;
    let mut directory = vec![NO_ENTRY; page_count_max as usize];
    let mut pages: Vec<[u16; 256]> = Vec::new();
    let mut expansions: Vec<u16> = Vec::new();
    let mut known: BTreeMap<Vec<u16>, u16> = BTreeMap::new();
    for (code_point, elements) in weights {
        let slot = &mut directory[*code_point as usize / 256];
        if *slot == NO_ENTRY {
            *slot = pages.len() as u16;
            let base = (*code_point & !0xFF) as u16;
            pages.push(std::array::from_fn(|low| if is_uca { NO_ENTRY } else { base | low as u16 }));
        }
        pages[*slot as usize][*code_point as usize % 256] = match elements.as_slice() {
            [] => 0,
            [single] if *single < EXPANSION_BASE || !is_uca => *single,
            several => *known.entry(several.to_vec()).or_insert_with(|| {
                let offset = EXPANSION_BASE + expansions.len() as u16;
                expansions.push(several.len() as u16);
                expansions.extend_from_slice(several);
                offset
            }),
        };
    }
    let mut words = vec![pages.len() as u16, directory.len() as u16];
    words.extend(directory);
    words.extend(pages.iter().flatten());
    words.extend(expansions);
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}
