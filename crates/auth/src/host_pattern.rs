//! The host part of an account name and whether a client's origin fits it.
//!
//! Invariant: the more a pattern pins down, the smaller its `rank`, so sorting by rank finds the most specific
//! account first. Called by `store`.

use std::net::{IpAddr, Ipv4Addr};

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

/// `localhost`, an address, `address/mask` with a mask or a number of bits, or text with the wildcards `%` and `_`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct HostPattern(String);

impl HostPattern {
    /// Host names are case-insensitive; an empty one means any host.
    pub fn new(text: &str) -> Self {
        Self(if text.is_empty() { "%".to_owned() } else { text.to_ascii_lowercase() })
    }

    /// The empty text, which matches no host.
    pub(crate) fn nowhere() -> Self {
        Self(String::new())
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
        if let Some(network) = self.network() {
            let IpAddr::V4(address) = address else { return false };
            return address.to_bits() & network.mask == network.address;
        }
        wildcard_match(self.0.as_bytes(), address.to_string().as_bytes())
    }

    /// Addresses come first, then networks by how small they are, then everything else by how late its first wildcard
    /// is; names without one before those, the empty one last.
    pub fn rank(&self) -> (u8, u32, u8) {
        if self.0.parse::<Ipv4Addr>().is_ok() {
            return (0, 0, 0);
        }
        match self.network() {
            Some(network) if network.is_prefix => (1, !network.mask, 0),
            Some(network) => (2, !network.mask, 0),
            None => (3, 0, 255 - specificity(&self.0)),
        }
    }

    /// `address/255.255.0.0` or `address/16`.
    fn network(&self) -> Option<Network> {
        let (address, mask) = self.0.split_once('/')?;
        let address = address.parse::<Ipv4Addr>().ok()?.to_bits();
        if let Ok(bits) = mask.parse::<u32>() {
            let mask = match bits {
                0 => 0,
                1..=32 => u32::MAX << (32 - bits),
                _ => return None,
            };
            return Some(Network { address, mask, is_prefix: true });
        }
        let mask = mask.parse::<Ipv4Addr>().ok()?.to_bits();
        Some(Network { address, mask, is_prefix: false })
    }
}

#[derive(Clone, Copy, Debug)]
struct Network {
    address: u32,
    mask: u32,
    is_prefix: bool,
}

/// How much of a name or pattern is fixed: 128 without a wildcard, else the place of the first, 0 for an empty text.
pub(crate) fn specificity(pattern: &str) -> u8 {
    let bytes = pattern.as_bytes();
    let mut position = 0;
    while position < bytes.len() {
        match bytes[position] {
            b'\\' if position + 1 < bytes.len() => position += 1,
            b'%' | b'_' => return u8::try_from(position + 1).unwrap_or(127).min(127),
            _ => {}
        }
        position += 1;
    }
    if bytes.is_empty() { 0 } else { 128 }
}

