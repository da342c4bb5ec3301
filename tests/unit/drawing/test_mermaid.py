"""Flows as Mermaid text."""

import json

from emulator.drawing import mermaid
from emulator.drawing.model import build
from emulator.drawing.states import StepState
from emulator.services.workflow.languages.programs import read_program as parse_flow

FLOW = """
version: v1
type: flow
steps:
  - type: task
    name: end
    resourceArn: acs:fc:::services/shop.prod/functions/Order
    pattern: waitForCallback
    retry: [{errors: [FC.Unknown], maxAttempts: 5}]
    catch: [{errors: [A, B], goto: Give_up}]
  - type: choice
    name: Judge
    choices:
      - condition: $.state == "a|b <ok>"
        steps:
          - {type: pass, name: Inner}
        goto: end
      - {condition: $.n > 1, goto: Fan}
  - type: parallel
    name: Fan
    branches:
      - steps: [{type: wait, name: Pause, duration: 10}, {type: pass, name: Then}]
      - steps:
          - type: foreach
            name: Each
            iterationMapping: {collection: $.items, item: item}
            steps: [{type: task, name: Send, resourceArn: 'acs:mns:::/queues/out/messages'}]
  - {type: succeed, name: Done}
  - {type: fail, name: Give_up, error: Lost}
"""

EXPECTED = """\
---
title: "shop \\"x\\""
---
flowchart TD
  start(["Start"])
  s1["end<br/>shop.prod/Order, waitForCallback<br/>retry 5"]
  s2{{"Judge"}}
  s3[/"Inner"/]
  subgraph s4["Fan"]
    subgraph s4b0["branch 0"]
      s5(["Pause<br/>10 s"])
      s6[/"Then"/]
    end
    subgraph s4b1["branch 1"]
      subgraph s7["Each<br/>item in $.items"]
        subgraph s7b0["each iteration"]
          s8["Send<br/>queue out"]
        end
      end
    end
  end
  s9((("Done")))
  s10[["Give_up<br/>Lost"]]
  finish(["End"])
  s2 -->|"$.state == #34;a#124;b #60;ok#62;#34;"| s3
  s5 --> s6
  start --> s1
  s1 --> s2
  s1 -.->|"A, B"| s10
  s3 --> s1
  s2 -->|"$.n #62; 1"| s4
  s2 -->|"otherwise"| s4
  s4 --> s9
  s9 --> finish
"""


def test_flow_is_written_as_a_flowchart():
    """Shapes, conditions, dashed ways on errors, subgraphs; names that mean something to Mermaid stand in quotes."""
    text = mermaid.render(build(parse_flow(FLOW)), 'shop "x"')

    assert text == EXPECTED


def test_states_of_an_execution_are_classes():
    """Each state that occurs has a class, and the steps in it."""
    graph = build(parse_flow(json.dumps({"version": "v1", "type": "flow", "steps": [{"type": "pass", "name": "P"}]})))

    text = mermaid.render(graph, "f", {"P": StepState(state="succeeded", entered=2, took_ms=1500)})

    assert 's1[/"P<br/>2x, 1.50s"/]' in text
    assert "  class s1 succeeded" in text
    assert "notEntered" not in text
