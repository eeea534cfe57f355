"""Who plays: people, their screens, their workspaces, and the scene that a test sets."""
