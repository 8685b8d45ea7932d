from pydantic import Field

from .base_model import BaseModel


class UnarchiveItems(BaseModel):
    unarchive_items: "UnarchiveItemsUnarchiveItems" = Field(alias="unarchiveItems")


class UnarchiveItemsUnarchiveItems(BaseModel):
    changed_count: int = Field(alias="changedCount")


UnarchiveItems.model_rebuild()
