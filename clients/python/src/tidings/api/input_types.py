from datetime import datetime
from typing import Any, Optional

from pydantic import Field

from .base_model import BaseModel
from .enums import (
    DeliveryChannel,
    DeliveryCondition,
    InboxState,
    NotificationField,
    NotificationKind,
    NotificationStatus,
    OutboundChannel,
    OutboundDeliveryState,
    ProfileField,
    ReadPolicy,
    WebhookEndpointField,
    WebhookEvent,
    Weekday,
)


class CreateWebhookEndpointInput(BaseModel):
    """A new webhook endpoint."""

    alarm: Optional["OutboundAlarmInput"] = None
    "Sent when the endpoint is disabled. Default: only the log and the metrics report it."
    events: Optional[list[WebhookEvent]] = None
    "The events to receive, 20 entries at most. Default: published, amended and retracted."
    full: Optional[bool] = False
    "Whether events contain the texts of notifications as readers see them. Default: only ids, types, targets and\ntimes."
    url: str
    "Absolute https URL of at most 2,048 bytes, without user name, password and fragment. Its host must be public,\nor allowed by `TIDINGS_EGRESS_ALLOW`."


class DigestTimeInput(BaseModel):
    """The time of a user's digest: one email with all unread items."""

    at: str
    "A time of day, from `00:00` to `23:59`."
    weekday: Optional[Weekday] = None
    "The day of the week. Default: every day."


class InboxFilter(BaseModel):
    """Filter of an inbox. Items must match all given conditions."""

    action: Optional[str] = None
    "The action on the target."
    kinds: Optional[list[NotificationKind]] = None
    "Kinds of notifications."
    read: Optional[bool] = None
    "True: only read, false: only unread, null: both."
    sender: Optional[str] = None
    "Your id of the sender."
    since: Optional[datetime] = None
    "Published at or after this instant."
    state: Optional[InboxState] = InboxState.INBOX
    "Which part of the inbox."
    target: Optional["TopicTargetInput"] = None
    "About this target."
    types: Optional[list[str]] = None
    "Codes of message types."
    until: Optional[datetime] = None
    "Published before this instant."


class InboxItemMatch(BaseModel):
    """Items of a bulk mark. They must match all given conditions."""

    target: Optional["TopicTargetInput"] = None
    "About this target."
    types: Optional[list[str]] = None
    "Codes of message types."
    up_to: Optional[str] = Field(alias="upTo", default=None)
    "Up to and including the item at this cursor, so that items that arrive during the click stay as they are."


class InboxItemSelector(BaseModel):
    """Items of an inbox: by ids, or all that match."""

    ids: Optional[list[str]] = None
    "At most 1,000 ids. Deleted and expired items are skipped."
    matching: Optional["InboxItemMatch"] = None
    "Every item that matches. An empty match selects the whole inbox."


class ListenerChoice(BaseModel):
    """A subscriber."""

    group: Optional[str] = None
    "All who are members of the group with this code when a reminder is published. SERVICE, ADMIN."
    user: Optional[str] = None
    "A user, by your id. USER can name only themselves."


class MailRelayInput(BaseModel):
    """All settings of a relay."""

    alarm: Optional["OutboundAlarmInput"] = None
    "Sent when the relay is disabled. Default: only the log and the metrics report it."
    from_: str = Field(alias="from")
    "The sender's address: `ada@example.com`, or `Ada <ada@example.com>`."
    link_base: Optional[str] = Field(alias="linkBase", default=None)
    "Base URL for links that are paths: an absolute http(s) URL."
    reply_to: Optional[str] = Field(alias="replyTo", default=None)
    "Address for replies, if it differs."
    url: str
    "`smtps://user:password@host:465`, or `smtp://user:password@host:587`, which requires STARTTLS. `?tls=none`\nsends without encryption, if `TIDINGS_EGRESS_ALLOW` lists the host. User name and password are percent-encoded,\nand stored sealed."


