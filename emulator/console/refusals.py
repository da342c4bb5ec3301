"""Translation of the services' error messages.

The services answer in English, as their clients expect. A message that is a `Phrase` has its template. Another one is
matched against `SENTENCES`, whose fields stand for names and values, of which some are sentences again; a message that
matches none stays as it is.
"""

import re
from collections.abc import Callable, Mapping
from functools import cache

from emulator.console.forms import FormRefused
from emulator.kernel.errors import BEGUN_BEFORE, ErrorRow, ServiceError, Unavailable
from emulator.kernel.phrases import COMMA, LISTS, Phrase, enumerated
from emulator.lab.errors import ERRORS as LAB
from emulator.oss.errors import ERRORS as OSS
from emulator.services.fc.errors import ERRORS as FC
from emulator.services.mns.errors import ERRORS as MNS
from emulator.services.ram.errors import ERRORS as RAM
from emulator.services.workflow.errors import ERRORS as WORKFLOW
from emulator.wire.rpc import ERRORS as RPC


def _texts(rows: Mapping[str, ErrorRow], *names: str) -> tuple[str, ...]:
    return tuple(row.text for name, row in rows.items() if not names or name in names)


SENTENCES = (
    COMMA,
    "{problem}; did you mean {name}?",
    "{what} is left out: {problem}",
    "{what} waits: {problem}",
    "folders of this name hold versions",
    "a function is a folder; move the file to {file}",
    "{name} has failed with exit code {code}: {said}",
    "{name} has failed with exit code {code}",
    "the trigger '{trigger}': {problem}",
    "trigger {trigger} of {function}: {problem}",
    "{address} cannot be reached: {problem}",
    *("Connection refused", "No route to host", "Network is unreachable"),
    "the trigger '{trigger}'",
    "a trigger",
    *(" seconds", " bytes"),
    "The value of {name} should between {low} and {high} seconds.",
    "The value of {name} should between {low} and {high} bytes.",
    *_texts(MNS),
    *_texts(WORKFLOW),
    *(text for text in _texts(LAB) if text != "{reason}"),
    *_texts(
        FC,
        *("EntityTooLarge", "VersionPublishError", "InstanceMetricsRequired", "InvocationDisabled", "ServiceNotFound"),
        *("FunctionNotFound", "VersionNotFound", "AliasNotFound", "TriggerNotFound", "ServiceAlreadyExists"),
        *("FunctionAlreadyExists", "AliasAlreadyExists", "TriggerAlreadyExists", "ServiceNotEmpty", "FunctionNotEmpty"),
        *("VersionInUse", "ProvisionConfigExist", "ResidentScalingConfigExists", "ConcurrentUpdateError", "CAExited"),
        *("CAFileNotFound", "ResourceExhausted", "BadResponse", "ResourceThrottled"),
    ),
    *_texts(RAM, "EntityNotExist.Role", "EntityAlreadyExists.Role", "InvalidAccountId", "AccountAlreadyExists"),
    *_texts(RAM, "InvalidChars", "Length"),
    *_texts(RPC, "MissingParameter", "InvalidParameter"),
    *_texts(
        OSS,
        "ExtraMissing",
        "InvalidArgument",
        "InvalidBucketName",
        "NoSuchBucket",
        "BucketNotEmpty",
        "TooManyBuckets",
        "InvalidObjectName",
    ),
    Unavailable.template,
    BEGUN_BEFORE,
    "The value of {name} should be a number.",
    "The value of {name} is invalid.",
    "The value of MessageTag should not contain control characters.",
    "The value of MessageAttributes should be a JSON object.",
    "The value of DeadLetterTargetQueue should be the name of another queue.",
    "The MaximumMessageSize of the queue is smaller than that of the topic.",
    "it must be a whole number",
    "it must be a multiple of {step} from {low} to {high}",
    "it must be a multiple of {step}",
    "it must be one of {choices}",
    "it must be from {low} to {high}",
    "it must have 1 to {most} letters, digits, '_' and '-' and must not start with a digit or '-'",
    "it must name a topic, in letters, digits and '-'",
    "a queue is named in letters, digits and '-'",
    "it must name a bucket",
    "it must be the name of a time zone",
    "it must be the resource name of a destination",
    "it does not name a function",
    "{name} must have 1 to {most} characters: letters, digits, '_' and '-', beginning with a letter or '_'.",
    "{name} must have at most {most} characters.",
    "{name} must have 1 to {most} characters.",
    "{name} must be a whole number from {low} to {high}.",
    "{name} must be a whole number.",
    "{name} must be a whole number",
    "{name} must be true or false.",
    "{name} must be true or false",
    "{name} must be a list",
    "{name} must not be empty",
    "{name} must not be longer than {longest} characters",
    "{name} must not have more than {most} items",
    "{name} is nested too deeply",
    "{name} {value} is out of range: {problem}",
    "{label} contains too many values (max: {most}, actual: {number})",
    "{label} is set to an invalid value (allowed: {choices}, actual: '{value}')",
    "{name} must be a JSON object: {problem}",
    "{name} must be a duration such as 500ms, 30s or 1h30m",
    "{name} must be a number from {low} to {high}",
    "{name} must be a multiple of {step} from {low} to {high}",
    "{name} must be a multiple of {step}",
    "{name} must be one of {choices}",
    "{name} must be a list of objects with Key and Value",
    "{name} must be a list of objects",
    "{name} must be a string that holds JSON",
    "{name} must be a text",
    "{name} must be a string",
    "{name} must be a number",
    "{name} must be an object",
    "{name} must not be LATEST",
    "{name} must not be greater than {other}",
    "{name} must not be larger than {most} bytes in all",
    "{name} must not be larger than {most} bytes",
    "{name} must not have more than one version",
    "{name} must not contain the reserved name '{key}'",
    "{name} has a value that cannot be used.",
    "{name} has no member {member}; it has {names}",
    "{name} is not valid UTF-8.",
    "{name} is not valid base64",
    "{name} is required for a trigger of type {kind}: the name of the queue",
    "{name} is required for a trigger of type {kind}",
    "{name} is required for an {kind} trigger",
    "{name} is required for a {kind} trigger",
    "{name} is required for the runtime {kind}",
    "{name} is required",
    "{name} '{value}' is invalid: {problem}",
    "{name} {value} is invalid: {problem}",
    "sourceArn is invalid: the topic '{topic}' does not exist",
    "cpu {cpu} does not fit memorySize {memory}: the ratio of memory in GB to cpu must be between 1:1 and 4:1",
    "code package exceeds maximum allowed size ({most} bytes)",
    "code must have either zipFile or ossBucketName and ossObjectName, not both",
    "code.ossBucketName and code.ossObjectName must be given together",
    "code from the bucket '{bucket}' cannot be read: {problem}",
    "the code of function '{name}' is loaded from {folder}; change the files there instead",
    "function '{name}' is loaded from {folder}; remove that folder instead",
    "trigger '{name}' is set in {folder}; change the files there instead",
    "alias '{name}' is set in {folder}; change that file instead",
    "function '{name}' already has an http trigger for the version or alias '{qualifier}'",
    "The policy is not valid JSON: {problem}.",
    "The policy must be a JSON object.",
    "The element {element} is not known.",
    "The element {element} is not known in a statement.",
    'The Version must be "1".',
    "The Statement must be a list of one or more objects.",
    "The Effect must be Allow or Deny.",
    "A statement must have either {one} or {other}.",
    "A statement of a trust policy must have a Principal object.",
    "The Principal {principal} is not known.",
    "The Principal is empty.",
    "{name} has an invalid name '{key}': it must start with a letter and consist of letters, digits and '_'",
    "'{arn}' is not the resource name of a layer version",
    "the request body is not valid JSON",
    " in service '{service}'",
    "service '{service}'",
    "function '{function}'",
    *("request, message, call or execution", "mock", "checkpoint", "exploration", "sink"),
    "The alias {alias} leads to version {number}.",
    "{name} is the flow itself.",
    "CronExpression: {problem}.",
    "a cron expression has six fields, seconds first; here are {number}",
    "no month of this cron expression has such a day",
    "an interval is written @every {n}m, n being 1 or more minutes",
    "an interval is written like @every 5m or @every 1h30m and is at least one second",
    "{field}: {sign} is not allowed here",
    "{field}: {part} is not understood",
    "{field}: {part} is not in the range {low} to {high}",
    "the time zone {zone} is not known",
    "RoutingConfigurations must name one or two versions.",
    "RoutingConfigurations must name different versions.",
    "RoutingConfigurations must give a version a weight above 0.",
    "TaskToken is not a task token.",
    "The task does not wait for a report; its pattern is requestResponse.",
    "Express execution is not supported",
    "At most {most} executions run at a time.",
    "An account has at most {most} flows.",
    "the execution has not stopped anywhere",
    "the execution has no event {event} that another one could go on from",
    "the history up to there does not fit the definition: {problem}",
    "the flow has no step {step}; there are {names}",
    "the execution has not entered a step {step}",
    "the data of a step holds at most {most} bytes",
    "at this stop there are {names}, not {action}",
    "a failure has no data to change; retry and skip take data",
    "the clock only moves forward, and it is {now}",
    "the clock goes up to the end of the year 9999",
    "there is no service {service}; there are {names}",
    "{service} has no operation {operation}",
    "{text} does not name a function: service/function[.qualifier] or function[.qualifier]",
    "do needs exactly one of error, drop, throttle and function, or a delay, which may go with them",
    "error must be the code of an error",
    "there is no error {name}",
    "status goes with error only",
    "a delay does not go with function: the function itself takes its time",
    "{name} must be a time such as {example}",
    "{name} must be a whole number, not less than 0",
    "{name} must be a whole number, at least 1",
    "There is no account {account}.",
    "The console has no page {page}.",
    "{name} has no {member}; there are {names}",
    "the flow {flow} has no task {step}; there are {names}",
    "there is no deployment {name}",
    "The definition has no step {step}; there are {names}.",
    "the limit of {limit} s is reached; the next event ({what}: {name}) comes after it; a longer limit "
    "(limit=, --limit), such as 3h, goes past it",
    "something still works after {seconds} s",
    "nothing is left to happen by itself, and the condition does not hold",
    "{seconds} s of real time are over; a longer timeout (timeout=, --timeout) waits for more",
    "{what}, again and again",
    *("push attempt {number}", "timer trigger {name}", "schedule {name}", "end of session {name}"),
    *("timer", "restart", "waiting", "recurring", "due now", "its turn", "steps to take"),
    "the end of call {id}",
    "an answer of {endpoint}",
    "an asynchronous call about to begin",
    "messages of the queue {name}",
    "its first time, which is being counted",
    "{number} calls of tasks",
    "services that go on from the state file",
    "request {id}",
    "the client of the connection {id}",
    "a report of the task token of step {name}",
    "a debugger, which has stopped it at step {name}",
    "it was made by localyun {version}, which is newer",
    "its description cannot be read",
    "its tables cannot be read ({reason})",
    "this is not the archive of a checkpoint",
    "the archive is shorter than it says",
    "the archive has a file twice",
    "the archive has members that no checkpoint has",
    "the archive has no description",
    "its description is too long",
    "its clock stands where no clock can stand",
    "it has no tables",
    "its tables are not of this program",
    "its tables are damaged ({reason})",
    "its tables cannot be used: {reason}",
    "its tables make no sense ({reason})",
    "its tables name a file that it does not have",
    "a package is not what its name says",
    "it is of a newer version, {version}",
    "the field '{name}' is not known and ignored",
    "the field '{name}' is ignored here; localyun deploy reads it in an s.yaml",
    "there is no type '{kind}'",
    "it has no type",
    "{problem}; the types are {names}",
    "it must hold fields with values",
    "no finished value has the anchor {name}",
    "aliases must map names to versions",
    "the alias '{alias}' names the version {version}, which does not exist",
    *("seconds", "minutes", "hours", "day of month", "month", "day of week"),
    "the queue {name} does not exist",
    "the topic {name} does not exist",
    "the bucket {name} does not exist",
    "a version is a number from 1 on",
    "a checkpoint's name has letters, digits, '.', '_' and '-', up to 128, and begins with one of the first two",
    "no such value is known: {name}",
    "when of a breakpoint is one of {choices}, and step is a text",
    "there are no events in it",
    "it begins with {kind}, not with ExecutionStarted; is a page missing?",
    "event {event} is missing; is a page missing?",
    "there are no events of type {kind}",
    "an event cannot be read: {problem}",
    *("it is an array", "it is a text", "it is a number", "it is true or false", "it is null"),
    "{problem}: line {line} column {column} (char {offset})",
    *("Expecting value", "Expecting property name enclosed in double quotes", "Extra data"),
    *("Expecting ',' delimiter", "Expecting ':' delimiter", "Unterminated string starting at"),
    *("Invalid control character at", "Invalid \\escape", "Illegal trailing comma before end of object"),
)
"""Templates of messages that forms can lead to, from the tables of errors and from the code.

The first that matches is used, so a specific one comes before a general one.
"""

