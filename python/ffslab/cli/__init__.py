"""The command `ffslab`: verbs and their options, what they say, how they end."""
