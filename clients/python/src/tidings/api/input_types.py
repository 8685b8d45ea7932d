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
    """Where a tenant's events go."""

    alarm: Optional["OutboundAlarmInput"] = None
    "Whom it tells that it was disabled; the log and the figures where it is left out."
    events: Optional[list[WebhookEvent]] = None
    "What it wants to hear of; 20 entries at most. Where it is left out: published, amended and retracted."
    full: Optional[bool] = False
    "Whether it is sent the texts of notifications, too, as readers see them. Otherwise ids, types, targets and times alone."
    url: str
    "Absolute https URL of at most 2,048 bytes, without user name, password and fragment, whose host is on the public internet or allowed by\nwhoever runs the server."


class DigestTimeInput(BaseModel):
    """When somebody is told in one letter what they have not read."""

    at: str
    "A time of day, from `00:00` to `23:59`."
    weekday: Optional[Weekday] = None
    "The one day of the week; each where it is left out."


class InboxFilter(BaseModel):
    """What to list; conditions left out do not count."""

    action: Optional[str] = None
    "What happened to the target."
    kinds: Optional[list[NotificationKind]] = None
    "Of one of these kinds."
    read: Optional[bool] = None
    "True: only read, false: only unread, null: both."
    sender: Optional[str] = None
    "The partner's id of a user."
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
    """Which items a bulk mark is about; conditions left out do not count."""

    target: Optional["TopicTargetInput"] = None
    "About this target."
    types: Optional[list[str]] = None
    "Codes of message types."
    up_to: Optional[str] = Field(alias="upTo", default=None)
    "Up to and including the item at this cursor: what arrives during the click stays as it is."


class InboxItemSelector(BaseModel):
    """Which items of an inbox: either some, or all that match."""

    ids: Optional[list[str]] = None
    "At most 1,000. An item that was deleted or has expired is passed over."
    matching: Optional["InboxItemMatch"] = None
    "Every item that matches; an empty match is the whole inbox."


class ListenerChoice(BaseModel):
    """Who hears."""

    group: Optional[str] = None
    "All members of the group with this code, whoever they are when something happens. SERVICE, ADMIN."
    user: Optional[str] = None
    "A user, by the partner's own id; USER can name only themselves."


class MailRelayInput(BaseModel):
    """All of a relay."""

    alarm: Optional["OutboundAlarmInput"] = None
    "Whom it tells that it was disabled; the log and the figures where it is left out."
    from_: str = Field(alias="from")
    "The address that mail comes from: `ada@example.com`, or `Ada <ada@example.com>`."
    link_base: Optional[str] = Field(alias="linkBase", default=None)
    "What links of notifications that are paths belong to: an absolute http(s) URL."
    reply_to: Optional[str] = Field(alias="replyTo", default=None)
    "Where answers go, where that is another address."
    url: str
    "`smtps://user:password@host:465`, or `smtp://user:password@host:587`, which begins to encrypt before anything is told; without\nencryption by `?tls=none`, where whoever runs the server has allowed the host. User name and password are percent-encoded, and kept\nsealed."


class MessageDeliveryRuleInput(BaseModel):
    """How what is sent under a type leaves the inbox: at most one rule for each channel."""

    channel: DeliveryChannel
    "By what."
    condition: Optional[DeliveryCondition] = DeliveryCondition.IF_UNREAD
    "Which items."
    delay_seconds: Optional[int] = Field(alias="delaySeconds", default=None)
    "How long after publication: 300 where it is left out, at most 2,592,000, which are 30 days. With `digest` 0, and nothing else."
    digest: Optional[bool] = False
    "Whether they go into their user's next digest, and not each by itself: one letter at the hour of `UserProfileInput.digest` with what is\nunread then. Of EMAIL and `IF_UNREAD` alone, without `letter`."
    letter: Optional["MessageLetterInput"] = None
    "What its letters say, of EMAIL alone; what its items do where it is left out."
    wechat: Optional["WeChatTemplateInput"] = None
    "What the message is made of: needed for `WECHAT`, and for no other."


class MessageLetterInput(BaseModel):
    """Templates of what letters say; at most 16 KiB each. One that does not compile is refused."""

    html: Optional[str] = None
    "Instead of the item's body in the HTML of the letter, between its heading and its button; what it speaks of is escaped in it. Where\nit is left out the text stands there."
    subject: Optional[str] = None
    "Instead of the item's title; the title where it is left out. It is cut to 256 characters."
    text: Optional[str] = None
    "Instead of the item's body; the body where it is left out. The link follows it."


