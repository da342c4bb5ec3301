"""Serverless Workflow (FnF, today CloudFlow)."""
