"""The 22 TPC-H queries and the paper's S1–S8, as plain SQL files beside this one."""
