"""The pages of the documentation, walked from their first command to the last."""