_SENTENCES_AGAIN = ("problem", "reason", "place", "owner", "what", "field", "unit")
_FIELD = re.compile(r"\\{(\w+)\\}")


def refusal(error: ServiceError, say: Callable[[str], str]) -> str:
    """Return the translated message of an error; *say* translates a sentence."""
    if not isinstance(error, FormRefused):
        return sentence(error.message, say)
    reasons = {name: sentence(str(value), say) for name, value in error.fields.items() if isinstance(value, Exception)}
    return say(error.sentence).format_map(error.fields | reasons)


def sentence(text: str, say: Callable[[str], str]) -> str:
    """Return a message of the emulator or a service, translated by *say*."""
    if isinstance(text, Phrase) and text.fields:
        told = dict(text.fields)
        for name, each in text.fields.items():
            if isinstance(each, str) and (isinstance(each, Phrase) or name in _SENTENCES_AGAIN):
                told[name] = sentence(each, say)
            elif isinstance(each, str) and name in LISTS:
                told[name] = enumerated(each, say)
        return say(text.template).format(**told)
    for template in SENTENCES:
        if found := _pattern(template).fullmatch(text):
            fields = found.groupdict()
            fields |= {name: sentence(fields[name], say) for name in _SENTENCES_AGAIN if fields.get(name)}
            fields |= {name: enumerated(fields[name], say) for name in LISTS if fields.get(name)}
            return say(template).format_map(fields)
    return say(text)


_PLACE = re.compile(r".+?(?:\.ya?ml|:\d+): ")


def placed_sentence(text: str, say: Callable[[str], str]) -> str:
    """Return `sentence` of a text that may begin with a file's name and a line."""
    if isinstance(text, Phrase):
        return sentence(text, say)  # a phrase translates its own place
    place = found[0] if (found := _PLACE.match(text)) else ""
    return place + sentence(text.removeprefix(place), say)


@cache
def _pattern(sentence: str) -> re.Pattern[str]:
    def field(found: re.Match[str]) -> str:
        name = found[1]
        return rf"(?P<{name}>{r'[^ ]+' if name == 'name' else '.*?'})"

    return re.compile(_FIELD.sub(field, re.escape(sentence)), re.DOTALL)
