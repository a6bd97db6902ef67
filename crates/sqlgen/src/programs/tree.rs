//! A program as a tree of statements, from which single statements can be left out.
//!
//! Invariant: whatever is left out, what is printed is still a program. Made by `super::statement`, cut down by `super::play`.

/// A statement, with those inside of it.
#[derive(Clone, Debug)]
pub struct Piece {
    pub begin: String,
    pub parts: Vec<Part>,
    pub end: String,
}

/// A list of statements, such as a branch or a handler's body.
#[derive(Clone, Debug)]
pub struct Part {
    pub lead: String,
    pub pieces: Vec<Piece>,
}

impl Piece {
    /// A statement without others inside; its semicolon is added.
    pub fn plain(text: impl Into<String>) -> Piece {
        Piece { begin: text.into() + ";", parts: Vec::new(), end: String::new() }
    }

    pub fn around(begin: impl Into<String>, pieces: Vec<Piece>, end: impl Into<String>) -> Piece {
        Piece {
            begin: begin.into(),
            parts: vec![Part { lead: String::new(), pieces }],
            end: end.into() + ";",
        }
    }

    fn print(&self, text: &mut String, indent: usize) {
        line(text, indent, &self.begin);
        for part in &self.parts {
            line(text, indent, &part.lead);
            print_all(&part.pieces, text, indent + 1);
        }
        line(text, indent, &self.end);
    }
}

fn line(text: &mut String, indent: usize, words: &str) {
    if !words.is_empty() {
        text.push_str(&"  ".repeat(indent));
        text.push_str(words);
        text.push('\n');
    }
}

fn print_all(pieces: &[Piece], text: &mut String, indent: usize) {
    if pieces.is_empty() {
        // A list of statements needs one; this one changes nothing.
        line(text, indent, "BEGIN END;");
    }
    for piece in pieces {
        piece.print(text, indent);
    }
}

/// CREATE of a procedure, function or trigger.
#[derive(Clone, Debug)]
pub struct Routine {
    pub head: String,
    pub body: Piece,
}

impl Routine {
    pub fn sql(&self) -> String {
        let mut text = self.head.clone();
        text.push('\n');
        self.body.print(&mut text, 0);
        text.truncate(text.trim_end().trim_end_matches(';').len());
        text
    }

    /// How many statements can be left out.
    pub fn count(&self) -> usize {
        count(&self.body)
    }

    /// Without the statement of that number and those inside of it.
    pub fn without(&self, number: usize) -> Routine {
        let mut smaller = self.clone();
        let mut left = number;
        remove(&mut smaller.body, &mut left);
        smaller
    }
}

fn count(piece: &Piece) -> usize {
    piece.parts.iter().flat_map(|part| &part.pieces).map(|inner| 1 + count(inner)).sum()
}

/// Whether it was found.
fn remove(piece: &mut Piece, left: &mut usize) -> bool {
    for part in &mut piece.parts {
        for at in 0..part.pieces.len() {
            if *left == 0 {
                part.pieces.remove(at);
                return true;
            }
            *left -= 1;
            if remove(&mut part.pieces[at], left) {
                return true;
            }
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_are_left_out_one_by_one() {
        let inner = Piece::around("IF 1 THEN", vec![Piece::plain("SET a = 1")], "END IF");
        let body = Piece::around("BEGIN", vec![inner, Piece::plain("SET b = 2")], "END");
        let routine = Routine { head: "CREATE PROCEDURE p()".to_owned(), body };
        assert_eq!(routine.count(), 3);
        let all = (0..3).map(|number| routine.without(number).sql()).collect::<Vec<_>>();
        assert_eq!(all[0], "CREATE PROCEDURE p()\nBEGIN\n  SET b = 2;\nEND");
        assert_eq!(
            all[1],
            "CREATE PROCEDURE p()\nBEGIN\n  IF 1 THEN\n    BEGIN END;\n  END IF;\n  SET b = 2;\nEND"
        );
        assert!(!all[2].contains("SET b"));
    }
}
