//! Where a channel replicates from, as CHANGE REPLICATION SOURCE TO says it, and its stored form: names with their values.
//!
//! Invariant: what is stored is read again the same; a name that is unknown is left out, so that an older version reads it too.

/// The options of a channel. Texts that were not given are empty.
#[derive(Clone, Debug, PartialEq)]
pub struct SourceSettings {
    pub host: String,
    /// As it was given, which may be more than a port can be.
    pub port: u32,
    pub user: String,
    pub password: String,
    pub auto_position: bool,
    /// Seconds between two attempts to connect.
    pub connect_retry: u64,
    /// How many attempts; 0 for no end.
    pub retry_count: u64,
    /// Between heartbeats, in milliseconds; 0 for none.
    pub heartbeat_ms: u64,
    /// Seconds that a transaction is applied later than it was committed.
    pub delay: u64,
    pub ssl: bool,
    pub ssl_ca: String,
    pub ssl_verify: bool,
    pub get_public_key: bool,
    pub ignore_server_ids: Vec<u64>,
}

impl Default for SourceSettings {
    fn default() -> SourceSettings {
        SourceSettings {
            host: String::new(),
            port: 3306,
            user: String::new(),
            password: String::new(),
            auto_position: false,
            connect_retry: 60,
            retry_count: 10,
            heartbeat_ms: 30_000,
            delay: 0,
            ssl: true,
            ssl_ca: String::new(),
            ssl_verify: false,
            get_public_key: false,
            ignore_server_ids: Vec::new(),
        }
    }
}

fn put(name: &str, value: &str, out: &mut Vec<u8>) {
    for part in [name, value] {
        out.extend_from_slice(&(part.len() as u32).to_le_bytes());
        out.extend_from_slice(part.as_bytes());
    }
}

fn take_text<'a>(rest: &mut &'a [u8]) -> Option<&'a str> {
    let (length, behind) = rest.split_first_chunk::<4>()?;
    let (text, behind) = behind.split_at_checked(u32::from_le_bytes(*length) as usize)?;
    *rest = behind;
    std::str::from_utf8(text).ok()
}

impl SourceSettings {
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Vec::new();
        let flag = |set: bool| if set { "1" } else { "0" };
        for (name, value) in [
            ("host", &self.host),
            ("user", &self.user),
            ("password", &self.password),
            ("ssl_ca", &self.ssl_ca),
        ] {
            put(name, value, &mut out);
        }
        for (name, number) in [
            ("port", u64::from(self.port)),
            ("connect_retry", self.connect_retry),
            ("retry_count", self.retry_count),
            ("heartbeat_ms", self.heartbeat_ms),
            ("delay", self.delay),
        ] {
            put(name, &number.to_string(), &mut out);
        }
        for (name, set) in [
            ("auto_position", self.auto_position),
            ("ssl", self.ssl),
            ("ssl_verify", self.ssl_verify),
            ("get_public_key", self.get_public_key),
        ] {
            put(name, flag(set), &mut out);
        }
        let ids: Vec<String> = self.ignore_server_ids.iter().map(u64::to_string).collect();
        put("ignore_server_ids", &ids.join(","), &mut out);
        out
    }

    /// `None` for bytes that are damaged.
    pub fn decode(mut bytes: &[u8]) -> Option<SourceSettings> {
        let mut settings = SourceSettings::default();
        while !bytes.is_empty() {
            let name = take_text(&mut bytes)?;
            let value = take_text(&mut bytes)?;
            settings.set(name, value)?;
        }
        Some(settings)
    }

    fn set(&mut self, name: &str, value: &str) -> Option<()> {
        let text = || value.to_owned();
        match name {
            "host" => self.host = text(),
            "user" => self.user = text(),
            "password" => self.password = text(),
            "ssl_ca" => self.ssl_ca = text(),
            "port" => self.port = value.parse().ok()?,
            "connect_retry" => self.connect_retry = value.parse().ok()?,
            "retry_count" => self.retry_count = value.parse().ok()?,
            "heartbeat_ms" => self.heartbeat_ms = value.parse().ok()?,
            "delay" => self.delay = value.parse().ok()?,
            "auto_position" => self.auto_position = value == "1",
            "ssl" => self.ssl = value == "1",
            "ssl_verify" => self.ssl_verify = value == "1",
            "get_public_key" => self.get_public_key = value == "1",
            "ignore_server_ids" => {
                let ids = value.split(',').filter(|id| !id.is_empty());
                self.ignore_server_ids = ids.map(|id| id.parse().ok()).collect::<Option<Vec<u64>>>()?;
            }
            _ => {}
        }
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_come_back_and_damage_is_noticed() {
        let settings = SourceSettings {
            host: "db\n1".to_owned(),
            port: 3307,
            password: "p\0=".to_owned(),
            auto_position: true,
            ignore_server_ids: vec![3, 7],
            ..SourceSettings::default()
        };
        let bytes = settings.encode();
        assert_eq!(SourceSettings::decode(&bytes), Some(settings));
        assert_eq!(SourceSettings::decode(&bytes[..bytes.len() - 1]), None);
    }
}
