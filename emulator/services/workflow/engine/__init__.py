"""Running executions: history is the truth, state is its fold, decisions are pure, the driver alone has effects."""
