//! Accounts with their rights.
//!
//! Invariant: those of the source take the place of those here; a right that this server does not have is told and left out.
use super::Copy;
use super::names::literal;

/// Each server has its own.
const OWN_ACCOUNTS: [&str; 3] = ["mysql.infoschema", "mysql.session", "mysql.sys"];

impl Copy<'_> {
    /// Answers the GRANTs that are to follow.
    pub(super) async fn copy_accounts(&mut self) -> Result<Vec<String>, String> {
        let rows = match self.origin.rows("SELECT user, host FROM mysql.user").await {
            Ok(rows) => rows,
            Err(error) => {
                self.progress.tell(&format!("accounts are left out: {error}"));
                return Ok(Vec::new());
            }
        };
        let names: Vec<String> = rows
            .iter()
            .filter(|row| !OWN_ACCOUNTS.contains(&row[0].as_str()))
            .map(|row| format!("{}@{}", literal(&row[0]), literal(&row[1])))
            .collect();
        let mut texts = Vec::new();
        for name in &names {
            let shown = self.origin.rows(&format!("SHOW CREATE USER {name}")).await?;
            texts.extend(shown.into_iter().flatten().next().map(|text| (name, text)));
        }
        // Roles come before those who have them as a default.
        texts.sort_by_key(|(_, text)| text.contains(" DEFAULT ROLE "));
        let mut grants = Vec::new();
        for (name, text) in texts {
            self.obey(&format!("DROP USER IF EXISTS {name}")).await?;
            match self.obey(&text).await {
                Ok(()) => {
                    let shown = self.origin.rows(&format!("SHOW GRANTS FOR {name}")).await?;
                    grants.extend(shown.into_iter().flatten());
                }
                Err(error) => self.progress.tell(&format!("the account {name} is left out: {error}")),
            }
        }
        Ok(grants)
    }

    /// Grants what can be granted by now; answers the rest, each right by itself.
    pub(super) async fn grant(&mut self, grants: Vec<String>) -> Result<Vec<String>, String> {
        let mut left = Vec::new();
        for grant in grants {
            if self.obey(&grant).await.is_err() {
                for part in parts(&grant) {
                    if self.obey(&part).await.is_err() {
                        left.push(part);
                    }
                }
            }
            self.check_stop()?;
        }
        Ok(left)
    }

    /// Grants the rest, which may need views and routines.
    pub(super) async fn grant_rest(&mut self, grants: Vec<String>) {
        for grant in grants {
            if let Err(error) = self.obey(&grant).await {
                self.progress.tell(&format!("left out: {grant} ({error})"));
            }
        }
    }
}

/// One GRANT for each right.
fn parts(grant: &str) -> Vec<String> {
    let found = grant.strip_prefix("GRANT ").and_then(|rest| rest.split_once(" ON "));
    match found {
        Some((rights, rest)) if !rights.contains('(') => {
            rights.split(',').map(|right| format!("GRANT {} ON {rest}", right.trim())).collect()
        }
        _ => vec![grant.to_owned()],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_grant_of_several_rights_comes_apart() {
        let both = ["GRANT A ON *.* TO `u`@`h`", "GRANT B_C ON *.* TO `u`@`h`"];
        assert_eq!(parts("GRANT A, B_C ON *.* TO `u`@`h`"), both);
        assert_eq!(parts("GRANT `r`@`%` TO `u`@`h`").len(), 1);
    }
}
