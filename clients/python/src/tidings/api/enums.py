from enum import Enum


class DeliveryChannel(str, Enum):
    EMAIL = "EMAIL"


class DeliveryCondition(str, Enum):
    ALWAYS = "ALWAYS"
    IF_UNREAD = "IF_UNREAD"


class InboxState(str, Enum):
    ALL = "ALL"
    ARCHIVED = "ARCHIVED"
    INBOX = "INBOX"


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


class ProfileField(str, Enum):
    AVATAR_URL = "AVATAR_URL"
    CONTACTS = "CONTACTS"
    LOCALE = "LOCALE"
    NAME = "NAME"


class ReadPolicy(str, Enum):
    AUTO = "AUTO"
    MANUAL = "MANUAL"
