//! A rule's SQL for PostgreSQL and MySQL: replaces `:now` and `:since` by the driver's placeholders.
//!
//! This parser is for convenience and for early error messages. If a source parses a text differently, a parameter ends
//! up in the wrong position, and nothing worse happens. The source enforces what a statement may do: it prepares a
//! single statement, parses it as a subquery, which must be a SELECT, and runs it in a read-only transaction with its
//! role's privileges (`SourceServer::wrap_bounded`).

use super::failure::QueryFailure;

/// The kind of database of a source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SourceKind {
    Postgres,
    /// Includes MariaDB.
    MySql,
    Sqlite,
}

/// A parameter of rule SQL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RuleParameter {
    Now,
    Since,
}

pub const ONE_ALONE: &str = "only one statement may be run";
pub const NO_OTHERS: &str = "only the parameters :now and :since are allowed";

/// A single statement.
#[derive(Clone, Debug)]
pub struct ScanStatement {
    /// The SQL with placeholders.
    pub sql: String,
    /// The parameters to bind, in order.
    pub parameters: Vec<RuleParameter>,
    /// For each replacement: its end in `sql`, in characters, and how many characters longer (or, if negative, shorter)
    /// it is.
    shifts: Vec<(usize, isize)>,
    /// The length of the original, in characters.
    length: usize,
}

/// The words with which a statement may begin.
const BEGINS: [&str; 4] = ["select", "with", "values", "table"];

impl ScanStatement {
    /// Parses SQL for PostgreSQL or MySQL. SQLite binds parameters by name instead.
    ///
    /// Fails if it is obviously not a single SELECT, or has unknown parameters.
    pub fn parse(kind: SourceKind, written: &str) -> Result<Self, QueryFailure> {
        StatementParser::new(kind, written).parse()
    }

    /// The same statement with text before and after it.
    pub fn wrap_with(&self, before: &str, after: &str) -> Self {
        let many = before.chars().count();
        let mut shifts = vec![(many, many.cast_signed())];
        shifts.extend(self.shifts.iter().map(|(place, by)| (place + many, *by)));
        Self { sql: [before, &self.sql, after].concat(), shifts, ..self.clone() }
    }

    /// The position in the original for a position in `sql`. Both are in characters and start at 1.
    pub fn original_position(&self, seen: usize) -> Option<usize> {
        let shifted: isize = self.shifts.iter().filter(|(place, _)| *place < seen).map(|(_, by)| by).sum();
        let place = usize::try_from(seen.cast_signed() - shifted).ok()?;
        (1..=self.length).contains(&place).then_some(place)
    }
}

/// Reads the original in one pass, token by token: a word, a quoted text, a comment, or a single character.
struct StatementParser<'a> {
    kind: SourceKind,
    written: &'a str,
    at: usize,
    statement: ScanStatement,
    /// The words so far, in lower case. Only the last two are used.
    words: Vec<String>,
    has_ended: bool,
}

impl<'a> StatementParser<'a> {
    fn new(kind: SourceKind, written: &'a str) -> Self {
        let length = written.chars().count();
        let statement = ScanStatement { sql: String::new(), parameters: Vec::new(), shifts: Vec::new(), length };
        Self { kind, written, at: 0, statement, words: Vec::new(), has_ended: false }
    }

    fn parse(mut self) -> Result<ScanStatement, QueryFailure> {
        while let Some(first) = self.remaining().chars().next() {
            let comment = self.comment_length()?;
            if comment > 0 || first.is_whitespace() {
                self.advance(comment.max(first.len_utf8()));
                continue;
            }
            if self.has_ended {
                return Err(self.rejected(ONE_ALONE));
            }
            match self.quoted_length() {
                0 => self.parse_piece(first)?,
                length => self.advance(length),
            }
        }
        if self.words.is_empty() {
            return Err(QueryFailure::rejected_statement("the statement is empty", None));
        }
        Ok(self.statement)
    }

