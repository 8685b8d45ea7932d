from typing import Optional

from pydantic import Field

from .base_model import BaseModel
from .enums import ReadPolicy


class SaveMessageType(BaseModel):
    save_message_type: "SaveMessageTypeSaveMessageType" = Field(alias="saveMessageType")


class SaveMessageTypeSaveMessageType(BaseModel):
    id: str
    code: str
    title: str
    group: Optional[str]
    position: int
    mandatory: bool
    read_policy: ReadPolicy = Field(alias="readPolicy")
    ttl_seconds: Optional[int] = Field(alias="ttlSeconds")
    template: Optional["SaveMessageTypeSaveMessageTypeTemplate"]
    template_error: Optional[str] = Field(alias="templateError")


class SaveMessageTypeSaveMessageTypeTemplate(BaseModel):
    title: str
    body: Optional[str]
    link: Optional[str]


SaveMessageType.model_rebuild()
SaveMessageTypeSaveMessageType.model_rebuild()
