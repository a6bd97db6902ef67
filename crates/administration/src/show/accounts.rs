//! SHOW GRANTS and SHOW CREATE USER, byte for byte as MySQL writes them, so that one server reads what another wrote.
use auth::{Account, AccountName, Grants, Privilege, PrivilegeSet, TlsRequirement};
use datum::{SqlError, Value, error_code};
use parser::ast::User;
use schema::quote_identifier;

use crate::caller::Caller;
use session::{MadeColumn, MadeRows};

impl Caller<'_> {
    pub(super) fn show_create_user(&self, user: User<'_>) -> Result<MadeRows, SqlError> {
        let name = self.named_account(user)?;
        if name != *self.privileges().account_name() {
            self.require_database(Privilege::Select, "mysql")?;
        }
        let account = self.instance().accounts().get(&name).ok_or_else(|| {
            let shown = format!("'{}'@'{}' (User account does not exist)", name.user, name.host.as_str());
            error_code::ER_CANNOT_USER.with(&[&"SHOW CREATE USER", &shown])
        })?;
        let shows_hex = self.variables().by_name("print_identified_with_as_hex").as_boolean();
        let mut rows = MadeRows::new(&[MadeColumn::LongText("CREATE USER")])
            .with_name(0, format!("CREATE USER for {}@{}", name.user, name.host.as_str()));
        rows.push(vec![Value::bytes(create_user_text(&account, shows_hex))]);
        Ok(rows)
    }

    pub(super) fn show_grants(
        &self,
        user: Option<User<'_>>,
        using: &[User<'_>],
    ) -> Result<MadeRows, SqlError> {
        let name = self.named_account(user.unwrap_or(User::Current))?;
        let is_own = name == *self.privileges().account_name();
        let shown = format!("Grants for {}@{}", name.user, name.host.as_str());
        if !is_own && !self.privileges().has_on_table(Privilege::Select.into(), "mysql", "user") {
            return Err(self.table_denied("SELECT", "user"));
        }
        let account = self
            .instance()
            .accounts()
            .get(&name)
            .ok_or_else(|| error_code::ER_NONEXISTING_GRANT.with(&[&name.user, &name.host.as_str()]))?;
        let mut roles: Vec<AccountName> = using.iter().map(|role| self.account_of(*role)).collect();
        let granted = self.instance().roles_of(&account);
        if let Some(role) = roles.iter().find(|role| !granted.contains(role)) {
            return Err(ER_ROLE_NOT_GRANTED.with(&[role, &name]));
        }
        if is_own && using.is_empty() && matches!(user, None | Some(User::Current)) {
            roles = self.privileges().active_roles().to_vec();
        }
        let mut grants = account.grants.clone();
        for role in self.instance().accounts().reached_roles(&roles) {
            if let Some(role) = self.instance().accounts().get(&role) {
                grants.join(&role.grants);
            }
        }
        grants.roles = account.grants.roles.clone();
        for role in granted {
            grants.roles.entry(role).or_insert(false);
        }
        let mut rows = MadeRows::new(&[MadeColumn::Text("Grants", 1024)]).with_name(0, shown);
        for line in grant_lines(&grants, &account.name) {
            rows.push(vec![Value::bytes(line)]);
        }
        Ok(rows)
    }
}

