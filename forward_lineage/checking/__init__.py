"""Every statement of a folder of SQL files, with lineage and without: is what we say about it true?"""
