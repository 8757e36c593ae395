"""Adversarial traffic with a known truth, against a live service, through the public SDK (`holdfast simulate`).

It needs the extra `simulator` (numpy) and knows only what a customer could know, plus its own ground truth.
"""
