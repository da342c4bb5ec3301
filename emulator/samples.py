"""The list of tutorials and their requirements, for the command line and the console."""

from emulator.kernel.frozen import frozen


@frozen
class Tutorial:
    """A sample application with a ``client.py`` that needs some functions."""

    name: str
    short_name: str
    title: str
    duration: str
    functions: tuple[str, ...] = ()
    default_input: str = "{}"
    keeps_flow: bool = False
    """Whether the program leaves its flow, so that the history can be viewed afterwards."""
    packages: tuple[str, ...] = ()
    """Further packages of SDKs that the program needs."""
    service: str = "fnf-demo"

    @property
    def flow(self) -> str:
        """The name of the tutorial's flow."""
        return f"{self.service}-{self.name}"


TUTORIALS = (
    Tutorial(
        name="poll-for-task-status",
        short_name="polling",
        title="start a job and poll its status until it is done",
        functions=("StartJob", "GetJobStatus"),
        default_input='{"delay": 20}',
        duration="about 40 seconds",
        keeps_flow=True,
    ),
    Tutorial(
        name="multi-step-transaction",
        short_name="transaction",
        title="book a journey in three steps and undo them when one fails",
        functions=("Operation",),
        default_input='{"buy_train_ticket_result": "success", "reserve_flight_result": "success", '
        '"reserve_hotel_result": false}',
        duration="about 8 seconds",
    ),
    Tutorial(
        name="mns-topic-callback",
        short_name="topic",
        title="publish a task to a topic; a subscribed function reports its result",
        functions=("topicCallback",),
        default_input='{"messageBody": "hello"}',
        duration="about 2 seconds",
        packages=("mns", "fc2", "aliyunsdkcore", "aliyunsdkfnf"),
    ),
    Tutorial(
        name="mns-queue-callback",
        short_name="queue",
        title="give a task to a worker through a queue and wait for its report",
        duration="about 3 seconds",
        packages=("mns",),
    ),
    Tutorial(
        name="callback",
        short_name="callback",
        title="wait until another program reports a task's result",
        functions=("echo",),
        duration="about 2 seconds",
    ),
    Tutorial(
        name="versions-and-aliases",
        short_name="versions",
        title="call a published version through an alias, with an instance kept ready",
        functions=("provision",),
        duration="about 2 seconds",
        packages=("fc2",),
    ),
    Tutorial(
        name="timed-schedule",
        short_name="schedule",
        title="run a flow every minute on a schedule",
        functions=("hello",),
        default_input="null",
        duration="about a second",
    ),
    Tutorial(
        name="troubleshooting",
        short_name="errors",
        title="retry one error and redirect another",
        functions=("Unstable",),
        default_input='{"failures": 2}',
        duration="about 4 seconds",
    ),
)
