"""A program with the client that `ariadne-codegen` has generated from the schema (`generated`).

Its settings are TIDINGS_URL, TIDINGS_SERVICE and TIDINGS_USER (tokens of a service and of the user `ada`).
"""

import asyncio
import os
from datetime import datetime, timedelta, timezone

from generated import (
    Client,
    InboxFilter,
    InboxItemSelector,
    InboxState,
    ListenerChoice,
    NotificationContentInput,
    NotificationField,
    NotificationFilter,
    NotificationKind,
    NotificationPatch,
    NotificationStatus,
    SendMessageInput,
    SendNotificationInput,
    SendReminderInput,
    SubscribeTopicInput,
    TopicChoice,
    TopicTargetInput,
)

URL = os.environ["TIDINGS_URL"]

# How long all of it may take, in seconds.
PATIENCE = 30


def client(token):
    bearer = {"Authorization": f"Bearer {token}"}
    address = URL.replace("http", "ws", 1)
    return Client(URL, headers=bearer, ws_url=address, ws_connection_init_payload=bearer)


def message(title, body=None):
    content = NotificationContentInput(title=title, body=body)
    return SendNotificationInput(message=SendMessageInput(type="news", sender="bob", receiver="ada", content=content))


def reminder(title, target):
    content = NotificationContentInput(title=title)
    return SendNotificationInput(
        reminder=SendReminderInput(type="news", action="comment", sender="bob", target=target, content=content)
    )


async def sends_and_amends(service):
    sent = (await service.send(inputs=[message("Helo", body="in vain")])).send_notifications
    assert [one.replayed for one in sent] == [False]
    patch = NotificationPatch(title="Hello", clear=[NotificationField.BODY])
    amended = (await service.amend(id=sent[0].notification.id, input=patch)).update_sent_notification
    assert (amended.title, amended.body) == ("Hello", None), amended
    only = NotificationFilter(kinds=[NotificationKind.MESSAGE], statuses=[NotificationStatus.PUBLISHED])
    listed = (await service.sent(first=1, filter_=only)).sent_notifications.nodes
    assert [(one.id, one.sender.id, one.target) for one in listed] == [(amended.id, "bob", None)], listed


async def reads_and_archives(user):
    viewer = (await user.inbox(first=10)).viewer
    assert (viewer.user.id, viewer.overview.unread.count, viewer.overview.unread.exact) == ("ada", 1, True), viewer
    [item] = viewer.inbox.nodes
    assert (item.title, item.body, item.kind, item.sender.id) == ("Hello", None, NotificationKind.MESSAGE, "bob")
    assert abs(datetime.now(timezone.utc) - item.created_at) < timedelta(minutes=5)

    archived = (await user.archive(select=InboxItemSelector(ids=[item.id]))).archive_items
    assert (archived.changed_count, archived.viewer.overview.unread.count) == (1, 0), archived
    assert [one.is_archived for one in archived.items] == [True]
    assert (await user.inbox(first=10)).viewer.inbox.nodes == []
    in_archive = InboxFilter(state=InboxState.ARCHIVED)
    assert [one.id for one in (await user.inbox(first=10, filter_=in_archive)).viewer.inbox.nodes] == [item.id]


async def hears(user, service):
    target = TopicTargetInput(type="doc", external_id="7")
    topic = SubscribeTopicInput(target=target, what=TopicChoice(actions=["comment"]), who=ListenerChoice(user="ada"))
    subscribed = (await user.subscribe(input=topic)).subscribe_topic
    assert [one.target.external_id for one in subscribed.subscriptions] == ["7"], subscribed

    after = (await user.inbox(first=1)).viewer.overview.cursor
    await service.send(inputs=[reminder("before", target)])
    titles = []
    async for result in user.items(after=after):
        titles.append((result.item_received.node.title, result.item_received.node.kind))
        if len(titles) == 2:
            break
        await service.send(inputs=[message("during")])
    assert titles == [("before", NotificationKind.REMINDER), ("during", NotificationKind.MESSAGE)], titles

    counts = []
    async for result in user.overviews():
        counts.append(result.overview_changed.overview.unread.count)
        if len(counts) == 2:
            break
        await service.send(inputs=[message("more")])
    assert counts == [2, 3], counts


async def main():
    async with client(os.environ["TIDINGS_USER"]) as user, client(os.environ["TIDINGS_SERVICE"]) as service:
        await sends_and_amends(service)
        await reads_and_archives(user)
        await hears(user, service)
    print("ariadne-codegen: queries, mutations and subscriptions of the generated client pass")


asyncio.run(asyncio.wait_for(main(), PATIENCE))
