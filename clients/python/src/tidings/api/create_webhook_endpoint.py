from pydantic import Field

from .base_model import BaseModel
from .fragments import WebhookEndpointFields


class CreateWebhookEndpoint(BaseModel):
    create_webhook_endpoint: "CreateWebhookEndpointCreateWebhookEndpoint" = Field(
        alias="createWebhookEndpoint"
    )


class CreateWebhookEndpointCreateWebhookEndpoint(BaseModel):
    endpoint: "CreateWebhookEndpointCreateWebhookEndpointEndpoint"
    secret: str


CreateWebhookEndpointCreateWebhookEndpointEndpoint = WebhookEndpointFields
CreateWebhookEndpoint.model_rebuild()
CreateWebhookEndpointCreateWebhookEndpoint.model_rebuild()
