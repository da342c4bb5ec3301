"""The flows of the crash harness: every kind of step, and what of their histories is known beforehand."""

from benchmarks.crash.functions import FUNCTION, SERVICE

ASKS = "asks"
"""The queue in which executions ask for a report."""

_FC = f"acs:fc:::services/{SERVICE}/functions/{FUNCTION}"
_CALL = "inputMappings: [{target: name, source: $input.name}, {target: file, source: $input.file}"

FLOWS = {
    "child": """
version: v1
type: flow
steps:
  - {type: wait, name: growing, duration: 1}
  - {type: pass, name: grown, outputMappings: [{target: n, source: $input.n}]}
""",
    "steps": """
version: v1
type: flow
steps:
  - {type: pass, name: begin}
  - {type: wait, name: pause, duration: 1}
  - type: choice
    name: which
    choices:
      - condition: $.n > 0
        steps:
          - type: parallel
            name: both
            branches:
              - steps:
                  - {type: wait, name: left, duration: 2}
                  - {type: pass, name: leftpass}
              - steps:
                  - type: foreach
                    name: each
                    iterationMapping: {collection: $.items, item: item}
                    steps:
                      - {type: wait, name: nap, duration: 1}
                      - {type: pass, name: mark, outputMappings: [{target: o, source: $input.item}]}
                    outputMappings: [{target: os, source: '$local[*].o'}]
            outputMappings: [{target: os, source: '$local[1].os'}]
    outputMappings: [{target: os, source: $local.os}]
  - type: task
    name: raise
    resourceArn: acs:fnf:::flow/child
    pattern: sync
    inputMappings: [{target: n, source: $input.n}]
    outputMappings: [{target: n, source: $local.n}]
    serviceParams: {Input: $}
  - {type: succeed, name: done}
""",
    "asking": f"""
version: v1
type: flow
steps:
  - type: task
    name: ask
    resourceArn: acs:mns:::/queues/{ASKS}/messages
    pattern: waitForCallback
    inputMappings: [{{target: name, source: $input.name}}, {{target: token, source: $context.task.token}}]
    outputMappings: [{{target: told, source: $local.told}}]
    serviceParams: {{MessageBody: $}}
  - {{type: pass, name: thanks}}
""",
    "calling": f"""
version: v1
type: flow
steps:
  - type: task
    name: works
    resourceArn: {_FC}
    {_CALL}]
  - type: task
    name: fails
    resourceArn: {_FC}
    {_CALL}, {{target: fail, source: true}}]
    retry: [{{errors: [ValueError], intervalSeconds: 1, maxAttempts: 2, multiplier: 1}}]
    catch: [{{errors: [FnF.ALL], goto: after}}]
  - {{type: fail, name: never}}
  - {{type: pass, name: after}}
""",
}
WAITS_MS = {"pause": 1000, "left": 2000, "growing": 1000}
STARTED = ("steps", "asking", "calling")