class MessageDeliveryRuleInput(BaseModel):
    """How notifications of a type leave the inbox by one channel. At most one rule per channel."""

    channel: DeliveryChannel
    "The channel."
    condition: Optional[DeliveryCondition] = DeliveryCondition.IF_UNREAD
    "Which items."
    delay_seconds: Optional[int] = Field(alias="delaySeconds", default=None)
    "Seconds after publication. Default: 300, or 0 with `digest`, which allows nothing else. At most 2,592,000 (30\ndays)."
    digest: Optional[bool] = False
    "Whether items wait for the user's next digest instead of being sent one by one: one email with all unread items,\nat the time of `UserProfileInput.digest`. Only with EMAIL and `IF_UNREAD`, without `letter`."
    letter: Optional["MessageLetterInput"] = None
    "Templates of the email; only with EMAIL. Default: the item's texts."
    wechat: Optional["WeChatTemplateInput"] = None
    "The WeChat template message. Required for `WECHAT`, forbidden for other channels."


class MessageLetterInput(BaseModel):
    """Templates of an email, at most 16 KiB each. One that does not compile is refused."""

    html: Optional[str] = None
    "Replaces the item's body in the HTML part, between heading and button. Variables are escaped. Default: the text."
    subject: Optional[str] = None
    "Replaces the item's title. The result is cut to 256 characters. Default: the title."
    text: Optional[str] = None
    "Replaces the item's body. The link follows it. Default: the body."


class MessageTemplateInput(BaseModel):
    """Templates of a type, at most 16 KiB each, with at most 1,000 names, values and symbols in braces. One that does not
    compile is refused."""

    body: Optional[str] = None
    "Renders the body. Default: the body as sent."
    link: Optional[str] = None
    "Renders the link. Default: the link as sent."
    title: str
    "Renders the title."


class MessageTypeInput(BaseModel):
    """A whole message type. Absent fields get their defaults."""

    code: str
    "Code of the type to create or change, 1 to 128 characters."
    delivery: Optional[list["MessageDeliveryRuleInput"]] = None
    "Rules for delivery outside of the inbox. Default: none. Applies to notifications published afterwards."
    group: Optional[str] = None
    "Free label for grouping types in a UI, 1 to 128 characters."
    icon: Optional[str] = None
    "Icon beside the title in user interfaces: a name that they know (letters, digits, `-`, `_`, `.` and `:`), or an\nabsolute https URL; at most 256 characters."
    mandatory: Optional[bool] = False
    "True: users cannot switch it off, neither by type nor by action."
    position: Optional[int] = 0
    "Order in overviews, ascending; ties by code."
    read_policy: Optional[ReadPolicy] = Field(
        alias="readPolicy", default=ReadPolicy.MANUAL
    )
    "How its items become read."
    template: Optional["MessageTemplateInput"] = None
    "Applies to all later reads, also of notifications sent before."
    title: str
    "Name for people, 1 to 256 characters."
    ttl_seconds: Optional[int] = Field(alias="ttlSeconds", default=None)
    "Seconds from publication until items expire, at least 1. Applies to notifications published afterwards."
    ui: Optional[Any] = None
    "JSON for user interfaces, at most 4 KiB. The server returns it unchanged."
    users_may_send: Optional[bool] = Field(alias="usersMaySend", default=False)
    "True: users may send messages of this type to each other with `sendMessage`, if the server allows it for the\ntenant (`TIDINGS_USER_MESSAGES`). Their links must be paths. Users then also choose the `params` of its\ntemplate. Not together with `mandatory`."


class NotificationAudienceInput(BaseModel):
    """Audience of an announcement."""

    everyone: Optional[bool] = None
    "True: all users of the tenant, including users first mentioned within the retention window after it."
    groups: Optional[list[str]] = None
    "Users who are in one of these groups at publication; 1 to 100 groups."
    users: Optional[list[str]] = None
    "1 to 10,000 users, by your ids."


