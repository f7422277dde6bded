"""The dedicated search for the best tree."""
