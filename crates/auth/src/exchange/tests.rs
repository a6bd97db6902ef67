//! Every way through the dialogue, and that strangers see the same one.

use super::*;
use crate::key_pair;
use crate::policy::{CertificateNames, TlsRequirement};
use crate::proof::client;

const SALT: [u8; 20] = *b"abcdefghijklmnopqrst";
const SECOND_SALT: [u8; 20] = *b"ABCDEFGHIJKLMNOPQRST";

fn start<'a>(user: &'a str, plugin: &'a str, proof: &'a [u8]) -> ExchangeStart<'a> {
    ExchangeStart {
        user,
        host: ClientHost::Local,
        plugin: plugin.as_bytes(),
        proof,
        salt: SALT,
        second_salt: SECOND_SALT,
        is_secure: false,
        tls: None,
        can_switch: true,
        must_switch: false,
        now_us: 0,
    }
}

fn accounts() -> AccountStore {
    let store = AccountStore::with_root("");
    for (user, plugin, password) in [
        ("sha", Plugin::CachingSha2, "secret"),
        ("old", Plugin::Native, "secret"),
        ("bare", Plugin::Native, ""),
    ] {
        let credential = Credential::from_password(plugin, password);
        store.create(Account::new(AccountName::new(user, "%"), credential)).expect("new");
    }
    store
}

fn no_key<'k>() -> Option<&'k KeyPair> {
    panic!("no key is needed here")
}

fn is_accepted(step: &Step) -> bool {
    matches!(step, Step::Accepted { .. })
}

fn is_refused(step: &Step, with_password: bool) -> bool {
    matches!(step, Step::Denied(Denial::Refused { used_password }) if *used_password == with_password)
}

#[test]
fn without_a_password_no_plugin_matters() {
    let store = accounts();
    for plugin in ["caching_sha2_password", ""] {
        assert!(is_accepted(&Exchange::start(&store, &start("root", plugin, b"")).1));
        assert!(is_accepted(&Exchange::start(&store, &start("bare", plugin, &[0])).1));
    }
    let (mut exchange, step) = Exchange::start(&store, &start("root", "unheard_of", b""));
    assert!(matches!(step, Step::Switch(Plugin::CachingSha2)));
    assert!(is_accepted(&exchange.respond(b"", no_key)));
    let proof = client::sha2(b"guess", &SALT);
    assert!(is_refused(&Exchange::start(&store, &start("root", "caching_sha2_password", &proof)).1, true));
    assert!(is_refused(&Exchange::start(&store, &start("sha", "caching_sha2_password", b"")).1, false));
}

#[test]
fn a_client_that_does_not_know_the_greetings_plugin_waits_for_a_switch() {
    let store = accounts();
    for (user, proof) in
        [("root", vec![]), ("bare", vec![]), ("old", client::native(b"secret", &SECOND_SALT))]
    {
        let introduction = start(user, "mysql_native_password", b"");
        let (mut exchange, step) = Exchange::start(&store, &introduction);
        assert!(matches!(step, Step::Switch(Plugin::Native)), "{user}");
        assert!(is_accepted(&exchange.respond(&proof, no_key)), "{user}");
    }
    let (mut exchange, _) = Exchange::start(&store, &start("old", "mysql_native_password", b""));
    assert!(is_refused(&exchange.respond(b"", no_key), false));
    let change = ExchangeStart { must_switch: true, ..start("bare", "mysql_native_password", b"") };
    assert!(is_accepted(&Exchange::start(&store, &change).1));
}

#[test]
fn native_proofs_are_checked_with_and_without_a_switch() {
    let store = accounts();
    let proof = client::native(b"secret", &SALT);
    assert!(is_accepted(&Exchange::start(&store, &start("old", "mysql_native_password", &proof)).1));
    assert!(is_accepted(&Exchange::start(&store, &start("old", "", &proof)).1));

    let wrong = client::sha2(b"secret", &SALT);
    let (mut exchange, step) = Exchange::start(&store, &start("old", "caching_sha2_password", &wrong));
    assert!(matches!(step, Step::Switch(Plugin::Native)));
    assert!(is_accepted(&exchange.respond(&client::native(b"secret", &SECOND_SALT), no_key)));

    let (mut exchange, _) = Exchange::start(&store, &start("old", "caching_sha2_password", &wrong));
    assert!(is_refused(&exchange.respond(&proof, no_key), true), "the first salt is used up");
    assert!(is_refused(&exchange.respond(&proof, no_key), true), "an ended exchange stays ended");
}

