//! Tokens that must be refused, and the few that may pass.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use chrono::{DateTime, TimeDelta, Utc};
use jsonwebtoken::jwk::{Jwk, JwkSet};
use jsonwebtoken::{Algorithm, EncodingKey, Header, encode};
use serde_json::{Value, json};

use super::{CallerRole, TokenClaims, TokenVerifier, sign_claims};
use base::config::{AuthConfig, JwksSource};
use base::error::Error;

const SECRET: &str = "0123456789abcdef0123456789abcdef";
const NOW: i64 = 1_800_000_000;

fn now() -> DateTime<Utc> {
    DateTime::from_timestamp(NOW, 0).unwrap()
}

fn claims() -> Value {
    json!({ "tenant": "acme", "sub": "ada", "role": "service", "exp": NOW + 60 })
}

fn with(name: &str, value: Value) -> Value {
    let mut claims = claims();
    claims[name] = value;
    claims
}

fn hs256(claims: &Value) -> String {
    encode(&Header::new(Algorithm::HS256), claims, &EncodingKey::from_secret(SECRET.as_bytes())).unwrap()
}

async fn by_secret() -> TokenVerifier {
    TokenVerifier::new(&AuthConfig { secret: Some(SECRET.into()), ..AuthConfig::default() }).await.unwrap()
}

fn pair(algorithm: Algorithm) -> (EncodingKey, Jwk) {
    let key = match algorithm {
        Algorithm::RS256 => EncodingKey::from_rsa_pem(include_bytes!("testdata/rsa.pem")),
        Algorithm::ES256 => EncodingKey::from_ec_pem(include_bytes!("testdata/ec.pem")),
        _ => EncodingKey::from_ed_pem(include_bytes!("testdata/ed25519.pem")),
    }
    .unwrap();
    let mut jwk = Jwk::from_encoding_key(&key, algorithm).unwrap();
    jwk.common.key_id = Some(format!("{algorithm:?}"));
    (key, jwk)
}

fn signed(algorithm: Algorithm, kid: Option<&str>) -> String {
    let mut header = Header::new(algorithm);
    header.kid = kid.map(str::to_owned);
    encode(&header, &claims(), &pair(algorithm).0).unwrap()
}

async fn by_jwks(algorithms: &[Algorithm]) -> TokenVerifier {
    let keys = algorithms.iter().map(|algorithm| pair(*algorithm).1).collect();
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), serde_json::to_string(&JwkSet { keys }).unwrap()).unwrap();
    let jwks = Some(JwksSource::File(file.path().into()));
    TokenVerifier::new(&AuthConfig { jwks, secret: Some(SECRET.into()), ..AuthConfig::default() }).await.unwrap()
}

