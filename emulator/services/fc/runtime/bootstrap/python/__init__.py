"""The Python agent: receives calls over a socket, runs the user's handler, answers.

Started as a script (``__main__.py``), which loads this folder as the package ``_localyun_agent``; hence the relative
imports. It runs under any Python from 3.9 on, keeps its own references to system functions that user code may patch,
and imports nothing outside the standard library.
"""
