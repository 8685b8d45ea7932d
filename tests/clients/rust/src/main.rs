//! A program with an inbox: it reads its unread items and marks them read, with operations that the compiler has
//! checked. Usage: tidings-clients-rust URL TOKEN USER TITLE, where the one unread item of the user has this title.

mod operations;

use cynic::{GraphQlResponse, MutationBuilder, Operation, QueryBuilder};
use operations::{
    Inbox, InboxFilter, InboxItemMatch, InboxItemSelector, InboxState, InboxVariables, MarkRead, MarkVariables,
    NotificationKind,
};

struct Server {
    url: String,
    token: String,
}

impl Server {
    fn ask<Data, Variables>(&self, operation: &Operation<Data, Variables>) -> Data
    where
        Data: for<'de> cynic::serde::Deserialize<'de>,
        Variables: cynic::serde::Serialize,
    {
        let request = ureq::post(&self.url).header("authorization", format!("Bearer {}", self.token));
        let mut answer = request.send_json(operation).expect("the server answers");
        let GraphQlResponse { data, errors }: GraphQlResponse<Data> =
            answer.body_mut().read_json().expect("the answer fits the schema");
        assert!(errors.is_none(), "{errors:?}");
        data.expect("an answer without errors has data")
    }

    fn unread(&self) -> Inbox {
        let filter = InboxFilter {
            kinds: Some(vec![NotificationKind::Message]),
            read: Some(false),
            state: Some(InboxState::Inbox),
            ..InboxFilter::default()
        };
        self.ask(&Inbox::build(InboxVariables { first: Some(10), filter: Some(filter), cap: Some(99) }))
    }

    fn mark_read(&self, select: InboxItemSelector) -> MarkRead {
        self.ask(&MarkRead::build(MarkVariables { select }))
    }
}

fn main() {
    let [url, token, user, title] =
        std::env::args().skip(1).collect::<Vec<_>>().try_into().expect("URL TOKEN USER TITLE");
    let server = Server { url, token };

    let viewer = server.unread().viewer;
    assert_eq!(viewer.user.id.inner(), user);
    assert_eq!((viewer.overview.unread.count, viewer.overview.unread.exact), (1, true));
    let [item] = &viewer.inbox.nodes[..] else { panic!("not one item: {viewer:?}") };
    assert_eq!((item.title.as_str(), item.kind, item.is_read), (title.as_str(), NotificationKind::Message, false));

    let marked = server.mark_read(InboxItemSelector::Ids(vec![item.id.clone()])).mark_read;
    assert_eq!(marked.changed_count, 1);
    assert_eq!(marked.items.iter().map(|item| item.is_read).collect::<Vec<_>>(), [true]);
    let read_at = marked.items[0].read_at.as_ref().expect("it was read just now");
    assert!(read_at.0 >= marked.items[0].created_at.0, "{marked:?}");
    let after = marked.viewer.expect("whose inbox it is");
    assert_eq!((after.id, after.overview.unread.count), (viewer.id, 0));

    let all = InboxItemMatch { types: None, target: None, up_to: None };
    assert_eq!(server.mark_read(InboxItemSelector::Matching(all)).mark_read.changed_count, 0);
    assert!(server.unread().viewer.inbox.nodes.is_empty());
    println!("cynic: a query and a mutation, checked by the compiler, fit");
}
