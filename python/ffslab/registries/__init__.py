"""What the native half knows by name: profiles, and the words that experiments may say."""
