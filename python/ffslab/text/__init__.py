"""Results as text: tables, sentences, and names quoted so that they cannot do harm."""
