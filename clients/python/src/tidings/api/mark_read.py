from pydantic import Field

from .base_model import BaseModel


class MarkRead(BaseModel):
    mark_read: "MarkReadMarkRead" = Field(alias="markRead")


class MarkReadMarkRead(BaseModel):
    changed_count: int = Field(alias="changedCount")


MarkRead.model_rebuild()
