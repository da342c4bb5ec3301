"""Code packages: checked, unpacked, kept by content, handed out for download."""
