//! The entry for fuzzing: everything that reads untrusted text, on one input.
use crate::ast::StatementKind;
use crate::{DigestOutput, DigestSeed, ParseOptions, SqlMode, digest, parse_one};
use bumpalo::Bump;

/// Parses, digests, binds and restores what the bytes hold, in several SQL modes. It must not panic, whatever they
/// are.
pub fn fuzz_one(bytes: &[u8]) {
    let other = SqlMode {
        ansi_quotes: true,
        pipes_as_concat: true,
        no_backslash_escapes: true,
        high_not_precedence: true,
        ignore_space: true,
        real_as_float: true,
    };
    for mode in [SqlMode::default(), other] {
        let arena = Bump::new();
        let mut output = DigestOutput::default();
        if digest(bytes, mode, DigestSeed(1, 2), &mut output).is_some() {
            for literal in &output.literals {
                let _ = literal.value(bytes, mode, &arena);
            }
        }
        let mut rest = bytes;
        while let Ok(parsed) = parse_one(rest, ParseOptions { mode, parameters: true }, &arena) {
            assert!(parsed.consumed <= rest.len());
            if let StatementKind::Query(query) = parsed.statement.kind {
                let _ = query.to_string();
            }
            if parsed.consumed == rest.len() || parsed.consumed == 0 {
                break;
            }
            rest = &rest[parsed.consumed..];
        }
    }
}
