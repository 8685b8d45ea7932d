//! Maps the provider's claims to a tenant, role and user.

use serde_json::{Map, Value};

use super::refusal::{ClaimProblem, ClaimRefusal};
use crate::role::CallerRole;
use crate::token::is_valid_name;
use base::config::{SignInConfig, TenantSource};
use base::text::{character_count, display_line, shorten_text};

/// This claim counts only if the provider has verified it: at some providers people can enter any address.
pub const EMAIL: &str = "email";

/// The claim that says whether the address was verified.
pub const VERIFIED: &str = "email_verified";

/// Maximum characters of a display name.
const NAME_CHARACTERS: usize = 128;

/// A person who is allowed to sign in.
#[derive(Debug, PartialEq, Eq)]
pub struct IdentifiedPerson {
    pub tenant: String,
    pub role: CallerRole,
    pub sub: String,
    pub name: String,
}

impl IdentifiedPerson {
    /// Reads the claims. The error says why the person cannot sign in.
    pub fn from_claims(config: &SignInConfig, claims: &Map<String, Value>) -> Result<Self, ClaimRefusal> {
        let sub = name_from_claim(claims, &config.sub_claim)?;
        let tenant = match &config.tenant {
            TenantSource::All(tenant) => tenant.clone(),
            TenantSource::Claim(claim) => name_from_claim(claims, claim)?,
        };
        let role = role_from_claims(config, claims)?;
        let name = ["name", "preferred_username"].into_iter().find_map(|name| display_name(claims.get(name)?));
        Ok(Self { tenant, role, name: name.unwrap_or_else(|| sub.clone()), sub })
    }
}

/// The role that the values of the role claim give.
fn role_from_claims(config: &SignInConfig, claims: &Map<String, Value>) -> Result<CallerRole, ClaimRefusal> {
    let values = claim_texts(find_claim(claims, &config.role_claim)?);
    let is_among = |listed: &[String]| values.iter().any(|value| listed.iter().any(|of| of == value));
    if is_among(&config.admins) {
        return Ok(CallerRole::Admin);
    }
    if is_among(&config.services) {
        return Ok(CallerRole::Service);
    }
    Err(refusal(&config.role_claim, ClaimProblem::NoRole))
}

/// The single string value of a claim that names a tenant or user.
fn name_from_claim(claims: &Map<String, Value>, name: &str) -> Result<String, ClaimRefusal> {
    let values = claim_texts(find_claim(claims, name)?);
    match values.as_slice() {
        [value] if is_valid_name(value) => Ok((*value).to_owned()),
        [_] => Err(refusal(name, ClaimProblem::InvalidName)),
        [] => Err(refusal(name, ClaimProblem::NotText)),
        _ => Err(refusal(name, ClaimProblem::Several)),
    }
}

/// Finds a claim by its name, or by a dotted path for providers that nest objects.
fn find_claim<'a>(claims: &'a Map<String, Value>, name: &str) -> Result<&'a Value, ClaimRefusal> {
    let along = || {
        let mut parts = name.split('.');
        let first = claims.get(parts.next()?)?;
        parts.try_fold(first, |value, part| value.get(part))
    };
    let found = claims.get(name).or_else(along).filter(|value| !value.is_null());
    let value = found.ok_or_else(|| refusal(name, ClaimProblem::Missing))?;
    // AWS Cognito sends it as a string.
    let is_verified = claims.get(VERIFIED).is_some_and(|of| *of == Value::Bool(true) || *of == "true");
    if name == EMAIL && !is_verified {
        return Err(refusal(name, ClaimProblem::Unverified));
    }
    Ok(value)
}

fn refusal(claim: &str, problem: ClaimProblem) -> ClaimRefusal {
    ClaimRefusal { claim: claim.to_owned(), problem }
}

/// The strings of a claim that is a string or a list of strings.
fn claim_texts(value: &Value) -> Vec<&str> {
    match value {
        Value::Array(all) => all.iter().filter_map(Value::as_str).collect(),
        one => one.as_str().into_iter().collect(),
    }
}

