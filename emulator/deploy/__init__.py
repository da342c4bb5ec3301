"""Deployment files (``template.yml``, ``s.yaml``): read, planned, applied and removed through the services' own APIs.

Reading and planning are pure. What talks to an emulator goes through `emulator.deploy.provider`; how the command prints
and asks lives in ``emulator.cli.commands.deploy``.
"""
