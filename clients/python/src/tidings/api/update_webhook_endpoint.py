from pydantic import Field

from .base_model import BaseModel
from .fragments import WebhookEndpointFields


class UpdateWebhookEndpoint(BaseModel):
    update_webhook_endpoint: "UpdateWebhookEndpointUpdateWebhookEndpoint" = Field(
        alias="updateWebhookEndpoint"
    )


UpdateWebhookEndpointUpdateWebhookEndpoint = WebhookEndpointFields
UpdateWebhookEndpoint.model_rebuild()