#[test]
fn the_full_path_in_the_clear_makes_the_fast_path_work() {
    let store = accounts();
    let proof = client::sha2(b"secret", &SALT);
    let introduction = ExchangeStart { is_secure: true, ..start("sha", "caching_sha2_password", &proof) };
    for (password, fits) in [(&b"wrong\0"[..], false), (b"secret", false), (b"secret\0", true)] {
        let (mut exchange, step) = Exchange::start(&store, &introduction);
        assert!(matches!(step, Step::Message(message) if message == WANT_FULL));
        assert_eq!(is_accepted(&exchange.respond(password, no_key)), fits);
    }
    let (_, step) = Exchange::start(&store, &introduction);
    assert!(matches!(step, Step::Accepted { last_message: FAST_SUCCESS, .. }));

    let name = AccountName::new("sha", "%");
    let change = |account: &mut Account| {
        account.set_credentials(Credential::from_password(Plugin::CachingSha2, "new"), None);
    };
    store.change(&name, change).expect("known");
    let (_, step) = Exchange::start(&store, &introduction);
    assert!(matches!(step, Step::Message(message) if message == WANT_FULL), "a new password forgets the old");
}

#[test]
fn the_full_path_by_public_key() {
    let store = accounts();
    let pair = KeyPair::generate().expect("a key");
    let proof = client::sha2(b"secret", &SALT);
    for (password, fits) in [(&b"wrong"[..], false), (b"secret", true)] {
        let (mut exchange, _) = Exchange::start(&store, &start("sha", "caching_sha2_password", &proof));
        let Step::Message(pem) = exchange.respond(PUBLIC_KEY_REQUEST, || Some(&pair)) else {
            panic!("the key is public")
        };
        let pem = String::from_utf8(pem).expect("text");
        let message = key_pair::client::encrypt(&pem, password, &SALT);
        assert_eq!(is_accepted(&exchange.respond(&message, || Some(&pair))), fits);
    }
    // In the clear without TLS: not even the right password is accepted.
    let (mut exchange, _) = Exchange::start(&store, &start("sha", "mysql_native_password", &proof));
    assert!(matches!(
        exchange.respond(&client::sha2(b"secret", &SECOND_SALT), no_key),
        Step::Accepted { .. }
    ));
    let name = AccountName::new("sha", "%");
    let again = Credential::from_password(Plugin::CachingSha2, "secret");
    store.change(&name, |account| account.set_credentials(again, None)).expect("known");
    let (mut exchange, _) = Exchange::start(&store, &start("sha", "caching_sha2_password", &proof));
    assert!(is_refused(&exchange.respond(b"secret\0", || Some(&pair)), true));
}

#[test]
fn strangers_take_the_same_steps() {
    let store = AccountStore::with_root("");
    let proof = client::sha2(b"secret", &SALT);
    let introduction = ExchangeStart { is_secure: true, ..start("nobody", "caching_sha2_password", &proof) };
    let (mut exchange, step) = Exchange::start(&store, &introduction);
    assert!(matches!(step, Step::Message(message) if message == WANT_FULL));
    assert_eq!(exchange.account_name(), None);
    assert!(is_refused(&exchange.respond(b"secret\0", no_key), true));
    let (_, step) = Exchange::start(&store, &start("nobody", "caching_sha2_password", b""));
    assert!(is_refused(&step, false));
    let (_, step) = Exchange::start(&store, &start("nobody", "mysql_native_password", &proof));
    assert!(matches!(step, Step::Switch(Plugin::CachingSha2)));
}

#[test]
fn where_some_accounts_are_native_some_strangers_are_too() {
    let store = accounts();
    let proof = client::sha2(b"secret", &SALT);
    let is_native = |user: &str| {
        let (_, step) = Exchange::start(&store, &start(user, "caching_sha2_password", &proof));
        matches!(step, Step::Switch(Plugin::Native))
    };
    let names: Vec<String> = (0..64).map(|number| format!("nobody{number}")).collect();
    let count = names.iter().filter(|name| is_native(name)).count();
    assert!((1..64).contains(&count), "{count} of 64");
    assert!(names.iter().all(|name| is_native(name) == is_native(name)));
}

