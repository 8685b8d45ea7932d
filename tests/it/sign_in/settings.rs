//! Errors about settings that contradict each other, and about an unreachable provider.

use jsonwebtoken::Algorithm;
use serde_json::{Value, json};

use super::{NOW, Provider};
use crate::support::{Process, SECRET, free_port};

fn doctor(changes: &[(&str, &str)]) -> Vec<(String, bool, String)> {
    let usual = [
        ("DATABASE_URL", "sqlite::memory:"),
        ("TIDINGS_SECRET", SECRET),
        ("TIDINGS_LISTEN", "localhost:0"),
        ("TIDINGS_PUBLIC_URL", "https://inbox.example.com"),
        ("TIDINGS_OIDC_CLIENT_ID", "tidings"),
        ("TIDINGS_OIDC_TENANT", "acme"),
        ("TIDINGS_OIDC_ADMINS", "operators"),
    ];
    let all: Vec<_> = usual.iter().copied().chain(changes.iter().copied()).collect();
    let (_, said, log) = Process::command(&["doctor", "--json"], &all);
    let said: Value = serde_json::from_str(&said).unwrap_or_else(|error| panic!("{error}: {said}{log}"));
    let findings = said["findings"].as_array().unwrap().iter();
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    findings.map(|of| (text(&of["what"]), of["ok"].as_bool().unwrap(), text(&of["found"]))).collect()
}

fn found(what: &str, changes: &[(&str, &str)]) -> Option<(bool, String)> {
    doctor(changes).into_iter().find(|(of, ..)| of == what).map(|(_, is_well, said)| (is_well, said))
}

#[tokio::test(flavor = "multi_thread")]
async fn doctor_asks_the_provider() {
    let provider = Provider::start(NOW).await;
    let url = provider.url();
    let issuer = ("TIDINGS_OIDC_ISSUER", url.as_str());
    let (is_well, said) = found("sign-in", &[issuer]).unwrap();
    let expected =
        format!("{url} answers, with 1 keys; the redirect URI is https://inbox.example.com/desk/session/callback");
    assert_eq!((is_well, said), (true, expected));

    let slash = format!("{url}/");
    let nobody = format!("http://127.0.0.1:{}", free_port());
    for (issuer, words) in [(&slash, "they must be exactly the same"), (&nobody, "Connection refused")] {
        let (is_well, said) = found("sign-in", &[("TIDINGS_OIDC_ISSUER", issuer)]).unwrap();
        assert!(!is_well && said.contains(words), "{issuer}: {said}");
    }
    provider.says(|said| said.metadata = json!({ "code_challenge_methods_supported": ["plain"] }));
    let (is_well, said) = found("sign-in", &[issuer]).unwrap();
    assert!(!is_well && said.contains("does not support PKCE with S256"), "{said}");
    provider.says(|said| (said.metadata, said.keys) = (json!({}), Vec::<Algorithm>::new()));
    let (is_well, said) = found("sign-in", &[issuer]).unwrap();
    assert!(!is_well && said.contains("no RS256, ES256 or EdDSA key"), "{said}");
}

#[test]
fn settings_that_do_not_go_together_are_named_once() {
    let said = doctor(&[]);
    let wrong: Vec<_> = said.iter().filter(|(_, is_well, _)| !is_well).collect();
    let [(what, _, told)] = wrong[..] else { panic!("{said:?}") };
    assert!(what == "settings" && told.contains("TIDINGS_OIDC_ISSUER is not"), "{told}");
    assert!(!said.iter().any(|(what, ..)| what == "sign-in"));
}
