"""Times statements for bench/lib/python-peer.mjs: a question a line on standard input, an answer a line on standard
output.

`timeit` compiles the statement into its loop, so that the price of calling a function is not in the figure.
"""

import json
import sys
import timeit


def answer(question, timers):
    if "expression" in question:
        names = {}
        exec(question["setup"], names)
        return eval(question["expression"], names)
    key = question["setup"], question["statement"]
    if key not in timers:
        names = {}
        exec(question["setup"], names)
        timers[key] = timeit.Timer(question["statement"], globals=names)
    return timers[key].timeit(question["iterations"]) * 1e9


def main():
    timers = {}
    for line in sys.stdin:
        try:
            result = {"value": answer(json.loads(line), timers)}
        except Exception as error:  # whatever it is, it is for who asked
            result = {"error": f"{type(error).__name__}: {error}"}
        print(json.dumps(result), flush=True)


main()
