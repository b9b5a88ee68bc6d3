"""Finds JPEG files in other bytes, without a library."""


def jpegs_of(data):
    """Returns the JPEGs in the bytes of a shard, in its order."""
    found = []
    start = data.find(b"\xff\xd8\xff")
    while start >= 0:
        scan = data.index(b"\xff\xda", start)  # In a scan, each 0xff is followed by a zero.
        end = data.index(b"\xff\xd9", scan) + 2
        found.append(data[start:end])
        start = data.find(b"\xff\xd8\xff", end)
    return found
