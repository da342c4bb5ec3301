"""How services speak: request context, operation tables, dates, XML, the RPC gateway's forms."""
