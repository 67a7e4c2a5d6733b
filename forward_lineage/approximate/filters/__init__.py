"""Filters that say which tuples do not occur: no false negative, few false positives; pure: numpy and Arrow.

    hashing ─► tuples ─► bitmap or fuse, whichever is smaller ─► choosing
                         classifier ─► learned, if it wins on bits and on time        files: which files have a value

A "no" of a filter is proven. A "yes" is looked up by whoever asked.
"""
