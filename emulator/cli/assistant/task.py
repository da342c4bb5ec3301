"""A subclass of the SDK's tool with short error messages that say what to do, and no silently ignored arguments."""

from typing import Any

from mcp.server.mcpserver.exceptions import ToolError, UnexpectedToolError
from mcp.server.mcpserver.tools import Tool
from pydantic import ValidationError


class Task(Tool):
    """A tool that refuses unknown arguments by name, and describes invalid ones in one line."""

    async def run(self, arguments: dict[str, Any], context: Any, convert_result: bool = False) -> Any:
        """Run the tool. Raises: ToolError, MCPError."""
        known = self.parameters.get("properties", {})
        if foreign := [each for each in arguments if each not in known]:
            raise ToolError(f"{self.name} has no argument {foreign[0]}; there are: {', '.join(known) or 'none'}")
        try:
            return await super().run(arguments, context, convert_result)
        except UnexpectedToolError:
            raise
        except ToolError as error:
            cause = error.__cause__
            if isinstance(cause, ValidationError):
                raise ToolError(f"{self.name}: {_in_words(cause)}") from error
            if isinstance(cause, ToolError):
                raise ToolError(str(cause)) from error
            raise


def _in_words(error: ValidationError) -> str:
    return "; ".join(f"{'.'.join(map(str, each['loc']))}: {each['msg']}" for each in error.errors())
