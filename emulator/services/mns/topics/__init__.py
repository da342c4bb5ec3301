"""Topics, their subscriptions, and the delivery of published messages."""
