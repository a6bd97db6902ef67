//! The cells of a template: which arguments stand in its places.
use crate::arguments;
use crate::templates::{CELLS_MAX, FATAL_WITH_ZERO};

/// One question to a server.
#[derive(Clone, Debug, PartialEq)]
pub struct Cell {
    /// An expression, with `?` for what is bound when it is prepared.
    pub expression: String,
    /// The literals of the parameters; empty for a statement in the text protocol.
    pub parameters: Vec<&'static str>,
}

impl Cell {
    /// The expression with its parameters in their places.
    fn with_values(&self) -> String {
        let mut pieces = self.expression.split('?');
        let mut text = pieces.next().unwrap_or_default().to_owned();
        for (index, piece) in pieces.enumerate() {
            text.push_str(self.parameters.get(index).copied().unwrap_or("?"));
            text.push_str(piece);
        }
        text
    }

    fn is_fatal(&self) -> bool {
        let text = self.with_values();
        FATAL_WITH_ZERO.iter().any(|function| text.starts_with(function))
            && ["(0)", "(0,", " 0)", " 0,"].iter().any(|zero| text.contains(zero))
    }

    /// The cell as reports show it.
    pub fn shown(&self) -> String {
        match self.parameters.as_slice() {
            [] => self.expression.clone(),
            parameters => format!("{}  with {}", self.expression, parameters.join(", ")),
        }
    }
}

/// Parameters of a template's prepared cells.
const PREPARED_MAX: usize = 14;

/// The values that are bound: `server` knows them by these texts.
pub const PARAMETERS: &[&str] = &[
    "null",
    "0",
    "-1",
    "3",
    "9223372036854775807",
    "18446744073709551615",
    "1.5e0",
    "-2.5e10",
    "''",
    "'abc'",
    "'12abc'",
    "'1.50'",
    "'2024-02-29'",
    "'10:11:12.5'",
    "date 2024-02-29",
    "datetime 2024-02-29 12:34:56.5",
    "time -12:34:56.5",
    "'$.a'",
    "'[1, {\"a\": 2}]'",
    "'h\u{e9}'",
];

/// Steps through lists in an order that looks random and is always the same.
pub(crate) struct Random(u64);

impl Random {
    /// FNV-1a of a text.
    pub(crate) fn of(text: &str) -> Random {
        let hash = text.bytes().fold(0xCBF2_9CE4_8422_2325u64, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01B3)
        });
        Random(hash | 1)
    }

    pub(crate) fn pick<'l>(&mut self, list: &[&'l str]) -> &'l str {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        list[(self.0 >> 11) as usize % list.len()]
    }
}

/// The pieces of a template: text, and the letter of the place that follows it.
pub(crate) fn pieces(template: &str) -> Vec<(&str, Option<char>)> {
    let mut pieces = Vec::new();
    let mut rest = template;
    while let Some(at) = rest.find('{') {
        let place = rest[at + 1..].chars().next().filter(|_| rest[at + 2..].starts_with('}'));
        let Some(letter) = place else {
            // A brace of the template's own.
            let end = at + 1;
            pieces.push((&rest[..end], None));
            rest = &rest[end..];
            continue;
        };
        pieces.push((&rest[..at], Some(letter)));
        rest = &rest[at + 3..];
    }
    pieces.push((rest, None));
    pieces
}

pub(crate) fn filled(pieces: &[(&str, Option<char>)], mut value: impl FnMut(char) -> String) -> String {
    let mut text = String::new();
    for (before, place) in pieces {
        text.push_str(before);
        if let Some(letter) = place {
            text.push_str(&value(*letter));
        }
    }
    text
}

/// The template with values of `list` in its places: each value of a single place in turn, random ones of several. At most
/// `most` are made.
pub(crate) fn expressions(
    pieces: &[(&str, Option<char>)],
    list: impl Fn(char) -> &'static [&'static str],
    most: usize,
    random: &mut Random,
) -> Vec<String> {
    let places: Vec<char> = pieces.iter().filter_map(|(_, place)| *place).collect();
    if let [letter] = places.as_slice() {
        let values = list(*letter).iter().take(most);
        return values.map(|value| filled(pieces, |_| (*value).to_owned())).collect();
    }
    let mut made: Vec<String> = Vec::new();
    for _ in 0..if places.is_empty() { 1 } else { most } {
        let expression = filled(pieces, |letter| random.pick(list(letter)).to_owned());
        if !made.contains(&expression) {
            made.push(expression);
        }
    }
    made
}

pub fn cells_of(template: &str) -> Vec<Cell> {
    let pieces = pieces(template);
    let places: Vec<char> = pieces.iter().filter_map(|(_, place)| *place).collect();
    let most = CELLS_MAX[places.len().min(CELLS_MAX.len() - 1)];
    let mut random = Random::of(template);
    let plain = expressions(&pieces, arguments::list, most, &mut random);
    let mut cells: Vec<Cell> =
        plain.into_iter().map(|expression| Cell { expression, parameters: Vec::new() }).collect();
    if !places.is_empty() {
        let expression = filled(&pieces, |_| "?".to_owned());
        for _ in 0..PREPARED_MAX {
            let parameters = places.iter().map(|_| random.pick(PARAMETERS)).collect();
            let cell = Cell { expression: expression.clone(), parameters };
            if !cells.contains(&cell) {
                cells.push(cell);
            }
        }
    }
    cells.retain(|cell| !cell.is_fatal());
    cells
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::templates::TEMPLATES;

    #[test]
    fn the_grid_is_large_and_always_the_same() {
        let count: usize = TEMPLATES.iter().map(|template| cells_of(template).len()).sum();
        assert!(count >= 30_000, "{count} cells");
        assert_eq!(cells_of("lpad({s}, {i}, {s})"), cells_of("lpad({s}, {i}, {s})"));
        let of_one = cells_of("json_schema_valid('{\"type\": \"object\"}', {j})");
        assert!(of_one[0].expression.ends_with(r#"'{"type": "object"}', null)"#), "{}", of_one[0].expression);
    }

    #[test]
    fn templates_are_unique() {
        let mut seen = std::collections::HashSet::new();
        assert!(TEMPLATES.iter().all(|template| seen.insert(template)));
    }
}
