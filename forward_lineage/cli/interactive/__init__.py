"""The shell: one session, asked one thing after another, in SQL and in commands that begin with a backslash."""
