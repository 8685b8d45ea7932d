//! Expressions: operands and operators.

use minijinja::machinery::Token;

use super::super::filters::{FILTERS, TESTS};
use super::super::flaw::Flaw;
use super::super::marks::{COUNTED, EQUATED, FACTOR, INDEXED, LITERAL, MISSING, SUMMAND};
use super::{Printing, Reader};

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
enum Reading {
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

impl<'t> Reader<'t> {
    /// Parses an expression. An operator that binds more tightly than one that reads its operands whole either does so
    /// itself or returns numbers, so marking the adjacent operands is enough.
    pub(super) fn expression(&mut self) -> Result<Printing, Flaw> {
        let mut before = Reading::Glance;
        let mut printing = Printing { is_whole: self.is_at_word("not"), ..Printing::default() };
        loop {
            let from = self.operand()?;
            let to = self.end();
            printing.joins.extend(self.joined_at);
            match self.peek() {
                Some(Token::Tilde) => printing.tildes.push(self.begin()),
                Some(Token::Plus | Token::Minus | Token::Ident(_)) => printing.is_whole = true,
                Some(Token::Eq | Token::Ne | Token::Gt | Token::Gte | Token::Lt | Token::Lte) => {
                    printing.is_whole = true;
                }
                _ => {}
            }
            let after = self.operator()?;
            match before.max(after.unwrap_or(Reading::Glance)) {
                Reading::Glance => {}
                Reading::Equal => self.mark(from, to, EQUATED),
                Reading::Whole => self.mark(from, to, COUNTED),
                Reading::Sum => self.mark(from, to, SUMMAND),
                Reading::Factor => self.mark(from, to, FACTOR),
            }
            match after {
                Some(after) => before = after,
                None => return Ok(printing),
            }
        }
    }

    /// Where the next token begins.
    fn begin(&self) -> usize {
        self.tokens.get(self.at).map_or(0, |(_, span)| span.start_offset as usize)
    }

    /// Where the last token ends.
    fn end(&self) -> usize {
        self.span().map_or(0, |span| span.end_offset as usize)
    }

    fn mark(&mut self, from: usize, to: usize, with: &'static str) {
        self.marks.extend([(from, "("), (to, "|"), (to, with), (to, ")")]);
    }

    /// Parses the next operator, if there is one.
    fn operator(&mut self) -> Result<Option<Reading>, Flaw> {
        let reading = match self.peek() {
            Some(
                Token::Ident("and" | "or" | "if" | "else") | Token::Minus | Token::Div | Token::FloorDiv | Token::Mod,
            ) => Reading::Glance,
            Some(Token::Eq | Token::Ne) => Reading::Equal,
            Some(Token::Ident("in") | Token::Gt | Token::Gte | Token::Lt | Token::Lte | Token::Tilde) => Reading::Whole,
            Some(Token::Plus) => Reading::Sum,
            Some(Token::Ident("not")) => {
                self.next();
                Reading::Whole
            }
            Some(Token::Mul) => Reading::Factor,
            Some(Token::Pow) => return Err(self.beyond("not allowed", "the operator `**`")),
            _ => return Ok(None),
        };
        self.next();
        self.one_more()?;
        Ok(Some(reading))
    }

    /// Parses an operand and returns where it begins.
    fn operand(&mut self) -> Result<usize, Flaw> {
        while self.skip_word("not") {
            self.one_more()?;
        }
        let from = self.begin();
        while self.skip(&Token::Minus) {
            self.one_more()?;
        }
        let value_from = self.begin();
        self.value()?;
        self.steps(value_from)?;
        self.filters_and_tests()?;
        Ok(from)
    }

    fn value(&mut self) -> Result<(), Flaw> {
        let from = self.begin();
        match self.next() {
            Some(Token::Ident("none" | "None")) => {
                self.mark(from, self.end(), MISSING);
                Ok(())
            }
            Some(Token::Ident(name)) if !WORDS.contains(name) => {
                self.names.insert((*name).to_owned());
                Ok(())
            }
            Some(Token::Str(_) | Token::String(_)) => {
                if self.marks_literals {
                    self.mark(from, self.end(), LITERAL);
                }
                Ok(())
            }
            Some(Token::Int(_) | Token::Int128(_) | Token::Float(_)) => Ok(()),
            Some(Token::ParenOpen) => self.list(&Token::ParenClose),
            Some(Token::BracketOpen) => self.list(&Token::BracketClose),
            Some(Token::BraceOpen) => self.list(&Token::BraceClose),
            _ => Err(self.unexpected()),
        }
    }

