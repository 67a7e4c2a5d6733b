"""The evaluation of array lineage beside the paper's: sizes, encoding, questions.   [Zhao 2024, §VII]"""
