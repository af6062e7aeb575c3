"""What workers are asked to do in tests; they load nothing for it that takes long."""

import os
import signal
import time


def add(part, argument):
    return part + argument


def slow_number(part, argument):
    time.sleep(0.2)
    return part + argument


def kill_yourself(part, argument):
    os.kill(os.getpid(), signal.SIGKILL)
