"""What a stack may say: the whole vocabulary of a stack file."""
