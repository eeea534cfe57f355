"""Commands for whoever looks after a gateway: what came in and how it was judged, what goes out and
whether it arrived."""
