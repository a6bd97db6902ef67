//! One record of the audit log: a line of JSON, with the fields of Percona's audit log.
use super::moment::timestamp_text;

pub struct AuditRecord<'a> {
    pub unix_us: i64,
    /// `Connect`, `Quit`, `Query`, `Execute` ..
    pub name: &'a str,
    pub connection: u64,
    pub status: u16,
    pub user: &'a str,
    pub host: &'a str,
    pub database: &'a str,
    /// The kind of statement, as `Com_..` counters name it.
    pub command_class: Option<&'a str>,
    pub text: Option<&'a [u8]>,
}

impl AuditRecord<'_> {
    pub fn text(&self) -> Vec<u8> {
        let mut line = String::with_capacity(256);
        line.push_str("{\"audit_record\":{");
        field(&mut line, "name", self.name);
        line.push(',');
        field(&mut line, "timestamp", &timestamp_text(self.unix_us));
        if let Some(class) = self.command_class {
            line.push(',');
            field(&mut line, "command_class", class);
        }
        line.push_str(&format!(",\"connection_id\":{},\"status\":{}", self.connection, self.status));
        if let Some(text) = self.text {
            line.push(',');
            field(&mut line, "sqltext", &String::from_utf8_lossy(text));
        }
        for (name, value) in [("user", self.user), ("host", self.host), ("db", self.database)] {
            line.push(',');
            field(&mut line, name, value);
        }
        line.push_str("}}\n");
        line.into_bytes()
    }
}

fn field(line: &mut String, name: &str, value: &str) {
    line.push('"');
    line.push_str(name);
    line.push_str("\":\"");
    for character in value.chars() {
        match character {
            '"' => line.push_str("\\\""),
            '\\' => line.push_str("\\\\"),
            '\n' => line.push_str("\\n"),
            '\r' => line.push_str("\\r"),
            '\t' => line.push_str("\\t"),
            control if control.is_control() => line.push_str(&format!("\\u{:04x}", control as u32)),
            other => line.push(other),
        }
    }
    line.push('"');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_is_one_line_of_json() {
        let record = AuditRecord {
            unix_us: 0,
            name: "Query",
            connection: 7,
            status: 1064,
            user: "o\"b",
            host: "localhost",
            database: "",
            command_class: Some("error"),
            text: Some(b"select\n'\x01'"),
        };
        let expected = "{\"audit_record\":{\"name\":\"Query\",\"timestamp\":\"1970-01-01T00:00:00.000000Z\",\
                        \"command_class\":\"error\",\"connection_id\":7,\"status\":1064,\"sqltext\":\"select\\n'\\u0001'\",\
                        \"user\":\"o\\\"b\",\"host\":\"localhost\",\"db\":\"\"}}\n";
        assert_eq!(String::from_utf8_lossy(&record.text()), expected);
    }
}
