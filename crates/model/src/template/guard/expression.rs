//! Expressions: operands and operators.

use minijinja::machinery::Token;

use super::super::filters::{FILTERS, TESTS};
use super::super::flaw::TemplateFlaw;
use super::super::guard_filters::{COUNTED, EQUATED, FACTOR, INDEXED, LITERAL, MISSING, SUMMAND};
use super::{PrintedParts, TemplateParser};

/// Maximum operators, filters, tests and accesses (`.name`, `[0]`) between two braces.
const OPERATORS: usize = 64;
/// Maximum nesting of brackets.
const BRACKETS: usize = 6;
/// Maximum accesses by index (`[0]`, `.0`) between two braces; the guard wraps the base of each in brackets.
const INDEXES: usize = 6;

/// Keywords.
const WORDS: [&str; 8] = ["and", "else", "if", "in", "is", "not", "or", "recursive"];

/// How an operator reads its operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum OperandUse {
    /// In constant time: for truth, or as a number.
    Glance,
    /// Like `Whole`, but a missing value equals only `none`.
    Equal,
    /// Completely, for any type.
    Whole,
    /// Like `Whole`, but the engine would concatenate lists lazily, without reading them.
    Sum,
    /// As a number. The engine would also accept a text or list as one factor; the guard forbids it.
    Factor,
}

impl<'t> TemplateParser<'t> {
    /// Parses an expression. An operator that binds more tightly than one that reads its operands whole either does so
    /// itself or returns numbers, so marking the adjacent operands is enough.
    pub(super) fn parse_expression(&mut self) -> Result<PrintedParts, TemplateFlaw> {
        let mut before = OperandUse::Glance;
        let mut printing = PrintedParts { is_whole: self.is_at_word("not"), ..PrintedParts::default() };
        loop {
            let from = self.parse_operand()?;
            let to = self.last_token_end();
            printing.joins.extend(self.joined_at);
            match self.peek() {
                Some(Token::Tilde) => printing.tildes.push(self.next_token_start()),
                Some(Token::Plus | Token::Minus | Token::Ident(_)) => printing.is_whole = true,
                Some(Token::Eq | Token::Ne | Token::Gt | Token::Gte | Token::Lt | Token::Lte) => {
                    printing.is_whole = true;
                }
                _ => {}
            }
            let after = self.parse_operator()?;
            match before.max(after.unwrap_or(OperandUse::Glance)) {
                OperandUse::Glance => {}
                OperandUse::Equal => self.add_mark(from, to, EQUATED),
                OperandUse::Whole => self.add_mark(from, to, COUNTED),
                OperandUse::Sum => self.add_mark(from, to, SUMMAND),
                OperandUse::Factor => self.add_mark(from, to, FACTOR),
            }
            match after {
                Some(after) => before = after,
                None => return Ok(printing),
            }
        }
    }

    /// Where the next token begins.
    fn next_token_start(&self) -> usize {
        self.tokens.get(self.at).map_or(0, |(_, span)| span.start_offset as usize)
    }

    /// Where the last token ends.
    fn last_token_end(&self) -> usize {
        self.last_span().map_or(0, |span| span.end_offset as usize)
    }

    fn add_mark(&mut self, from: usize, to: usize, with: &'static str) {
        self.marks.extend([(from, "("), (to, "|"), (to, with), (to, ")")]);
    }

    /// Parses the next operator, if there is one.
    fn parse_operator(&mut self) -> Result<Option<OperandUse>, TemplateFlaw> {
        let reading = match self.peek() {
            Some(
                Token::Ident("and" | "or" | "if" | "else") | Token::Minus | Token::Div | Token::FloorDiv | Token::Mod,
            ) => OperandUse::Glance,
            Some(Token::Eq | Token::Ne) => OperandUse::Equal,
            Some(Token::Ident("in") | Token::Gt | Token::Gte | Token::Lt | Token::Lte | Token::Tilde) => {
                OperandUse::Whole
            }
            Some(Token::Plus) => OperandUse::Sum,
            Some(Token::Ident("not")) => {
                self.next();
                OperandUse::Whole
            }
            Some(Token::Mul) => OperandUse::Factor,
            Some(Token::Pow) => return Err(self.unexpected_part("not allowed", "the operator `**`")),
            _ => return Ok(None),
        };
        self.next();
        self.count_operator()?;
        Ok(Some(reading))
    }

    /// Parses an operand and returns where it begins.
    fn parse_operand(&mut self) -> Result<usize, TemplateFlaw> {
        while self.skip_word("not") {
            self.count_operator()?;
        }
        let from = self.next_token_start();
        while self.skip(&Token::Minus) {
            self.count_operator()?;
        }
        let value_from = self.next_token_start();
        self.parse_value()?;
        self.parse_steps(value_from)?;
        self.parse_filters_and_tests()?;
        Ok(from)
    }

    fn parse_value(&mut self) -> Result<(), TemplateFlaw> {
        let from = self.next_token_start();
        match self.next() {
            Some(Token::Ident("none" | "None")) => {
                self.add_mark(from, self.last_token_end(), MISSING);
                Ok(())
            }
            Some(Token::Ident(name)) if !WORDS.contains(name) => {
                self.names.insert((*name).to_owned());
                Ok(())
            }
            Some(Token::Str(_) | Token::String(_)) => {
                if self.marks_literals {
                    self.add_mark(from, self.last_token_end(), LITERAL);
                }
                Ok(())
            }
            Some(Token::Int(_) | Token::Int128(_) | Token::Float(_)) => Ok(()),
            Some(Token::ParenOpen) => self.parse_list(&Token::ParenClose),
            Some(Token::BracketOpen) => self.parse_list(&Token::BracketClose),
            Some(Token::BraceOpen) => self.parse_list(&Token::BraceClose),
            _ => Err(self.unexpected_token()),
        }
    }

