"""A backend that uses the client. `tests/clients/backend.mjs` runs it once per step and reads its output.

It reads TIDINGS_URL and TIDINGS_SECRET from the environment.
"""

import asyncio
import json
import os
import sys
from datetime import datetime, timedelta, timezone
from typing import Any

from tidings import (
    CreateWebhookEndpointInput,
    InboxFilter,
    InboxItemMatch,
    InboxItemSelector,
    InboxState,
    ListenerChoice,
    MailRelayInput,
    MailRelaySwitch,
    MessageTypeInput,
    NotificationAudienceInput,
    NotificationContentInput,
    NotificationField,
    NotificationFilter,
    NotificationPatch,
    NotificationStatus,
    OutboundDeadFilter,
    OutboundDeliverySelector,
    SendAnnouncementInput,
    SendMessageInput,
    SendReminderInput,
    SubscribeTopicInput,
    Tidings,
    TidingsError,
    TopicChoice,
    TopicTargetInput,
    UpdateWebhookEndpointInput,
    UserProfileInput,
    sign,
)

SECRET = os.environ["TIDINGS_SECRET"]


def client(tenant: str = "shop", role: str = "service", **options: Any) -> Tidings:
    # Async token functions work as well as sync ones.
    async def token() -> str:
        return sign(SECRET, tenant, "backend", role)

    return Tidings(os.environ["TIDINGS_URL"], token, **options)


def titled(title: str, **more: Any) -> NotificationContentInput:
    return NotificationContentInput(title=title, **more)


def message(title: str, receiver: str = "ada", **more: Any) -> SendMessageInput:
    return SendMessageInput(**({"type": "news"} | more), receiver=receiver, content=titled(title))


async def refusal(call: Any) -> tuple[str, str | None]:
    try:
        await call
    except TidingsError as error:
        return error.code, error.field
    raise AssertionError("it was not refused")


async def saves(tidings: Tidings) -> None:
    async with client(role="admin") as admin:
        for code in ("news", "many"):
            made = await admin.save_message_type(MessageTypeInput(code=code, title=code.title(), position=1))
            assert (made.code, made.template_error) == (code, None), made
    profiles = [UserProfileInput(id="ada", name="Ada"), UserProfileInput(id="ben", locale="de")]
    assert [(one.id, one.name) for one in await tidings.save_user_profiles(profiles)] == [("ada", "Ada"), ("ben", None)]
    assert (await tidings.save_user_group("staff", "Staff")).member_count == 0
    assert (await tidings.add_user_group_members("staff", ["ada", "ben"])).member_count == 2
    assert (await tidings.remove_user_group_members("staff", ["ben"])).member_count == 1
    target = TopicTargetInput(type="doc", externalId="7")
    topic = SubscribeTopicInput(target=target, what=TopicChoice(actions=["comment"]), who=ListenerChoice(user="ada"))
    [one] = (await tidings.subscribe_topic(topic)).subscriptions
    assert (one.action, one.target.external_id) == ("comment", "7"), one


async def sends(tidings: Tidings) -> None:
    news = SendAnnouncementInput(type="news", audience=NotificationAudienceInput(groups=["staff"]), content=titled("Hello"))
    sent = await tidings.send_announcement(news)
    assert (sent.replayed, sent.notification.status) == (False, NotificationStatus.PUBLISHED), sent
    assert news.idempotency_key is not None
    assert (await tidings.send_announcement(news)).replayed is True
    target = TopicTargetInput(type="doc", externalId="7")
    content = titled("A comment", link="/docs/7", data={"page": None})
    await tidings.send_reminder(
        SendReminderInput(type="news", target=target, action="comment", sender="ben", content=content)
    )
    key = "an own one"
    first = await tidings.send_message(message("Helo", idempotencyKey=key))
    assert await refusal(tidings.send_message(message("Other", idempotencyKey=key))) == ("CONFLICT", None)
    later = datetime.now(timezone.utc) + timedelta(days=1)
    waits = await tidings.send_message(message("Tomorrow", publishAt=later))
    assert waits.notification.status == NotificationStatus.SCHEDULED, waits

    patch = NotificationPatch(title="Hello, Ada", clear=[NotificationField.LINK])
    assert (await tidings.update_sent_notification(first.notification.id, patch)).title == "Hello, Ada"
    gone = await tidings.retract_sent_notification(waits.notification.id)
    assert gone.status == NotificationStatus.RETRACTED and gone.retracted_at is not None, gone
    again = await refusal(tidings.update_sent_notification(waits.notification.id, patch))
    assert again == ("CONFLICT", None), again

    published = NotificationFilter(statuses=[NotificationStatus.PUBLISHED], types=["news"])
    page = await tidings.sent_notifications(first=2, filter_=published)
    assert [one.title for one in page.nodes] == ["Hello, Ada", "A comment"] and page.page_info.has_next_page, page
    assert page.nodes[1].stats.read_count == 0 and page.nodes[1].data == {"page": None}
    rest = await tidings.sent_notifications(first=2, after=page.page_info.end_cursor, filter_=published)
    assert [one.title for one in rest.nodes] == ["Hello"], rest


