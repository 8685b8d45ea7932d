from pydantic import Field

from .base_model import BaseModel
from .fragments import WebhookEndpointFields


class WebhookEndpoints(BaseModel):
    webhook_endpoints: list["WebhookEndpointsWebhookEndpoints"] = Field(
        alias="webhookEndpoints"
    )


WebhookEndpointsWebhookEndpoints = WebhookEndpointFields
WebhookEndpoints.model_rebuild()
