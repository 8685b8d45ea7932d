//! The arguments of filters that write in the reader's language.

use minijinja::machinery::Token;

use super::super::flaw::TemplateFlaw;
use super::TemplateParser;
use base::locale::{DateStyle, PLURAL_CATEGORIES};

impl<'t> TemplateParser<'t> {
    /// Checks the arguments of a filter, which are the tokens from `from` on, and notes what its result depends on.
    pub(super) fn check_locale_filter(&mut self, name: &str, from: usize) -> Result<(), TemplateFlaw> {
        match name {
            "plural" => self.check_plural_forms(from)?,
            "date" => self.check_date_style(from)?,
            "number" if self.at > from + 2 => {
                return Err(self.not_allowed("not allowed", "an argument of the filter \"number\"".into()));
            }
            "list" | "number" => {}
            _ => return Ok(()),
        }
        self.dependence.is_on_locale = true;
        self.dependence.is_on_time_zone |= name == "date";
        Ok(())
    }

    fn check_plural_forms(&self, from: usize) -> Result<(), TemplateFlaw> {
        let mut has_other = false;
        for argument in self.arguments(from) {
            let [Token::Ident(category), Token::Assign, ..] = argument.as_slice() else {
                let detail = "the filter \"plural\" with a form that has no category: write `other=…`";
                return Err(self.not_allowed("not allowed", detail.into()));
            };
            if !PLURAL_CATEGORIES.contains(category) {
                let detail = format!("the plural category {category:?}: use zero, one, two, few, many or other");
                return Err(self.not_allowed("not allowed", detail));
            }
            has_other |= *category == "other";
        }
        if !has_other {
            return Err(self.not_allowed("not allowed", "the filter \"plural\" without the category \"other\"".into()));
        }
        Ok(())
    }

    fn check_date_style(&self, from: usize) -> Result<(), TemplateFlaw> {
        let arguments = self.arguments(from);
        let style = match arguments.as_slice() {
            [] => return Ok(()),
            [only] => match only.as_slice() {
                [Token::Str(style)] => Some(*style),
                [Token::String(style)] => Some(&**style),
                _ => None,
            },
            _ => None,
        };
        match style {
            Some(style) if DateStyle::find_by_name(style).is_some() => Ok(()),
            Some(style) => {
                let known = DateStyle::ALL.map(DateStyle::name).join(", ");
                Err(self.not_allowed("not allowed", format!("the style of dates {style:?}: use one of {known}")))
            }
            None => {
                let detail = "the filter \"date\" with an argument that is not the name of a style in quotes";
                Err(self.not_allowed("not allowed", detail.into()))
            }
        }
    }

    /// The tokens of each argument, without the brackets around all of them.
    fn arguments(&self, from: usize) -> Vec<Vec<&'t Token<'t>>> {
        let tokens = self.tokens.get(from..self.at).unwrap_or_default();
        let inner = tokens.get(1..tokens.len().saturating_sub(1)).unwrap_or_default();
        let (mut arguments, mut depth) = (vec![Vec::new()], 0_usize);
        for (token, _) in inner {
            match token {
                Token::ParenOpen | Token::BracketOpen | Token::BraceOpen => depth += 1,
                Token::ParenClose | Token::BracketClose | Token::BraceClose => depth = depth.saturating_sub(1),
                Token::Comma if depth == 0 => {
                    arguments.push(Vec::new());
                    continue;
                }
                _ => {}
            }
            arguments.last_mut().expect("there is always one").push(token);
        }
        arguments.retain(|argument| !argument.is_empty());
        arguments
    }
}