class NotificationContentInput(BaseModel):
    """Content of a notification."""

    body: Optional[str] = None
    "At most 16 KiB."
    data: Optional[Any] = None
    "JSON for the client, at most 16 KiB. The server returns it unchanged."
    link: Optional[str] = None
    "Where a click leads: an absolute http(s) URL or a path, at most 2,048 characters."
    params: Optional[Any] = None
    "Variables of the type's template, at most 16 KiB of JSON."
    title: Optional[str] = None
    "1 to 256 characters. Required, unless the type has a template."


class NotificationFilter(BaseModel):
    """Filter of sent notifications. They must match all given conditions."""

    kinds: Optional[list[NotificationKind]] = None
    "Kinds of notifications."
    sender: Optional[str] = None
    "Your id of the sender."
    since: Optional[datetime] = None
    "Published at this instant or later. Scheduled notifications do not match."
    statuses: Optional[list[NotificationStatus]] = None
    "States of notifications."
    target: Optional["TopicTargetInput"] = None
    "About this target."
    text: Optional[str] = None
    "Text anywhere in the title, ignoring case; 1 to 256 characters. The title is the one that was sent, or the\ntype's if it was sent without one."
    types: Optional[list[str]] = None
    "Codes of message types."
    until: Optional[datetime] = None
    "Published before this instant."


class NotificationPatch(BaseModel):
    """Changes to a notification. Absent and null fields stay."""

    body: Optional[str] = None
    "At most 16 KiB."
    clear: Optional[list[NotificationField]] = None
    "Fields to erase. `BAD_USER_INPUT` if one is also given."
    data: Optional[Any] = None
    "JSON for the client, at most 16 KiB. The server returns it unchanged."
    expires_at: Optional[datetime] = Field(alias="expiresAt", default=None)
    "In the future."
    link: Optional[str] = None
    "Where a click leads: an absolute http(s) URL or a path, at most 2,048 characters."
    params: Optional[Any] = None
    "Variables of the type's template, at most 16 KiB of JSON."
    publish_at: Optional[datetime] = Field(alias="publishAt", default=None)
    "Only while it is scheduled. A time in the past means now."
    title: Optional[str] = None
    "1 to 256 characters."


class OutboundAlarmInput(BaseModel):
    """An announcement to a group."""

    group: Optional[str] = "operators"
    "Code of the group."
    type_: str = Field(alias="type")
    "Code of the message type."


class OutboundDeadFilter(BaseModel):
    """Deliveries of an endpoint that were given up."""

    endpoint: str
    "The `id` of the endpoint."
    since: Optional[datetime] = None
    "Only events since then."


class OutboundDeadToFilter(BaseModel):
    """Deliveries to users that were given up."""

    channel: DeliveryChannel
    "The channel."
    since: Optional[datetime] = None
    "Only events since then. Default: all."


class OutboundDeliveryFilter(BaseModel):
    """Deliveries that satisfy all given conditions."""

    channel: Optional[OutboundChannel] = None
    "By this channel."
    endpoint: Optional[str] = None
    "To the endpoint with this `id`."
    events: Optional[list[WebhookEvent]] = None
    "Of one of these events."
    notification: Optional[str] = None
    "About the `SentNotification` with this `id`."
    states: Optional[list[OutboundDeliveryState]] = None
    "In one of these states."
    user: Optional[str] = None
    "To the user with this id of yours."


class OutboundDeliverySelector(BaseModel):
    """The deliveries to send again."""

    dead: Optional["OutboundDeadFilter"] = None
    "The given up ones of an endpoint, 100,000 at most."
    dead_to: Optional["OutboundDeadToFilter"] = Field(alias="deadTo", default=None)
    "The given up ones to users by a channel, 100,000 at most."
    ids: Optional[list[str]] = None
    "The given up or delivered ones with these `id`s, 1,000 at most."


class QuietHoursInput(BaseModel):
    """Daily hours without delivery outside of the inbox."""

    from_: str = Field(alias="from")
    "Start, from `00:00` to `23:59`."
    to: str
    "End, another time of day. `22:00` to `07:00` spans midnight."


