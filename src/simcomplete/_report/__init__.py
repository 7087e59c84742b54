"""Pages and figures about what was computed; nothing is computed here that the library does not offer."""
