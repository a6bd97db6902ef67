//! One row of a privilege table, by the names of its columns.
use auth::{AccountName, Privilege, PrivilegeSet};
use datum::{ColumnType, TypeKind, Value};

pub struct Row {
    names: Vec<String>,
    values: Vec<Value>,
}

impl Row {
    /// The names are in small letters.
    pub fn new(names: Vec<String>, values: Vec<Value>) -> Row {
        Row { names, values }
    }

    fn value(&self, name: &str) -> Option<&Value> {
        let place = self.names.iter().position(|known| known == name)?;
        self.values.get(place).filter(|value| !value.is_null())
    }

    pub fn bytes(&self, name: &str) -> Vec<u8> {
        match self.value(name) {
            Some(Value::Bytes(bytes)) => bytes.clone(),
            Some(value) => value.to_text(&ColumnType::new(TypeKind::LongText)).into_owned(),
            None => Vec::new(),
        }
    }

    pub fn text(&self, name: &str) -> String {
        String::from_utf8_lossy(&self.bytes(name)).into_owned()
    }

    /// `Y` of an ENUM('N','Y').
    pub fn is_yes(&self, name: &str) -> bool {
        self.text(name).eq_ignore_ascii_case("Y")
    }

    pub fn number(&self, name: &str) -> Option<u64> {
        match self.value(name)? {
            Value::Int(number) => u64::try_from(*number).ok(),
            Value::UInt(number) => Some(*number),
            _ => self.text(name).trim().parse().ok(),
        }
    }

    /// The account of `user` and `host`, or of other columns.
    pub fn account_of(&self, user: &str, host: &str) -> AccountName {
        AccountName::new(&self.text(user), &self.text(host))
    }

    pub fn account(&self) -> AccountName {
        self.account_of("user", "host")
    }

    /// The members of a SET column, or those of the columns `<name>_priv` that say `Y`.
    pub fn privileges(&self, column: &str) -> PrivilegeSet {
        let text = self.text(column);
        let words = text.split(',').map(str::trim).filter(|word| !word.is_empty());
        words.filter_map(privilege_named).fold(PrivilegeSet::NONE, |set, one| set | one.into())
    }

    /// What the columns that end in `_priv` say.
    pub fn chosen_privileges(&self) -> PrivilegeSet {
        let columns = self.names.iter().filter(|name| self.is_yes(name));
        let named = columns.filter_map(|name| privilege_named(name.strip_suffix("_priv")?));
        named.fold(PrivilegeSet::NONE, |set, one| set | one.into())
    }
}

/// A privilege as columns and members of the privilege tables name it.
fn privilege_named(word: &str) -> Option<Privilege> {
    let word = word.replace('_', " ").to_lowercase();
    let name = match word.as_str() {
        "grant" => "GRANT OPTION",
        "show db" => "SHOW DATABASES",
        "create tmp table" => "CREATE TEMPORARY TABLES",
        "repl slave" => "REPLICATION SLAVE",
        "repl client" => "REPLICATION CLIENT",
        other => return Privilege::from_name(&other.to_uppercase()),
    };
    Privilege::from_name(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_and_members_name_privileges() {
        for (word, privilege) in [
            ("Select", Privilege::Select),
            ("Create View", Privilege::CreateView),
            ("create_tmp_table", Privilege::CreateTemporaryTables),
            ("Repl_slave", Privilege::ReplicationSlave),
            ("grant", Privilege::GrantOption),
            ("Show_db", Privilege::ShowDatabases),
            ("Alter Routine", Privilege::AlterRoutine),
        ] {
            assert_eq!(privilege_named(word), Some(privilege), "{word}");
        }
        assert_eq!(privilege_named("nosuch"), None);
    }
}
