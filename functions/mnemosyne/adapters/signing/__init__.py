"""Where the keys are that tokens are signed with."""
