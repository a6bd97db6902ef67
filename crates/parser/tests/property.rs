//! Properties: nothing panics, whatever the bytes; the digest and the parser number literals alike; errors point into
//! the text.
use bumpalo::Bump;
use parser::ast::StatementKind;
use parser::{DigestOutput, DigestSeed, ParseErrorKind, ParseOptions, SqlMode, digest, fuzz_one, parse_one};
use proptest::prelude::*;

const SEED: DigestSeed = DigestSeed(7, 11);

const GOLDEN_FILES: [&str; 10] = [
    "account.txt",
    "admin.txt",
    "ddl.txt",
    "dml.txt",
    "dump.txt",
    "error.txt",
    "expression.txt",
    "select.txt",
    "session.txt",
    "show.txt",
];

/// All statements of the golden files.
fn statements() -> Vec<String> {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata");
    let mut statements = Vec::new();
    for file in GOLDEN_FILES {
        let text = std::fs::read_to_string(folder.join(file)).expect("the golden file is there");
        statements.extend(text.lines().filter_map(|line| line.strip_prefix("> ")).map(str::to_owned));
    }
    assert!(statements.len() > 400, "the golden files hold hundreds of statements");
    statements
}

fn modes() -> impl Strategy<Value = SqlMode> {
    any::<[bool; 6]>().prop_map(|bits| SqlMode {
        ansi_quotes: bits[0],
        pipes_as_concat: bits[1],
        no_backslash_escapes: bits[2],
        high_not_precedence: bits[3],
        ignore_space: bits[4],
        real_as_float: bits[5],
    })
}

/// Pieces that are likely to meet in an unlucky way.
const PIECES: &[&str] = &[
    "SELECT", "FROM", "WHERE", "(", ")", ",", ".", "..", "'", "''", "'a'", "\"b\"", "`c`", "`", "\"", "\\",
    "\\'", "1", "2.5", ".5", "1e5", "1e", "0x1F", "0x", "x'41'", "x'4", "b'01'", "0b1", "N'n'", "@", "@@",
    "@a", "@'b'", "?", ";", "--", "-- ", "#", "/*", "*/", "/*!", "/*!50000", "/*+", "\n", " ", "a", "t1",
    "1a", "_utf8mb4", "_x", "NOT", "IN", "LIKE", "BETWEEN", "AND", "OR", "IS", "NULL", "CASE", "WHEN",
    "THEN", "END", "INTERVAL", "DAY", "UNION", "JOIN", "ON", "USING", "AS", "BY", "ORDER", "GROUP", "LIMIT",
    "INTO", "VALUES", "INSERT", "UPDATE", "SET", "=", ":=", "->", "->>", "+", "-", "*", "/", "%", "||", "&&",
    "<=>", "!", "~", "{", "}", "\u{e9}", "\0", "COUNT(", "*", "OVER", "ROW", "EXISTS", "CREATE", "TABLE",
    "INT", "DEFAULT", "ALTER", "SHOW", "GRANT", "TO", "COLLATE", "CAST",
];

/// The digest's literals are the parser's, in number and order.
fn check_agreement(text: &[u8], mode: SqlMode) {
    let mut output = DigestOutput::default();
    if digest(text, mode, SEED, &mut output).is_none() {
        return;
    }
    let arena = Bump::new();
    let options = ParseOptions { mode, parameters: true };
    let Ok(parsed) = parse_one(text, options, &arena) else { return };
    // A stored program is lexed up to its first `;` only.
    if matches!(parsed.statement.kind, StatementKind::Unsupported(_)) {
        return;
    }
    assert_eq!(parsed.literal_count as usize, output.literals.len(), "{}", String::from_utf8_lossy(text));
}

/// A query's text parses to a query with the same text.
fn check_round_trip(text: &[u8]) {
    let arena = Bump::new();
    let options = ParseOptions { parameters: true, ..ParseOptions::default() };
    let Ok(parsed) = parse_one(text, options, &arena) else { return };
    let StatementKind::Query(query) = parsed.statement.kind else { return };
    let restored = query.to_string();
    let again = parse_one(restored.as_bytes(), options, &arena)
        .unwrap_or_else(|error| panic!("{restored} from {}: {error}", String::from_utf8_lossy(text)));
    let StatementKind::Query(again) = again.statement.kind else { panic!("{restored} is a query") };
    assert_eq!(again.to_string(), restored, "{}", String::from_utf8_lossy(text));
}

fn check_error(text: &[u8], options: ParseOptions) {
    let arena = Bump::new();
    let Err(error) = parse_one(text, options, &arena) else { return };
    assert!(error.position <= text.len());
    assert_eq!(error.sqlstate().len(), 5);
    assert!(!error.message().is_empty());
    if let ParseErrorKind::Syntax { near, line } = &error.kind {
        let before = text[..error.position].iter().filter(|&&byte| byte == b'\n').count();
        assert_eq!(*line as usize, before + 1);
        let rest = String::from_utf8_lossy(&text[error.position..]).into_owned();
        let whole = near.trim_end_matches('\u{FFFD}');
        assert!(rest.starts_with(whole), "{near:?} stands at {}", error.position);
    }
}

#[test]
fn digest_and_parser_agree_on_all_golden_statements() {
    for statement in statements() {
        for ansi_quotes in [false, true] {
            check_agreement(statement.as_bytes(), SqlMode { ansi_quotes, ..SqlMode::default() });
        }
    }
}

#[test]
fn a_statement_that_is_cut_off_anywhere_is_no_panic() {
    for statement in statements() {
        for end in 0..statement.len() {
            fuzz_one(&statement.as_bytes()[..end]);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn random_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..200), mode in modes()) {
        fuzz_one(&bytes);
        check_error(&bytes, ParseOptions { mode, parameters: false });
        check_agreement(&bytes, mode);
    }

    #[test]
    fn random_pieces_never_panic(
        pieces in prop::collection::vec((0..PIECES.len(), any::<bool>()), 0..40),
        mode in modes(),
    ) {
        let mut text = String::from("SELECT ");
        for (piece, space) in pieces {
            text += PIECES[piece];
            if space {
                text.push(' ');
            }
        }
        fuzz_one(text.as_bytes());
        check_error(text.as_bytes(), ParseOptions { mode, parameters: true });
        check_agreement(text.as_bytes(), mode);
        check_round_trip(text.as_bytes());
    }

    #[test]
    fn mutated_statements_never_panic(
        which in any::<prop::sample::Index>(),
        cuts in prop::collection::vec((any::<prop::sample::Index>(), 0..PIECES.len(), 0..4_usize), 1..4),
        mode in modes(),
    ) {
        let statements = STATEMENTS.get_or_init(statements);
        let mut words: Vec<&str> = which.get(statements).split_inclusive(' ').collect();
        for (place, piece, action) in cuts {
            let index = place.index(words.len());
            match action {
                0 => words[index] = PIECES[piece],
                1 => words.insert(index, PIECES[piece]),
                2 if words.len() > 1 => { words.remove(index); }
                _ => { let word = words[index]; words.insert(index, word); }
            }
        }
        let text: String = words.concat();
        fuzz_one(text.as_bytes());
        check_error(text.as_bytes(), ParseOptions { mode, parameters: false });
        check_agreement(text.as_bytes(), mode);
        check_round_trip(text.as_bytes());
    }
}

static STATEMENTS: std::sync::OnceLock<Vec<String>> = std::sync::OnceLock::new();
