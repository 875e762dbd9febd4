"""The `berth` command: what each subcommand prints."""
