"""The languages of flows, and the parts that their readers share; `engine.language` is the interface of a language."""
