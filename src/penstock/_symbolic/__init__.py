"""Concolic execution of controller handlers: which inputs take which path (NICE, section 3)."""
