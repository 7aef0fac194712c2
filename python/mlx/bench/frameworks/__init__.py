"""Functions of each framework for cases: a module each, a class Framework with the same names.

A framework leaves out what it does not have; base.py turns that into `Missing`.
"""
