"""The languages of flows, and what their readers share; `engine.language` says what a language provides."""