    /// Parses `.name`, `.0` and `[…]` after the value that begins at `from`.
    fn parse_steps(&mut self, from: usize) -> Result<(), TemplateFlaw> {
        loop {
            match self.tokens.get(self.at..).unwrap_or_default() {
                [(Token::Dot, _), (Token::Ident(_), _), ..] => self.at += 2,
                [(Token::Dot, _), (Token::Int(_), _), ..] => {
                    self.parse_index(from)?;
                    self.at += 2;
                }
                [(Token::BracketOpen, _), ..] => {
                    self.parse_index(from)?;
                    self.next();
                    self.parse_list(&Token::BracketClose)?;
                }
                [(Token::ParenOpen, _), ..] => return Err(self.unexpected_part("not allowed", "a call")),
                _ => return Ok(()),
            }
            self.count_operator()?;
        }
    }

    /// Parses an access by index into the value read so far.
    fn parse_index(&mut self, from: usize) -> Result<(), TemplateFlaw> {
        self.add_mark(from, self.last_token_end(), INDEXED);
        self.indexes += 1;
        if self.indexes > INDEXES {
            return Err(self.not_allowed("too deep", format!("more than {INDEXES} steps `[…]` between two braces")));
        }
        Ok(())
    }

    fn parse_filters_and_tests(&mut self) -> Result<(), TemplateFlaw> {
        let mut joined_at = None;
        loop {
            if self.skip(&Token::Pipe) {
                let name = self.parse_known_name(&FILTERS, "filter")?;
                joined_at = matches!(name, "join" | "list").then(|| self.last_token_end());
                let from = self.at;
                self.parse_arguments()?;
                self.check_locale_filter(name, from)?;
            } else if self.skip_word("is") {
                joined_at = None;
                self.skip_word("not");
                self.parse_known_name(&TESTS, "test")?;
                self.check_no_bare_argument()?;
                self.parse_arguments()?;
            } else {
                self.joined_at = joined_at;
                return Ok(());
            }
            self.count_operator()?;
        }
    }

    fn parse_known_name(&mut self, known: &[&str], what: &str) -> Result<&'t str, TemplateFlaw> {
        let name = self.parse_word()?;
        if known.contains(&name) {
            return Ok(name);
        }
        Err(self.not_allowed("not allowed", format!("the {what} {name:?}")))
    }

    /// Parses the arguments in brackets, if there are any.
    fn parse_arguments(&mut self) -> Result<(), TemplateFlaw> {
        if self.skip(&Token::ParenOpen) { self.parse_list(&Token::ParenClose) } else { Ok(()) }
    }

    /// Fails on a test argument without brackets, which the engine would accept.
    fn check_no_bare_argument(&mut self) -> Result<(), TemplateFlaw> {
        match self.peek() {
            Some(Token::Ident("and" | "or" | "else" | "is")) => Ok(()),
            Some(
                Token::Ident(_)
                | Token::Str(_)
                | Token::String(_)
                | Token::Int(_)
                | Token::Int128(_)
                | Token::Float(_)
                | Token::Plus
                | Token::Minus
                | Token::BracketOpen
                | Token::BraceOpen,
            ) => Err(self.unexpected_part("not allowed", "an argument of a test without parentheses")),
            _ => Ok(()),
        }
    }

    /// Parses the contents of brackets: values, `name=value` or `"key": value`.
    fn parse_list(&mut self, close: &Token<'_>) -> Result<(), TemplateFlaw> {
        self.brackets += 1;
        if self.brackets > BRACKETS {
            return Err(self.not_allowed("too deep", format!("more than {BRACKETS} nested brackets")));
        }
        while !self.skip(close) {
            match (self.tokens.get(self.at..).unwrap_or_default(), close) {
                ([(Token::Str(_) | Token::String(_) | Token::Int(_), _), (Token::Colon, _), ..], Token::BraceClose)
                | ([(Token::Ident(_), _), (Token::Assign, _), ..], Token::ParenClose) => self.at += 2,
                // Keys of other types would be compared with each other when the map is created.
                (_, Token::BraceClose) => {
                    return Err(self.unexpected_part("not allowed", "a key that is not a literal text or number"));
                }
                _ => {}
            }
            self.parse_expression()?;
            if !self.skip(&Token::Comma) && !self.is_at(close) {
                self.next();
                return Err(self.unexpected_token());
            }
        }
        self.brackets -= 1;
        Ok(())
    }

    fn count_operator(&mut self) -> Result<(), TemplateFlaw> {
        self.operators += 1;
        if self.operators > OPERATORS {
            let detail = format!("more than {OPERATORS} operators, filters and steps between two braces");
            return Err(self.not_allowed("too deep", detail));
        }
        Ok(())
    }

    /// The error for a next token that is not allowed.
    fn unexpected_part(&mut self, kind: &'static str, what: &str) -> TemplateFlaw {
        self.next();
        self.not_allowed(kind, what.into())
    }
}
