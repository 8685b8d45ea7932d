from typing import Optional

from pydantic import Field

from .base_model import BaseModel
from .fragments import CountFields, ItemFields


class InboxUserOverview(BaseModel):
    inbox_user: Optional["InboxUserOverviewInboxUser"] = Field(alias="inboxUser")


class InboxUserOverviewInboxUser(BaseModel):
    overview: "InboxUserOverviewInboxUserOverview"


class InboxUserOverviewInboxUserOverview(BaseModel):
    cursor: str
    unread: "InboxUserOverviewInboxUserOverviewUnread"
    unseen: "InboxUserOverviewInboxUserOverviewUnseen"
    types: list["InboxUserOverviewInboxUserOverviewTypes"]


InboxUserOverviewInboxUserOverviewUnread = CountFields
InboxUserOverviewInboxUserOverviewUnseen = CountFields


class InboxUserOverviewInboxUserOverviewTypes(BaseModel):
    type_: "InboxUserOverviewInboxUserOverviewTypesType" = Field(alias="type")
    unread: "InboxUserOverviewInboxUserOverviewTypesUnread"
    latest: Optional["InboxUserOverviewInboxUserOverviewTypesLatest"]


class InboxUserOverviewInboxUserOverviewTypesType(BaseModel):
    code: str
    title: str


InboxUserOverviewInboxUserOverviewTypesUnread = CountFields
InboxUserOverviewInboxUserOverviewTypesLatest = ItemFields
InboxUserOverview.model_rebuild()
InboxUserOverviewInboxUser.model_rebuild()
InboxUserOverviewInboxUserOverview.model_rebuild()
InboxUserOverviewInboxUserOverviewTypes.model_rebuild()
