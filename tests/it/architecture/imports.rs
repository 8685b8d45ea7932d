//! Which files import which, read from the source text.
//!
//! An import through a module that only re-exports a name counts as an import of the file that defines it. Unit tests
//! do not count.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// The path of a file among the modules: `["domain", "inbox", "sync"]`.
pub type Module = Vec<String>;

/// All imports of `src`: for each file, the files that it needs.
pub type Imports = BTreeMap<Module, BTreeSet<Module>>;

/// Returns the sources below a folder of the repository, without comments, strings and unit tests.
pub fn sources(folder: &str) -> BTreeMap<PathBuf, String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let (mut waiting, mut sources) = (vec![root.join(folder)], BTreeMap::new());
    while let Some(path) = waiting.pop() {
        if path.is_dir() {
            waiting.extend(fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path()));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let text = fs::read_to_string(&path).unwrap();
            let text = text.split("mod tests {").next().unwrap_or_default();
            let lines = text.lines().map(|line| without_strings(line.split("//").next().unwrap_or_default()));
            let text = lines.collect::<Vec<_>>().join("\n");
            sources.insert(path.strip_prefix(root).unwrap().to_owned(), text);
        }
    }
    sources
}

/// Removes strings from a line. A string over several lines contains no code of ours either.
fn without_strings(line: &str) -> String {
    let line = line.replace("\\\"", "").replace("'\"'", "");
    line.split('"').step_by(2).collect::<Vec<_>>().join("\"\"")
}

/// The module of a file of `src`.
fn module(path: &Path) -> Module {
    let names = path.with_extension("");
    let mut names: Module = names.components().skip(1).map(|part| part.as_os_str().to_string_lossy().into()).collect();
    if names.last().is_some_and(|last| last == "mod" || last == "lib") {
        names.pop();
    }
    names
}

/// A name that a file imports: the path to it, and its local name.
struct Use {
    path: Module,
    name: String,
    is_public: bool,
}

struct Sources {
    text: BTreeMap<Module, String>,
    uses: BTreeMap<Module, Vec<Use>>,
}

/// Returns which files of `src` import which.
pub fn imports() -> Imports {
    let text: BTreeMap<Module, String> = sources("src")
        .into_iter()
        .map(|(path, text)| (module(&path), text))
        .filter(|(of, _)| *of != ["main"])
        .collect();
    let mut all = Sources { text, uses: BTreeMap::new() };
    let modules: Vec<Module> = all.text.keys().cloned().collect();
    for of in &modules {
        let uses = all.uses_of(of);
        all.uses.insert(of.clone(), uses);
    }
    modules.iter().map(|of| (of.clone(), all.imports_of(of))).collect()
}

impl Sources {
    fn uses_of(&self, of: &Module) -> Vec<Use> {
        let mut uses = Vec::new();
        for statement in self.text[of].split(';') {
            let Some((before, tree)) = statement
                .rsplit_once("use ")
                .filter(|(before, _)| before.trim_end().len() < before.len() || before.is_empty())
            else {
                continue;
            };
            let is_public = before.trim_end().ends_with("pub") || before.trim_end().ends_with(')');
            let mut paths = Vec::new();
            expand(&mut Vec::new(), tree, &mut paths);
            for (path, name) in paths {
                uses.extend(self.absolute(of, &path).map(|path| Use { path, name, is_public }));
            }
        }
        uses
    }

    fn absolute(&self, of: &Module, path: &[String]) -> Option<Module> {
        let ups = path.iter().take_while(|part| *part == "super").count();
        match path.first()?.as_str() {
            "crate" => Some(path[1..].to_vec()),
            "self" => Some([of, &path[1..]].concat()),
            "super" => Some([&of[..of.len().checked_sub(ups)?], &path[ups..]].concat()),
            first => self.text.contains_key(&[of.as_slice(), &[first.into()]].concat()).then(|| [of, path].concat()),
        }
    }

    /// Returns the file that a path leads to, through re-exports.
    fn file(&self, path: &[String], steps: usize) -> Module {
        let known = (0..=path.len()).rev().find(|end| self.text.contains_key(&path[..*end])).unwrap_or(0);
        let (module, rest) = path.split_at(known);
        let handed_on = rest.first().and_then(|name| self.uses.get(module)?.iter().find(|of| of.name == *name));
        match handed_on.filter(|_| steps < 8) {
            Some(on) => self.file(&[on.path.as_slice(), &rest[1..]].concat(), steps + 1),
            None => module.to_vec(),
        }
    }

