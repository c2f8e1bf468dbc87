"""What holds of a paper and what does not, in a few sentences that open the README and the report.

The judge's verdicts on the headline claims bring the words (`retensor verdict --json`).
"""
SHOWN = 2  # claims of one cause that a sentence names


def sentences(entries):
    """What holds, and what does not with its cause; nothing where no claim is a headline."""
    headline = [entry for entry in entries if entry.get("headline") is not None]
    held = [entry for entry in headline if entry["holds"] is True]
    failed = sorted((entry for entry in headline if entry["holds"] is False),
                    key=lambda entry: entry["cause"] is None)
    open_ones = sum(entry["verdict"] == "not tested" for entry in headline)
    if not headline:
        return []
    if open_ones == len(headline):
        return [f"None of the {len(headline)} headline claims is tested by these rows."]
    example = f", for example {told(held[0])}" if held else ""
    found = [f"{len(held)} of {len(headline)} headline claims "
             f"{'holds' if len(held) == 1 else 'hold'}{example}."]
    if open_ones:
        found.append(f"{open_ones} {'is' if open_ones == 1 else 'are'} not tested by these rows.")
    if failed:
        cause = failed[0]["cause"]
        alike = [told(entry) for entry in failed if entry["cause"] == cause][:SHOWN]
        because = f"Cause: {cause['says']}" if cause else "Cause not found"
        which = ("Among those that do not hold" if len(alike) < len(failed) else "Does not hold")
        found.append(f"{which}: {' and '.join(alike)}. {because}.")
    return found


def told(entry):
    """A headline with what the paper says and what was measured."""
    words = entry["in_words"]
    return f"{entry['headline']} (paper: {words['paper']}, here: {words['here']})"