class MessageTemplateInput(BaseModel):
    """Templates of a type; at most 16 KiB each, with at most 1,000 names, values and signs in braces. One that does not compile is
    refused."""

    body: Optional[str] = None
    "Renders the body; as the sender wrote it where it is left out."
    link: Optional[str] = None
    "Renders the link; as the sender wrote it where it is left out."
    title: str
    "Renders the title."


class MessageTypeInput(BaseModel):
    """All of a type: what is left out goes back to its default."""

    code: str
    "1 to 128 characters; the type with this code is changed, or made."
    delivery: Optional[list["MessageDeliveryRuleInput"]] = None
    "How what is sent under it leaves the inbox; not at all where it is left out. Counts for what is published afterwards."
    group: Optional[str] = None
    "Free label under which a UI groups types; 1 to 128 characters."
    icon: Optional[str] = None
    "What user interfaces show beside its title: a name that they know (letters, digits, `-`, `_`, `.` and `:`), or an absolute\nhttps URL; 256 characters at most."
    mandatory: Optional[bool] = False
    "Users cannot switch it off, neither by type nor by action."
    position: Optional[int] = 0
    "Order in overviews, ascending; ties by code."
    read_policy: Optional[ReadPolicy] = Field(
        alias="readPolicy", default=ReadPolicy.MANUAL
    )
    "How its items come to be read."
    template: Optional["MessageTemplateInput"] = None
    "Counts for everything that is read afterwards, also if it was sent before."
    title: str
    "1 to 256 characters."
    ttl_seconds: Optional[int] = Field(alias="ttlSeconds", default=None)
    "At least 1. Counts for what is published afterwards."
    ui: Optional[Any] = None
    "For user interfaces, untouched; 4 KiB of JSON at most."
    users_may_send: Optional[bool] = Field(alias="usersMaySend", default=False)
    "Users may send messages of it to each other with `sendMessage`, where the server lets the tenant's users (`TIDINGS_USER_MESSAGES`).\nTheir links must be paths; what its template makes of `params` is theirs to choose, too. Not together with `mandatory`."


class NotificationAudienceInput(BaseModel):
    """Whom an announcement is for."""

    everyone: Optional[bool] = None
    "True: all users of the tenant, also those first mentioned within the retention window after it."
    groups: Optional[list[str]] = None
    "Who is in one of these groups when it is published; 1 to 100."
    users: Optional[list[str]] = None
    "1 to 10,000 users by name."


class NotificationContentInput(BaseModel):
    """What a notification says."""

    body: Optional[str] = None
    "16 KiB at most."
    data: Optional[Any] = None
    "For the client, untouched; 16 KiB of JSON at most."
    link: Optional[str] = None
    "Where a click leads: an absolute http(s) URL or a path; 2,048 characters at most."
    params: Optional[Any] = None
    "For the type's template; 16 KiB of JSON at most."
    title: Optional[str] = None
    "1 to 256 characters. Required, unless the type has a template."


class NotificationFilter(BaseModel):
    """What to list; conditions left out do not count."""

    kinds: Optional[list[NotificationKind]] = None
    "Of one of these kinds."
    sender: Optional[str] = None
    "The partner's id of a user."
    since: Optional[datetime] = None
    "Published at this instant or later. What is scheduled is not published yet."
    statuses: Optional[list[NotificationStatus]] = None
    "In one of these states."
    target: Optional["TopicTargetInput"] = None
    "About this target."
    text: Optional[str] = None
    "What its title has in it, wherever, without regard to case; 1 to 256 characters. The title is the one that was sent, and the\ntype's where it was sent without one."
    types: Optional[list[str]] = None
    "Codes of message types."
    until: Optional[datetime] = None
    "Published before this instant."


class NotificationPatch(BaseModel):
    """What to change of a notification; what is left out, or null, stays."""

    body: Optional[str] = None
    "16 KiB at most."
    clear: Optional[list[NotificationField]] = None
    "What to erase of it; nothing that is given as well."
    data: Optional[Any] = None
    "For the client, untouched; 16 KiB of JSON at most."
    expires_at: Optional[datetime] = Field(alias="expiresAt", default=None)
    "In the future."
    link: Optional[str] = None
    "Where a click leads: an absolute http(s) URL or a path; 2,048 characters at most."
    params: Optional[Any] = None
    "For the type's template; 16 KiB of JSON at most."
    publish_at: Optional[datetime] = Field(alias="publishAt", default=None)
    "Only while it is scheduled. What is past means at once."
    title: Optional[str] = None
    "1 to 256 characters."