class SendAnnouncementInput(BaseModel):
    """A notification to an audience."""

    audience: "NotificationAudienceInput"
    "The audience."
    content: "NotificationContentInput"
    "The content."
    expires_at: Optional[datetime] = Field(alias="expiresAt", default=None)
    "In the future, and after `publishAt`. Default: the type's ttl after publication."
    idempotency_key: Optional[str] = Field(alias="idempotencyKey", default=None)
    "1 to 128 characters. A second call with the same key sends nothing and returns the notification of the first;\nwith other content it is `CONFLICT`. Keys are kept as long as the notification. The tenant's services and\noperators share their keys; each user has separate ones."
    publish_at: Optional[datetime] = Field(alias="publishAt", default=None)
    "Publishes within a second of this time instead of at once; at most ten years ahead. A time in the past means at\nonce."
    sender: Optional[str] = None
    "Your id of the sender. Default: no sender."
    strict: bool = False
    "True: `BAD_USER_INPUT` if the type's template fails on this notification; the error names the flaws, as\n`previewNotification` returns them. False: it is sent in any case, and readers see the text of `content` instead\nof each part that fails."
    type_: str = Field(alias="type")
    "Code of a message type."


class SendMessageInput(BaseModel):
    """A notification to one user."""

    content: "NotificationContentInput"
    "The content."
    expires_at: Optional[datetime] = Field(alias="expiresAt", default=None)
    "In the future, and after `publishAt`. Default: the type's ttl after publication."
    idempotency_key: Optional[str] = Field(alias="idempotencyKey", default=None)
    "As in `SendAnnouncementInput`."
    publish_at: Optional[datetime] = Field(alias="publishAt", default=None)
    "As in `SendAnnouncementInput`."
    receiver: str
    "Your id of the receiver."
    sender: Optional[str] = None
    "Your id of the sender. Default: no sender, or for USER the token's user, who must be the sender."
    strict: bool = False
    "As in `SendAnnouncementInput`."
    type_: str = Field(alias="type")
    "Code of a message type."


class SendNotificationInput(BaseModel):
    """One of the three kinds of notifications."""

    announcement: Optional["SendAnnouncementInput"] = None
    "To everyone, to groups or to named users."
    message: Optional["SendMessageInput"] = None
    "To one user."
    reminder: Optional["SendReminderInput"] = None
    "To the subscribers of a target's action."


class SendReminderInput(BaseModel):
    """A notification about an action on a target."""

    action: str
    "The action, such as `comment`; 1 to 128 characters."
    content: "NotificationContentInput"
    "The content."
    expires_at: Optional[datetime] = Field(alias="expiresAt", default=None)
    "In the future, and after `publishAt`. Default: the type's ttl after publication."
    idempotency_key: Optional[str] = Field(alias="idempotencyKey", default=None)
    "As in `SendAnnouncementInput`."
    publish_at: Optional[datetime] = Field(alias="publishAt", default=None)
    "As in `SendAnnouncementInput`."
    sender: Optional[str] = None
    "Your id of the user who did it. They do not receive the reminder; their followers do."
    strict: bool = False
    "As in `SendAnnouncementInput`."
    target: "TopicTargetInput"
    "The target."
    type_: str = Field(alias="type")
    "Code of a message type."


class SubscribeTopicInput(BaseModel):
    """A subscriber, a target and actions on it."""

    target: "TopicTargetInput"
    "The target."
    what: "TopicChoice"
    "The actions."
    who: Optional["ListenerChoice"] = None
    "The subscriber. Default: the token's user."


class TopicChoice(BaseModel):
    """The actions to subscribe to."""

    actions: Optional[list[str]] = None
    "These actions, 1 to 100."
    reason: Optional[str] = None
    "The actions of a reason of the catalogue, by its code."


class TopicTargetInput(BaseModel):
    """A target, by your own strings of 1 to 128 characters each."""

    external_id: str = Field(alias="externalId")
    "Your id among the targets of that kind."
    type_: str = Field(alias="type")
    "Kind of the target, such as `order`."


