//! The host part of an account name and whether a client's origin fits it.
//!
//! Invariant: the more a pattern pins down, the smaller its `rank`, so sorting by rank finds the most specific
//! account first. Called by `store`.

use std::net::IpAddr;

/// Where a client comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClientHost {
    /// The socket file.
    Local,
    Address(IpAddr),
}

impl ClientHost {
    /// What error messages and SHOW PROCESSLIST call it.
    pub fn display_name(self) -> String {
        if self.is_local() {
            return "localhost".to_owned();
        }
        match self {
            Self::Local => "localhost".to_owned(),
            Self::Address(address) => canonical(address).to_string(),
        }
    }

    /// Loopback addresses resolve to `localhost` everywhere, so no lookup is needed to know that name.
    fn is_local(self) -> bool {
        match self {
            Self::Local => true,
            Self::Address(address) => canonical(address).is_loopback(),
        }
    }
}

/// An IPv4 client of a dual-stack socket arrives as a mapped IPv6 address.
fn canonical(address: IpAddr) -> IpAddr {
    address.to_canonical()
}

/// `localhost`, an address, `address/netmask`, or text with the wildcards `%` and `_`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct HostPattern(String);

impl HostPattern {
    /// Host names are case-insensitive; an empty one means any host.
    pub fn new(text: &str) -> Self {
        Self(if text.is_empty() { "%".to_owned() } else { text.to_ascii_lowercase() })
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    pub fn matches(&self, host: ClientHost) -> bool {
        if host.is_local() && wildcard_match(self.0.as_bytes(), b"localhost") {
            return true;
        }
        let ClientHost::Address(address) = host else { return false };
        let address = canonical(address);
        if let Some((network, mask)) = self.netmask() {
            let IpAddr::V4(address) = address else { return false };
            return address.to_bits() & mask == network;
        }
        wildcard_match(self.0.as_bytes(), address.to_string().as_bytes())
    }

    /// Literal hosts come first, then networks, then patterns by how late their first wildcard is; `%` is last.
    pub fn rank(&self) -> (u8, usize) {
        if self.netmask().is_some() {
            return (1, 0);
        }
        match self.0.find(['%', '_']) {
            None => (0, 0),
            Some(position) => (2, usize::MAX - position),
        }
    }

    fn netmask(&self) -> Option<(u32, u32)> {
        let (network, mask) = self.0.split_once('/')?;
        let network: std::net::Ipv4Addr = network.parse().ok()?;
        let mask: std::net::Ipv4Addr = mask.parse().ok()?;
        Some((network.to_bits(), mask.to_bits()))
    }
}

/// LIKE without an escape character; linear because it only ever returns to the last `%`.
pub(crate) fn wildcard_match(pattern: &[u8], text: &[u8]) -> bool {
    let (mut at, mut position) = (0, 0);
    let mut retry: Option<(usize, usize)> = None;
    while position < text.len() {
        match pattern.get(at) {
            Some(b'%') => {
                retry = Some((at + 1, position));
                at += 1;
            }
            Some(&byte) if byte == b'_' || byte == text[position] => {
                at += 1;
                position += 1;
            }
            _ => match retry {
                Some((after, start)) => {
                    retry = Some((after, start + 1));
                    at = after;
                    position = start + 1;
                }
                None => return false,
            },
        }
    }
    pattern[at..].iter().all(|&byte| byte == b'%')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(pattern: &str, host: &str, expected: bool) {
        let client = match host {
            "socket" => ClientHost::Local,
            address => ClientHost::Address(address.parse().expect("an address")),
        };
        assert_eq!(HostPattern::new(pattern).matches(client), expected, "{pattern} for {host}");
    }

    #[test]
    fn hosts_match() {
        check("localhost", "socket", true);
        check("LOCALHOST", "127.0.0.1", true);
        check("localhost", "::1", true);
        check("localhost", "10.0.0.1", false);
        check("127.0.0.1", "127.0.0.1", true);
        check("127.0.0.1", "socket", false);
        check("127.0.0.1", "::ffff:127.0.0.1", true);
        check("%", "socket", true);
        check("", "10.0.0.1", true);
        check("10.%", "10.0.0.1", true);
        check("10.0.0._", "10.0.0.1", true);
        check("10.0.0._", "10.0.0.12", false);
        check("192.168.1.0/255.255.255.0", "192.168.1.77", true);
        check("192.168.1.0/255.255.255.0", "192.168.2.77", false);
    }

    #[test]
    fn specific_hosts_rank_first() {
        let mut patterns: Vec<_> =
            ["%", "10.%", "localhost", "10.0.%", "10.0.0.0/255.0.0.0"].map(HostPattern::new).into();
        patterns.sort_by_key(HostPattern::rank);
        let order: Vec<_> = patterns.iter().map(HostPattern::as_str).collect();
        assert_eq!(order, ["localhost", "10.0.0.0/255.0.0.0", "10.0.%", "10.%", "%"]);
    }

    #[test]
    fn wildcards_match() {
        assert!(wildcard_match(b"%a%b", b"xaxxb"));
        assert!(!wildcard_match(b"%a%b", b"xaxxbc"));
        assert!(wildcard_match(b"%", b""));
        assert!(!wildcard_match(b"_", b""));
        assert!(wildcard_match(&[b'%'; 200], &[b'a'; 2000]));
    }
}
