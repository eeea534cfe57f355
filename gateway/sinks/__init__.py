"""Where turn events go as they happen: to readers of this process, or through a shared stream."""
