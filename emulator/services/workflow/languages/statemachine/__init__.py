"""The state machine language: ``Type: StateMachine``."""
