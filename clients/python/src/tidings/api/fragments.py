from datetime import datetime
from typing import Any, Optional

from pydantic import Field

from .base_model import BaseModel
from .enums import (
    NotificationKind,
    NotificationStatus,
    OutboundChannel,
    OutboundDeliveryState,
    OutboundState,
    WebhookEvent,
)


class CountFields(BaseModel):
    count: int
    exact: bool


class ItemFields(BaseModel):
    id: str
    notification_id: str = Field(alias="notificationId")
    kind: NotificationKind
    type_: "ItemFieldsType" = Field(alias="type")
    title: str
    body: Optional[str]
    link: Optional[str]
    data: Optional[Any]
    action: Optional[str]
    target: Optional["ItemFieldsTarget"]
    sender: Optional["ItemFieldsSender"]
    created_at: datetime = Field(alias="createdAt")
    updated_at: Optional[datetime] = Field(alias="updatedAt")
    expires_at: Optional[datetime] = Field(alias="expiresAt")
    is_read: bool = Field(alias="isRead")
    read_at: Optional[datetime] = Field(alias="readAt")
    is_archived: bool = Field(alias="isArchived")
    archived_at: Optional[datetime] = Field(alias="archivedAt")


class ItemFieldsType(BaseModel):
    code: str
    title: str


class ItemFieldsTarget(BaseModel):
    type_: str = Field(alias="type")
    external_id: str = Field(alias="externalId")


class ItemFieldsSender(BaseModel):
    id: str


class MailRelayFields(BaseModel):
    id: str
    url: str
    from_: str = Field(alias="from")
    reply_to: Optional[str] = Field(alias="replyTo")
    link_base: Optional[str] = Field(alias="linkBase")
    alarm: Optional["MailRelayFieldsAlarm"]
    state: OutboundState
    failing_since: Optional[datetime] = Field(alias="failingSince")
    resting_until: Optional[datetime] = Field(alias="restingUntil")
    last_error: Optional[str] = Field(alias="lastError")
    pending_count: int = Field(alias="pendingCount")
    dead_count: int = Field(alias="deadCount")


class MailRelayFieldsAlarm(BaseModel):
    type_: str = Field(alias="type")
    group: str


class OutboundDeliveryFields(BaseModel):
    id: str
    channel: OutboundChannel
    endpoint_id: Optional[str] = Field(alias="endpointId")
    user: Optional["OutboundDeliveryFieldsUser"]
    event: WebhookEvent
    notification_id: Optional[str] = Field(alias="notificationId")
    happened_at: datetime = Field(alias="happenedAt")
    state: OutboundDeliveryState
    attempt_count: int = Field(alias="attemptCount")
    due_at: Optional[datetime] = Field(alias="dueAt")
    last_status: Optional[int] = Field(alias="lastStatus")
    last_error: Optional[str] = Field(alias="lastError")
    created_at: datetime = Field(alias="createdAt")
    delivered_at: Optional[datetime] = Field(alias="deliveredAt")


class OutboundDeliveryFieldsUser(BaseModel):
    id: str


class OutcomeFields(BaseModel):
    replayed: bool
    notification: "OutcomeFieldsNotification"


class OutcomeFieldsNotification(BaseModel):
    id: str
    status: NotificationStatus


class SentFields(BaseModel):
    id: str
    kind: NotificationKind
    status: NotificationStatus
    type_: "SentFieldsType" = Field(alias="type")
    title: str
    body: Optional[str]
    link: Optional[str]
    data: Optional[Any]
    action: Optional[str]
    target: Optional["SentFieldsTarget"]
    sender: Optional["SentFieldsSender"]
    created_at: datetime = Field(alias="createdAt")
    updated_at: Optional[datetime] = Field(alias="updatedAt")
    publish_at: Optional[datetime] = Field(alias="publishAt")
    published_at: Optional[datetime] = Field(alias="publishedAt")
    expires_at: Optional[datetime] = Field(alias="expiresAt")
    retracted_at: Optional[datetime] = Field(alias="retractedAt")
    stats: "SentFieldsStats"


class SentFieldsType(BaseModel):
    code: str
    title: str


class SentFieldsTarget(BaseModel):
    type_: str = Field(alias="type")
    external_id: str = Field(alias="externalId")


class SentFieldsSender(BaseModel):
    id: str


class SentFieldsStats(BaseModel):
    audience_size: Optional[int] = Field(alias="audienceSize")
    delivered_count: int = Field(alias="deliveredCount")
    read_count: int = Field(alias="readCount")


class UserFields(BaseModel):
    id: str
    name: Optional[str]
    avatar_url: Optional[str] = Field(alias="avatarUrl")
    locale: Optional[str]


class UserGroupFields(BaseModel):
    id: str
    code: str
    title: Optional[str]
    member_count: int = Field(alias="memberCount")


class WebhookEndpointFields(BaseModel):
    id: str
    url: str
    events: list[WebhookEvent]
    full: bool
    alarm: Optional["WebhookEndpointFieldsAlarm"]
    state: OutboundState
    failing_since: Optional[datetime] = Field(alias="failingSince")
    resting_until: Optional[datetime] = Field(alias="restingUntil")
    last_attempt_at: Optional[datetime] = Field(alias="lastAttemptAt")
    last_status: Optional[int] = Field(alias="lastStatus")
    last_error: Optional[str] = Field(alias="lastError")
    pending_count: int = Field(alias="pendingCount")
    dead_count: int = Field(alias="deadCount")
    previous_secret_until: Optional[datetime] = Field(alias="previousSecretUntil")
    created_at: datetime = Field(alias="createdAt")


class WebhookEndpointFieldsAlarm(BaseModel):
    type_: str = Field(alias="type")
    group: str


CountFields.model_rebuild()
ItemFields.model_rebuild()
MailRelayFields.model_rebuild()
OutboundDeliveryFields.model_rebuild()
OutcomeFields.model_rebuild()
SentFields.model_rebuild()
UserFields.model_rebuild()
UserGroupFields.model_rebuild()
WebhookEndpointFields.model_rebuild()
