"""One module a command. Each asks a desk and hands the answer to ``Out``; nothing else."""
