# %% [markdown]
# # From your own tensor to a figure, a paper's figure redrawn, a claim queried
# This notebook runs in a few seconds on a laptop. `ci/notebook.py` converts and executes it.

# %%
import tempfile
import numpy as np
import pandas as pd
import retensor

# %% [markdown]
# ## Your own tensor
# A tensor of user x item x week in the form that many programs use: one NumPy array of indices per
# mode, and the values.

# %%
rng = np.random.default_rng(1)
coords = [rng.integers(0, length, 20_000) for length in (400, 300, 52)]
x = retensor.Tensor(coords, rng.random(20_000, dtype=np.float32), (400, 300, 52))
x

# %% [markdown]
# Which method computes MTTKRP fastest, and how exact is it? Methods that cannot run on this machine
# are listed at the end with the reason.

# %%
table = retensor.bench(x, "mttkrp", rank=16, samples=5, ceilings=False)
table[["mode", "method", "seconds", "spread", "error_over_bound", "status", "reason"]]

# %% [markdown]
# The result is a NumPy array. Two methods agree to the precision that they declare.

# %%
factors = [rng.random((length, 16), dtype=np.float32) for length in x.shape]
exact = retensor.mttkrp(x, factors, mode=0, method="pasta.cpu.coo")
rounded = retensor.mttkrp(x, factors, mode=0, method="hlsto.cpu")  # a tensor core's half precision
float(np.abs(rounded - exact).max() / np.abs(exact).max())

# %% [markdown]
# Next comes a sweep over ranks with its figure. The program that measures the papers' figures
# measures it too.

# %%
path = tempfile.mkdtemp() + "/x.tns"
x.write(path)
spec = {"schema": 1, "artifact": "own/ranks", "title": "MTTKRP of my tensor by rank",
        "operation": "mttkrp", "axes": {"dataset": path, "mode": 0, "rank": [8, 16, 32]},
        "methods": [{"id": "pasta.cpu.coo"}, {"id": "pasta.cpu.hicoo"}],
        "measure": {"samples": 5},
        "figure": {"kind": "lines", "x": "rank", "y": "rates.gflops", "hue": "method"}}
rows = retensor.load(retensor.run(spec))
retensor.plot(spec, rows)

# %% [markdown]
# ## A paper's figure, redrawn with one parameter changed
# FLYCOO's Fig. 2 compares two ways to distribute a small tensor over partitions. The method has two
# more.

# %%
spec = retensor.read_spec("experiments/flycoo/fig2.yaml")
spec["methods"][0]["params"]["partition"] = ["least_loaded", "cyclic", "contiguous", "random"]
retensor.plot(spec, retensor.run(spec))

# %% [markdown]
# ## A claim, queried
# Which claims about BCB-SpTC do not hold, and by how much?

# %%
claims = pd.DataFrame(retensor.claims("bcb_sptc"))
failed = claims[claims["holds"] == False]  # noqa: E712  None means: says nothing
failed[["id", "place", "states", "measured", "verdict", "data", "hardware"]].head(8)

# %% [markdown]
# These rows decided the first of them:

# %%
stored = retensor.load()
deciding = stored[stored["key"].isin(failed.iloc[0]["keys"])]
deciding[["dataset", "method", "stats_median", "device", "status"]].head()
