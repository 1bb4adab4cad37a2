from bnfuzz.report.columns import columns


def test_columns_are_as_wide_as_their_widest_cell() -> None:
    assert columns([("a", "1"), ("bbb", "22")], right=[1], indent=" ") == [" a     1", " bbb  22"]


def test_no_trailing_blanks_and_no_rows() -> None:
    assert columns([("a", ""), ("b", "")]) == ["a", "b"]
    assert columns([]) == []
