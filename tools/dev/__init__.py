"""The project's command `./dev`: a module in `commands` for each command, and shared parts."""
