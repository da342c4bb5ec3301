"""A local emulator of Alibaba Cloud Function Compute, Message Service and Serverless Workflow."""

__version__ = "0.1.0"
