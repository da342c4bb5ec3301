"""Networks, security groups and log stores as records: what files name beside a function, without any effect."""
