"""Networks, security groups and log stores as mere records, which files of functions refer to, without any effect."""
