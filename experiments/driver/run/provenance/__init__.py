"""What a row's currency rests on: the declarations that a method reaches and its kernels' code."""
