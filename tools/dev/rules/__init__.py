"""The rules of CONTRIBUTING.md that `./dev lint` checks, a module for each."""
