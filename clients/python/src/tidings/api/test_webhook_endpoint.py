from pydantic import Field

from .base_model import BaseModel
from .fragments import OutboundDeliveryFields


class TestWebhookEndpoint(BaseModel):
    test_webhook_endpoint: "TestWebhookEndpointTestWebhookEndpoint" = Field(
        alias="testWebhookEndpoint"
    )


TestWebhookEndpointTestWebhookEndpoint = OutboundDeliveryFields
TestWebhookEndpoint.model_rebuild()