async def marks(tidings: Tidings) -> None:
    user = await tidings.inbox_user_overview("ada", cap=99)
    assert user is not None and (user.overview.unread.count, user.overview.unread.exact) == (3, True), user
    latest = {one.type_.code: one.latest for one in user.overview.types}
    assert latest["many"] is None and latest["news"] is not None and latest["news"].title == "Hello, Ada", latest
    inbox = await tidings.inbox_user_inbox("ada", first=2)
    assert inbox is not None and [one.is_read for one in inbox.inbox.nodes] == [False, False], inbox
    newest = InboxItemSelector(ids=[inbox.inbox.nodes[0].id])
    everything = InboxItemSelector(matching=InboxItemMatch())
    assert (await tidings.mark_seen("ada")).changed_count == 0
    assert (await tidings.mark_read("ada", newest)).changed_count == 1
    assert (await tidings.mark_unread("ada", newest)).changed_count == 1
    assert (await tidings.mark_read("ada", everything)).changed_count == 3
    assert (await tidings.archive_items("ada", newest)).changed_count == 1
    archive = await tidings.inbox_user_inbox("ada", filter_=InboxFilter(state=InboxState.ARCHIVED))
    assert archive is not None and [one.id for one in archive.inbox.nodes] == newest.ids, archive
    assert (await tidings.unarchive_items("ada", newest)).changed_count == 1
    assert (await tidings.delete_items("ada", newest)).changed_count == 1
    assert await tidings.inbox_user_overview("nobody") is None


async def errs(tidings: Tidings) -> None:
    wrong = [message(f"{index}", receiver="ben") for index in range(1800)]
    wrong[1700].type_ = "unknown"
    assert await refusal(tidings.send_many(wrong)) == ("BAD_USER_INPUT", "inputs[1700].message.type")
    wrong[1700].type_ = "news"
    outcomes = await tidings.send_many(wrong)
    assert [one.replayed for one in outcomes] == [True] * 1000 + [False] * 800
    unknown = await refusal(tidings.send_message(message("x", type="unknown")))
    assert unknown == ("BAD_USER_INPUT", "input.type"), unknown
    assert await refusal(tidings.send_message(message("x", receiver=""))) == ("BAD_USER_INPUT", "input.receiver")
    assert await refusal(tidings.save_message_type(MessageTypeInput(code="x", title="X"))) == ("FORBIDDEN", None)
    # Together larger than one request may be.
    large = [SendMessageInput(type="news", receiver="ben", content=titled("x", body="x" * 16_000)) for _ in range(200)]
    assert len(await tidings.send_many(large)) == 200


async def goes_out(tidings: Tidings) -> None:
    del tidings  # Only operators can do this.
    async with client(role="admin") as admin:
        made = await admin.create_webhook_endpoint(CreateWebhookEndpointInput(url="https://hooks.invalid/tidings"))
        id_ = made.endpoint.id
        assert made.secret.startswith("whsec_"), made
        changed = await admin.update_webhook_endpoint(id_, UpdateWebhookEndpointInput(url="https://hooks.invalid/other"))
        assert changed.url == "https://hooks.invalid/other", changed
        assert (await admin.rotate_webhook_secret(id_)).secret != made.secret
        tried = await admin.test_webhook_endpoint(id_)
        assert tried.last_error is not None and tried.endpoint_id == id_, tried
        assert [one.id for one in await admin.webhook_endpoints()] == [id_]
        assert (await admin.pause_webhook_endpoint(id_)).state == "PAUSED"
        assert (await admin.resume_webhook_endpoint(id_)).state == "ACTIVE"
        page = await admin.outbound_deliveries(first=1)
        assert [one.id for one in page.nodes] == [tried.id], page
        again = OutboundDeliverySelector(dead=OutboundDeadFilter(endpoint=id_))
        assert (await admin.replay_outbound_deliveries(again)).replayed_count == 0, "pings are not sent again"
        assert (await admin.delete_webhook_endpoint(id_)).deleted_id == id_
        assert await admin.mail_relay() is None
        relay = MailRelayInput.model_validate({"url": "smtps://name:secret@mail.invalid", "from": "Shop <noreply@shop.example>"})
        saved = await admin.save_mail_relay(relay)
        assert "secret" not in saved.url, saved
        assert (await admin.switch_mail_relay(MailRelaySwitch.OFF)).state == "PAUSED"
        assert (await admin.delete_mail_relay()).deleted_id == saved.id


async def sees_nothing(sent: str) -> None:
    async with client("another") as other:
        assert (await other.sent_notifications()).nodes == []
        assert await other.inbox_user_overview("ada") is None
        assert await refusal(other.retract_sent_notification(sent)) == ("NOT_FOUND", None)


async def operations() -> dict[str, Any]:
    async with client() as tidings:
        for act in (saves, sends, marks, errs, goes_out):
            await act(tidings)
        await sees_nothing((await tidings.sent_notifications()).nodes[0].id)
        called = [name for name in vars(Tidings.__mro__[1]) if not name.startswith("_")]
    return {"operations": len(called)}


async def many() -> dict[str, Any]:
    async with client() as tidings:
        # Half of them with their own keys, half with keys from the client.
        keys = [{"idempotencyKey": f"many-{index}"} if index % 2 else {} for index in range(2500)]
        sent = [message(f"{index}", receiver="crowd", type="many", **key) for index, key in enumerate(keys)]
        outcomes = await tidings.send_many(sent)
        assert len({one.notification.id for one in outcomes}) == len(outcomes)
    return {"outcomes": len(outcomes), "replayed": sum(one.replayed for one in outcomes)}


async def refused() -> dict[str, Any]:
    token = sign("another secret, which is of 32 bytes and more", "shop", "backend")
    async with Tidings(os.environ["TIDINGS_URL"], token) as tidings:
        code, _ = await refusal(tidings.sent_notifications())
    return {"code": code}


async def limited() -> dict[str, Any]:
    async with client(patience=0) as hasty, client() as patient:
        code = None
        while code is None:
            try:
                await hasty.inbox_user_overview("ada")
            except TidingsError as error:
                code = error.code
        await patient.inbox_user_overview("ada")
    return {"code": code}


print(json.dumps(asyncio.run({act.__name__: act for act in (operations, many, refused, limited)}[sys.argv[1]]())))
