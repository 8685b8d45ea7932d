//! Parts of lists that are paged both ways.

/// Which part of a list: so many of what stands after one place and before another, counted from one of the ends.
#[derive(Clone, Copy, Debug)]
pub struct Slice<Place> {
    /// At most so many.
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
    /// The first so many after a place.
    pub fn first(many: usize, after: Option<Place>) -> Self {
        Self { many, from: End::First, after, before: None }
    }

    /// What was read from its end, of which one more than `many` says that the list goes on there, in the list's order.
    pub fn page<Row>(&self, mut rows: Vec<Row>) -> (Vec<Row>, bool) {
        let goes_on = rows.len() > self.many;
        rows.truncate(self.many);
        if self.from == End::Last {
            rows.reverse();
        }
        (rows, goes_on)
    }
}