/// The statements that SHOW GRANTS lists.
fn grant_lines(grants: &Grants, name: &AccountName) -> Vec<String> {
    let mut lines = Vec::new();
    let line = |what: &str, place: &str, has_option: bool| {
        let ending = if has_option { " WITH GRANT OPTION" } else { "" };
        format!("GRANT {what} ON {place} TO {name}{ending}")
    };
    lines.push(line(&names_of(grants.global, None), "*.*", has_option(grants.global)));
    let plain = grants.dynamic.without(grants.grantable);
    for (set, has_option) in [(plain, false), (grants.dynamic.common(grants.grantable), true)] {
        if !set.is_empty() {
            let names: Vec<&str> = set.iter().map(auth::DynamicPrivilege::name).collect();
            lines.push(line(&names.join(","), "*.*", has_option));
        }
    }
    let mut databases: Vec<_> = grants.databases.iter().collect();
    databases.sort_by_key(|(pattern, _)| has_wildcard(pattern));
    for (pattern, set) in databases {
        let what = names_of(*set, Some(PrivilegeSet::all_database()));
        lines.push(line(&what, &format!("{}.*", quote_identifier(pattern)), has_option(*set)));
    }
    for (database, set) in &grants.restrictions {
        let place = format!("{}.*", quote_identifier(database));
        lines.push(format!("REVOKE {} ON {place} FROM {name}", names_of(*set, None)));
    }
    for ((database, table), entry) in &grants.tables {
        let place = format!("{}.{}", quote_identifier(database), quote_identifier(table));
        lines.push(line(&table_names(entry), &place, has_option(entry.table)));
    }
    for ((kind, (database, routine)), entry) in &grants.routines {
        let place = format!("{} {}.{}", kind.name(), quote_identifier(database), quote_identifier(routine));
        lines.push(line(&names_of(entry.privileges, None), &place, has_option(entry.privileges)));
    }
    for (proxied, proxy) in &grants.proxies {
        let ending = if proxy.with_grant { " WITH GRANT OPTION" } else { "" };
        lines.push(format!("GRANT PROXY ON {proxied} TO {name}{ending}"));
    }
    for (admin, ending) in [(false, ""), (true, " WITH ADMIN OPTION")] {
        let mut roles: Vec<&AccountName> =
            grants.roles.iter().filter(|(_, is_admin)| **is_admin == admin).map(|(role, _)| role).collect();
        roles.sort();
        if !roles.is_empty() {
            let names: Vec<String> = roles.into_iter().map(ToString::to_string).collect();
            lines.push(format!("GRANT {} TO {name}{ending}", names.join(",")));
        }
    }
    lines
}

fn has_option(set: PrivilegeSet) -> bool {
    set.has(Privilege::GrantOption.into())
}

fn has_wildcard(pattern: &str) -> bool {
    pattern.contains(['%', '_'])
}

fn names_of(set: PrivilegeSet, all: Option<PrivilegeSet>) -> String {
    let plain = set.without(Privilege::GrantOption.into());
    if all == Some(plain) {
        return "ALL PRIVILEGES".to_owned();
    }
    let names: Vec<&str> = plain.iter().map(Privilege::name).collect();
    if names.is_empty() { "USAGE".to_owned() } else { names.join(", ") }
}

fn table_names(entry: &auth::TableGrants) -> String {
    let plain = entry.table.without(Privilege::GrantOption.into());
    if entry.columns.is_empty() {
        return names_of(entry.table, Some(PrivilegeSet::all_table()));
    }
    let mut parts = Vec::new();
    for &privilege in Privilege::ALL {
        let columns: Vec<String> = entry
            .columns
            .iter()
            .filter(|(_, set)| set.has(privilege.into()))
            .map(|(column, _)| quote_identifier(column))
            .collect();
        match (plain.has(privilege.into()), columns.is_empty()) {
            (true, true) => parts.push(privilege.name().to_owned()),
            (true, false) => {
                parts.push(privilege.name().to_owned());
                parts.push(format!("{} ({})", privilege.name(), columns.join(", ")));
            }
            (false, false) => parts.push(format!("{} ({})", privilege.name(), columns.join(", "))),
            (false, true) => {}
        }
    }
    parts.join(", ")
}

/// The statement that makes the account again, but for what is granted to it.
pub(crate) fn create_user_text(account: &Account, shows_hex: bool) -> Vec<u8> {
    let mut out =
        format!("CREATE USER {} IDENTIFIED WITH '{}'", account.name, account.credential.plugin().name())
            .into_bytes();
    let stored = account.credential.stored();
    if !stored.is_empty() {
        out.extend_from_slice(b" AS ");
        match shows_hex && stored.iter().any(|byte| !(0x20..0x7f).contains(byte)) {
            true => put_hexadecimal(&mut out, stored),
            false => put_quoted(&mut out, stored),
        }
    }
    if !account.default_roles.is_empty() {
        let roles: Vec<String> = account.default_roles.iter().map(ToString::to_string).collect();
        out.extend_from_slice(format!(" DEFAULT ROLE {}", roles.join(",")).as_bytes());
    }
    put_requirement(&mut out, &account.tls);
    put_limits(&mut out, account);
    put_policy(&mut out, account);
    if let Some(attributes) = &account.attributes {
        out.extend_from_slice(b" ATTRIBUTE ");
        out.extend_from_slice(quote_json(attributes).as_bytes());
    }
    out
}

