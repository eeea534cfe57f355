"""Who may see and do what in the operators' pages."""
