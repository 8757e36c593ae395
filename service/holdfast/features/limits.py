"""Every bound on what a caller may send as features. The HTTP contract quotes these."""

NUMBER_MAX = 1e12
VECTOR_LENGTH_MAX = 4_096
DIMENSION_MAX = 2_048
CANDIDATES_MAX = 10_000
STATES_MAX = 1_000_000  # of a table
ID_LENGTH_MAX = 256
NAME_LENGTH_MAX = 256  # of a JSON feature or namespace
TEXT_LENGTH_MAX = 1_024  # of a JSON feature's text
INTERACTIONS_MAX = 64
TOKENS_MAX = 4_096  # hashed features of one object
PAIRS_MAX = 65_536  # interaction terms of one candidate
PAIRS_PER_REQUEST_MAX = 4_000_000
NUMBERS_PER_BATCH_MAX = 2**23  # of φ, all candidates together: 64 MiB
