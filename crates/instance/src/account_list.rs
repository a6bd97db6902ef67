//! Lists of accounts as the value of a variable: `mandatory_roles`.
use auth::AccountName;
use bumpalo::Bump;
use parser::ast::{StatementKind, User};
use parser::{ParseOptions, parse_one};

/// The accounts of a list as statements write it; `None` when it is no such list.
pub fn account_names(text: &str) -> Option<Vec<AccountName>> {
    if text.trim().is_empty() {
        return Some(Vec::new());
    }
    let arena = Bump::new();
    let statement = format!("DROP ROLE {text}");
    let options = ParseOptions { mode: Default::default(), parameters: false };
    let parsed = parse_one(statement.as_bytes(), options, &arena).ok()?;
    if parsed.consumed != statement.len() {
        return None;
    }
    let StatementKind::DropRole(list) = parsed.statement.kind else { return None };
    let name = |user: &User<'_>| match user {
        User::Named(name) if !name.user.is_empty() => Some(AccountName::new(name.user, name.host)),
        _ => None,
    };
    list.users.iter().map(name).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_of_roles_are_read() {
        let names = |text: &str| {
            account_names(text)
                .map(|names| names.iter().map(ToString::to_string).collect::<Vec<_>>().join(","))
        };
        assert_eq!(names(""), Some(String::new()));
        assert_eq!(names("`r1`@`%`, r2@localhost").as_deref(), Some("`r1`@`%`,`r2`@`localhost`"));
        assert_eq!(names("r1,"), None);
        assert_eq!(names("r1; drop"), None);
        assert_eq!(names("current_user"), None);
    }
}
