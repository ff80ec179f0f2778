"""The foundations of the package: errors, text, files and the machine."""
