//! Pages of lists, in both directions.

/// A page of a list: at most `many` entries between two positions, counted from one end.
#[derive(Clone, Copy, Debug)]
pub struct PageRange<Place> {
    /// Maximum entries.
    pub many: usize,
    pub from: ListEnd,
    pub after: Option<Place>,
    pub before: Option<Place>,
}

/// An end of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ListEnd {
    First,
    Last,
}

impl<Place> PageRange<Place> {
    /// The first `many` entries after a position.
    pub fn first_page(many: usize, after: Option<Place>) -> Self {
        Self { many, from: ListEnd::First, after, before: None }
    }

    /// Makes a page of rows read from one end, and returns whether there are more. The query must read one row more
    /// than `many`.
    pub fn make_page<Row>(&self, mut rows: Vec<Row>) -> (Vec<Row>, bool) {
        let goes_on = rows.len() > self.many;
        rows.truncate(self.many);
        if self.from == ListEnd::Last {
            rows.reverse();
        }
        (rows, goes_on)
    }
}
