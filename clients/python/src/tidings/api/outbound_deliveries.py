from typing import Optional

from pydantic import Field

from .base_model import BaseModel
from .fragments import OutboundDeliveryFields


class OutboundDeliveries(BaseModel):
    outbound_deliveries: "OutboundDeliveriesOutboundDeliveries" = Field(
        alias="outboundDeliveries"
    )


class OutboundDeliveriesOutboundDeliveries(BaseModel):
    nodes: list["OutboundDeliveriesOutboundDeliveriesNodes"]
    page_info: "OutboundDeliveriesOutboundDeliveriesPageInfo" = Field(alias="pageInfo")


OutboundDeliveriesOutboundDeliveriesNodes = OutboundDeliveryFields


class OutboundDeliveriesOutboundDeliveriesPageInfo(BaseModel):
    has_next_page: bool = Field(alias="hasNextPage")
    end_cursor: Optional[str] = Field(alias="endCursor")


OutboundDeliveries.model_rebuild()
OutboundDeliveriesOutboundDeliveries.model_rebuild()
