"""The interface that the generated client needs from the class that sends its operations, here `tidings.Tidings`."""

from typing import Any


class Carrier:
    """Sends one operation and returns the `data` of the response."""

    async def execute(self, query: str, operation_name: str, variables: dict[str, Any]) -> dict[str, Any]:
        raise NotImplementedError

    def get_data(self, data: dict[str, Any]) -> dict[str, Any]:
        return data
