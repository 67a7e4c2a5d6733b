"""The paper's Walmart schema: generator, queries Q1–Q8, and a story told with the public API."""