class OutboundAlarmInput(BaseModel):
    """An announcement to a group."""

    group: Optional[str] = "operators"
    "Code of the group."
    type_: str = Field(alias="type")
    "Code of its message type."


class OutboundDeadFilter(BaseModel):
    """Deliveries that were given up."""

    endpoint: str
    "The `id` of the endpoint."
    since: Optional[datetime] = None
    "Of what has happened since then alone."


class OutboundDeadToFilter(BaseModel):
    """Deliveries to users that were given up."""

    channel: DeliveryChannel
    "By what they were to go."
    since: Optional[datetime] = None
    "Of what has happened since then alone; all where it is left out."


class OutboundDeliveryFilter(BaseModel):
    """What to list; conditions left out do not count."""

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
    "To the user with this id, the partner's own."


class OutboundDeliverySelector(BaseModel):
    """Which deliveries are sent again: these, or those of an endpoint that were given up."""

    dead: Optional["OutboundDeadFilter"] = None
    "Those of an endpoint that were given up; 100,000 at most."
    dead_to: Optional["OutboundDeadToFilter"] = Field(alias="deadTo", default=None)
    "Those to users by a channel that were given up; 100,000 at most."
    ids: Optional[list[str]] = None
    "Those with these `id`s that were given up or delivered; 1,000 at most."


class QuietHoursInput(BaseModel):
    """Hours of each day in which nothing goes out to somebody."""

    from_: str = Field(alias="from")
    "A time of day, from `00:00` to `23:59`."
    to: str
    "Another time of day, up to which it is so. `22:00` to `07:00` goes over midnight."


class SendAnnouncementInput(BaseModel):
    """Something to say to an audience."""

    audience: "NotificationAudienceInput"
    "Whom it is for."
    content: "NotificationContentInput"
    "What it says."
    expires_at: Optional[datetime] = Field(alias="expiresAt", default=None)
    "In the future, and after `publishAt`. Default: the type's ttl after publication."
    idempotency_key: Optional[str] = Field(alias="idempotencyKey", default=None)
    "1 to 128 characters. A second call with the same key sends nothing and returns the first one's notification; with\nother content it is a CONFLICT. Keys are remembered as long as the notification. The tenant's services and operators\nshare theirs; each user has keys of their own."
    publish_at: Optional[datetime] = Field(alias="publishAt", default=None)
    "In the future: scheduled, and published within a second of it to whoever listens then. Within ten years; at once\nwhere it is left out, or past."
    sender: Optional[str] = None
    "Who it is from, by the partner's own id; nobody where it is left out."
    strict: bool = False
    "True: refused with BAD_USER_INPUT while the type's template has flaws on it, as `previewNotification` shows them, which the error\nnames. False: sent in any case, and readers see what `content` gives in the place of what fails."
    type_: str = Field(alias="type")
    "Code of a message type."


class SendMessageInput(BaseModel):
    """Something to say to one user."""

    content: "NotificationContentInput"
    "What it says."
    expires_at: Optional[datetime] = Field(alias="expiresAt", default=None)
    "In the future, and after `publishAt`. Default: the type's ttl after publication."
    idempotency_key: Optional[str] = Field(alias="idempotencyKey", default=None)
    "As in `SendAnnouncementInput`."
    publish_at: Optional[datetime] = Field(alias="publishAt", default=None)
    "In the future: scheduled, and published within a second of it to whoever listens then. Within ten years; at once\nwhere it is left out, or past."
    receiver: str
    "Whom it is for, by the partner's own id."
    sender: Optional[str] = None
    "Who it is from, by the partner's own id: nobody where it is left out, and USER themselves."
    strict: bool = False
    "As in `SendAnnouncementInput`."
    type_: str = Field(alias="type")
    "Code of a message type."


class SendNotificationInput(BaseModel):
    """One of the three."""

    announcement: Optional["SendAnnouncementInput"] = None
    "To everyone, to groups or to named users."
    message: Optional["SendMessageInput"] = None
    "To one user."
    reminder: Optional["SendReminderInput"] = None
    "To the subscribers of a target's action."


class SendReminderInput(BaseModel):
    """Something happened to a target."""

    action: str
    "What happened, such as `comment`; 1 to 128 characters."
    content: "NotificationContentInput"
    "What it says."
    expires_at: Optional[datetime] = Field(alias="expiresAt", default=None)
    "In the future, and after `publishAt`. Default: the type's ttl after publication."
    idempotency_key: Optional[str] = Field(alias="idempotencyKey", default=None)
    "As in `SendAnnouncementInput`."
    publish_at: Optional[datetime] = Field(alias="publishAt", default=None)
    "In the future: scheduled, and published within a second of it to whoever listens then. Within ten years; at once\nwhere it is left out, or past."
    sender: Optional[str] = None
    "Who did it; they are never reminded of their own doing. Their followers are reminded too."
    strict: bool = False
    "As in `SendAnnouncementInput`."
    target: "TopicTargetInput"
    "To what it happened."
    type_: str = Field(alias="type")
    "Code of a message type."


