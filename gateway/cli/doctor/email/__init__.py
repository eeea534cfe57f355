"""What may be wrong between the gateway and its inbox. Each check is a pure function of what was seen."""
