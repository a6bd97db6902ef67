//! The words of a hint comment with their places. Nothing is refused here: what is no word of hints is `Other`.

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Token {
    Name {
        text: String,
        quoted: bool,
    },
    /// `@name`
    Block(String),
    Number(u64),
    Text(String),
    Open,
    Close,
    Comma,
    Equal,
    Other,
    End,
}

pub struct Scanner<'t> {
    text: &'t str,
    position: usize,
    ansi_quotes: bool,
    ahead: Option<(Token, usize)>,
}

impl<'t> Scanner<'t> {
    pub fn new(text: &'t str, ansi_quotes: bool) -> Scanner<'t> {
        Scanner { text, position: 0, ansi_quotes, ahead: None }
    }

    pub fn peek(&mut self) -> (Token, usize) {
        let token = self.next();
        self.ahead = Some(token.clone());
        token
    }

    /// The next token and where it begins.
    pub fn next(&mut self) -> (Token, usize) {
        if let Some(ahead) = self.ahead.take() {
            return ahead;
        }
        let rest = &self.text[self.position..];
        self.position += rest.len() - rest.trim_start().len();
        let start = self.position;
        let rest = &self.text[start..];
        let Some(first) = rest.chars().next() else { return (Token::End, start) };
        let token = match first {
            '(' => self.take(1, Token::Open),
            ')' => self.take(1, Token::Close),
            ',' => self.take(1, Token::Comma),
            '=' => self.take(1, Token::Equal),
            '\'' => self.quoted('\'').map_or(Token::Other, Token::Text),
            '`' => self.quoted_name('`'),
            '"' if self.ansi_quotes => self.quoted_name('"'),
            '"' => self.quoted('"').map_or(Token::Other, Token::Text),
            '@' => return self.block(start),
            first if is_name(first) => self.word(),
            _ => Token::Other,
        };
        (token, start)
    }

    fn take(&mut self, length: usize, token: Token) -> Token {
        self.position += length;
        token
    }

    /// A name, or a number with a K, M or G behind it perhaps.
    fn word(&mut self) -> Token {
        let rest = &self.text[self.position..];
        let length = rest.find(|character| !is_name(character)).unwrap_or(rest.len());
        let word = &rest[..length];
        self.position += length;
        let digits = word.trim_end_matches(|last: char| "kKmMgG".contains(last));
        if !digits.is_empty()
            && word.len() - digits.len() <= 1
            && digits.bytes().all(|byte| byte.is_ascii_digit())
        {
            let shift = match word.as_bytes()[word.len() - 1].to_ascii_uppercase() {
                b'K' => 10,
                b'M' => 20,
                b'G' => 30,
                _ => 0,
            };
            let number = digits.parse::<u64>().unwrap_or(u64::MAX);
            return Token::Number(number.saturating_mul(1 << shift));
        }
        Token::Name { text: word.to_owned(), quoted: false }
    }

    /// What stands between two quotes, doubled ones inside made single.
    fn quoted(&mut self, quote: char) -> Option<String> {
        let mut text = String::new();
        let mut characters = self.text[self.position + 1..].char_indices().peekable();
        while let Some((at, character)) = characters.next() {
            if character != quote {
                text.push(character);
                continue;
            }
            if !matches!(characters.peek(), Some((_, next)) if *next == quote) {
                self.position += 1 + at + 1;
                return Some(text);
            }
            text.push(quote);
            characters.next();
        }
        None
    }

    fn quoted_name(&mut self, quote: char) -> Token {
        match self.quoted(quote) {
            Some(text) if !text.is_empty() => Token::Name { text, quoted: true },
            _ => Token::Other,
        }
    }

    fn block(&mut self, start: usize) -> (Token, usize) {
        self.position += 1;
        let first = self.text[self.position..].chars().next();
        let name = match first {
            Some(quote @ ('`' | '"')) if quote == '`' || self.ansi_quotes => self.quoted_name(quote),
            Some(first) if is_name(first) => self.word(),
            _ => Token::Other,
        };
        match name {
            Token::Name { text, .. } => (Token::Block(text), start),
            _ => (Token::Other, start + 1),
        }
    }
}

fn is_name(character: char) -> bool {
    character.is_alphanumeric() || character == '_' || character == '$' || !character.is_ascii()
}
