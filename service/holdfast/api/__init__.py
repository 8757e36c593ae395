"""The only package that knows HTTP: validate, hand over to hosting, answer."""