    fn imports_of(&self, of: &Module) -> BTreeSet<Module> {
        let mut imports = BTreeSet::new();
        let text = &self.text[of];
        for Use { path, name, is_public } in &self.uses[of] {
            // A re-exported name is not used here.
            if *is_public {
                continue;
            }
            let mut members = members(text, name).peekable();
            if self.text.contains_key(path) && members.peek().is_some() {
                imports.extend(members.map(|member| self.file(&[path.as_slice(), &[member]].concat(), 0)));
            } else {
                imports.insert(self.file(path, 0));
            }
        }
        for start in ["crate", "super", "self"] {
            for path in paths(text, start) {
                imports.extend(self.absolute(of, &path).map(|path| self.file(&path, 0)));
            }
        }
        let is_child = |path: &&Module| path.len() == of.len() + 1 && path.starts_with(of);
        for child in self.text.keys().filter(is_child) {
            let name = child.last().expect("it has a name");
            let is_another = self.uses[of].iter().any(|used| used.name == *name && used.path != *child);
            if !is_another {
                imports.extend(members(text, name).map(|member| self.file(&[child.as_slice(), &[member]].concat(), 0)));
            }
        }
        imports.remove(of);
        imports
    }
}

/// The members used of a module called `name`: each `name::member`.
fn members<'a>(text: &'a str, name: &'a str) -> impl Iterator<Item = String> + 'a {
    paths(text, name).filter_map(|path| path.into_iter().nth(1))
}

/// All paths in a text that begin with a name, except in import statements.
fn paths<'a>(text: &'a str, start: &'a str) -> impl Iterator<Item = Module> + 'a {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    text.match_indices(start).filter_map(move |(at, _)| {
        let is_start = !text[..at].ends_with(|c| is_word(c) || c == ':' || c == '.');
        let line = text[..at].rsplit('\n').next().unwrap_or_default();
        let path = &text[at..];
        let end = path.find(|c| !is_word(c) && c != ':').unwrap_or(path.len());
        let parts: Module = path[..end].split("::").filter(|part| !part.is_empty()).map(str::to_owned).collect();
        let is_import = line.trim_start().starts_with("use ") || line.trim_start().starts_with("pub");
        (is_start && !is_import && parts.len() > 1 && parts[0] == start).then_some(parts)
    })
}

/// Expands `a::{b, c::d as e}`.
fn expand(before: &mut Module, tree: &str, paths: &mut Vec<(Module, String)>) {
    let tree = tree.trim();
    let (head, group) = match tree.split_once('{') {
        Some((head, group)) => (head, Some(group.rsplit_once('}').map_or(group, |(group, _)| group))),
        None => (tree, None),
    };
    let (head, name) = head.split_once(" as ").unwrap_or((head, ""));
    let own = head
        .split("::")
        .map(str::trim)
        .filter(|part| !part.is_empty() && *part != "self" || before.is_empty() && *part == "self");
    let own: Module = own.map(str::to_owned).collect();
    let length = before.len();
    before.extend(own);
    if let Some(group) = group {
        let (mut depth, mut start) = (0, 0);
        for (at, c) in group.char_indices() {
            match c {
                '{' => depth += 1,
                '}' => depth -= 1,
                ',' if depth == 0 => {
                    expand(before, &group[start..at], paths);
                    start = at + 1;
                }
                _ => {}
            }
        }
        expand(before, &group[start..], paths);
    } else if !tree.is_empty() {
        let last = before.last().cloned().unwrap_or_default();
        paths.push((before.clone(), if name.is_empty() { last } else { name.trim().to_owned() }));
    }
    before.truncate(length);
}

/// The cycles of imports: files that each import the next, and the last imports the first.
pub fn rings(imports: &Imports) -> Vec<BTreeSet<Module>> {
    let reached = |from: &Module| {
        let (mut waiting, mut reached) = (vec![from.clone()], BTreeSet::new());
        while let Some(of) = waiting.pop() {
            for next in imports.get(&of).into_iter().flatten() {
                if reached.insert(next.clone()) {
                    waiting.push(next.clone());
                }
            }
        }
        reached
    };
    let reached: BTreeMap<&Module, BTreeSet<Module>> = imports.keys().map(|of| (of, reached(of))).collect();
    let ring = |of: &Module| -> BTreeSet<Module> {
        let is_in = |other: &&Module| reached.get(*other).is_some_and(|reached| reached.contains(of));
        reached[of].iter().filter(is_in).cloned().collect()
    };
    let rings: BTreeSet<BTreeSet<Module>> = imports.keys().map(ring).filter(|ring| !ring.is_empty()).collect();
    rings.into_iter().collect()
}
