from pydantic import Field

from .base_model import BaseModel
from .fragments import WebhookEndpointFields


class PauseWebhookEndpoint(BaseModel):
    pause_webhook_endpoint: "PauseWebhookEndpointPauseWebhookEndpoint" = Field(
        alias="pauseWebhookEndpoint"
    )


PauseWebhookEndpointPauseWebhookEndpoint = WebhookEndpointFields
PauseWebhookEndpoint.model_rebuild()