#[test]
fn failed_logins_block_the_account() {
    let store = accounts();
    let name = AccountName::new("old", "%");
    let change = |account: &mut Account| {
        (account.policy.failed_attempts, account.policy.lock_days) = (2, 1);
    };
    store.change(&name, change).expect("known");
    let (good, bad) = (client::native(b"secret", &SALT), client::native(b"wrong", &SALT));
    let log_in = |proof: &[u8]| Exchange::start(&store, &start("old", "mysql_native_password", proof)).1;
    assert!(is_refused(&log_in(&bad), true));
    assert!(is_accepted(&log_in(&good)), "which forgets the failure");
    assert!(is_refused(&log_in(&bad), true));
    assert!(matches!(log_in(&bad), Step::Denied(Denial::Blocked(_))));
    assert!(matches!(log_in(&good), Step::Denied(Denial::Blocked(_))));
}

#[test]
fn locks_and_requirements_hold_after_the_proof() {
    let store = accounts();
    let proof = client::native(b"secret", &SALT);
    let wrong = client::native(b"wrong", &SALT);
    let name = AccountName::new("old", "%");
    store.change(&name, |account| account.tls = TlsRequirement::Ssl).expect("known");
    let introduction = start("old", "mysql_native_password", &proof);
    let step = Exchange::start(&store, &introduction).1;
    assert!(matches!(step, Step::Denied(Denial::Refused { used_password: true })));
    let tls = ClientTls { cipher: "TLS_AES_256_GCM_SHA384".to_owned(), certificate: None };
    assert!(is_accepted(&Exchange::start(&store, &ExchangeStart { tls: Some(&tls), ..introduction }).1));
    store.change(&name, |account| account.locked = true).expect("known");
    assert!(matches!(Exchange::start(&store, &introduction).1, Step::Denied(Denial::Locked)));
    assert!(is_refused(&Exchange::start(&store, &start("old", "mysql_native_password", &wrong)).1, true));
}

/// Checked on MySQL 9.7: a cipher alone asks for no certificate, and what is not asked for may be anything.
#[test]
fn certificates_are_compared_with_what_the_account_demands() {
    let store = accounts();
    let proof = client::native(b"secret", &SALT);
    let names = CertificateNames { issuer: "/CN=authority".to_owned(), subject: "/CN=anna".to_owned() };
    let bare = ClientTls { cipher: "TLS_AES_256_GCM_SHA384".to_owned(), certificate: None };
    let shown = ClientTls { certificate: Some(names), ..bare.clone() };
    let specified = |cipher: &str, issuer: &str, subject: &str| TlsRequirement::Specified {
        cipher: cipher.to_owned(),
        issuer: issuer.to_owned(),
        subject: subject.to_owned(),
    };
    // By the account's demand: in the clear, with TLS, with a certificate.
    for (tls, accepted) in [
        (TlsRequirement::None, [true, true, true]),
        (TlsRequirement::Ssl, [false, true, true]),
        (TlsRequirement::X509, [false, false, true]),
        (specified("TLS_AES_256_GCM_SHA384", "", ""), [false, true, true]),
        (specified("TLS_AES_128_GCM_SHA256", "", ""), [false, false, false]),
        (specified("", "/CN=authority", ""), [false, false, true]),
        (specified("", "/CN=AUTHORITY", ""), [false, false, false]),
        (specified("", "", "/CN=anna"), [false, false, true]),
        (specified("TLS_AES_256_GCM_SHA384", "/CN=authority", "/CN=bert"), [false, false, false]),
    ] {
        store.change(&AccountName::new("old", "%"), |account| account.tls = tls.clone()).expect("known");
        let introduction = start("old", "mysql_native_password", &proof);
        for (shown, accepted) in [None, Some(&bare), Some(&shown)].into_iter().zip(accepted) {
            let step = Exchange::start(&store, &ExchangeStart { tls: shown, ..introduction }).1;
            assert_eq!(is_accepted(&step), accepted, "{tls:?}, {shown:?}");
        }
    }
}

#[test]
fn a_change_of_user_proves_itself_anew() {
    let store = accounts();
    let proof = client::native(b"secret", &SALT);
    let introduction = ExchangeStart { must_switch: true, ..start("old", "mysql_native_password", &proof) };
    let (mut exchange, step) = Exchange::start(&store, &introduction);
    assert!(matches!(step, Step::Switch(Plugin::Native)));
    assert!(is_accepted(&exchange.respond(&client::native(b"secret", &SECOND_SALT), no_key)));
    let old_client = ExchangeStart { can_switch: false, ..introduction };
    assert!(is_accepted(&Exchange::start(&store, &old_client).1));
    let old_client = ExchangeStart { can_switch: false, ..start("sha", "", &proof) };
    assert!(matches!(Exchange::start(&store, &old_client).1, Step::Denied(Denial::UnsupportedByClient)));
}