class UpdateWebhookEndpointInput(BaseModel):
    """Changes to an endpoint. Absent and null fields stay."""

    alarm: Optional["OutboundAlarmInput"] = None
    "Sent when the endpoint is disabled."
    clear: Optional[list[WebhookEndpointField]] = None
    "Fields to erase. `BAD_USER_INPUT` if one is also given."
    events: Optional[list[WebhookEvent]] = None
    "All events to receive from now on, 20 entries at most."
    full: Optional[bool] = None
    "Whether events contain the texts of notifications."
    url: Optional[str] = None
    "As for a new endpoint. A new URL is tried at once, in any state of the previous one."


class UserContactInput(BaseModel):
    """An address of a user."""

    email: Optional[str] = None
    "Email address such as `ada@example.com`, at most 254 bytes."
    wechat_open_id: Optional[str] = Field(alias="wechatOpenId", default=None)
    "The user's `openid` at the tenant's WeChat official account: 1 to 128 letters, digits, `-` and `_`."


class UserProfileInput(BaseModel):
    """Changes to a user's profile. Absent and null fields stay."""

    avatar_url: Optional[str] = Field(alias="avatarUrl", default=None)
    "An absolute http(s) URL or a path."
    clear: Optional[list[ProfileField]] = None
    "Fields to erase. `BAD_USER_INPUT` if one is also given."
    contacts: Optional[list["UserContactInput"]] = None
    "All of the user's addresses outside of the inbox, at most five. Visible only to the user, services and\noperators."
    digest: Optional["DigestTimeInput"] = None
    "Time of digests (`MessageDeliveryRuleInput.digest`) in the same zone. Default: 08:00 every day. A digest that is\nalready scheduled is not postponed."
    id: str
    "Your id of the user, 1 to 128 characters."
    locale: Optional[str] = None
    "BCP 47 language tag. Letters are written in this language, as are numbers, dates and lists in templates."
    name: Optional[str] = None
    "1 to 256 characters."
    quiet: Optional["QuietHoursInput"] = None
    "Quiet hours in `timeZone`, or in UTC without one. A delivery that falls due in them goes out at their end, if it\nstill applies; mandatory types go out at once."
    time_zone: Optional[str] = Field(alias="timeZone", default=None)
    "IANA time zone, such as `Europe/Berlin`."


class WeChatFieldInput(BaseModel):
    """A field of a WeChat template."""

    name: str
    "Its name in the template without `.DATA`, such as `thing1`: 1 to 128 letters, digits, `-` and `_`."
    value: str
    "Renders its value, at most 2,000 bytes. The name begins with the kind of the field, and the server cuts the\nvalue to the limit of that kind: `thing` 20 characters, `phrase` 5, `character_string` 32. An empty value\nbecomes `-`."


class WeChatTemplateInput(BaseModel):
    """A WeChat template message, made of MiniJinja templates as in `MessageTemplate`. The item's `title` and `body` are in
    scope, too. A template that does not compile is refused. If one fails on an item, the server gives up the message,
    and its `lastError` names the field."""

    fields: list["WeChatFieldInput"]
    "Values of its fields: 1 to 20, at most 16 KiB as JSON."
    link: Optional[str] = None
    "Renders the link, at most 2,000 bytes. Default: the item's link."
    template_id: str = Field(alias="templateId")
    "Id of the template in the tenant's account: 1 to 128 letters, digits, `-` and `_`."


CreateWebhookEndpointInput.model_rebuild()
InboxFilter.model_rebuild()
InboxItemMatch.model_rebuild()
InboxItemSelector.model_rebuild()
MailRelayInput.model_rebuild()
MessageDeliveryRuleInput.model_rebuild()
MessageTypeInput.model_rebuild()
NotificationFilter.model_rebuild()
OutboundDeliverySelector.model_rebuild()
SendAnnouncementInput.model_rebuild()
SendMessageInput.model_rebuild()
SendNotificationInput.model_rebuild()
SendReminderInput.model_rebuild()
SubscribeTopicInput.model_rebuild()
UpdateWebhookEndpointInput.model_rebuild()
UserProfileInput.model_rebuild()
WeChatTemplateInput.model_rebuild()
