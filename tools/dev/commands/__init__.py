"""The commands of `./dev`, one module each: USAGE describes it, `run` gets its arguments."""
