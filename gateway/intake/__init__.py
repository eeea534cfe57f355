"""The way in, the same for every channel: judge an event, keep it, then act on it.

``receive`` returns once everything that follows from an event is committed; what needs thought or a
word with the platform waits in the inbox and is done after the platform was told "received".
"""
