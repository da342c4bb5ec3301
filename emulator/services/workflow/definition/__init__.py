"""The flow definition language: text in, checked nodes out."""
