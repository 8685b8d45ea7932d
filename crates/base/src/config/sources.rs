//! The file of other databases that rules may read.

use std::fmt::{self, Debug, Formatter};
use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use serde_json::{Map, Value};

use super::files::EnvironmentLookup;
use crate::error::{Error, Result};

/// Setting of the sources file.
#[derive(Args, Clone, Debug, Default)]
pub struct SourcesConfig {
    /// JSON file that lists other databases that rules may read.
    #[arg(long, env = "TIDINGS_SOURCES")]
    pub sources: Option<PathBuf>,
}

/// An external database.
#[derive(Clone, PartialEq, Eq)]
pub struct SourceSettings {
    /// The name that rules use for it.
    pub name: String,
    /// Includes the credentials.
    pub url: String,
    /// The tenants that may read it through rules; `None` if all may.
    pub tenants: Option<Vec<String>>,
    /// Maximum duration of a scan.
    pub timeout: Duration,
    /// Maximum rows of a scan.
    pub max_rows: usize,
    /// Maximum concurrent scans.
    pub connections: u32,
    /// PostgreSQL: the `NOTIFY` channel that announces new rows.
    pub channel: Option<String>,
}

/// Omits the URL, which contains a password.
impl Debug for SourceSettings {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.debug_struct("SourceSettings").field("name", &self.name).finish_non_exhaustive()
    }
}

impl SourceSettings {
    /// Whether rules of this tenant may read it.
    pub fn is_readable_by(&self, tenant: &str) -> bool {
        self.tenants.as_ref().is_none_or(|tenants| tenants.iter().any(|of| of == tenant))
    }
}

/// The fields that an entry may have.
const FIELDS: [&str; 7] = ["name", "url", "tenants", "timeout_ms", "max_rows", "connections", "channel"];

const TIMEOUT_MS: RangeInclusive<u64> = 100..=60_000;
const MAX_ROWS: RangeInclusive<u64> = 1..=10_000;
const CONNECTIONS: RangeInclusive<u64> = 1..=10;

/// Maximum bytes of a name.
const NAME: usize = 64;

impl SourcesConfig {
    /// Reads the file; empty if none is set. In its strings, `${NAME}` is replaced by the environment variable.
    ///
    /// Fails with `Config`, which names the entry and the field but never shows their values.
    pub fn read_sources(&self, environment: EnvironmentLookup<'_>) -> Result<Vec<SourceSettings>> {
        let Some(path) = &self.sources else { return Ok(Vec::new()) };
        let wrong = |why: String| Error::Config(format!("TIDINGS_SOURCES={} {why}", path.display()));
        let text = std::fs::read_to_string(path).map_err(|error| wrong(format!("cannot be read: {error}")))?;
        let entries: Vec<Value> = serde_json::from_str(&text).map_err(|error| {
            let (line, column) = (error.line(), error.column());
            wrong(format!("is not a JSON array of objects: see line {line}, column {column}"))
        })?;
        let mut sources = Vec::<SourceSettings>::new();
        for (number, entry) in (1..).zip(&entries) {
            let within = |why: String| wrong(format!("entry {number}: {why}"));
            let entry = entry.as_object().ok_or_else(|| within("must be an object".into()))?;
            let source = SourceEntry { entry, environment }.parse().map_err(within)?;
            if sources.iter().any(|other| other.name == source.name) {
                return Err(within(format!("`name` {:?} is used by an entry above", source.name)));
            }
            sources.push(source);
        }
        Ok(sources)
    }
}

/// An entry of the file, while it is parsed.
struct SourceEntry<'a> {
    entry: &'a Map<String, Value>,
    environment: EnvironmentLookup<'a>,
}