    /// Parses `.name`, `.0` and `[…]` after the value that begins at `from`.
    fn steps(&mut self, from: usize) -> Result<(), Flaw> {
        loop {
            match self.tokens.get(self.at..).unwrap_or_default() {
                [(Token::Dot, _), (Token::Ident(_), _), ..] => self.at += 2,
                [(Token::Dot, _), (Token::Int(_), _), ..] => {
                    self.index(from)?;
                    self.at += 2;
                }
                [(Token::BracketOpen, _), ..] => {
                    self.index(from)?;
                    self.next();
                    self.list(&Token::BracketClose)?;
                }
                [(Token::ParenOpen, _), ..] => return Err(self.beyond("not allowed", "a call")),
                _ => return Ok(()),
            }
            self.one_more()?;
        }
    }

    /// Parses an access by index into the value read so far.
    fn index(&mut self, from: usize) -> Result<(), Flaw> {
        self.mark(from, self.end(), INDEXED);
        self.indexes += 1;
        if self.indexes > INDEXES {
            return Err(self.refused("too deep", format!("more than {INDEXES} steps `[…]` between two braces")));
        }
        Ok(())
    }

    fn filters_and_tests(&mut self) -> Result<(), Flaw> {
        let mut joined_at = None;
        loop {
            if self.skip(&Token::Pipe) {
                let name = self.named(&FILTERS, "filter")?;
                joined_at = (name == "join").then(|| self.end());
                self.arguments()?;
            } else if self.skip_word("is") {
                joined_at = None;
                self.skip_word("not");
                self.named(&TESTS, "test")?;
                self.no_bare_argument()?;
                self.arguments()?;
            } else {
                self.joined_at = joined_at;
                return Ok(());
            }
            self.one_more()?;
        }
    }

    fn named(&mut self, known: &[&str], what: &str) -> Result<&'t str, Flaw> {
        let name = self.word()?;
        if known.contains(&name) {
            return Ok(name);
        }
        Err(self.refused("not allowed", format!("the {what} {name:?}")))
    }

    /// Parses the arguments in brackets, if there are any.
    fn arguments(&mut self) -> Result<(), Flaw> {
        if self.skip(&Token::ParenOpen) { self.list(&Token::ParenClose) } else { Ok(()) }
    }

    /// Fails on a test argument without brackets, which the engine would accept.
    fn no_bare_argument(&mut self) -> Result<(), Flaw> {
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
            ) => Err(self.beyond("not allowed", "an argument of a test without parentheses")),
            _ => Ok(()),
        }
    }

    /// Parses the contents of brackets: values, `name=value` or `"key": value`.
    fn list(&mut self, close: &Token<'_>) -> Result<(), Flaw> {
        self.brackets += 1;
        if self.brackets > BRACKETS {
            return Err(self.refused("too deep", format!("more than {BRACKETS} nested brackets")));
        }
        while !self.skip(close) {
            match (self.tokens.get(self.at..).unwrap_or_default(), close) {
                ([(Token::Str(_) | Token::String(_) | Token::Int(_), _), (Token::Colon, _), ..], Token::BraceClose)
                | ([(Token::Ident(_), _), (Token::Assign, _), ..], Token::ParenClose) => self.at += 2,
                // Keys of other types would be compared with each other when the map is created.
                (_, Token::BraceClose) => {
                    return Err(self.beyond("not allowed", "a key that is not a literal text or number"));
                }
                _ => {}
            }
            self.expression()?;
            if !self.skip(&Token::Comma) && !self.is_at(close) {
                self.next();
                return Err(self.unexpected());
            }
        }
        self.brackets -= 1;
        Ok(())
    }

    fn one_more(&mut self) -> Result<(), Flaw> {
        self.operators += 1;
        if self.operators > OPERATORS {
            let detail = format!("more than {OPERATORS} operators, filters and steps between two braces");
            return Err(self.refused("too deep", detail));
        }
        Ok(())
    }

    /// The error for a next token that is not allowed.
    fn beyond(&mut self, kind: &'static str, what: &str) -> Flaw {
        self.next();
        self.refused(kind, what.into())
    }
}
