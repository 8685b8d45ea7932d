from pydantic import Field

from .base_model import BaseModel


class ArchiveItems(BaseModel):
    archive_items: "ArchiveItemsArchiveItems" = Field(alias="archiveItems")


class ArchiveItemsArchiveItems(BaseModel):
    changed_count: int = Field(alias="changedCount")


ArchiveItems.model_rebuild()