/// LIKE with `\` before a character that stands for itself; linear because it only ever returns to the last `%`.
pub(crate) fn wildcard_match(pattern: &[u8], text: &[u8]) -> bool {
    let (mut at, mut position) = (0, 0);
    let mut retry: Option<(usize, usize)> = None;
    while position < text.len() {
        let escaped = pattern.get(at) == Some(&b'\\') && at + 1 < pattern.len();
        match pattern.get(at + usize::from(escaped)) {
            Some(b'%') if !escaped => {
                retry = Some((at + 1, position));
                at += 1;
            }
            Some(&byte) if (byte == b'_' && !escaped) || byte == text[position] => {
                at += 1 + usize::from(escaped);
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

/// Whether everything that `asked` can mean fits `granted` as well: its wildcards only fit wildcards.
pub(crate) fn pattern_covers(granted: &[u8], asked: &[u8]) -> bool {
    let (granted, asked) = (tokens(granted), tokens(asked));
    // Which places of `granted` can be reached after each token of `asked`; without recursion, so always short.
    let mut reached = vec![false; granted.len() + 1];
    reached[0] = true;
    spread(&granted, &mut reached);
    for token in &asked {
        let mut next = vec![false; granted.len() + 1];
        for (place, _) in reached.iter().enumerate().filter(|(_, is_reached)| **is_reached) {
            match (granted.get(place), token) {
                (Some(Token::Many), _) => next[place] = true,
                (Some(Token::One), Token::One | Token::Byte(_)) => next[place + 1] = true,
                (Some(Token::Byte(left)), Token::Byte(right)) if left == right => next[place + 1] = true,
                _ => {}
            }
        }
        spread(&granted, &mut next);
        reached = next;
    }
    reached[granted.len()]
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Token {
    Byte(u8),
    One,
    Many,
}

fn tokens(pattern: &[u8]) -> Vec<Token> {
    let mut tokens = Vec::with_capacity(pattern.len());
    let mut bytes = pattern.iter().copied().peekable();
    while let Some(byte) = bytes.next() {
        tokens.push(match (byte, bytes.peek()) {
            (b'\\', Some(_)) => Token::Byte(bytes.next().unwrap_or(byte)),
            (b'%', _) => Token::Many,
            (b'_', _) => Token::One,
            _ => Token::Byte(byte),
        });
    }
    tokens
}

/// `%` may stand for nothing.
fn spread(granted: &[Token], reached: &mut [bool]) {
    for (place, token) in granted.iter().enumerate() {
        if reached[place] && *token == Token::Many {
            reached[place + 1] = true;
        }
    }
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
        check("127.0.0.0/8", "127.0.0.1", true);
        check("127.0.0.0/8", "128.0.0.1", false);
        check("127.0.0.0/33", "127.0.0.1", false);
        check("127.0.0.1/8", "127.0.0.1", false);
        check("0.0.0.0/0", "10.0.0.1", true);
    }

    #[test]
    fn specific_hosts_rank_first() {
        let mut patterns: Vec<_> = [
            "%",
            "10.%",
            "localhost",
            "10.0.%",
            "10.0.0.0/255.0.0.0",
            "10.0.0.0/24",
            "10.0.0.0/16",
            "10.0.0.1",
        ]
        .map(HostPattern::new)
        .into();
        patterns.sort_by_key(HostPattern::rank);
        let order: Vec<_> = patterns.iter().map(HostPattern::as_str).collect();
        assert_eq!(
            order,
            [
                "10.0.0.1",
                "10.0.0.0/24",
                "10.0.0.0/16",
                "10.0.0.0/255.0.0.0",
                "localhost",
                "10.0.%",
                "10.%",
                "%"
            ]
        );
    }

    #[test]
    fn a_pattern_covers_no_more_than_it_says() {
        for (granted, asked, expected) in [
            ("d_", "d1", true),
            ("d_", "d_", true),
            ("d_", "d%", false),
            ("d%", "d_", true),
            ("d%", "d%x", true),
            ("d%", "%", false),
            ("d1", "d_", false),
            (r"d\_", r"d\_", true),
            (r"d\_", "d_", false),
            ("d_", r"d\_", true),
            ("%", "", true),
        ] {
            assert_eq!(pattern_covers(granted.as_bytes(), asked.as_bytes()), expected, "{granted} {asked}");
        }
    }

    #[test]
    fn wildcards_match() {
        assert!(wildcard_match(b"%a%b", b"xaxxb"));
        assert!(!wildcard_match(b"%a%b", b"xaxxbc"));
        assert!(wildcard_match(b"%", b""));
        assert!(!wildcard_match(b"_", b""));
        assert!(wildcard_match(br"a\_b", b"a_b") && !wildcard_match(br"a\_b", b"axb"));
        assert!(wildcard_match(br"%\%", b"x%") && !wildcard_match(br"%\%", b"xy"));
        assert!(wildcard_match(br"a\", br"a\"));
        assert!(wildcard_match(&[b'%'; 200], &[b'a'; 2000]));
    }
}
