"""The flow definition language (``type: flow``): definitions read, checked, and decided on when they run."""
