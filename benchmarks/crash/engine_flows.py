"""The flows the engine is crashed in: every kind of step, and ends of every kind."""

_FC = "acs:fc:::services/s/functions"
_TIDY = "inputMappings: [{target: n, source: $input.n}]"

FLOWS = {
    "child": f"""
version: v1
type: flow
steps:
  - {{type: wait, name: growing, duration: 3}}
  - {{type: task, name: work, resourceArn: {_FC}/echo, {_TIDY}}}
""",
    "branches": f"""
version: v1
type: flow
steps:
  - {{type: pass, name: begin}}
  - type: parallel
    name: both
    branches:
      - steps:
          - {{type: wait, name: left, duration: 2}}
          - {{type: task, name: leftwork, resourceArn: {_FC}/echo, {_TIDY}}}
      - steps:
          - type: foreach
            name: each
            iterationMapping: {{collection: $.items, item: item}}
            steps:
              - {{type: wait, name: nap, duration: 1}}
              - {{type: pass, name: mark, outputMappings: [{{target: o, source: $input.item}}]}}
            outputMappings: [{{target: os, source: '$local[*].o'}}]
      - steps:
          - type: task
            name: raise
            resourceArn: acs:fnf:::flow/child
            pattern: sync
            {_TIDY}
            serviceParams: {{Input: $}}
  - {{type: succeed, name: done}}
""",
    "callbacks": f"""
version: v1
type: flow
steps:
  - type: task
    name: ask
    resourceArn: acs:mns:::/queues/asks/messages
    pattern: waitForCallback
    inputMappings: [{{target: n, source: $input.n}}, {{target: token, source: $context.task.token}}]
    serviceParams: {{MessageBody: $}}
  - type: task
    name: unheard
    resourceArn: {_FC}/silent
    pattern: waitForCallback
    timeoutSeconds: 5
    retry: [{{errors: [FnF.TaskTimeout], intervalSeconds: 1, maxAttempts: 2}}]
    catch: [{{errors: [FnF.ALL], goto: after}}]
  - {{type: fail, name: never}}
  - {{type: pass, name: after}}
  - type: task
    name: queued
    resourceArn: {_FC}/echo
    pattern: sync
    serviceParams: {{InvocationType: Async}}
""",
    "retries": f"""
version: v1
type: flow
steps:
  - type: task
    name: fails
    resourceArn: {_FC}/fail
    {_TIDY}
    retry: [{{errors: [Oops], intervalSeconds: 1, maxAttempts: 3, multiplier: 2}}]
    catch: [{{errors: [Oops], goto: poll}}]
  - {{type: fail, name: never}}
  - {{type: wait, name: poll, duration: 1}}
  - type: task
    name: look
    resourceArn: {_FC}/count
    inputMappings: [{{target: tries, source: $input.tries}}]
    outputMappings: [{{target: tries, source: $local.tries}}]
  - type: choice
    name: enough
    choices:
      - {{condition: $.tries < 4, goto: poll}}
      - {{condition: $.tries >= 4, goto: stop}}
  - {{type: fail, name: stop, error: TooMany, cause: the end}}
""",
}
STARTED = ("branches", "callbacks", "retries")
