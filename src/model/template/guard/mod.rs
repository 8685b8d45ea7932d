//! Checks the tokens of a source before any recursive code processes it.
//!
//! The engine's parser and compiler, and dropping their result, recurse for each nested bracket, operator and block:
//! 6,000 characters in a row overflow the stack and end the process. For a source that passes here, 1 MiB of stack is
//! enough in a debug build. The guard also wraps operands that an operator reads whole in filters that count their size
//! during rendering (`work`).

mod expression;

use std::collections::BTreeSet;
use std::mem::discriminant;

use minijinja::machinery::{Span, Token, tokenize};
use minijinja::syntax::SyntaxConfig;

use super::flaw::Flaw;
use super::marks::PRINTED;

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
pub struct Guarded {
    /// The source with filters that count operands. Its line numbers are unchanged.
    pub source: String,
    /// The variables that it uses.
    pub names: BTreeSet<String>,
    /// Number of tokens.
    pub tokens: usize,
}

/// Checks a source by the limits in docs/limits.md.
pub fn guarded(source: &str) -> Result<Guarded, Flaw> {
    let tokens = tokens(source)?;
    let mut reader = Reader {
        tokens: &tokens,
        at: 0,
        operators: 0,
        indexes: 0,
        brackets: 0,
        blocks: Vec::new(),
        marks: Vec::new(),
        names: BTreeSet::new(),
        marks_literals: false,
        joined_at: None,
    };
    while let Some(token) = reader.next() {
        match token {
            Token::VariableStart => reader.print()?,
            Token::BlockStart => reader.block()?,
            _ => {}
        }
    }
    Ok(Guarded { source: with(source, reader.marks), names: reader.names, tokens: tokens.len() })
}

/// Uses the engine's own tokenizer, so that both read a source the same way.
fn tokens(source: &str) -> Result<Vec<(Token<'_>, Span)>, Flaw> {
    let mut tokens = Vec::new();
    for token in tokenize(source, false, SyntaxConfig::default()) {
        let (token, span) = token.map_err(|error| Flaw::of_source(&error))?;
        let refused = |detail| Err(Flaw::refused("too long", span.start_line, detail));
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
fn with(source: &str, mut marks: Vec<(usize, &str)>) -> String {
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
struct Printing {
    /// Where its `~` operators begin.
    pub tildes: Vec<usize>,
    /// Where the names of `join` filters end that produce printed values.
    pub joins: Vec<usize>,
    /// Whether an operator that binds less tightly than `~` combines everything into one value.
    pub is_whole: bool,
}

/// Parses tokens from left to right.
///
/// It accepts more than the engine's parser does (`a else b`, a surplus `endif`), but in every source that the engine
/// accepts it finds all operands.
struct Reader<'t> {
    tokens: &'t [(Token<'t>, Span)],
    at: usize,
    /// Number since the last opening brace.
    operators: usize,
    /// Number since the last opening brace.
    indexes: usize,
    /// Number of open brackets.
    brackets: usize,
    /// The open blocks.
    blocks: Vec<Block>,
    /// Texts to insert into the source, and their offsets.
    marks: Vec<(usize, &'static str)>,
    names: BTreeSet<String>,
    /// Whether text literals may be printed.
    marks_literals: bool,
    /// Where the name of the last filter of the last operand ends, if it is `join`.
    joined_at: Option<usize>,
}

/// An open block.
struct Block {
    kind: Kind,
    /// The number of its branches: the block and each `elif`.
    many: usize,
}

#[derive(PartialEq, Eq)]
enum Kind {
    If,
    Loop,
}

impl<'t> Reader<'t> {
    fn print(&mut self) -> Result<(), Flaw> {
        (self.operators, self.indexes, self.marks_literals) = (0, 0, true);
        let Printing { tildes, joins, is_whole } = self.expression()?;
        if !is_whole {
            self.marks.extend(tildes.into_iter().map(|at| (at, SEPARATE)));
            self.marks.extend(joins.into_iter().map(|at| (at, PRINTED)));
        }
        self.expect(&Token::VariableEnd)
    }

    fn block(&mut self) -> Result<(), Flaw> {
        (self.operators, self.indexes) = (0, 0);
        let word = self.word()?;
        self.marks_literals = matches!(word, "for" | "set");
        match word {
            "if" => self.open(Kind::If)?.expression().map(drop),
            "elif" => self.open_elif()?.expression().map(drop),
            "for" => self.open(Kind::Loop)?.entries()?.expression().map(drop),
            "set" => self.variable()?.expression().map(drop),
            "else" => Ok(()),
            "endif" | "endfor" => {
                self.blocks.pop();
                Ok(())
            }
            other => Err(self.refused("not allowed", format!("the block {other:?}"))),
        }?;
        self.expect(&Token::BlockEnd)
    }

    fn open(&mut self, kind: Kind) -> Result<&mut Self, Flaw> {
        self.blocks.push(Block { kind, many: 1 });
        self.no_deeper()
    }

    fn open_elif(&mut self) -> Result<&mut Self, Flaw> {
        if let Some(block) = self.blocks.last_mut() {
            block.many += 1;
        }
        self.no_deeper()
    }

    fn no_deeper(&mut self) -> Result<&mut Self, Flaw> {
        let loops = self.blocks.iter().filter(|block| block.kind == Kind::Loop).count();
        let blocks: usize = self.blocks.iter().map(|block| block.many).sum();
        if loops > LOOPS {
            return Err(self.refused("too deep", format!("more than {LOOPS} nested loops")));
        }
        if blocks > BLOCKS {
            return Err(self.refused("too deep", format!("more than {BLOCKS} nested blocks")));
        }
        Ok(self)
    }

    /// Parses the loop variables.
    fn entries(&mut self) -> Result<&mut Self, Flaw> {
        loop {
            self.word()?;
            match self.next() {
                Some(Token::Comma) => {}
                Some(Token::Ident("in")) => return Ok(self),
                _ => return Err(self.unexpected()),
            }
        }
    }

    /// Parses a variable and its `=`.
    fn variable(&mut self) -> Result<&mut Self, Flaw> {
        self.word()?;
        self.expect(&Token::Assign)?;
        Ok(self)
    }

    fn word(&mut self) -> Result<&'t str, Flaw> {
        match self.next() {
            Some(Token::Ident(word)) => Ok(word),
            _ => Err(self.unexpected()),
        }
    }

    fn expect(&mut self, token: &Token<'_>) -> Result<(), Flaw> {
        if self.skip(token) {
            return Ok(());
        }
        self.next();
        Err(self.unexpected())
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
    fn span(&self) -> Option<Span> {
        let at = self.at.min(self.tokens.len()).checked_sub(1)?;
        Some(self.tokens[at].1)
    }

    fn unexpected(&self) -> Flaw {
        let token = self.at.checked_sub(1).and_then(|at| self.tokens.get(at));
        let what = token.map_or("end of the template".into(), |(token, _)| token.to_string());
        self.refused("syntax error", format!("unexpected {what}"))
    }

    fn refused(&self, kind: &'static str, detail: String) -> Flaw {
        Flaw::refused(kind, self.span().map_or(1, |span| span.start_line), detail)
    }
}