fn put_requirement(out: &mut Vec<u8>, tls: &TlsRequirement) {
    out.extend_from_slice(b" REQUIRE ");
    match tls {
        TlsRequirement::None => out.extend_from_slice(b"NONE"),
        TlsRequirement::Ssl => out.extend_from_slice(b"SSL"),
        TlsRequirement::X509 => out.extend_from_slice(b"X509"),
        TlsRequirement::Specified { cipher, issuer, subject } => {
            let parts = [("SUBJECT", subject), ("ISSUER", issuer), ("CIPHER", cipher)];
            let given = parts.into_iter().filter(|(_, text)| !text.is_empty());
            for (number, (word, text)) in given.enumerate() {
                let space = if number > 0 { " " } else { "" };
                out.extend_from_slice(format!("{space}{word} ").as_bytes());
                put_quoted(out, text.as_bytes());
            }
        }
    }
}

fn put_limits(out: &mut Vec<u8>, account: &Account) {
    let limits = [
        ("MAX_QUERIES_PER_HOUR", account.limits.queries_per_hour),
        ("MAX_UPDATES_PER_HOUR", account.limits.updates_per_hour),
        ("MAX_CONNECTIONS_PER_HOUR", account.limits.connections_per_hour),
        ("MAX_USER_CONNECTIONS", account.limits.user_connections),
    ];
    if limits.iter().any(|(_, limit)| *limit > 0) {
        out.extend_from_slice(b" WITH");
    }
    for (word, limit) in limits.into_iter().filter(|(_, limit)| *limit > 0) {
        out.extend_from_slice(format!(" {word} {limit}").as_bytes());
    }
}

fn put_policy(out: &mut Vec<u8>, account: &Account) {
    let policy = account.policy;
    let expire = match (policy.expired, policy.lifetime) {
        (true, _) => String::new(),
        (false, None) => " DEFAULT".to_owned(),
        (false, Some(0)) => " NEVER".to_owned(),
        (false, Some(days)) => format!(" INTERVAL {days} DAY"),
    };
    let lock = if account.locked { "LOCK" } else { "UNLOCK" };
    let history = policy.history.map_or("DEFAULT".to_owned(), |count| count.to_string());
    let reuse = policy.reuse_days.map_or("DEFAULT".to_owned(), |days| format!("{days} DAY"));
    let current = match policy.require_current {
        None => " DEFAULT",
        Some(true) => "",
        Some(false) => " OPTIONAL",
    };
    let mut text = format!(
        " PASSWORD EXPIRE{expire} ACCOUNT {lock} PASSWORD HISTORY {history} PASSWORD REUSE INTERVAL {reuse} \
         PASSWORD REQUIRE CURRENT{current}"
    );
    if policy.failed_attempts > 0 {
        text += &format!(" FAILED_LOGIN_ATTEMPTS {}", policy.failed_attempts);
    }
    match policy.lock_days {
        0 => {}
        -1 => text += " PASSWORD_LOCK_TIME UNBOUNDED",
        days => text += &format!(" PASSWORD_LOCK_TIME {days}"),
    }
    out.extend_from_slice(text.as_bytes());
}

/// JSON as a literal that reads as it is; its double quotes need no escape.
fn quote_json(text: &str) -> String {
    format!("'{}'", text.replace('\\', "\\\\").replace('\'', "\\'"))
}

/// A literal of digits.
pub(crate) fn put_hexadecimal(out: &mut Vec<u8>, bytes: &[u8]) {
    out.extend_from_slice(b"0x");
    out.extend(bytes.iter().flat_map(|byte| format!("{byte:02X}").into_bytes()));
}

/// A literal of bytes as they are.
pub(crate) fn put_quoted(out: &mut Vec<u8>, text: &[u8]) {
    out.push(b'\'');
    for &byte in text {
        match byte {
            0 => out.extend_from_slice(b"\\0"),
            b'\n' => out.extend_from_slice(b"\\n"),
            b'\r' => out.extend_from_slice(b"\\r"),
            0x1a => out.extend_from_slice(b"\\Z"),
            b'\'' | b'"' | b'\\' => out.extend_from_slice(&[b'\\', byte]),
            byte => out.push(byte),
        }
    }
    out.push(b'\'');
}

const ER_ROLE_NOT_GRANTED: datum::ErrorCode = datum::ErrorCode::new(3530, "HY000", "%s is not granted to %s");
