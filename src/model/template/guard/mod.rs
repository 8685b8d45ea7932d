//! What a source may be, found out from its tokens before anything that calls itself touches it.
//!
//! The engine's parser and compiler, and the drop of what they make, call themselves for every bracket, operator and block
//! within another: 6,000 signs in a row end the process. For what passes here 1 MiB of stack is enough in a debug build. And
//! operands that an operator reads whole are marked, so that they are counted while the template is rendered (`work`).

mod expression;

use std::collections::BTreeSet;
use std::mem::discriminant;

use minijinja::machinery::{Span, Token, tokenize};
use minijinja::syntax::SyntaxConfig;

use super::flaw::Flaw;
use super::marks::PRINTED;

/// Stands in the place of a `~` between values that are printed: each is printed by itself.
const SEPARATE: &str = " }}{{ ";

/// The most tokens: names, values and signs in braces, and texts between braces.
const TOKENS: usize = 1000;
/// The most bytes of a name: it is compared with others whenever it is looked up.
const NAME_BYTES: usize = 128;
/// The most blocks within each other; an `elif` counts as one more within its `if`.
const BLOCKS: usize = 32;
/// The most loops within each other: names are looked for in each of them.
const LOOPS: usize = 4;

/// A source that may be compiled.
#[derive(Debug)]
pub struct Guarded {
    /// It, with what counts its operands. Its lines are the same.
    pub source: String,
    /// The names that it looks up.
    pub names: BTreeSet<String>,
    /// How many tokens it was made of.
    pub tokens: usize,
}

/// Checks a source. What it may be is in docs/limits.md.
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

/// The engine's own, so that no two readings of a source can differ.
fn tokens(source: &str) -> Result<Vec<(Token<'_>, Span)>, Flaw> {
    let mut tokens = Vec::new();
    for token in tokenize(source, false, SyntaxConfig::default()) {
        let (token, span) = token.map_err(|error| Flaw::of_source(&error))?;
        let refused = |detail| Err(Flaw::refused("too long", span.start_line, detail));
        if tokens.len() == TOKENS {
            return refused(format!("more than {TOKENS} names, values and signs in braces"));
        }
        if matches!(token, Token::Ident(name) if name.len() > NAME_BYTES) {
            return refused(format!("a name of more than {NAME_BYTES} bytes"));
        }
        tokens.push((token, span));
    }
    Ok(tokens)
}

/// The source with marks in it.
fn with(source: &str, mut marks: Vec<(usize, &str)>) -> String {
    // What goes on with a name stands before what ends its operand.
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

/// What an expression is made of, for when it is printed.
#[derive(Debug, Default)]
struct Printing {
    /// Where its operators `~` begin.
    pub tildes: Vec<usize>,
    /// Where the names of filters `join` end that make what is printed.
    pub joins: Vec<usize>,
    /// Whether an operator makes one value of all of it, as those do that bind less than `~`.
    pub is_whole: bool,
}

/// Reads tokens, from left to right.
///
/// It takes more than the engine's parser does (`a else b`, an `endif` too many); but in whatever the parser takes, too, it has
/// found all operands.
struct Reader<'t> {
    tokens: &'t [(Token<'t>, Span)],
    at: usize,
    /// Those since the last opening brace.
    operators: usize,
    /// Those since the last opening brace.
    indexes: usize,
    /// Open ones.
    brackets: usize,
    /// Open ones.
    blocks: Vec<Block>,
    /// What is to be put into the source, and where.
    marks: Vec<(usize, &'static str)>,
    names: BTreeSet<String>,
    /// Whether texts that are written in it may be printed.
    marks_literals: bool,
    /// Where the name of the last filter of the last operand ends, where that is `join`.
    joined_at: Option<usize>,
}

/// An open block.
struct Block {
    kind: Kind,
    /// It, and each `elif` of it.
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
            return Err(self.refused("too deep", format!("more than {LOOPS} loops within each other")));
        }
        if blocks > BLOCKS {
            return Err(self.refused("too deep", format!("more than {BLOCKS} blocks within each other")));
        }
        Ok(self)
    }

    /// The names that a loop gives to its entries.
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

    /// The name that a value is given.
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

    /// Goes on where the next token is one like this.
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

    /// The last token that was read, or the last of all.
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
