//! Checks the tokens of a source before any recursive code processes it.
//!
//! The engine's parser and compiler, and dropping their result, recurse for each nested bracket, operator and block:
//! 6,000 characters in a row overflow the stack and end the process. For a source that passes here, 1 MiB of stack is
//! enough in a debug build. The guard also wraps operands that an operator reads whole in filters that count their size
//! during rendering (`work_limit`).

mod expression;
mod locale;

use std::collections::BTreeSet;
use std::mem::discriminant;

use minijinja::machinery::{Span, Token, tokenize};
use minijinja::syntax::SyntaxConfig;

use super::flaw::TemplateFlaw;
use super::guard_filters::PRINTED;
use crate::reader::ReaderDependence;

/// Replaces a `~` between printed values, so that each is printed by itself.
const SEPARATE: &str = " }}{{ ";

/// Maximum tokens: names, values and signs in braces, and texts between braces.
const TOKENS: usize = 1000;
/// Maximum bytes of a name, which is compared with others at each lookup.
const NAME_BYTES: usize = 128;
/// Maximum nesting of blocks; each `elif` counts as one level within its `if`.
const BLOCKS: usize = 32;
/// Maximum nesting of loops: names are looked up in each of them.
const LOOPS: usize = 4;

/// A source that is safe to compile.
#[derive(Debug)]
pub struct GuardedSource {
    /// The source with filters that count operands. Its line numbers are unchanged.
    pub source: String,
    /// The variables that it uses.
    pub names: BTreeSet<String>,
    /// What its result depends on.
    pub dependence: ReaderDependence,
    /// Number of tokens.
    pub tokens: usize,
}

/// Checks a source by the limits in docs/limits.md.
pub fn guard_source(source: &str) -> Result<GuardedSource, TemplateFlaw> {
    let tokens = read_tokens(source)?;
    let mut reader = TemplateParser {
        tokens: &tokens,
        at: 0,
        operators: 0,
        indexes: 0,
        brackets: 0,
        blocks: Vec::new(),
        marks: Vec::new(),
        names: BTreeSet::new(),
        dependence: ReaderDependence::default(),
        marks_literals: false,
        joined_at: None,
    };
    while let Some(token) = reader.next() {
        match token {
            Token::VariableStart => reader.parse_print()?,
            Token::BlockStart => reader.parse_block()?,
            _ => {}
        }
    }
    let TemplateParser { marks, names, mut dependence, .. } = reader;
    dependence.is_on_locale |= names.contains("locale");
    dependence.is_on_time_zone |= names.contains("time_zone");
    Ok(GuardedSource { source: insert_marks(source, marks), names, dependence, tokens: tokens.len() })
}

/// Uses the engine's own tokenizer, so that both read a source the same way.
fn read_tokens(source: &str) -> Result<Vec<(Token<'_>, Span)>, TemplateFlaw> {
    let mut tokens = Vec::new();
    for token in tokenize(source, false, SyntaxConfig::default()) {
        let (token, span) = token.map_err(|error| TemplateFlaw::from_source_error(&error))?;
        let refused = |detail| Err(TemplateFlaw::not_allowed("too long", span.start_line, detail));
        if tokens.len() == TOKENS {
            return refused(format!("more than {TOKENS} names, values and operators in braces"));
        }
        if matches!(token, Token::Ident(name) if name.len() > NAME_BYTES) {
            return refused(format!("a name of more than {NAME_BYTES} bytes"));
        }
        tokens.push((token, span));
    }
    Ok(tokens)
}

/// Inserts the marks into the source.
fn insert_marks(source: &str, mut marks: Vec<(usize, &str)>) -> String {
    // A mark that extends a name comes before one that ends its operand.
    marks.sort_by_key(|(at, mark)| (*at, *mark != PRINTED));
    let mut marked = String::with_capacity(source.len() + marks.iter().map(|(_, mark)| mark.len()).sum::<usize>());
    let mut from = 0;
    for (at, mark) in marks {
        marked.push_str(&source[from..at]);
        marked.push_str(mark);
        from = if mark == SEPARATE { at + "~".len() } else { at };
    }
    marked + &source[from..]
}

/// The parts of an expression that matter when it is printed.
#[derive(Debug, Default)]
struct PrintedParts {
    /// Where its `~` operators begin.
    pub tildes: Vec<usize>,
    /// Where the names of `join` and `list` filters end that produce printed values.
    pub joins: Vec<usize>,
    /// Whether an operator that binds less tightly than `~` combines everything into one value.
    pub is_whole: bool,
}

/// Parses tokens from left to right.
///
/// It accepts more than the engine's parser does (`a else b`, a surplus `endif`), but in every source that the engine
/// accepts it finds all operands.
struct TemplateParser<'t> {
    tokens: &'t [(Token<'t>, Span)],
    at: usize,
    /// Number since the last opening brace.
    operators: usize,
    /// Number since the last opening brace.
    indexes: usize,
    /// Number of open brackets.
    brackets: usize,
    /// The open blocks.
    blocks: Vec<OpenBlock>,
    /// Texts to insert into the source, and their offsets.
    marks: Vec<(usize, &'static str)>,
    names: BTreeSet<String>,
    dependence: ReaderDependence,
    /// Whether text literals may be printed.
    marks_literals: bool,
    /// Where the name of the last filter of the last operand ends, if it is `join` or `list`.
    joined_at: Option<usize>,
}

