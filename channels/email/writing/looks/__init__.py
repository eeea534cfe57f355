"""A model's Markdown as the two bodies of a mail, guarded against lies. Pure."""
