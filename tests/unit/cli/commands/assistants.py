"""The server for assistants as a client of the SDK meets it: started in a project, called, answered."""

import sys

FLOW = """ROSTemplateFormatVersion: '2015-09-01'
Resources:
  Orders:
    Type: ALIYUN::MNS::Queue
    Properties: {QueueName: orders}
  Order:
    Type: ALIYUN::FNF::Flow
    Properties:
      Name: order
      Description: pays
      Definition: |
        version: v1
        type: flow
        steps:
          - type: task
            name: pay
            resourceArn: acs:fc:::services/shop/functions/pay
"""


def over_stdio(project):
    """Return the server of a project as what the SDK's client takes."""
    from mcp.client.stdio import StdioServerParameters, stdio_client  # an extra

    folder, env = project
    command = StdioServerParameters(command=sys.executable, args=["-m", "emulator", "mcp"], cwd=folder, env=env)
    return stdio_client(command)


async def said(client, tool, **arguments):
    """Return the text of an answer, which is no failure."""
    answer = await client.call_tool(tool, arguments)
    assert not answer.is_error, answer.content[0].text
    return answer.content[0].text


async def refused(client, tool, **arguments):
    """Return the text of a failure."""
    answer = await client.call_tool(tool, arguments)
    assert answer.is_error, answer.content[0].text
    return answer.content[0].text
