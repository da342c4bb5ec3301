"""How executions and flows are shown: as trees of text, as Mermaid text, as SVG."""
