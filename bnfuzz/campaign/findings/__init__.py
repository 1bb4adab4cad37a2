"""What a campaign makes of failing trials: which are one fault, which is new, what is saved."""
