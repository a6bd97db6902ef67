//! The TLS identity of the server, the one it was given or a self-made one kept in the data directory, and whom it believes.
//!
//! Invariant: a self-made key is readable by its owner only and is made once, so that clients that pinned the
//! certificate keep working. Called by `start`, and again by ALTER INSTANCE RELOAD TLS.

mod authority;
mod name;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::TlsAcceptor;
use variables::GlobalVariables;

pub(crate) use name::names_of;

use crate::data_directory::write_private;

const CERTIFICATE_FILE: &str = "server-cert.pem";
const KEY_FILE: &str = "server-key.pem";
const COMMON_NAME: &str = "Evenkeel auto-generated server certificate";
/// Clients on this machine can verify these names; others need a certificate of their own making.
const NAMES: [&str; 3] = ["localhost", "127.0.0.1", "::1"];

/// The files that the variables name; paths begin in the data directory, as in MySQL.
pub(crate) struct TlsFiles {
    certificate: PathBuf,
    key: PathBuf,
    authority: Option<PathBuf>,
    authority_directory: Option<PathBuf>,
    revocations: Option<PathBuf>,
    revocation_directory: Option<PathBuf>,
}

impl TlsFiles {
    /// Makes an identity when none is named and none has been made.
    pub(crate) fn of(globals: &GlobalVariables, datadir: &Path) -> Result<Self, String> {
        let path = |name| match globals.by_name(name).as_text() {
            "" => None,
            path => Some(datadir.join(path)),
        };
        let (certificate, key) = identity_files(datadir, path("ssl_cert"), path("ssl_key"))?;
        Ok(TlsFiles {
            certificate,
            key,
            authority: path("ssl_ca"),
            authority_directory: path("ssl_capath"),
            revocations: path("ssl_crl"),
            revocation_directory: path("ssl_crlpath"),
        })
    }

    pub(crate) fn acceptor(&self) -> Result<TlsAcceptor, String> {
        let chain = self.chain()?;
        let private =
            PrivateKeyDer::from_pem_file(&self.key).map_err(|error| unreadable(&self.key, &error))?;
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let verifier = authority::verifier(self, &provider)?;
        let config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .and_then(|builder| match verifier {
                Some(verifier) => {
                    builder.with_client_cert_verifier(verifier).with_single_cert(chain, private)
                }
                None => builder.with_no_client_auth().with_single_cert(chain, private),
            })
            .map_err(|error| unreadable(&self.certificate, &error))?;
        Ok(TlsAcceptor::from(Arc::new(config)))
    }

    fn chain(&self) -> Result<Vec<CertificateDer<'static>>, String> {
        CertificateDer::pem_file_iter(&self.certificate)
            .and_then(|certificates| certificates.collect())
            .map_err(|error| unreadable(&self.certificate, &error))
    }

    /// What SHOW STATUS says of it.
    pub(crate) fn status(&self) -> Vec<(&'static str, String)> {
        let text =
            |path: &Option<PathBuf>| path.as_ref().map(|path| path.display().to_string()).unwrap_or_default();
        let first = self.chain().ok().and_then(|chain| name::validity_of(chain.first()?));
        let (not_before, not_after) = first.unwrap_or_default();
        let asks = self.authority.is_some() || self.authority_directory.is_some();
        vec![
            ("Current_tls_ca", text(&self.authority)),
            ("Current_tls_capath", text(&self.authority_directory)),
            ("Current_tls_cert", self.certificate.display().to_string()),
            ("Current_tls_cipher", String::new()),
            ("Current_tls_ciphersuites", String::new()),
            ("Current_tls_crl", text(&self.revocations)),
            ("Current_tls_crlpath", text(&self.revocation_directory)),
            ("Current_tls_key", self.key.display().to_string()),
            ("Current_tls_version", "TLSv1.2,TLSv1.3".to_owned()),
            // OpenSSL's VERIFY_PEER and VERIFY_CLIENT_ONCE.
            ("Ssl_ctx_verify_mode", if asks { "5" } else { "0" }.to_owned()),
            ("Ssl_server_not_after", not_after),
            ("Ssl_server_not_before", not_before),
        ]
    }
}

fn unreadable(path: &Path, error: &dyn std::fmt::Display) -> String {
    format!("cannot use {} for TLS: {error}", path.display())
}

/// Where the identity lies: both files of the user, or both of ours.
fn identity_files(
    datadir: &Path,
    certificate: Option<PathBuf>,
    key: Option<PathBuf>,
) -> Result<(PathBuf, PathBuf), String> {
    match (certificate, key) {
        (Some(certificate), Some(key)) => Ok((certificate, key)),
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
        let globals = GlobalVariables::with_defaults();
        let files = TlsFiles::of(&globals, &directory).expect("made");
        let first = std::fs::read(&files.certificate).expect("there");
        TlsFiles::of(&globals, &directory).expect("found");
        assert_eq!(std::fs::read(&files.certificate).expect("there"), first);
        files.acceptor().expect("usable");
        let exchanged = TlsFiles { certificate: files.key.clone(), key: files.certificate.clone(), ..files };
        assert!(exchanged.acceptor().is_err());
        assert!(identity_files(&directory, Some(exchanged.key), None).is_err());
        std::fs::remove_dir_all(directory).expect("removable");
    }
}
