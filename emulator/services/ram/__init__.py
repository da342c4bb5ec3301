"""Resource access management: users, roles, policies, and what they may do."""
