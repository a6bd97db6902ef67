//! What this program calls itself.

/// The MySQL version whose behaviour is followed, as clients parse it, and the name of this server behind it.
pub(crate) const PROTOCOL_VERSION: &str = concat!("9.7.0-evenkeel-", env!("CARGO_PKG_VERSION"));
pub(crate) const VERSION_COMMENT: &str = concat!("Evenkeel ", env!("CARGO_PKG_VERSION"));

/// For `--version`.
pub fn version_text() -> String {
    let system = match std::env::consts::OS {
        "linux" => "Linux",
        other => other,
    };
    format!("evenkeel  Ver {} for {system} on {}", env!("CARGO_PKG_VERSION"), std::env::consts::ARCH)
}
