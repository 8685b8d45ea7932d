//! docs/performance.md, made of the results and of what `performance.md.jinja` says about them.

mod plot;
mod speed;

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use minijinja::{Environment, context};

use crate::figures::{self, Case, Results};
use crate::{Result, place, work};

const DATABASES: [&str; 2] = ["postgresql", "sqlite"];

/// All results, by what was measured over which database.
pub struct All(BTreeMap<(&'static str, &'static str), Results>);

impl All {
    fn read() -> Result<Self> {
        let mut all = BTreeMap::new();
        for what in work::ALL {
            for database in DATABASES {
                all.extend(figures::read(what, database)?.map(|results| ((what, database), results)));
            }
        }
        Ok(Self(all))
    }

    fn results(&self, what: &str, database: &str) -> Option<&Results> {
        self.0.iter().find(|((of, over), _)| *of == what && *over == database).map(|(_, results)| results)
    }

    pub fn case(&self, what: &str, database: &str, case: &str) -> Option<&Case> {
        self.results(what, database)?.cases.iter().find(|of| of.name == case)
    }
}

/// Writes the page and its plots; with `check` only compares them with what is there.
pub fn run(check: bool) -> Result<()> {
    let all = All::read()?;
    let mut files: Vec<(PathBuf, String)> = Vec::new();
    for database in DATABASES {
        let plot = plot::growth(&all, database)?;
        files.extend(plot.map(|plot| (format!("docs/plots/overview-{database}.svg").into(), plot)));
    }
    files.push(("docs/performance.md".into(), page(all)?));
    for (path, text) in files {
        let path = place::root().join(path);
        if check {
            if fs::read_to_string(&path).unwrap_or_default() != text {
                return Err(
                    format!("{} is not current: run `cargo run --release -p bench -- report`", path.display()).into()
                );
            }
            continue;
        }
        fs::create_dir_all(path.parent().expect("it is in docs"))?;
        fs::write(path, text)?;
    }
    Ok(())
}

fn page(all: All) -> Result<String> {
    let speed = speed::table(&all);
    let taken: Vec<String> = all
        .0
        .iter()
        .map(|((what, database), of)| {
            format!("| {what} | {database} | {} | {} | {} |", of.taken, of.commit, of.machine)
        })
        .collect();
    let mut page = Environment::new();
    page.add_function("table", move |what: &str, database: &str, case: &str| {
        all.case(what, database, case).map_or("Not measured yet.".into(), |case| case.table().trim_end().to_owned())
    });
    page.add_template("page", include_str!("../performance.md.jinja"))?;
    let text = page.get_template("page")?.render(context! { speed, taken => taken.join("\n") })?;
    Ok(format!("{}\n", text.trim_end()))
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_page_is_what_the_results_make_of_it() {
        super::run(true).expect("the page is current");
    }
}
