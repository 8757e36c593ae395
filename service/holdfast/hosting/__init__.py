"""The imperative shell: live learners, one function per use case, compute, commit, answer."""
