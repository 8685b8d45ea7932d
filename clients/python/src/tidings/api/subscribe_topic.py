from datetime import datetime

from pydantic import Field

from .base_model import BaseModel


class SubscribeTopic(BaseModel):
    subscribe_topic: "SubscribeTopicSubscribeTopic" = Field(alias="subscribeTopic")


class SubscribeTopicSubscribeTopic(BaseModel):
    created_count: int = Field(alias="createdCount")
    subscriptions: list["SubscribeTopicSubscribeTopicSubscriptions"]


class SubscribeTopicSubscribeTopicSubscriptions(BaseModel):
    id: str
    action: str
    target: "SubscribeTopicSubscribeTopicSubscriptionsTarget"
    created_at: datetime = Field(alias="createdAt")


class SubscribeTopicSubscribeTopicSubscriptionsTarget(BaseModel):
    type_: str = Field(alias="type")
    external_id: str = Field(alias="externalId")


SubscribeTopic.model_rebuild()
SubscribeTopicSubscribeTopic.model_rebuild()
SubscribeTopicSubscribeTopicSubscriptions.model_rebuild()
