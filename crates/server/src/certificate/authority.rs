//! Whose certificates clients may show: the authorities of `ssl_ca` and `ssl_capath`, less what `ssl_crl` and `ssl_crlpath`
//! revoke.
//!
//! Invariant: a client without a certificate is let in here (its account may ask for one later), one with a certificate that does
//! not verify is not. As with OpenSSL's flags in MySQL, a list of revocations once given has to cover the whole chain and be in
//! date. Called by `certificate`.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls::RootCertStore;
use rustls::crypto::CryptoProvider;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, CertificateRevocationListDer};
use rustls::server::WebPkiClientVerifier;
use rustls::server::danger::ClientCertVerifier;

use super::{TlsFiles, unreadable};

/// `None` when no authority is given: then no certificate is asked for.
pub(super) fn verifier(
    files: &TlsFiles,
    provider: &Arc<CryptoProvider>,
) -> Result<Option<Arc<dyn ClientCertVerifier>>, String> {
    let mut authorities = RootCertStore::empty();
    for path in hashed_and(&files.authority, &files.authority_directory, "")? {
        for certificate in pem_of::<CertificateDer<'_>>(&path)? {
            authorities.add(certificate).map_err(|error| unreadable(&path, &error))?;
        }
    }
    let Some(shown) = files.authority.as_ref().or(files.authority_directory.as_ref()) else {
        return Ok(None);
    };
    let mut revoked: Vec<CertificateRevocationListDer<'static>> = Vec::new();
    for path in hashed_and(&files.revocations, &files.revocation_directory, "r")? {
        revoked.extend(pem_of(&path)?);
    }
    let builder = WebPkiClientVerifier::builder_with_provider(Arc::new(authorities), provider.clone())
        .allow_unauthenticated();
    let builder = match revoked.is_empty() {
        true => builder,
        false => builder.with_crls(revoked).enforce_revocation_expiration(),
    };
    builder.build().map(Some).map_err(|error| unreadable(shown, &error))
}

/// The file, and those of the directory that have names as OpenSSL looks for them: the hash of a subject in eight digits, a dot,
/// `kind` and a number.
fn hashed_and(
    file: &Option<PathBuf>,
    directory: &Option<PathBuf>,
    kind: &str,
) -> Result<Vec<PathBuf>, String> {
    let mut paths: Vec<PathBuf> = file.iter().cloned().collect();
    if let Some(directory) = directory {
        let failed = |error: std::io::Error| unreadable(directory, &error);
        for entry in std::fs::read_dir(directory).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            if entry.file_name().to_str().is_some_and(|name| is_hashed(name, kind)) {
                paths.push(entry.path());
            }
        }
    }
    Ok(paths)
}

fn is_hashed(name: &str, kind: &str) -> bool {
    let Some((hash, ending)) = name.split_once('.') else { return false };
    let is_hash = hash.len() == 8 && hash.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_hash && ending.strip_prefix(kind).is_some_and(|number| number.parse::<u32>().is_ok())
}

fn pem_of<T: PemObject>(path: &Path) -> Result<Vec<T>, String> {
    let found = T::pem_file_iter(path).and_then(|items| items.collect::<Result<Vec<_>, _>>());
    match found {
        Ok(items) if items.is_empty() => Err(unreadable(path, &"it has no such part in PEM form")),
        Ok(items) => Ok(items),
        Err(error) => Err(unreadable(path, &error)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directories_are_read_as_openssl_reads_them() {
        assert!(is_hashed("0a1b2c3d.0", "") && is_hashed("0a1b2c3d.r12", "r"));
        for name in ["0a1b2c3d.r0", "ca.pem", "0a1b2c3.0", "0a1b2c3g.0", "0a1b2c3d", "0a1b2c3d."] {
            assert!(!is_hashed(name, ""), "{name}");
        }
        assert!(!is_hashed("0a1b2c3d.0", "r"));
    }
}
