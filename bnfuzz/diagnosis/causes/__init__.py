"""How a cause is found: hypotheses, what each predicts, and experiments that tell them apart."""