impl SourceEntry<'_> {
    fn parse(&self) -> Result<SourceSettings, String> {
        if let Some(unknown) = self.entry.keys().find(|field| !FIELDS.contains(&field.as_str())) {
            return Err(format!("there is no field {unknown:?}; the fields are {}", FIELDS.join(", ")));
        }
        let name = self.text_field("name")?.ok_or("`name` is missing")?;
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "_-.".contains(c);
        if name.is_empty() || name.len() > NAME || !name.chars().all(is_plain) {
            return Err(format!("`name` must be 1 to {NAME} letters, digits, `_`, `-` and `.`"));
        }
        let url = self.text_field("url")?.ok_or("`url` is missing")?;
        let scheme = url.split_once(':').map_or("", |(scheme, _)| scheme);
        let is_postgres = matches!(scheme, "postgres" | "postgresql");
        if !is_postgres && !matches!(scheme, "mysql" | "mariadb" | "sqlite") {
            return Err("`url` must begin with postgres:, mysql:, mariadb: or sqlite:".into());
        }
        let channel = self.text_field("channel")?;
        if channel.is_some() && !is_postgres {
            return Err("`channel` is only for PostgreSQL, but `url` names another database".into());
        }
        if channel.as_ref().is_some_and(|channel| channel.is_empty() || channel.len() > 63) {
            return Err("`channel` must have 1 to 63 bytes".into());
        }
        Ok(SourceSettings {
            name,
            url,
            tenants: self.parse_tenants()?,
            timeout: Duration::from_millis(self.number_field("timeout_ms", TIMEOUT_MS, 5_000)?),
            max_rows: usize::try_from(self.number_field("max_rows", MAX_ROWS, 10_000)?)
                .expect("it is 10,000 at the most"),
            connections: u32::try_from(self.number_field("connections", CONNECTIONS, 2)?)
                .expect("it is 10 at the most"),
            channel,
        })
    }

    /// `tenants` is required: a forgotten list admits no tenant.
    fn parse_tenants(&self) -> Result<Option<Vec<String>>, String> {
        const WRONG: &str = "`tenants` must be a list of the tenants whose rules may read it, or \"*\" for all";
        match self.entry.get("tenants") {
            Some(Value::String(all)) if all == "*" => Ok(None),
            Some(Value::Array(listed)) if !listed.is_empty() => {
                let of = |tenant: &Value| match tenant {
                    Value::String(text) if text != "*" && !text.is_empty() => self.expand_variables("tenants", text),
                    _ => Err(WRONG.to_owned()),
                };
                listed.iter().map(of).collect::<Result<_, _>>().map(Some)
            }
            _ => Err(WRONG.into()),
        }
    }

    fn text_field(&self, field: &str) -> Result<Option<String>, String> {
        match self.entry.get(field) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::String(text)) => self.expand_variables(field, text).map(Some),
            Some(_) => Err(format!("`{field}` must be a string")),
        }
    }

    fn number_field(&self, field: &str, range: RangeInclusive<u64>, default: u64) -> Result<u64, String> {
        let (least, most) = (range.start(), range.end());
        match self.entry.get(field) {
            None | Some(Value::Null) => Ok(default),
            Some(number) => number
                .as_u64()
                .filter(|number| range.contains(number))
                .ok_or_else(|| format!("`{field}` must be a whole number from {least} to {most}")),
        }
    }

    /// Replaces each `${NAME}` by the value of the environment variable.
    fn expand_variables(&self, field: &str, text: &str) -> Result<String, String> {
        let (mut all, mut rest) = (String::new(), text);
        while let Some((before, after)) = rest.split_once("${") {
            let (name, behind) =
                after.split_once('}').ok_or_else(|| format!("`{field}` has a `${{` without its `}}`"))?;
            let is_name = !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
            if !is_name {
                return Err(format!("`{field}` has a `${{}}` that does not name an environment variable"));
            }
            let value = (self.environment)(name).ok_or_else(|| format!("`{field}` names {name}, which is not set"))?;
            let value = value.into_string().map_err(|_| format!("`{field}` names {name}, which is not UTF-8"))?;
            all.push_str(before);
            all.push_str(&value);
            rest = behind;
        }
        all.push_str(rest);
        Ok(all)
    }
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;

    use super::{SourceSettings, SourcesConfig};
    use crate::error::{Error, Result};

    fn read(text: &str) -> Result<Vec<SourceSettings>> {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), text).unwrap();
        let said = |name: &str| (name == "WMS_PASSWORD").then(|| OsString::from("hunter2"));
        SourcesConfig { sources: Some(file.path().to_owned()) }.read_sources(&said)
    }

    #[test]
    fn what_is_left_out_is_as_usual_and_secrets_come_from_the_environment() {
        let text = r#"[{"name": "wms", "url": "postgres://scan:${WMS_PASSWORD}@db/wms", "tenants": ["acme"]},
            {"name": "shop", "url": "sqlite:shop.db", "tenants": "*", "timeout_ms": 100, "max_rows": 7, "connections": 1}]"#;
        let [wms, shop] = read(text).unwrap().try_into().unwrap();
        assert_eq!((wms.url.as_str(), wms.timeout.as_millis()), ("postgres://scan:hunter2@db/wms", 5_000));
        assert_eq!((wms.max_rows, wms.connections, wms.channel), (10_000, 2, None));
        assert_eq!((shop.timeout.as_millis(), shop.max_rows, shop.connections), (100, 7, 1));
        assert!(SourcesConfig::default().read_sources(&|_| None).unwrap().is_empty());
        assert!(!format!("{shop:?}").contains("shop.db"));
    }

    #[test]
    fn a_source_is_of_the_tenants_that_are_named_alone() {
        let text = r#"[{"name": "a", "url": "sqlite:a", "tenants": ["acme"]}, {"name": "b", "url": "sqlite:b", "tenants": "*"}]"#;
        let sources = read(text).unwrap();
        let of = |tenant: &str| sources.iter().map(|source| source.is_readable_by(tenant)).collect::<Vec<_>>();
        assert_eq!((of("acme"), of("globex")), (vec![true, true], vec![false, true]));
    }

    #[test]
    fn what_is_wrong_is_named_by_entry_and_field_and_never_shown() {
        let entry = |further: &str| format!(r#"[{{"name": "a", "url": "sqlite:hunter2", "tenants": "*"{further}}}]"#);
        for (text, words) in [
            ("[1,".to_owned(), "is not a JSON array of objects: see line 1, column 3"),
            ("[1]".to_owned(), "entry 1: must be an object"),
            (entry(r#", "timeout": "hunter2""#), "entry 1: there is no field \"timeout\""),
            (entry(r#", "timeout_ms": "hunter2""#), "entry 1: `timeout_ms` must be a whole number from 100 to 60000"),
            (entry(r#", "max_rows": 10001"#), "entry 1: `max_rows` must be a whole number from 1 to 10000"),
            (entry(r#", "connections": 0"#), "entry 1: `connections` must be a whole number from 1 to 10"),
            (entry(r#", "channel": "c""#), "entry 1: `channel` is only for PostgreSQL"),
            (r#"[{"name": "a", "url": "sqlite:a"}]"#.to_owned(), "entry 1: `tenants` must be a list"),
            (r#"[{"name": "a", "url": "sqlite:a", "tenants": []}]"#.to_owned(), "entry 1: `tenants` must be a list"),
            (r#"[{"name": "a", "url": "sqlite:a", "tenants": ["*"]}]"#.to_owned(), "entry 1: `tenants` must be a list"),
            (r#"[{"url": "sqlite:a", "tenants": "*"}]"#.to_owned(), "entry 1: `name` is missing"),
            (r#"[{"name": "a b", "url": "sqlite:a", "tenants": "*"}]"#.to_owned(), "entry 1: `name` must be"),
            (r#"[{"name": "a", "tenants": "*"}]"#.to_owned(), "entry 1: `url` is missing"),
            (r#"[{"name": "a", "url": ["hunter2"], "tenants": "*"}]"#.to_owned(), "entry 1: `url` must be a string"),
            (r#"[{"name": "a", "url": "http:hunter2", "tenants": "*"}]"#.to_owned(), "entry 1: `url` must begin with"),
            (r#"[{"name": "a", "url": "sqlite:${NOWHERE}", "tenants": "*"}]"#.to_owned(), "`url` names NOWHERE, which is not set"),
            (r#"[{"name": "a", "url": "sqlite:${hunter2", "tenants": "*"}]"#.to_owned(), "`url` has a `${` without its `}`"),
            (
                r#"[{"name": "a", "url": "sqlite:a", "tenants": "*"}, {"name": "a", "url": "sqlite:b", "tenants": "*"}]"#.to_owned(),
                "entry 2: `name` \"a\" is used by an entry above",
            ),
        ] {
            let told = read(&text).unwrap_err();
            assert!(matches!(told, Error::Config(_)), "{told:?}");
            let told = told.to_string();
            assert!(told.contains(words) && told.contains("TIDINGS_SOURCES=/"), "{told:?} rather than {words:?}");
            assert!(!told.contains("hunter2"), "{told:?} shows what is secret");
        }
    }
}
