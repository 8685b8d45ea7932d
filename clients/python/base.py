"""What the generated client needs of whoever carries its operations; `tidings.Tidings` is one."""

from typing import Any


class Carrier:
    """Carries out one operation, and gives the `data` of its answer."""

    async def execute(self, query: str, operation_name: str, variables: dict[str, Any]) -> dict[str, Any]:
        raise NotImplementedError

    def get_data(self, data: dict[str, Any]) -> dict[str, Any]:
        return data
