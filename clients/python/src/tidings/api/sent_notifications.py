from typing import Optional

from pydantic import Field

from .base_model import BaseModel
from .fragments import SentFields


class SentNotifications(BaseModel):
    sent_notifications: "SentNotificationsSentNotifications" = Field(
        alias="sentNotifications"
    )


class SentNotificationsSentNotifications(BaseModel):
    nodes: list["SentNotificationsSentNotificationsNodes"]
    page_info: "SentNotificationsSentNotificationsPageInfo" = Field(alias="pageInfo")


SentNotificationsSentNotificationsNodes = SentFields


class SentNotificationsSentNotificationsPageInfo(BaseModel):
    has_next_page: bool = Field(alias="hasNextPage")
    end_cursor: Optional[str] = Field(alias="endCursor")


SentNotifications.model_rebuild()
SentNotificationsSentNotifications.model_rebuild()
