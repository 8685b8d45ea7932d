from pydantic import Field

from .base_model import BaseModel


class MarkSeen(BaseModel):
    mark_seen: "MarkSeenMarkSeen" = Field(alias="markSeen")


class MarkSeenMarkSeen(BaseModel):
    changed_count: int = Field(alias="changedCount")


MarkSeen.model_rebuild()