async fn refused(verifier: &TokenVerifier, token: &str) -> String {
    match verifier.verify(token, now()).await {
        Err(Error::Unauthenticated(why)) => why,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_token_that_we_signed_says_what_we_said() {
    let said =
        TokenClaims { tenant: "acme".into(), sub: "ada".into(), role: CallerRole::Admin, exp: NOW + 1, scope: None };
    let heard = by_secret().await.verify(&sign_claims(SECRET, &said).unwrap(), now()).await.unwrap();
    assert_eq!((heard.tenant.as_str(), heard.sub.as_str(), heard.role), ("acme", "ada", CallerRole::Admin));
}

#[tokio::test]
async fn a_token_without_a_role_is_a_users() {
    let token = hs256(&json!({ "tenant": "acme", "sub": "ada", "exp": NOW + 60 }));
    assert_eq!(by_secret().await.verify(&token, now()).await.unwrap().role, CallerRole::User);
}

#[tokio::test]
async fn an_instant_is_any_number_of_seconds_up_to_the_year_9999() {
    let verifier = by_secret().await;
    let header = r#"{"alg":"HS256"}"#;
    let payload = |claim: &str| {
        format!(r#"{{"tenant":"acme","sub":"ada","exp":1800000060,{claim}}}"#)
            .replace(r#""exp":1800000060,"exp""#, r#""exp""#)
    };
    for claim in [
        r#""exp":1800000060.0"#,
        r#""exp":1800000060.5"#,
        r#""exp":1.80000006e9"#,
        r#""exp":18000000600e-1"#,
        r#""exp":1.80000006E+09"#,
        r#""exp":1800000060.00000000000000000000001"#,
        r#""exp":253402300799"#,
        r#""nbf":1799999999.5"#,
        r#""nbf":1.8e9"#,
        r#""nbf":0"#,
        r#""nbf":null"#,
        r#""iat":1799999999.25"#,
        r#""iat":1.7999e9"#,
    ] {
        let token = signed_as_it_stands(header, &payload(claim));
        assert!(verifier.verify(&token, now()).await.is_ok(), "{claim}");
    }
    for (claim, words) in [
        (r#""exp":1800000000.5"#, "has expired"),
        (r#""exp":1.8e9"#, "has expired"),
        (r#""exp":1799999400000"#, "exp must be seconds since 1970, up to the year 9999"),
        (r#""exp":253402300800"#, "exp must be seconds"),
        (r#""exp":1e400"#, "exp must be seconds"),
        (r#""exp":99999999999999999999999"#, "exp must be seconds"),
        (r#""exp":-1"#, "exp must be seconds"),
        (r#""exp":"1800000060""#, "exp must be a number"),
        (r#""nbf":1800000060.5"#, "not valid yet"),
        (r#""nbf":1800000000000"#, "nbf must be seconds"),
        (r#""nbf":-5"#, "nbf must be seconds"),
        (r#""nbf":true"#, "nbf must be a number"),
    ] {
        let why = refused(&verifier, &signed_as_it_stands(header, &payload(claim))).await;
        assert!(why.contains(words), "{claim}: {why}");
    }
}

#[tokio::test]
async fn a_header_that_would_be_read_within_itself_is_not_read() {
    let (open, close) = ("[".repeat(100), "]".repeat(100));
    let mut within = "1".to_owned();
    for _ in 0..8 {
        let text = serde_json::to_string(&within).unwrap();
        within = format!(r#"{open}{{"$serde_json::private::RawValue":{text}}}{close}"#);
    }
    let verifier = by_secret().await;
    let header = format!(r#"{{"alg":"HS256","x":{within}}}"#);
    assert!(refused(&verifier, &signed_as_it_stands(&header, &claims().to_string())).await.contains("cannot be read"));
    let payload = format!(r#"{{"tenant":"acme","sub":"ada","exp":1800000060,"x":{within}}}"#);
    let token = signed_as_it_stands(r#"{"alg":"HS256"}"#, &payload);
    assert!(refused(&verifier, &token).await.contains("cannot be read"));
}

#[tokio::test]
async fn claims_that_are_missing_wrong_or_out_of_time_are_refused() {
    let verifier = by_secret().await;
    for (name, value) in [
        ("exp", json!(NOW)),
        ("exp", json!("tomorrow")),
        ("exp", Value::Null),
        ("nbf", json!(NOW + 60)),
        ("tenant", json!("")),
        ("tenant", json!(7)),
        ("tenant", json!("a\u{0}b")),
        ("sub", json!(" ada")),
        ("sub", json!("x".repeat(129))),
        ("role", json!("root")),
        ("role", json!("Admin")),
        ("role", json!("")),
        ("role", json!(2)),
        ("role", json!(true)),
        ("role", json!(["admin"])),
        ("role", json!({ "admin": null })),
        ("role", Value::Null),
    ] {
        let why = refused(&verifier, &hs256(&with(name, value.clone()))).await;
        assert!(!why.is_empty(), "{name} = {value} passed");
    }
    for missing in ["exp", "tenant", "sub"] {
        let mut claims = claims();
        claims.as_object_mut().unwrap().remove(missing);
        assert!(refused(&verifier, &hs256(&claims)).await.contains(missing));
    }
}

/// A token with exactly this header and payload, signed with the secret.
fn signed_as_it_stands(header: &str, payload: &str) -> String {
    let message = format!("{}.{}", URL_SAFE_NO_PAD.encode(header), URL_SAFE_NO_PAD.encode(payload));
    let key = EncodingKey::from_secret(SECRET.as_bytes());
    let signature = jsonwebtoken::crypto::sign(message.as_bytes(), &key, Algorithm::HS256).unwrap();
    format!("{message}.{signature}")
}

#[tokio::test]
async fn a_token_that_says_something_twice_is_refused() {
    let (verifier, header) = (by_secret().await, r#"{"alg":"HS256"}"#);
    let payload = |more: &str| format!(r#"{{"tenant":"acme","sub":"ada","role":"user","exp":{}{more}}}"#, NOW + 60);
    let heard = verifier.verify(&signed_as_it_stands(header, &payload("")), now()).await.unwrap();
    assert_eq!(heard.role, CallerRole::User);
    for twice in [
        r#""role":"admin""#,
        r#""role":"user""#,
        r#""\u0072ole":"admin""#,
        r#""sub":"ben""#,
        r#""tenant":"globex""#,
        r#""exp":1900000000"#,
        r#""x":1,"x":1"#,
    ] {
        let why = refused(&verifier, &signed_as_it_stands(header, &payload(&format!(",{twice}")))).await;
        assert!(why.contains("occurs twice"), "{twice}: {why}");
    }
    for header in [
        r#"{"alg":"HS256","alg":"HS256"}"#,
        r#"{"alg":"none","alg":"HS256"}"#,
        r#"{"alg":"HS256","kid":"a","kid":"b"}"#,
        r#"{"alg":"HS256","crit":[],"crit":null}"#,
    ] {
        refused(&verifier, &signed_as_it_stands(header, &payload(""))).await;
    }
    for payload in ["[]", "7", "null", "{", "\"{}\""] {
        let why = refused(&verifier, &signed_as_it_stands(header, payload)).await;
        assert!(why.contains("malformed"), "{payload}: {why}");
    }
}

#[tokio::test]
async fn tokens_that_are_none_are_refused() {
    let verifier = by_secret().await;
    let good = hs256(&claims());
    let unsigned = format!("eyJhbGciOiJub25lIn0.{}.", good.split('.').nth(1).unwrap());
    let other = encode(&Header::default(), &claims(), &EncodingKey::from_secret(b"another")).unwrap();
    let hs512 = Header::new(Algorithm::HS512);
    let hs512 = encode(&hs512, &claims(), &EncodingKey::from_secret(SECRET.as_bytes())).unwrap();
    for token in ["", "a.b.c", &unsigned, &other, &hs512, &"x".repeat(10_000), &format!("{good}x")] {
        refused(&verifier, token).await;
    }
}

#[tokio::test]
async fn a_token_with_critical_extensions_is_refused() {
    let mut header = Header::new(Algorithm::HS256);
    header.crit = Some(vec!["exp".into()]);
    let token = encode(&header, &claims(), &EncodingKey::from_secret(SECRET.as_bytes())).unwrap();
    refused(&by_secret().await, &token).await;
}

#[tokio::test]
async fn issuer_and_audience_count_where_they_are_configured() {
    let config = AuthConfig {
        secret: Some(SECRET.into()),
        issuer: Some("https://id.acme.test".into()),
        audience: Some("tidings".into()),
        ..AuthConfig::default()
    };
    let verifier = TokenVerifier::new(&config).await.unwrap();
    let mut good = with("iss", json!("https://id.acme.test"));
    good["aud"] = json!(["shop", "tidings"]);
    verifier.verify(&hs256(&good), now()).await.unwrap();
    for (name, value) in [("iss", json!("https://evil.test")), ("aud", json!("shop")), ("aud", Value::Null)] {
        let mut claims = good.clone();
        claims[name] = value;
        refused(&verifier, &hs256(&claims)).await;
    }
}

#[tokio::test]
async fn each_algorithm_of_a_jwks_passes_with_its_own_key() {
    let all = [Algorithm::RS256, Algorithm::ES256, Algorithm::EdDSA];
    let verifier = by_jwks(&all).await;
    for algorithm in all {
        for kid in [Some(format!("{algorithm:?}")), None] {
            verifier.verify(&signed(algorithm, kid.as_deref()), now()).await.unwrap();
        }
        refused(&verifier, &signed(algorithm, Some("unknown"))).await;
    }
}

#[tokio::test]
async fn a_public_key_is_no_secret() {
    let verifier = by_jwks(&[Algorithm::RS256]).await;
    let public = serde_json::to_vec(&pair(Algorithm::RS256).1).unwrap();
    let forged = encode(&Header::new(Algorithm::HS256), &claims(), &EncodingKey::from_secret(&public)).unwrap();
    refused(&verifier, &forged).await;
}

#[tokio::test]
async fn a_jwks_url_that_goes_away_leaves_its_keys_behind() {
    let (key, jwk) = pair(Algorithm::ES256);
    let body = serde_json::to_string(&JwkSet { keys: vec![jwk] }).unwrap();
    let router = axum::Router::new().route("/jwks", axum::routing::get(move || async move { body }));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/jwks", listener.local_addr().unwrap());
    let server = tokio::spawn(async move { axum::serve(listener, router).await });
    let config = AuthConfig { jwks: Some(JwksSource::Url(url)), ..AuthConfig::default() };
    let verifier = TokenVerifier::new(&config).await.unwrap();
    server.abort();
    let _ = server.await;

    let later = now() + TimeDelta::hours(1);
    let mut claims = claims();
    claims["exp"] = json!(later.timestamp() + 60);
    let mut header = Header::new(Algorithm::ES256);
    header.kid = Some("ES256".into());
    let token = encode(&header, &claims, &key).unwrap();
    verifier.verify(&token, now()).await.unwrap();
    verifier.verify(&token, later).await.unwrap();
}

#[tokio::test]
async fn a_jwks_file_without_a_usable_key_stops_the_start() {
    let file = tempfile::NamedTempFile::new().unwrap();
    for text in ["", "{}", r#"{"keys":[]}"#, r#"{"keys":[{"kty":"oct","k":"c2VjcmV0"}]}"#] {
        std::fs::write(file.path(), text).unwrap();
        let jwks = Some(JwksSource::File(file.path().into()));
        let result = TokenVerifier::new(&AuthConfig { jwks, ..AuthConfig::default() }).await;
        assert!(matches!(result, Err(Error::Config(_))), "{text}");
    }
}
