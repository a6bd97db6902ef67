//! Certificates of clients: which accounts they open, and which the server turns away.

mod support;

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use mysql::prelude::Queryable;
use mysql::{ClientIdentity, Conn, Error, OptsBuilder, SslOpts};
use rcgen::{
    BasicConstraints, CertificateParams, CertificateRevocationListParams, DistinguishedName, DnType, IsCa,
    Issuer, KeyIdMethod, KeyPair, KeyUsagePurpose, RevokedCertParams, SerialNumber,
};
use support::{TestDirectory, TestServer};

/// An authority that signs certificates into a directory.
struct Authority {
    issuer: Issuer<'static, KeyPair>,
    file: PathBuf,
}

/// Files of a certificate and its key.
struct Identity {
    certificate: PathBuf,
    key: PathBuf,
}

fn named(common_name: &str) -> CertificateParams {
    let mut parameters = CertificateParams::new(Vec::new()).expect("no names");
    let mut name = DistinguishedName::new();
    name.push(DnType::CountryName, "SE");
    name.push(DnType::OrganizationName, "Sails");
    name.push(DnType::CommonName, common_name);
    parameters.distinguished_name = name;
    parameters
}

impl Authority {
    fn new(directory: &Path, name: &str) -> Self {
        let key = KeyPair::generate().expect("a key");
        let mut parameters = named(name);
        parameters.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        parameters.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        let certificate = parameters.self_signed(&key).expect("signed");
        let file = directory.join(format!("{name}.pem"));
        std::fs::write(&file, certificate.pem()).expect("written");
        Self { issuer: Issuer::new(parameters, key), file }
    }

    fn sign(&self, name: &str, serial: u64) -> Identity {
        let key = KeyPair::generate().expect("a key");
        let mut parameters = named(name);
        parameters.serial_number = Some(SerialNumber::from(serial));
        let certificate = parameters.signed_by(&key, &self.issuer).expect("signed");
        let file = |ending: &str| self.file.with_file_name(format!("{name}-{ending}.pem"));
        let identity = Identity { certificate: file("cert"), key: file("key") };
        std::fs::write(&identity.certificate, certificate.pem()).expect("written");
        std::fs::write(&identity.key, key.serialize_pem()).expect("written");
        identity
    }

    fn revoke(&self, serial: u64) -> PathBuf {
        let list = CertificateRevocationListParams {
            this_update: rcgen::date_time_ymd(2025, 1, 1),
            next_update: rcgen::date_time_ymd(2095, 1, 1),
            crl_number: SerialNumber::from(1),
            issuing_distribution_point: None,
            revoked_certs: vec![RevokedCertParams {
                serial_number: SerialNumber::from(serial),
                revocation_time: rcgen::date_time_ymd(2025, 1, 1),
                reason_code: None,
                invalidity_date: None,
            }],
            key_identifier_method: KeyIdMethod::Sha256,
        };
        let file = self.file.with_file_name("revoked.pem");
        let text = list.signed_by(&self.issuer).and_then(|list| list.pem()).expect("signed");
        std::fs::write(&file, text).expect("written");
        file
    }
}

/// Logs in with TLS, and a certificate when one is given.
fn log_in(server: &TestServer, user: &str, identity: Option<&Identity>) -> Result<Conn, Error> {
    let identity = identity.map(|identity| {
        ClientIdentity::new(Cow::Owned(identity.certificate.clone()), Cow::Owned(identity.key.clone()))
    });
    let tls = SslOpts::default().with_danger_accept_invalid_certs(true).with_client_identity(identity);
    let options = OptsBuilder::new()
        .ip_or_hostname(Some("127.0.0.1"))
        .tcp_port(server.port)
        .prefer_socket(false)
        .user(Some(user))
        .pass((user != "root").then_some("secret"))
        .ssl_opts(tls);
    Conn::new(options)
}

fn is_refused(result: Result<Conn, Error>) -> bool {
    match result {
        Ok(_) => false,
        Err(Error::MySqlError(error)) => {
            assert_eq!((error.code, error.state.as_str()), (1045, "28000"));
            true
        }
        Err(error) => panic!("neither a session nor error 1045: {error}"),
    }
}

