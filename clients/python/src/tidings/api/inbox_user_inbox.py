from typing import Optional

from pydantic import Field

from .base_model import BaseModel
from .fragments import ItemFields


class InboxUserInbox(BaseModel):
    inbox_user: Optional["InboxUserInboxInboxUser"] = Field(alias="inboxUser")


class InboxUserInboxInboxUser(BaseModel):
    inbox: "InboxUserInboxInboxUserInbox"


class InboxUserInboxInboxUserInbox(BaseModel):
    nodes: list["InboxUserInboxInboxUserInboxNodes"]
    page_info: "InboxUserInboxInboxUserInboxPageInfo" = Field(alias="pageInfo")


InboxUserInboxInboxUserInboxNodes = ItemFields


class InboxUserInboxInboxUserInboxPageInfo(BaseModel):
    has_next_page: bool = Field(alias="hasNextPage")
    end_cursor: Optional[str] = Field(alias="endCursor")


InboxUserInbox.model_rebuild()
InboxUserInboxInboxUser.model_rebuild()
InboxUserInboxInboxUserInbox.model_rebuild()
