//! The TLS identity of the server: the one it was given, or a self-made one kept in the data directory.
//!
//! Invariant: a self-made key is readable by its owner only and is made once, so that clients that pinned the
//! certificate keep working. Called by `start`.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::TlsAcceptor;

use crate::data_directory::write_private;

const CERTIFICATE_FILE: &str = "server-cert.pem";
const KEY_FILE: &str = "server-key.pem";
const COMMON_NAME: &str = "Evenkeel auto-generated server certificate";
/// Clients on this machine can verify these names; others need a certificate of their own making.
const NAMES: [&str; 3] = ["localhost", "127.0.0.1", "::1"];

/// Where the identity lies: both files of the user, or both of ours.
pub(crate) fn identity_files(
    datadir: &Path,
    certificate: Option<&PathBuf>,
    key: Option<&PathBuf>,
) -> Result<(PathBuf, PathBuf), String> {
    match (certificate, key) {
        (Some(certificate), Some(key)) => Ok((certificate.clone(), key.clone())),
        (None, None) => {
            let files = (datadir.join(CERTIFICATE_FILE), datadir.join(KEY_FILE));
            match (files.0.exists(), files.1.exists()) {
                (true, true) => {}
                (true, false) => {
                    return Err(format!(
                        "{} is there without its key {}: put the key back, or remove the certificate, and a new pair is made (clients that \
                         have pinned the old certificate need the new one then)",
                        files.0.display(),
                        files.1.display()
                    ));
                }
                // A key alone is left from an interrupted start.
                _ => make(&files.0, &files.1)?,
            }
            Ok(files)
        }
        _ => Err("ssl-cert and ssl-key must be given together".to_owned()),
    }
}

pub(crate) fn acceptor(certificate: &Path, key: &Path) -> Result<TlsAcceptor, String> {
    let unreadable = |path: &Path, error: &dyn std::fmt::Display| {
        format!("cannot use {} for TLS: {error}", path.display())
    };
    let chain: Result<Vec<_>, _> = CertificateDer::pem_file_iter(certificate)
        .map_err(|error| unreadable(certificate, &error))?
        .collect();
    let chain = chain.map_err(|error| unreadable(certificate, &error))?;
    let private = PrivateKeyDer::from_pem_file(key).map_err(|error| unreadable(key, &error))?;
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .and_then(|builder| builder.with_no_client_auth().with_single_cert(chain, private))
        .map_err(|error| unreadable(certificate, &error))?;
    Ok(TlsAcceptor::from(Arc::new(config)))
}

fn make(certificate: &Path, key: &Path) -> Result<(), String> {
    let failed = |error: rcgen::Error| format!("cannot make a TLS certificate: {error}");
    let pair = rcgen::KeyPair::generate().map_err(failed)?;
    let mut parameters = rcgen::CertificateParams::new(NAMES.map(str::to_owned)).map_err(failed)?;
    parameters.distinguished_name = rcgen::DistinguishedName::new();
    parameters.distinguished_name.push(rcgen::DnType::CommonName, COMMON_NAME);
    let signed = parameters.self_signed(&pair).map_err(failed)?;
    // The key may be left from an interrupted start.
    for path in [certificate, key] {
        if path.exists() {
            std::fs::remove_file(path)
                .map_err(|error| format!("cannot replace {}: {error}", path.display()))?;
        }
    }
    write_private(key, pair.serialize_pem().as_bytes())?;
    write_private(certificate, signed.pem().as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_identity_is_made_once() {
        let directory = std::env::temp_dir().join(format!("evenkeel-certificate-{}", std::process::id()));
        std::fs::create_dir_all(&directory).expect("writable");
        let (certificate, key) = identity_files(&directory, None, None).expect("made");
        let first = std::fs::read(&certificate).expect("there");
        identity_files(&directory, None, None).expect("found");
        assert_eq!(std::fs::read(&certificate).expect("there"), first);
        acceptor(&certificate, &key).expect("usable");
        assert!(acceptor(&key, &certificate).is_err());
        assert!(identity_files(&directory, Some(&certificate), None).is_err());
        std::fs::remove_dir_all(directory).expect("removable");
    }
}
