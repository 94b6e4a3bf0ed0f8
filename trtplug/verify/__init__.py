"""Proves a generated package in stages, one module a stage; a new stage is a module here and an entry in run.STAGES."""
