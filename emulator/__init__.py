"""A local emulator of Alibaba Cloud Function Compute, Message Service and Serverless Workflow."""

__version__ = "1.0.0"
