//! Pages of lists, in both directions.

/// A page of a list: at most `many` entries between two positions, counted from one end.
#[derive(Clone, Copy, Debug)]
pub struct Slice<Place> {
    /// Maximum entries.
    pub many: usize,
    pub from: End,
    pub after: Option<Place>,
    pub before: Option<Place>,
}

/// An end of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    First,
    Last,
}

impl<Place> Slice<Place> {
    /// The first `many` entries after a position.
    pub fn first(many: usize, after: Option<Place>) -> Self {
        Self { many, from: End::First, after, before: None }
    }

    /// Makes a page of rows read from one end, and returns whether there are more. The query must read one row more
    /// than `many`.
    pub fn page<Row>(&self, mut rows: Vec<Row>) -> (Vec<Row>, bool) {
        let goes_on = rows.len() > self.many;
        rows.truncate(self.many);
        if self.from == End::Last {
            rows.reverse();
        }
        (rows, goes_on)
    }
}
