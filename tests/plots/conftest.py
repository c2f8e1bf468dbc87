"""What holds for all tests of plots."""
from retensor import style

style.SETTINGS["savefig.dpi"] = 30  # tests read the texts of figures, not their pixels
