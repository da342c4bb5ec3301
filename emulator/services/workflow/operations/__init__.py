"""The operations of Serverless Workflow: parameters in, replies out."""
