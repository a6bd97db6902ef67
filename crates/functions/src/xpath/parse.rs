//! From the text of a path to its tree. What MySQL's own reader takes is taken, so a few paths are that XPath does not
//! have, and others are refused.
use super::lexer::{Token, Word, scan};
use super::path::{Axis, Calculation, Nodes, Path, PathFunction};
use crate::xpath::names::{axis_named, function_named};
use expression::ComparisonOperator;

/// Why a text is no path, with the rest of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum PathError {
    Syntax(Vec<u8>),
    TwoNodeSets(Vec<u8>),
    UnknownVariable(Vec<u8>),
}

/// Parentheses, brackets and signs nest so deep.
const DEPTH_MAX: usize = 100;
/// A path has at most so many steps, conditions and operators.
const SIZE_MAX: usize = 1_000;
/// Messages show so much of the rest.
const SHOWN_MAX: usize = 32;

struct Parser<'t> {
    text: &'t [u8],
    word: Word,
    /// The word before.
    last: Word,
    context: Nodes,
    /// Conditions in brackets that stand around.
    conditions: usize,
    depth: usize,
    /// Steps, conditions and operators so far.
    size: usize,
}

type Parsed<T> = Result<T, PathError>;

pub(crate) fn parse_path(text: &[u8]) -> Parsed<Path> {
    let word = scan(text, 0);
    let mut parser =
        Parser { text, word, last: word, context: Nodes::Root, conditions: 0, depth: 0, size: 0 };
    let path = parser.any()?;
    if parser.word.token == Token::End { Ok(path) } else { Err(parser.wrong()) }
}

fn named(of: Nodes, axis: Axis, name: &[u8]) -> Nodes {
    Nodes::Named { of: Box::new(of), axis, name: name.into() }
}

