"""What all other packages use: errors, text, files, the machine."""
