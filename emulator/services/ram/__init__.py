"""Resource access management: users, roles, policies, and the check of callers' rights."""
