//! Where the store is and who asks: the variables that Amazon's own programs read.
//!
//! | variable | meaning |
//! |---|---|
//! | `AWS_ACCESS_KEY_ID`, `AWS_SECRET_ACCESS_KEY`, `AWS_SESSION_TOKEN` | who asks; the last one for temporary credentials |
//! | `AWS_REGION`, `AWS_DEFAULT_REGION` | the bucket's region; us-east-1 without |
//! | `AWS_ENDPOINT_URL_S3`, `AWS_ENDPOINT_URL` | another store than Amazon's: `http://host:port` or `https://host[:port]` |
//! | `AWS_CA_BUNDLE` | certificates of authorities to believe, instead of the system's |
//!
//! Called by `bucket`.

use std::path::PathBuf;

const REGION: &str = "us-east-1";
/// Where systems keep the authorities they believe.
const BUNDLES: [&str; 4] = [
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/ca-bundle.pem",
    "/etc/ssl/cert.pem",
];

/// See the head of this file.
#[derive(Clone, PartialEq, Eq)]
pub struct Settings {
    pub access_key: String,
    pub secret_key: String,
    pub session_token: Option<String>,
    pub region: String,
    pub endpoint: Option<String>,
    pub authorities: Option<PathBuf>,
}

impl Settings {
    /// Those of the environment.
    pub fn of_environment() -> Result<Settings, String> {
        Settings::of(|name| std::env::var(name).ok().filter(|value| !value.is_empty()))
    }

    /// Those that somebody has.
    pub(crate) fn of(value: impl Fn(&str) -> Option<String>) -> Result<Settings, String> {
        let needed = |name: &str| {
            value(name).ok_or_else(|| {
                format!("{name} is not set: s3:// needs AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY in the environment")
            })
        };
        let first = |names: [&str; 2]| names.into_iter().find_map(&value);
        Ok(Settings {
            access_key: needed("AWS_ACCESS_KEY_ID")?,
            secret_key: needed("AWS_SECRET_ACCESS_KEY")?,
            session_token: value("AWS_SESSION_TOKEN"),
            region: first(["AWS_REGION", "AWS_DEFAULT_REGION"]).unwrap_or_else(|| REGION.to_owned()),
            endpoint: first(["AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL"]),
            authorities: value("AWS_CA_BUNDLE").map(PathBuf::from),
        })
    }

    /// The certificates to believe.
    pub(crate) fn bundle(&self) -> Result<PathBuf, String> {
        if let Some(path) = &self.authorities {
            return Ok(path.clone());
        }
        let found = BUNDLES.iter().map(PathBuf::from).find(|path| path.exists());
        found.ok_or_else(|| {
            "this system has no certificates of authorities: name a file with them in AWS_CA_BUNDLE".into()
        })
    }
}

/// What a request is sent to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Endpoint {
    pub is_encrypted: bool,
    /// As it stands in the head `Host`.
    pub authority: String,
    pub host: String,
    pub port: u16,
    /// In front of the key.
    pub prefix: String,
}

impl Endpoint {
    /// Of a bucket: at Amazon by its name, elsewhere by a path, which every store understands.
    pub fn of(settings: &Settings, bucket: &str) -> Result<Endpoint, String> {
        let Some(url) = &settings.endpoint else {
            // A certificate with a star does not hold for names with dots.
            let (place, prefix) = match bucket.contains('.') {
                true => (format!("s3.{}.amazonaws.com", settings.region), format!("/{bucket}")),
                false => (format!("{bucket}.s3.{}.amazonaws.com", settings.region), String::new()),
            };
            return Ok(Endpoint {
                is_encrypted: true,
                authority: place.clone(),
                host: place,
                port: 443,
                prefix,
            });
        };
        let wrong = || format!("'{url}' is no endpoint such as https://host:port (AWS_ENDPOINT_URL)");
        let (scheme, rest) = url.split_once("://").ok_or_else(wrong)?;
        let is_encrypted = match scheme {
            "https" => true,
            "http" => false,
            _ => return Err(wrong()),
        };
        let (authority, path) =
            rest.split_once('/').map_or((rest, ""), |(authority, path)| (authority, path));
        let default = if is_encrypted { 443 } else { 80 };
        let (host, port) = match authority.rsplit_once(':') {
            Some((host, port)) if !port.ends_with(']') => (host, port.parse().map_err(|_| wrong())?),
            _ => (authority, default),
        };
        if host.is_empty() {
            return Err(wrong());
        }
        let path = path.trim_end_matches('/');
        let prefix = if path.is_empty() { format!("/{bucket}") } else { format!("/{path}/{bucket}") };
        let host = host.trim_matches(['[', ']']).to_owned();
        Ok(Endpoint { is_encrypted, authority: authority.to_owned(), host, port, prefix })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(endpoint: &str) -> Settings {
        let settings = Settings::of(|name| match name {
            "AWS_ACCESS_KEY_ID" | "AWS_SECRET_ACCESS_KEY" => Some("x".into()),
            "AWS_ENDPOINT_URL" if !endpoint.is_empty() => Some(endpoint.into()),
            "AWS_REGION" => Some("eu-central-1".into()),
            _ => None,
        });
        settings.expect("complete")
    }

    #[test]
    fn endpoints_are_of_amazon_or_named() {
        let endpoint = Endpoint::of(&settings(""), "backups").expect("valid");
        assert_eq!((endpoint.host.as_str(), endpoint.port), ("backups.s3.eu-central-1.amazonaws.com", 443));
        assert!(endpoint.is_encrypted && endpoint.prefix.is_empty());
        let endpoint = Endpoint::of(&settings(""), "my.backups").expect("valid");
        assert_eq!(
            (endpoint.host.as_str(), endpoint.prefix.as_str()),
            ("s3.eu-central-1.amazonaws.com", "/my.backups")
        );
        let endpoint = Endpoint::of(&settings("http://127.0.0.1:9000/"), "backups").expect("valid");
        assert_eq!((endpoint.authority.as_str(), endpoint.host.as_str()), ("127.0.0.1:9000", "127.0.0.1"));
        assert_eq!(
            (endpoint.port, endpoint.prefix.as_str(), endpoint.is_encrypted),
            (9000, "/backups", false)
        );
        for wrong in ["127.0.0.1:9000", "ftp://host", "http://host:port", "https://"] {
            assert!(Endpoint::of(&settings(wrong), "backups").is_err(), "{wrong}");
        }
    }

    #[test]
    fn what_is_missing_is_named() {
        let missing = Settings::of(|name| (name == "AWS_ACCESS_KEY_ID").then(|| "x".into()));
        assert!(missing.err().is_some_and(|said| said.starts_with("AWS_SECRET_ACCESS_KEY is not set")));
    }
}
