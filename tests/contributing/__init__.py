"""The worked study of CONTRIBUTING."""
