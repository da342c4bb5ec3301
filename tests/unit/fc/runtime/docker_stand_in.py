"""What the docker command looks like from outside, for tests: its container is the test program on this machine."""

import json
import os
import sys
from pathlib import Path

record = Path(os.environ["DOCKER_RECORD"])
arguments = sys.argv[1:]
with record.open("a") as file:
    file.write(json.dumps(arguments) + "\n")
if arguments[0] == "version":
    answer = os.environ.get("DOCKER_ENGINE", "27.0")
    print(answer)
    sys.exit(0 if answer[0].isdigit() else 1)
if arguments[0] == "run":
    host_port = arguments[arguments.index("--publish") + 1].split(":")[1]
    environment = os.environ | {"FIXED_PORT": host_port}
    program = str(Path(__file__).with_name("listening_program.py"))
    os.execve(sys.executable, [sys.executable, program, *arguments], environment)
