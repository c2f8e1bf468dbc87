"""What holds for all tests of plots."""
from retensor import style

style.SETTINGS["savefig.dpi"] = 30  # tests read the texts of figures, not their pixels
style.SETTINGS["pdf.fonttype"] = 3  # nor fonts as TrueType, whose subsets take longest of all
