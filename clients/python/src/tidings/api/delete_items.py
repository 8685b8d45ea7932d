from pydantic import Field

from .base_model import BaseModel


class DeleteItems(BaseModel):
    delete_items: "DeleteItemsDeleteItems" = Field(alias="deleteItems")


class DeleteItemsDeleteItems(BaseModel):
    changed_count: int = Field(alias="changedCount")


DeleteItems.model_rebuild()
