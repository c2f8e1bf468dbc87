"""`python -m retensor`: the program."""
from retensor.program import main

main()
