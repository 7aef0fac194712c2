"""What cases may use of each framework: one module each, a class Framework with the same functions.

A framework leaves out what it does not have; base.py turns that into `Missing`.
"""