#[test]
fn certificates_open_the_accounts_that_ask_for_them() {
    let files = TestDirectory::new();
    let ours = Authority::new(files.path(), "ours");
    let theirs = Authority::new(files.path(), "theirs");
    let (anna, bert) = (ours.sign("anna", 7), ours.sign("bert", 8));
    let stranger = theirs.sign("stranger", 7);
    let server = TestServer::start(&[&format!("--ssl-ca={}", ours.file.display())]);
    let mut root = log_in(&server, "root", None).expect("a client without a certificate is let in");
    for (user, demand) in [
        ("plain", "SSL"),
        ("any", "X509"),
        ("issued", "ISSUER '/C=SE/O=Sails/CN=ours'"),
        ("exact", "SUBJECT '/C=SE/O=Sails/CN=anna' AND ISSUER '/C=SE/O=Sails/CN=ours'"),
        ("cipher", "CIPHER 'TLS_AES_256_GCM_SHA384'"),
        ("weak", "CIPHER 'ECDHE-RSA-AES128-GCM-SHA256'"),
        ("other", "ISSUER '/C=SE/O=Sails/CN=theirs'"),
    ] {
        root.query_drop(format!("CREATE USER {user}@'%' IDENTIFIED BY 'secret' REQUIRE {demand}"))
            .expect("created");
    }
    // By account: without a certificate, with anna's, with bert's.
    for (user, opens) in [
        ("plain", [true, true, true]),
        ("any", [false, true, true]),
        ("issued", [false, true, true]),
        ("exact", [false, true, false]),
        ("cipher", [true, true, true]),
        ("weak", [false, false, false]),
        ("other", [false, false, false]),
    ] {
        for (identity, opens) in [None, Some(&anna), Some(&bert)].into_iter().zip(opens) {
            assert_eq!(!is_refused(log_in(&server, user, identity)), opens, "{user}");
        }
    }
    // What does not verify is turned away by TLS, whatever the account asks for.
    for user in ["root", "plain", "any"] {
        let refused = log_in(&server, user, Some(&stranger)).expect_err("of an authority that nobody named");
        assert!(!matches!(refused, Error::MySqlError(_)), "{refused}");
    }
    status_tells_the_files(&mut root, &ours.file);
    revoked_certificates_are_turned_away(&server, &mut root, &ours.revoke(7), (&anna, &bert));
}

fn status_tells_the_files(root: &mut Conn, authority: &Path) {
    let mut status = |name: &str| -> String {
        let row: Option<(String, String)> =
            root.query_first(format!("SHOW GLOBAL STATUS LIKE '{name}'")).expect("answered");
        row.expect("the name is known").1
    };
    assert_eq!(status("Current_tls_ca"), authority.display().to_string());
    assert_eq!(status("Ssl_ctx_verify_mode"), "5");
    assert!(status("Ssl_server_not_after").ends_with(" GMT"));
}

/// The list counts from ALTER INSTANCE RELOAD TLS on; one that cannot be read changes nothing.
fn revoked_certificates_are_turned_away(
    server: &TestServer,
    root: &mut Conn,
    list: &Path,
    (revoked, good): (&Identity, &Identity),
) {
    root.query_drop("SET GLOBAL ssl_crl = 'nowhere.pem'").expect("set");
    let error = root.query_drop("ALTER INSTANCE RELOAD TLS").expect_err("there is no such file").to_string();
    assert!(error.contains("nowhere.pem"), "{error}");
    log_in(server, "any", Some(revoked)).expect("as before");
    root.query_drop(format!("SET GLOBAL ssl_crl = '{}'", list.display())).expect("set");
    log_in(server, "any", Some(revoked)).expect("not read yet");
    root.query_drop("ALTER INSTANCE RELOAD TLS").expect("read");
    log_in(server, "any", Some(good)).expect("not on the list");
    assert!(!matches!(log_in(server, "any", Some(revoked)), Ok(_) | Err(Error::MySqlError(_))));
}

#[test]
fn without_an_authority_no_certificate_is_asked_for() {
    let files = TestDirectory::new();
    let anna = Authority::new(files.path(), "ours").sign("anna", 7);
    let server = TestServer::start(&[]);
    let mut root = log_in(&server, "root", Some(&anna)).expect("what it could show is not looked at");
    root.query_drop("CREATE USER any@'%' IDENTIFIED BY 'secret' REQUIRE X509").expect("created");
    assert!(is_refused(log_in(&server, "any", Some(&anna))));
}
