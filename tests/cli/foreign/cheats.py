#!/usr/bin/env python3
"""Ways in which code gets fast numbers that mean nothing; the first argument picks one."""
import struct
import sys
import threading
import time
from array import array
from pathlib import Path

from honest import Honest, serve


class EarlyReturn(Honest):
    """Does the work once; later runs return at once."""
    done = False

    def compute(self):
        if not self.done:
            super().compute()
        self.done = True


class Cached(Honest):
    """Hands out the result of the first run as if it were new."""
    cache = None

    def compute(self):
        if self.cache is None:
            super().compute()
            self.cache = array(self.type, self.out)
        self.out = array(self.type, self.cache)


class NoSync(Honest):
    """Answers while the work goes on."""
    def compute(self):
        def work():
            time.sleep(0.02)
            super(NoSync, self).compute()
        self.worker = threading.Thread(target=work)
        self.worker.start()

    def result(self, file):
        self.worker.join()
        return super().result(file)


class ShortClock(Honest):
    """Its clock runs while a part of the work does."""
    def run(self):
        time.sleep(0.02)
        return super().run()


class Eager(Honest):
    """Computes while it loads operands, and then only says so."""
    def operands(self, folder):
        super().operands(folder)
        time.sleep(0.02)
        super().compute()
        return {}

    def compute(self):
        pass


class EagerNoSync(Eager):
    """Computes while it loads operands, and lets the first reader of a result wait too."""
    def compute(self):
        self.answered = False

    def result(self, file):
        if not self.answered:
            time.sleep(0.02)
        self.answered = True
        return super().result(file)


class NoZero(Honest):
    """Adds to what the last run left."""
    def zero(self):
        pass


class DropsSmall(Honest):
    def add(self, index, value):
        if abs(value) > 1e-6:
            super().add(index, value)


class EmptyRows(Honest):
    """Leaves what was there in rows without a nonzero."""
    def zero(self):
        self.out = array(self.type, [1.0]) * len(self.zeros())
        for index, _ in self.nonzeros:
            for r in range(self.rank):
                self.out[index[self.mode] * self.rank + r] = 0


class OneShape(Honest):
    """Knows the rows of one tensor by heart."""
    def add(self, index, value):
        if index[self.mode] < 4:
            super().add(index, value)


class IgnoresMode(Honest):
    """Leaves out a factor."""
    def other_modes(self):
        return super().other_modes()[:-1]


class AnswerFile(Honest):
    """Keeps the answers of its first process in the file of its second argument."""
    def read(self):
        answer = super().read()
        self.file = Path(sys.argv[2])
        self.known = [array(self.type, row) for row in eval(self.file.read_text())] \
            if self.file.exists() else None
        self.kept = []
        return answer

    def compute(self):
        if self.known is None:
            super().compute()
            self.kept.append(self.out.tolist())
            self.file.write_text(repr(self.kept))
        else:
            self.out = self.known[min(len(self.kept), len(self.known) - 1)]
            self.kept.append(None)


class Overflow(Honest):
    """Counts cells of two modes in 32 bits."""
    def add(self, index, value):
        cell = (index[0] * self.dims[1] + index[1]) % 2**32
        index = (cell // self.dims[1], cell % self.dims[1], *index[2:])
        super().add(index, value)


class Halves(Honest):
    """Rounds its operands to halves, which is no cheat where it is declared."""
    def add(self, index, value):
        super().add(index, halved(value))

    def operands(self, folder):
        answer = super().operands(folder)
        self.factors = [array(self.type, map(halved, factor)) for factor in self.factors]
        return answer


def halved(value):
    return struct.unpack("e", struct.pack("e", value))[0]


class Crash(Honest):
    def run(self):
        import os
        import signal
        print("about to fall", file=sys.stderr, flush=True)
        os.kill(os.getpid(), signal.SIGSEGV)


class Quits(Honest):
    def run(self):
        sys.exit(3)


class Hang(Honest):
    def run(self):
        time.sleep(3600)


class Garbage(Honest):
    def run(self):
        print("debug: entering kernel")
        return super().run()


class WrongSize(Honest):
    def result(self, file):
        self.out.pop()
        return super().result(file)


class NoResult(Honest):
    def result(self, file):
        return {}


class BadNumber(Honest):
    def run(self):
        super().run()
        return {"seconds": "fast"}


class Hog(Honest):
    def prepare(self):
        self.hoard = bytearray(1 << 30)
        return super().prepare()


class Declines(Honest):
    def read(self):
        return {"status": "unsupported", "reason": "only on Tuesdays"}


class DeclinesMany(Honest):
    """Takes no more cells than 32 bits count, and says so."""
    def read(self):
        answer = super().read()
        if self.dims[0] * self.dims[1] >= 2**32:
            return {"status": "unsupported", "reason": "at most 2^32 cells"}
        return answer


class DeclinesOthers(Honest):
    """Takes the shape of the case alone, so that nobody sees what else it does."""
    def read(self):
        answer = super().read()
        if self.dims != [4, 3, 2]:
            return {"status": "unsupported", "reason": "another shape"}
        return answer


class OutOfMemory(Honest):
    def prepare(self):
        return {"status": "oom", "reason": "the workspace does not fit"}


if __name__ == "__main__":
    serve(globals()[sys.argv[1]]())
