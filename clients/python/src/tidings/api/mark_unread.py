from pydantic import Field

from .base_model import BaseModel


class MarkUnread(BaseModel):
    mark_unread: "MarkUnreadMarkUnread" = Field(alias="markUnread")


class MarkUnreadMarkUnread(BaseModel):
    changed_count: int = Field(alias="changedCount")


MarkUnread.model_rebuild()