    fn remaining(&self) -> &'a str {
        &self.written[self.at..]
    }

    fn advance(&mut self, length: usize) {
        if !self.has_ended {
            self.statement.sql.push_str(&self.remaining()[..length]);
        }
        self.at += length;
    }

    fn rejected(&self, why: impl Into<String>) -> QueryFailure {
        QueryFailure::rejected_statement(why, Some(self.written[..self.at].chars().count() + 1))
    }

    /// The length of the comment that starts here, or 0.
    fn comment_length(&self) -> Result<usize, QueryFailure> {
        let rest = self.remaining();
        let is_mysql = self.kind == SourceKind::MySql;
        let is_line = match rest.strip_prefix("--") {
            Some(after) => {
                !is_mysql || after.chars().next().is_none_or(|next| next.is_whitespace() || next.is_control())
            }
            None => is_mysql && rest.starts_with('#'),
        };
        if is_line {
            return Ok(rest.find('\n').unwrap_or(rest.len()));
        }
        if !rest.starts_with("/*") {
            return Ok(0);
        }
        if is_mysql && (rest.starts_with("/*!") || rest.starts_with("/*M!")) {
            return Err(self.rejected("comments that MySQL or MariaDB would execute are not allowed"));
        }
        let (mut at, mut depth) = (2, 1);
        while depth > 0 {
            let Some(next) = rest[at..].find(['*', '/']).map(|next| at + next) else { return Ok(rest.len()) };
            at = next + 1;
            if rest[next..].starts_with("*/") {
                (at, depth) = (next + 2, depth - 1);
            } else if self.kind == SourceKind::Postgres && rest[next..].starts_with("/*") {
                (at, depth) = (next + 2, depth + 1);
            }
        }
        Ok(at)
    }

    /// The length of the quoted text that starts here, with its quotes, or 0.
    fn quoted_length(&self) -> usize {
        let rest = self.remaining();
        let (is_postgres, is_mysql) = (self.kind == SourceKind::Postgres, self.kind == SourceKind::MySql);
        match rest.chars().next() {
            Some('\'') => quoted_text_length(rest, '\'', is_mysql || (is_postgres && self.is_escaped())),
            Some('"') => quoted_text_length(rest, '"', is_mysql),
            Some('`') if !is_postgres => quoted_text_length(rest, '`', false),
            Some('$') if is_postgres => dollar_quote_length(rest).unwrap_or(0),
            _ => 0,
        }
    }

    /// Whether an `E` precedes the quote, as in `E'it\'s'`.
    fn is_escaped(&self) -> bool {
        let before = &self.written[..self.at];
        before.ends_with(['e', 'E']) && !before[..before.len() - 1].ends_with(is_name_part)
    }

    fn parse_piece(&mut self, first: char) -> Result<(), QueryFailure> {
        let rest = self.remaining();
        let second = rest[first.len_utf8()..].chars().next();
        match (first, second) {
            (';', _) => {
                self.has_ended = true;
                self.advance(1);
            }
            (':', Some(':' | '=')) => self.advance(2),
            (':', Some(begin)) if is_name_part(begin) && !begin.is_ascii_digit() => return self.parse_parameter(),
            ('?', _) if self.kind == SourceKind::MySql => return Err(self.rejected(NO_OTHERS)),
            ('$', Some(next)) if self.kind == SourceKind::Postgres && is_name_part(next) => {
                return Err(self.rejected(NO_OTHERS));
            }
            _ if is_name_part(first) => return self.parse_word(),
            _ => self.advance(first.len_utf8()),
        }
        Ok(())
    }

    fn parse_parameter(&mut self) -> Result<(), QueryFailure> {
        let name: String = self.remaining()[1..].chars().take_while(|c| is_name_part(*c)).collect();
        let parameter = match name.as_str() {
            "now" => RuleParameter::Now,
            "since" => RuleParameter::Since,
            _ => {
                return Err(
                    self.rejected("only the parameters :now and :since are allowed; put a space after any other `:`")
                );
            }
        };
        let parameters = &mut self.statement.parameters;
        let number = match parameters.iter().position(|of| *of == parameter) {
            Some(at) if self.kind != SourceKind::MySql => at + 1,
            _ => {
                parameters.push(parameter);
                parameters.len()
            }
        };
        let placeholder = match self.kind {
            // Without the cast it would be text, and subtracting an interval would fail.
            SourceKind::MySql => "CAST(? AS DATETIME(6))".into(),
            _ => format!("${number}"),
        };
        self.statement.sql.push_str(&placeholder);
        let by = placeholder.len().cast_signed() - (name.len() + 1).cast_signed();
        self.statement.shifts.push((self.statement.sql.chars().count(), by));
        self.at += name.len() + 1;
        Ok(())
    }

    fn parse_word(&mut self) -> Result<(), QueryFailure> {
        let length = self.remaining().find(|c| !is_name_part(c) && c != '$').unwrap_or(self.remaining().len());
        let word = self.remaining()[..length].to_lowercase();
        if self.words.is_empty() && !BEGINS.contains(&word.as_str()) {
            return Err(self.rejected("a statement must begin with SELECT, WITH or VALUES"));
        }
        if self.kind == SourceKind::MySql {
            let last = |back: usize| self.words.len().checked_sub(back).map_or("", |at| self.words[at].as_str());
            let locks = (last(1) == "for" && matches!(word.as_str(), "update" | "share"))
                || (last(2) == "lock" && last(1) == "in" && word == "share");
            if locks {
                return Err(self.rejected("a scan must not lock rows"));
            }
            // A reserved word: a column of this name must be quoted.
            if word == "into" {
                return Err(self.rejected("a scan must not write to a file or a variable"));
            }
        }
        self.words.push(word);
        self.advance(length);
        Ok(())
    }
}

/// Whether a character is part of names, numbers and words. `$` is too, except at the beginning.
fn is_name_part(c: char) -> bool {
    c.is_alphanumeric() || c == '_' || (!c.is_ascii() && !c.is_whitespace())
}

/// The length of a quoted text. An unterminated one extends to the end. Doubled quotes stand for one.
fn quoted_text_length(text: &str, quote: char, has_escapes: bool) -> usize {
    let mut all = text.char_indices().skip(1).peekable();
    while let Some((at, c)) = all.next() {
        if c == '\\' && has_escapes {
            all.next();
        } else if c == quote && all.next_if(|(_, next)| *next == quote).is_none() {
            return at + quote.len_utf8();
        }
    }
    text.len()
}

/// The length of a PostgreSQL text that starts with `$tag$`.
fn dollar_quote_length(text: &str) -> Option<usize> {
    let tag = &text[..text[1..].find('$')? + 2];
    let name = &tag[1..tag.len() - 1];
    let is_tag = name.chars().all(is_name_part) && !name.starts_with(|c: char| c.is_ascii_digit());
    is_tag.then(|| text[tag.len()..].find(tag).map_or(text.len(), |end| tag.len() + end + tag.len()))
}
