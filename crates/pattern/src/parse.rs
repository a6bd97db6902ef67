//! A pattern to a tree, by recursive descent with bounded depth.
use super::set::{Set, class_ranges, complement, posix_ranges};
use super::{Flags, RegexpError};

/// Groups nest no deeper; deeper patterns are refused as too big.
const DEPTH_MAX: usize = 200;
/// The largest count in `{min,max}`.
const REPEAT_MAX: u32 = 1000;

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Tree {
    Empty,
    Set(Set),
    Any { includes_newline: bool },
    Assertion(Assertion),
    Group(usize, Box<Tree>),
    Sequence(Vec<Tree>),
    Alternatives(Vec<Tree>),
    Repeat { inner: Box<Tree>, minimum: u32, maximum: Option<u32>, is_lazy: bool },
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Assertion {
    TextStart,
    TextEnd,
    /// The end, or before a line break that ends the text.
    TextEndOrLastNewline,
    LineStart,
    LineEnd,
    WordBoundary,
    NotWordBoundary,
}

/// The tree and the number of groups, group 0 included.
pub(super) fn parse(pattern: &str, flags: Flags) -> Result<(Tree, usize), RegexpError> {
    let characters: Vec<char> = pattern.chars().collect();
    let mut parser = Parser { characters: &characters, at: 0, group_count: 1, flags, depth: 0 };
    let tree = parser.alternatives()?;
    if parser.at < characters.len() {
        return Err(RegexpError::MismatchedParenthesis);
    }
    Ok((tree, parser.group_count))
}

struct Parser<'a> {
    characters: &'a [char],
    at: usize,
    group_count: usize,
    flags: Flags,
    depth: usize,
}

