"""Pictures of flows and of their executions: definition -> graph -> layout -> SVG, or graph -> Mermaid.

Nothing here reads or writes files; the command line and the console draw with it. `picture` is the entry point.
"""
