from pydantic import Field

from .base_model import BaseModel


class ReplayOutboundDeliveries(BaseModel):
    replay_outbound_deliveries: "ReplayOutboundDeliveriesReplayOutboundDeliveries" = (
        Field(alias="replayOutboundDeliveries")
    )


class ReplayOutboundDeliveriesReplayOutboundDeliveries(BaseModel):
    replayed_count: int = Field(alias="replayedCount")


ReplayOutboundDeliveries.model_rebuild()
