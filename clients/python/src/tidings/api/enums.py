from enum import Enum


class DeliveryChannel(str, Enum):
    EMAIL = "EMAIL"
    WEB_PUSH = "WEB_PUSH"
    WECHAT = "WECHAT"


class DeliveryCondition(str, Enum):
    ALWAYS = "ALWAYS"
    IF_UNREAD = "IF_UNREAD"


class InboxState(str, Enum):
    ALL = "ALL"
    ARCHIVED = "ARCHIVED"
    INBOX = "INBOX"


class MailRelaySwitch(str, Enum):
    OFF = "OFF"
    ON = "ON"


class NotificationField(str, Enum):
    BODY = "BODY"
    DATA = "DATA"
    EXPIRES_AT = "EXPIRES_AT"
    LINK = "LINK"
    PARAMS = "PARAMS"
    TITLE = "TITLE"


class NotificationKind(str, Enum):
    ANNOUNCEMENT = "ANNOUNCEMENT"
    MESSAGE = "MESSAGE"
    REMINDER = "REMINDER"


class NotificationStatus(str, Enum):
    EXPIRED = "EXPIRED"
    PUBLISHED = "PUBLISHED"
    RETRACTED = "RETRACTED"
    SCHEDULED = "SCHEDULED"


class OutboundChannel(str, Enum):
    EMAIL = "EMAIL"
    WEBHOOK = "WEBHOOK"
    WEB_PUSH = "WEB_PUSH"
    WECHAT = "WECHAT"


class OutboundDeliveryState(str, Enum):
    DEAD = "DEAD"
    DELIVERED = "DELIVERED"
    PENDING = "PENDING"


class OutboundState(str, Enum):
    ACTIVE = "ACTIVE"
    DISABLED = "DISABLED"
    PAUSED = "PAUSED"


class ProfileField(str, Enum):
    AVATAR_URL = "AVATAR_URL"
    CONTACTS = "CONTACTS"
    DIGEST = "DIGEST"
    LOCALE = "LOCALE"
    NAME = "NAME"
    QUIET = "QUIET"
    TIME_ZONE = "TIME_ZONE"


class ReadPolicy(str, Enum):
    AUTO = "AUTO"
    MANUAL = "MANUAL"


class WebhookEndpointField(str, Enum):
    ALARM = "ALARM"


class WebhookEvent(str, Enum):
    DIGEST = "DIGEST"
    ENDPOINT_DISABLED = "ENDPOINT_DISABLED"
    ITEM_READ = "ITEM_READ"
    NOTIFICATION_AMENDED = "NOTIFICATION_AMENDED"
    NOTIFICATION_EXPIRED = "NOTIFICATION_EXPIRED"
    NOTIFICATION_PUBLISHED = "NOTIFICATION_PUBLISHED"
    NOTIFICATION_RETRACTED = "NOTIFICATION_RETRACTED"
    TEST_PING = "TEST_PING"


class Weekday(str, Enum):
    FRIDAY = "FRIDAY"
    MONDAY = "MONDAY"
    SATURDAY = "SATURDAY"
    SUNDAY = "SUNDAY"
    THURSDAY = "THURSDAY"
    TUESDAY = "TUESDAY"
    WEDNESDAY = "WEDNESDAY"
