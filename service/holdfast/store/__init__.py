"""The only package that knows SQL: schema, engines, the log, snapshots and keys."""