impl Parser<'_> {
    fn peek(&self) -> Option<char> {
        self.characters.get(self.at).copied()
    }

    fn next(&mut self) -> Option<char> {
        let character = self.peek()?;
        self.at += 1;
        Some(character)
    }

    fn accept(&mut self, text: &str) -> bool {
        let matches = text
            .chars()
            .enumerate()
            .all(|(offset, wanted)| self.characters.get(self.at + offset) == Some(&wanted));
        if matches {
            self.at += text.chars().count();
        }
        matches
    }

    fn alternatives(&mut self) -> Result<Tree, RegexpError> {
        let mut branches = vec![self.sequence()?];
        while self.accept("|") {
            branches.push(self.sequence()?);
        }
        Ok(if branches.len() == 1 { branches.remove(0) } else { Tree::Alternatives(branches) })
    }

    fn sequence(&mut self) -> Result<Tree, RegexpError> {
        let mut items = Vec::new();
        while let Some(character) = self.peek() {
            if matches!(character, '|' | ')') {
                break;
            }
            let atom = self.atom()?;
            items.push(self.repeated(atom)?);
        }
        Ok(match items.len() {
            0 => Tree::Empty,
            1 => items.remove(0),
            _ => Tree::Sequence(items),
        })
    }

    fn repeated(&mut self, atom: Tree) -> Result<Tree, RegexpError> {
        let Some(operator) = self.peek().filter(|next| matches!(next, '*' | '+' | '?' | '{')) else {
            return Ok(atom);
        };
        self.at += 1;
        let (minimum, maximum) = match operator {
            '*' => (0, None),
            '+' => (1, None),
            '?' => (0, Some(1)),
            _ => self.interval()?,
        };
        if self.peek() == Some('+') {
            return Err(RegexpError::Unimplemented);
        }
        let is_lazy = self.accept("?");
        if matches!(self.peek(), Some('*' | '+' | '?' | '{')) {
            return Err(RegexpError::Syntax { position: self.at + 1 });
        }
        Ok(Tree::Repeat { inner: Box::new(atom), minimum, maximum, is_lazy })
    }

    /// `min}`, `min,}` or `min,max}`, after the opening brace.
    fn interval(&mut self) -> Result<(u32, Option<u32>), RegexpError> {
        let minimum = self.number().ok_or(RegexpError::BadInterval)?;
        let maximum = if self.accept(",") {
            if self.peek() == Some('}') { None } else { Some(self.number().ok_or(RegexpError::BadInterval)?) }
        } else {
            Some(minimum)
        };
        if !self.accept("}") {
            return Err(RegexpError::BadInterval);
        }
        if maximum.is_some_and(|maximum| maximum < minimum) {
            return Err(RegexpError::MaximumBelowMinimum);
        }
        if minimum > REPEAT_MAX || maximum.is_some_and(|maximum| maximum > REPEAT_MAX) {
            return Err(RegexpError::TooBig);
        }
        Ok((minimum, maximum))
    }

    fn number(&mut self) -> Option<u32> {
        let start = self.at;
        let mut number = 0u32;
        while let Some(digit) = self.peek().and_then(|character| character.to_digit(10)) {
            number = number.saturating_mul(10).saturating_add(digit);
            self.at += 1;
        }
        (self.at > start).then_some(number)
    }

    fn atom(&mut self) -> Result<Tree, RegexpError> {
        let position = self.at + 1;
        let character = self.next().expect("the caller has seen a character");
        Ok(match character {
            '.' => Tree::Any { includes_newline: self.flags.dot_matches_newline },
            '^' if self.flags.is_multiline => Tree::Assertion(Assertion::LineStart),
            '^' => Tree::Assertion(Assertion::TextStart),
            '$' if self.flags.is_multiline => Tree::Assertion(Assertion::LineEnd),
            '$' => Tree::Assertion(Assertion::TextEndOrLastNewline),
            '(' => return self.group(),
            '[' => Tree::Set(self.bracket()?),
            '\\' => return self.escape(),
            '*' | '+' | '?' | '{' => return Err(RegexpError::Syntax { position }),
            literal => self.literal(literal),
        })
    }

    fn literal(&self, character: char) -> Tree {
        self.set(vec![(character, character)], false)
    }

    fn set(&self, ranges: Vec<(char, char)>, is_negated: bool) -> Tree {
        Tree::Set(Set { ranges, is_negated, ignores_case: self.flags.ignores_case })
    }

    fn group(&mut self) -> Result<Tree, RegexpError> {
        if self.inline_flags() {
            return Ok(Tree::Empty);
        }
        self.depth += 1;
        if self.depth > DEPTH_MAX {
            return Err(RegexpError::TooBig);
        }
        let outer_flags = self.flags;
        let tree = if self.accept("?:") {
            self.alternatives()?
        } else if self.accept("?#") {
            while self.peek().is_some_and(|character| character != ')') {
                self.at += 1;
            }
            Tree::Empty
        } else if self.peek() == Some('?') {
            self.at += 1;
            self.flag_group()?
        } else {
            let index = self.group_count;
            self.group_count += 1;
            Tree::Group(index, Box::new(self.alternatives()?))
        };
        if !self.accept(")") {
            return Err(RegexpError::MismatchedParenthesis);
        }
        self.flags = outer_flags;
        self.depth -= 1;
        Ok(tree)
    }

    /// `(?flags)` holds to the end of the enclosing group, which restores its flags; true when there was one.
    fn inline_flags(&mut self) -> bool {
        let length = self.characters[self.at..].iter().take_while(|character| **character != ')').count();
        let inside = &self.characters[self.at..self.at + length];
        let is_flags =
            inside.len() > 1 && inside[0] == '?' && inside[1..].iter().all(|c| "ims-".contains(*c));
        if is_flags {
            self.at += 1;
            while self.peek() != Some(')') && self.flag_letters().is_some() {}
            self.at += 1;
        }
        is_flags && self.at <= self.characters.len()
    }

    /// `(?flags:...)`, after the question mark.
    fn flag_group(&mut self) -> Result<Tree, RegexpError> {
        self.flag_letters();
        if self.accept(":") { self.alternatives() } else { Err(RegexpError::Unimplemented) }
    }

    /// Reads flag letters and sets them; `None` when there is none.
    fn flag_letters(&mut self) -> Option<()> {
        let start = self.at;
        let mut is_on = true;
        loop {
            match self.peek() {
                Some('i') => self.flags.ignores_case = is_on,
                Some('m') => self.flags.is_multiline = is_on,
                Some('s') => self.flags.dot_matches_newline = is_on,
                Some('-') => is_on = false,
                _ => return (self.at > start).then_some(()),
            }
            self.at += 1;
        }
    }

    fn escape(&mut self) -> Result<Tree, RegexpError> {
        let Some(character) = self.next() else { return Err(RegexpError::BadEscape) };
        Ok(match character {
            'd' | 'D' | 'w' | 'W' | 's' | 'S' => {
                let ranges = class_ranges(character.to_ascii_lowercase());
                self.set(ranges, character.is_ascii_uppercase())
            }
            'b' => Tree::Assertion(Assertion::WordBoundary),
            'B' => Tree::Assertion(Assertion::NotWordBoundary),
            'A' => Tree::Assertion(Assertion::TextStart),
            'z' => Tree::Assertion(Assertion::TextEnd),
            'Z' => Tree::Assertion(Assertion::TextEndOrLastNewline),
            'Q' => return Ok(self.quoted()),
            '0'..='9' | 'k' | 'G' | 'p' | 'P' | 'X' | 'R' | 'h' | 'v' | 'N' => {
                return Err(RegexpError::Unimplemented);
            }
            other => {
                let character = self.escaped_character(other)?;
                self.literal(character)
            }
        })
    }

    /// `\Q` to `\E`: everything between is literal.
    fn quoted(&mut self) -> Tree {
        let mut items = Vec::new();
        while self.peek().is_some() && !self.accept("\\E") {
            let character = self.next().expect("peeked");
            items.push(self.literal(character));
        }
        Tree::Sequence(items)
    }

    fn escaped_character(&mut self, character: char) -> Result<char, RegexpError> {
        Ok(match character {
            't' => '\t',
            'n' => '\n',
            'r' => '\r',
            'f' => '\u{C}',
            'a' => '\u{7}',
            'e' => '\u{1B}',
            'x' if self.accept("{") => {
                let character = self.hex(6)?;
                if !self.accept("}") {
                    return Err(RegexpError::BadEscape);
                }
                character
            }
            'x' => self.hex(2)?,
            'u' => self.hex(4)?,
            other if other.is_ascii_alphabetic() => return Err(RegexpError::BadEscape),
            other => other,
        })
    }

    fn hex(&mut self, digits_max: usize) -> Result<char, RegexpError> {
        let start = self.at;
        let mut code_point = 0;
        while self.at - start < digits_max
            && let Some(digit) = self.peek().and_then(|character| character.to_digit(16))
        {
            code_point = code_point * 16 + digit;
            self.at += 1;
        }
        char::from_u32(code_point).filter(|_| self.at > start).ok_or(RegexpError::BadEscape)
    }

    /// The inside of `[...]`, after the opening bracket.
    fn bracket(&mut self) -> Result<Set, RegexpError> {
        let is_negated = self.accept("^");
        let mut ranges = Vec::new();
        let start = self.at;
        loop {
            if self.accept("[:") {
                self.posix_class(&mut ranges)?;
                continue;
            }
            let character = self.next().ok_or(RegexpError::UnclosedBracket)?;
            let low = match character {
                ']' if self.at - 1 > start => break,
                '[' => return Err(RegexpError::Unimplemented),
                '&' if self.peek() == Some('&') => return Err(RegexpError::Unimplemented),
                '\\' => {
                    let escaped = self.next().ok_or(RegexpError::UnclosedBracket)?;
                    match escaped {
                        'd' | 'w' | 's' => {
                            ranges.extend(class_ranges(escaped));
                            continue;
                        }
                        'D' | 'W' | 'S' => {
                            ranges.extend(complement(&class_ranges(escaped.to_ascii_lowercase())));
                            continue;
                        }
                        'b' => '\u{8}',
                        other => self.escaped_character(other)?,
                    }
                }
                literal => literal,
            };
            ranges.push((low, self.range_end(low)?));
        }
        Ok(Set { ranges, is_negated, ignores_case: self.flags.ignores_case })
    }

    /// The end of a range that starts with `low`, which is `low` itself when no `-x` follows.
    fn range_end(&mut self, low: char) -> Result<char, RegexpError> {
        let is_range = self.peek() == Some('-')
            && self.characters.get(self.at + 1).is_some_and(|character| *character != ']');
        if !is_range {
            return Ok(low);
        }
        self.at += 1;
        let high = match self.next().ok_or(RegexpError::UnclosedBracket)? {
            '\\' => {
                let escaped = self.next().ok_or(RegexpError::UnclosedBracket)?;
                self.escaped_character(escaped)?
            }
            literal => literal,
        };
        if high < low { Err(RegexpError::InvalidRange) } else { Ok(high) }
    }

    fn posix_class(&mut self, ranges: &mut Vec<(char, char)>) -> Result<(), RegexpError> {
        let is_negated = self.accept("^");
        let mut name = String::new();
        while let Some(character) = self.peek().filter(char::is_ascii_alphabetic) {
            name.push(character);
            self.at += 1;
        }
        if !self.accept(":]") {
            return Err(RegexpError::UnclosedBracket);
        }
        let class = posix_ranges(&name).ok_or(RegexpError::IllegalArgument)?;
        if is_negated {
            ranges.extend(complement(&class));
        } else {
            ranges.extend(class);
        }
        Ok(())
    }
}