impl Parser<'_> {
    fn rest(&self, from: usize) -> Vec<u8> {
        let rest = &self.text[from..];
        rest[..rest.len().min(SHOWN_MAX)].to_vec()
    }

    fn wrong(&self) -> PathError {
        PathError::Syntax(self.rest(self.word.start))
    }

    fn take(&mut self, token: Token) -> bool {
        if self.word.token != token {
            return false;
        }
        self.last = self.word;
        self.word = scan(self.text, self.word.end);
        true
    }

    fn take_sign(&mut self, sign: u8) -> bool {
        self.take(Token::Sign(sign))
    }

    fn need(&mut self, sign: u8) -> Parsed<()> {
        if self.take_sign(sign) { Ok(()) } else { Err(self.wrong()) }
    }

    /// Counts what is added to the tree.
    fn grow(&mut self) -> Parsed<()> {
        self.size += 1;
        if self.size > SIZE_MAX { Err(self.wrong()) } else { Ok(()) }
    }

    /// One level deeper, as far as that goes.
    fn deeper<T>(&mut self, parse: impl FnOnce(&mut Self) -> Parsed<T>) -> Parsed<T> {
        if self.depth >= DEPTH_MAX {
            return Err(self.wrong());
        }
        self.depth += 1;
        let parsed = parse(self);
        self.depth -= 1;
        parsed
    }

    fn any(&mut self) -> Parsed<Path> {
        self.deeper(Parser::alternatives)
    }

    fn alternatives(&mut self) -> Parsed<Path> {
        let mut left = self.conjunction()?;
        while self.take(Token::Or) {
            left = Path::Or(Box::new(left), Box::new(self.conjunction()?));
        }
        Ok(left)
    }

    fn conjunction(&mut self) -> Parsed<Path> {
        let mut left = self.equality()?;
        while self.take(Token::And) {
            left = Path::And(Box::new(left), Box::new(self.equality()?));
        }
        Ok(left)
    }

    fn equality(&mut self) -> Parsed<Path> {
        let mut left = self.relation()?;
        loop {
            let place = self.word.start;
            let operator = match self.word.token {
                Token::Sign(b'=') => {
                    self.take_sign(b'=');
                    ComparisonOperator::Equal
                }
                Token::Sign(b'!') => {
                    self.take_sign(b'!');
                    self.need(b'=')?;
                    ComparisonOperator::NotEqual
                }
                _ => return Ok(left),
            };
            let right = self.relation()?;
            left = self.compared(operator, left, right, place)?;
        }
    }

    fn relation(&mut self) -> Parsed<Path> {
        let mut left = self.sum()?;
        loop {
            let place = self.word.start;
            let is_less = match self.word.token {
                Token::Sign(sign @ (b'<' | b'>')) => sign == b'<',
                _ => return Ok(left),
            };
            self.take(self.word.token);
            let operator = match (is_less, self.take_sign(b'=')) {
                (true, false) => ComparisonOperator::Less,
                (true, true) => ComparisonOperator::LessOrEqual,
                (false, false) => ComparisonOperator::Greater,
                (false, true) => ComparisonOperator::GreaterOrEqual,
            };
            let right = self.sum()?;
            left = self.compared(operator, left, right, place)?;
        }
    }

    fn compared(&self, operator: ComparisonOperator, left: Path, right: Path, place: usize) -> Parsed<Path> {
        if matches!((&left, &right), (Path::Nodes(_), Path::Nodes(_))) {
            return Err(PathError::TwoNodeSets(self.rest(place)));
        }
        Ok(Path::Compare(operator, Box::new(left), Box::new(right)))
    }

    fn sum(&mut self) -> Parsed<Path> {
        let mut left = self.product()?;
        loop {
            let calculation = match self.word.token {
                Token::Sign(b'+') => Calculation::Add,
                Token::Sign(b'-') => Calculation::Subtract,
                _ => return Ok(left),
            };
            self.take(self.word.token);
            left = Path::Calculate(calculation, Box::new(left), Box::new(self.product()?));
        }
    }

    fn product(&mut self) -> Parsed<Path> {
        let mut left = self.unary()?;
        loop {
            let calculation = match self.word.token {
                Token::Sign(b'*') => Calculation::Multiply,
                Token::Div => Calculation::Divide,
                Token::Mod => Calculation::Modulo,
                _ => return Ok(left),
            };
            self.take(self.word.token);
            left = Path::Calculate(calculation, Box::new(left), Box::new(self.unary()?));
        }
    }

    fn unary(&mut self) -> Parsed<Path> {
        if self.take_sign(b'-') {
            return self.deeper(|parser| Ok(Path::Negate(Box::new(parser.unary()?))));
        }
        let mut left = self.located()?;
        while self.word.token == Token::Sign(b'|') && matches!(left, Path::Nodes(_)) {
            self.take_sign(b'|');
            let right = self.located()?;
            left = match (left, right) {
                (Path::Nodes(left), Path::Nodes(right)) => {
                    Path::Nodes(Nodes::Union(Box::new(left), Box::new(right)))
                }
                _ => return Err(self.wrong()),
            };
        }
        Ok(left)
    }

    fn located(&mut self) -> Parsed<Path> {
        self.grow()?;
        let is_location = match self.word.token {
            Token::Sign(sign) => matches!(sign, b'/' | b'.' | b'@' | b'*'),
            token => matches!(token, Token::Identifier | Token::NodeType | Token::Axis),
        };
        let outer = self.context.clone();
        let located = if is_location { self.location() } else { self.filtered() };
        self.context = outer;
        located
    }

    fn location(&mut self) -> Parsed<Path> {
        if self.take_sign(b'/') {
            self.context = Nodes::Root;
            if self.take_sign(b'/') {
                self.all_below();
                self.steps()?;
            } else if self.begins_step() {
                self.steps()?;
            }
        } else {
            self.steps()?;
        }
        Ok(Path::Nodes(self.context.clone()))
    }

    fn begins_step(&self) -> bool {
        match self.word.token {
            Token::Sign(sign) => matches!(sign, b'.' | b'@' | b'*'),
            token => matches!(token, Token::Identifier | Token::NodeType | Token::Axis),
        }
    }

    /// `//`
    fn all_below(&mut self) {
        let of = std::mem::replace(&mut self.context, Nodes::Root);
        self.context = named(of, Axis::DescendantOrSelf, b"*");
    }

    fn steps(&mut self) -> Parsed<()> {
        self.step()?;
        while self.take_sign(b'/') {
            if self.take_sign(b'/') {
                self.all_below();
            }
            self.step()?;
        }
        Ok(())
    }

    fn step(&mut self) -> Parsed<()> {
        self.grow()?;
        if self.take_sign(b'.') {
            if self.take_sign(b'.') {
                let of = std::mem::replace(&mut self.context, Nodes::Root);
                self.context = named(of, Axis::Parent, b"*");
            }
            return Ok(());
        }
        let axis = match self.word.token {
            Token::Sign(b'@') => {
                self.take_sign(b'@');
                Axis::Attribute
            }
            Token::Axis => {
                let name = &self.text[self.word.start..self.word.end];
                let axis = axis_named(name).unwrap_or(Axis::Child);
                self.take(Token::Axis);
                self.need(b':')?;
                self.need(b':')?;
                axis
            }
            _ => Axis::Child,
        };
        self.node_test(axis)?;
        while self.take_sign(b'[') {
            self.bracket()?;
        }
        Ok(())
    }

    fn node_test(&mut self, axis: Axis) -> Parsed<()> {
        if self.take(Token::NodeType) {
            // Texts are what is shown of a node anyway.
            self.need(b'(')?;
            self.take(Token::Text);
            return self.need(b')');
        }
        let start = self.word.start;
        if !self.take_sign(b'*') {
            if !self.take(Token::Identifier) {
                return Err(self.wrong());
            }
            if self.take_sign(b':') && !self.take_sign(b'*') && !self.take(Token::Identifier) {
                return Err(self.wrong());
            }
        }
        let name = &self.text[start..self.last.end];
        let of = std::mem::replace(&mut self.context, Nodes::Root);
        self.context = named(of, axis, name);
        Ok(())
    }

    fn bracket(&mut self) -> Parsed<()> {
        self.grow()?;
        let of = Box::new(std::mem::replace(&mut self.context, Nodes::Current));
        self.conditions += 1;
        let condition = self.any()?;
        self.need(b']')?;
        self.conditions -= 1;
        self.context = match condition.is_condition() {
            true => Nodes::Where { of, condition: Box::new(condition) },
            false => Nodes::At { of, index: Box::new(condition) },
        };
        Ok(())
    }

    /// What is no location, perhaps with a path behind it.
    fn filtered(&mut self) -> Parsed<Path> {
        let primary = self.primary()?;
        let slash = self.word;
        if !self.take_sign(b'/') {
            return Ok(primary);
        }
        let Path::Nodes(nodes) = primary else { return Err(PathError::Syntax(self.rest(slash.start))) };
        self.context = nodes;
        if self.take_sign(b'/') {
            self.all_below();
        }
        self.steps()?;
        Ok(Path::Nodes(self.context.clone()))
    }

    fn primary(&mut self) -> Parsed<Path> {
        match self.word.token {
            Token::Sign(b'(') => {
                self.take_sign(b'(');
                let inner = self.any()?;
                self.need(b')')?;
                Ok(inner)
            }
            Token::Sign(b'$') => self.variable(),
            Token::Text => {
                self.take(Token::Text);
                Ok(Path::Text(self.text[self.last.start + 1..self.last.end - 1].into()))
            }
            Token::Digits => self.number(),
            Token::Function => self.call(),
            _ => Err(self.wrong()),
        }
    }

    fn variable(&mut self) -> Parsed<Path> {
        let start = self.word.start;
        self.take_sign(b'$');
        let is_of_user = self.take_sign(b'@');
        if !self.take(Token::Identifier) {
            return Err(self.wrong());
        }
        let name = &self.text[self.last.start..self.last.end];
        match std::str::from_utf8(name) {
            Ok(name) if is_of_user => Ok(Path::Variable(name.to_lowercase().into())),
            _ => Err(PathError::UnknownVariable(self.rest(start))),
        }
    }

    fn number(&mut self) -> Parsed<Path> {
        let start = self.word.start;
        self.take(Token::Digits);
        let is_real = self.take_sign(b'.');
        if is_real {
            self.take(Token::Digits);
        }
        let text = String::from_utf8_lossy(&self.text[start..self.last.end]);
        let integer = text.parse().ok().filter(|_| !is_real);
        let real = || Path::Real(text.parse().unwrap_or(f64::MAX));
        Ok(integer.map_or_else(real, Path::Integer))
    }

    fn call(&mut self) -> Parsed<Path> {
        let name = &self.text[self.word.start..self.word.end];
        let Some((function, least, most)) = function_named(name) else { return Err(self.wrong()) };
        self.take(Token::Function);
        self.need(b'(')?;
        let mut arguments = Vec::new();
        while arguments.len() < most && self.word.token != Token::Sign(b')') {
            arguments.push(self.any()?);
            if !self.take_sign(b',') {
                break;
            }
        }
        if arguments.len() < least {
            return Err(self.wrong());
        }
        self.need(b')')?;
        let is_inside = self.conditions > 0;
        match function {
            PathFunction::Last | PathFunction::Position if !is_inside => Err(self.wrong()),
            PathFunction::StringLength | PathFunction::Number if arguments.is_empty() => match is_inside {
                true => Ok(Path::Call(function, vec![Path::Nodes(self.context.clone())])),
                false => Err(self.wrong()),
            },
            PathFunction::Count | PathFunction::Sum if !matches!(arguments[0], Path::Nodes(_)) => {
                Err(self.wrong())
            }
            _ => Ok(Path::Call(function, arguments)),
        }
    }
}