class SubscribeTopicInput(BaseModel):
    """Who hears of what."""

    target: "TopicTargetInput"
    "What it is about."
    what: "TopicChoice"
    "Which actions on it."
    who: Optional["ListenerChoice"] = None
    "Who hears; the token's user where it is left out."


class TopicChoice(BaseModel):
    """Which actions on a target to hear of."""

    actions: Optional[list[str]] = None
    "These, 1 to 100."
    reason: Optional[str] = None
    "Those of a reason of the catalogue, by its code."


class TopicTargetInput(BaseModel):
    """A target by the partner's own strings, 1 to 128 characters each."""

    external_id: str = Field(alias="externalId")
    "The partner's own id, among the targets of its type."
    type_: str = Field(alias="type")
    "What kind of thing it is, such as `order`."


class UpdateWebhookEndpointInput(BaseModel):
    """What to change of an endpoint; what is left out, or null, stays."""

    alarm: Optional["OutboundAlarmInput"] = None
    "Whom it tells that it was disabled."
    clear: Optional[list[WebhookEndpointField]] = None
    "What to erase of it; nothing that is given as well."
    events: Optional[list[WebhookEvent]] = None
    "All that it wants to hear of from now on; 20 entries at most."
    full: Optional[bool] = None
    "Whether it is sent the texts of notifications, too."
    url: Optional[str] = None
    "As of a new one. Another one is tried at once, whatever was wrong with the one before."


class UserContactInput(BaseModel):
    """An address of a user."""

    email: Optional[str] = None
    "For mail: `ada@example.com`, 254 bytes at the most."
    wechat_open_id: Optional[str] = Field(alias="wechatOpenId", default=None)
    "For WeChat: the `openid` by which the tenant's official account knows them; 1 to 128 letters, digits, `-` and `_`."


class UserProfileInput(BaseModel):
    """What to change of a user's profile; what is left out, or null, stays."""

    avatar_url: Optional[str] = Field(alias="avatarUrl", default=None)
    "An absolute http(s) URL or a path."
    clear: Optional[list[ProfileField]] = None
    "What to erase of it; nothing that is given as well."
    contacts: Optional[list["UserContactInput"]] = None
    "Where they are reached outside: all of their addresses, five at the most. Nobody is shown them but the user, services and operators."
    digest: Optional["DigestTimeInput"] = None
    "When they are sent digests (`MessageDeliveryRuleInput.digest`), by the same clocks; at 08:00 of each day where nothing is said. One that\nis waited for already comes no later than it was due."
    id: str
    "The partner's own id of the user; 1 to 128 characters."
    locale: Optional[str] = None
    "BCP 47."
    name: Optional[str] = None
    "1 to 256 characters."
    quiet: Optional["QuietHoursInput"] = None
    "When nothing leaves the inbox for them, by the clocks of `timeZone`, or of UTC where they have none. What falls due then goes out when\nit is over, as far as it is still wanted; what is of mandatory types goes out at once."
    time_zone: Optional[str] = Field(alias="timeZone", default=None)
    "Where they are, by IANA's name of it, such as `Europe/Berlin`."


class WeChatFieldInput(BaseModel):
    """A field of a template of WeChat."""

    name: str
    "As the template names it, without `.DATA`: `thing1`. 1 to 128 letters, digits, `-` and `_`."
    value: str
    "Renders its value; 2,000 bytes at most. It is cut to what its kind, by which the name begins, holds: `thing` 20 characters, `phrase`\n5, `character_string` 32; and is `-` where it would be empty."


class WeChatTemplateInput(BaseModel):
    """A template message of WeChat: MiniJinja as in `MessageTemplate`, with `title` and `body`, what the item shows, in scope as well. What
    does not compile is refused; a message of which one fails is given up, and its `lastError` names the field."""

    fields: list["WeChatFieldInput"]
    "What fills its fields: 1 to 20, of at most 16 KiB as JSON."
    link: Optional[str] = None
    "Renders where a click leads; where the item leads where it is left out. 2,000 bytes at most."
    template_id: str = Field(alias="templateId")
    "The template's id in the tenant's account: 1 to 128 letters, digits, `-` and `_`."


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
