"""What a session is judged by: checkpoints, collateral changes, tool categories, GitHub requests."""
