"""The one vocabulary in which attributes are written down: kinds, fields and shapes; a notation per form reads them."""