/// An open block.
struct OpenBlock {
    kind: BlockKind,
    /// The number of its branches: the block and each `elif`.
    many: usize,
}

#[derive(PartialEq, Eq)]
enum BlockKind {
    If,
    Loop,
}

impl<'t> TemplateParser<'t> {
    fn parse_print(&mut self) -> Result<(), TemplateFlaw> {
        (self.operators, self.indexes, self.marks_literals) = (0, 0, true);
        let PrintedParts { tildes, joins, is_whole } = self.parse_expression()?;
        if !is_whole {
            self.marks.extend(tildes.into_iter().map(|at| (at, SEPARATE)));
            self.marks.extend(joins.into_iter().map(|at| (at, PRINTED)));
        }
        self.expect_token(&Token::VariableEnd)
    }

    fn parse_block(&mut self) -> Result<(), TemplateFlaw> {
        (self.operators, self.indexes) = (0, 0);
        let word = self.parse_word()?;
        self.marks_literals = matches!(word, "for" | "set");
        match word {
            "if" => self.open_block(BlockKind::If)?.parse_expression().map(drop),
            "elif" => self.open_elif()?.parse_expression().map(drop),
            "for" => self.open_block(BlockKind::Loop)?.parse_loop_variables()?.parse_expression().map(drop),
            "set" => self.parse_assigned_variable()?.parse_expression().map(drop),
            "else" => Ok(()),
            "endif" | "endfor" => {
                self.blocks.pop();
                Ok(())
            }
            other => Err(self.not_allowed("not allowed", format!("the block {other:?}"))),
        }?;
        self.expect_token(&Token::BlockEnd)
    }

    fn open_block(&mut self, kind: BlockKind) -> Result<&mut Self, TemplateFlaw> {
        self.blocks.push(OpenBlock { kind, many: 1 });
        self.check_depth()
    }

    fn open_elif(&mut self) -> Result<&mut Self, TemplateFlaw> {
        if let Some(block) = self.blocks.last_mut() {
            block.many += 1;
        }
        self.check_depth()
    }

    fn check_depth(&mut self) -> Result<&mut Self, TemplateFlaw> {
        let loops = self.blocks.iter().filter(|block| block.kind == BlockKind::Loop).count();
        let blocks: usize = self.blocks.iter().map(|block| block.many).sum();
        if loops > LOOPS {
            return Err(self.not_allowed("too deep", format!("more than {LOOPS} nested loops")));
        }
        if blocks > BLOCKS {
            return Err(self.not_allowed("too deep", format!("more than {BLOCKS} nested blocks")));
        }
        Ok(self)
    }

    /// Parses the loop variables.
    fn parse_loop_variables(&mut self) -> Result<&mut Self, TemplateFlaw> {
        loop {
            self.parse_word()?;
            match self.next() {
                Some(Token::Comma) => {}
                Some(Token::Ident("in")) => return Ok(self),
                _ => return Err(self.unexpected_token()),
            }
        }
    }

    /// Parses a variable and its `=`.
    fn parse_assigned_variable(&mut self) -> Result<&mut Self, TemplateFlaw> {
        self.parse_word()?;
        self.expect_token(&Token::Assign)?;
        Ok(self)
    }

    fn parse_word(&mut self) -> Result<&'t str, TemplateFlaw> {
        match self.next() {
            Some(Token::Ident(word)) => Ok(word),
            _ => Err(self.unexpected_token()),
        }
    }

    fn expect_token(&mut self, token: &Token<'_>) -> Result<(), TemplateFlaw> {
        if self.skip(token) {
            return Ok(());
        }
        self.next();
        Err(self.unexpected_token())
    }

    /// Consumes the next token if it is of this kind.
    fn skip(&mut self, token: &Token<'_>) -> bool {
        let is_it = self.is_at(token);
        self.at += usize::from(is_it);
        is_it
    }

    fn is_at(&self, token: &Token<'_>) -> bool {
        self.peek().is_some_and(|next| discriminant(next) == discriminant(token))
    }

    fn is_at_word(&self, word: &str) -> bool {
        matches!(self.peek(), Some(Token::Ident(next)) if *next == word)
    }

    fn skip_word(&mut self, word: &str) -> bool {
        let is_it = self.is_at_word(word);
        self.at += usize::from(is_it);
        is_it
    }

    fn peek(&self) -> Option<&'t Token<'t>> {
        self.tokens.get(self.at).map(|(token, _)| token)
    }

    fn next(&mut self) -> Option<&'t Token<'t>> {
        let token = self.peek();
        self.at += 1;
        token
    }

    /// The span of the last token that was read, or of the last token of all.
    fn last_span(&self) -> Option<Span> {
        let at = self.at.min(self.tokens.len()).checked_sub(1)?;
        Some(self.tokens[at].1)
    }

    fn unexpected_token(&self) -> TemplateFlaw {
        let token = self.at.checked_sub(1).and_then(|at| self.tokens.get(at));
        let what = token.map_or("end of the template".into(), |(token, _)| token.to_string());
        self.not_allowed("syntax error", format!("unexpected {what}"))
    }

    fn not_allowed(&self, kind: &'static str, detail: String) -> TemplateFlaw {
        TemplateFlaw::not_allowed(kind, self.last_span().map_or(1, |span| span.start_line), detail)
    }
}
