"""The console: pages in a browser over the services' public methods. No SQL, no rules of any service.

`front` is imported with the emulator and small; everything behind it (Flask, Jinja, the pages) on the first request.
"""