/// The display name, cleaned and shortened.
fn display_name(value: &Value) -> Option<String> {
    let name = display_line(value.as_str()?)?;
    Some(shorten_text(name.trim(), NAME_CHARACTERS, "", character_count))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::IdentifiedPerson;
    use crate::oidc::refusal::{ClaimProblem, ClaimRefusal};
    use crate::role::CallerRole;
    use base::config::{SignInConfig, TenantSource};

    fn config() -> SignInConfig {
        SignInConfig {
            issuer: "https://login.example.com".into(),
            client_id: "tidings".into(),
            client_secret: None,
            scopes: "openid".into(),
            tenant: TenantSource::All("acme".into()),
            role_claim: "groups".into(),
            admins: vec!["operators".into(), "root".into()],
            services: vec!["support".into()],
            sub_claim: "email".into(),
            session_hours: 8,
            secrets: vec!["0123456789abcdef0123456789abcdef".into()],
            public: "https://inbox.example.com".parse().unwrap(),
        }
    }

    fn claims(changes: &Value) -> Value {
        let mut claims =
            json!({ "sub": "7", "email": "ada@example.com", "email_verified": true, "groups": ["operators"] });
        for (name, value) in changes.as_object().unwrap() {
            claims[name] = value.clone();
        }
        claims
    }

    fn found(config: &SignInConfig, changes: &Value) -> Result<IdentifiedPerson, ClaimRefusal> {
        IdentifiedPerson::from_claims(config, claims(changes).as_object().unwrap())
    }

    fn role(config: &SignInConfig, changes: &Value) -> Result<CallerRole, ClaimRefusal> {
        found(config, changes).map(|person| person.role)
    }

    #[test]
    fn a_role_comes_from_one_of_several_values_and_the_higher_one_counts() {
        let config = config();
        for (groups, is) in [
            (json!("operators"), Some(CallerRole::Admin)),
            (json!("support"), Some(CallerRole::Service)),
            (json!(["support", "operators"]), Some(CallerRole::Admin)),
            (json!(["a", "root"]), Some(CallerRole::Admin)),
            (json!(["a", "support", 7, null]), Some(CallerRole::Service)),
            (json!([]), None),
            (json!(["a"]), None),
            (json!("Operators"), None),
            (json!("operators,support"), None),
            (json!("operators support"), None),
            (json!({ "operators": true }), None),
            (json!(true), None),
            (json!(null), None),
            (json!([["operators"]]), None),
        ] {
            assert_eq!(role(&config, &json!({ "groups": groups })).ok(), is, "{groups}");
        }
    }

    #[test]
    fn a_claim_may_be_a_path_and_a_whole_name_comes_first() {
        let mut config = config();
        config.role_claim = "realm_access.roles".into();
        let within = |roles: Value| json!({ "realm_access": { "roles": roles } });
        assert_eq!(role(&config, &within(json!(["support"]))), Ok(CallerRole::Service));
        assert!(
            role(&config, &json!({ "realm_access": ["operators"] }))
                .is_err_and(|refusal| refusal.problem == ClaimProblem::Missing)
        );
        config.role_claim = "https://acme.example/roles".into();
        assert_eq!(role(&config, &json!({ "https://acme.example/roles": ["root"] })), Ok(CallerRole::Admin));
    }

    #[test]
    fn people_are_named_and_belong_to_one_tenant() {
        let mut config = config();
        let person = found(&config, &json!({ "name": "Ada\nObi " })).unwrap();
        let (tenant, sub) = ("acme".to_owned(), "ada@example.com".to_owned());
        assert_eq!(person, IdentifiedPerson { tenant, role: CallerRole::Admin, sub, name: "Ada Obi".into() });
        assert_eq!(found(&config, &json!({ "preferred_username": "ada" })).unwrap().name, "ada");
        assert_eq!(found(&config, &json!({})).unwrap().name, "ada@example.com");

        config.sub_claim = "sub".into();
        config.tenant = TenantSource::Claim("org".into());
        let of = |org: Value| found(&config, &json!({ "org": org })).map(|person| (person.tenant, person.sub));
        assert_eq!(of(json!("globex")), Ok(("globex".into(), "7".into())));
        assert_eq!(of(json!(["globex"])), Ok(("globex".into(), "7".into())));
        for (org, problem) in [
            (json!(["globex", "acme"]), ClaimProblem::Several),
            (json!([]), ClaimProblem::NotText),
            (json!(7), ClaimProblem::NotText),
            (json!(null), ClaimProblem::Missing),
            (json!(""), ClaimProblem::InvalidName),
            (json!(" acme"), ClaimProblem::InvalidName),
            (json!("a".repeat(129)), ClaimProblem::InvalidName),
            (json!("ac\u{0}me"), ClaimProblem::InvalidName),
        ] {
            assert_eq!(of(org.clone()), Err(ClaimRefusal { claim: "org".into(), problem }), "{org}");
        }
    }

    #[test]
    fn an_address_counts_once_it_is_verified() {
        let mut config = config();
        for (verified, is_let_in) in
            [(json!(true), true), (json!("true"), true), (json!(false), false), (json!(null), false), (json!(1), false)]
        {
            let found = found(&config, &json!({ "email_verified": verified }));
            assert_eq!(found.is_ok(), is_let_in, "{verified}: {found:?}");
        }
        config.sub_claim = "sub".into();
        assert_eq!(role(&config, &json!({ "email_verified": false })), Ok(CallerRole::Admin), "it is not looked at");
        (config.role_claim, config.admins) = ("email".into(), vec!["ada@example.com".into()]);
        assert_eq!(role(&config, &json!({})), Ok(CallerRole::Admin));
        assert!(role(&config, &json!({ "email_verified": false })).is_err());
    }
}
