"""Pictures of flows: definition -> graph -> layout -> SVG, or graph -> Mermaid; nothing here reads or writes files."""
