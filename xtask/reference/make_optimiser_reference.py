"""How many evaluations pycma and SciPy need, for the tests of crates/carom-optimise.

    python xtask/reference/make_optimiser_reference.py crates/carom-optimise/tests/data/nist.json crates/carom-optimise/tests/data/peers.json

needs the packages numpy, scipy and cma. The same functions are in crates/carom-optimise/tests/it/functions.rs.
"""

import json
import sys
import warnings

import numpy as np

warnings.filterwarnings("ignore")

import cma  # noqa: E402
import scipy  # noqa: E402
from scipy.optimize import least_squares, minimize  # noqa: E402


def sphere(x):
    return float(np.sum(x**2))


def ellipsoid(x):
    weights = 10.0 ** (6.0 * np.arange(len(x)) / (len(x) - 1))
    return float(np.sum(weights * x**2))


def rosenbrock(x):
    return float(np.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2))


EVOLUTION = [
    # name, function, dimension, start, sigma
    ("sphere", sphere, 5, 1.0, 0.5),
    ("sphere", sphere, 20, 1.0, 0.5),
    ("ellipsoid", ellipsoid, 5, 1.0, 0.5),
    ("ellipsoid", ellipsoid, 20, 1.0, 0.5),
    ("rosenbrock", rosenbrock, 5, 0.1, 0.1),
    ("rosenbrock", rosenbrock, 20, 0.1, 0.1),
]
SEEDS = 15
TARGET = 1e-9


def evolution(function, dimension, start, sigma):
    """Evaluations to the target; of runs that reach it."""
    counts = []
    for seed in range(1, SEEDS + 1):
        options = {
            "seed": seed,
            "ftarget": TARGET,
            "verbose": -9,
            "verb_log": 0,
            "maxfevals": 200_000,
        }
        strategy = cma.CMAEvolutionStrategy(dimension * [start], sigma, options)
        while not strategy.stop():
            points = strategy.ask()
            strategy.tell(points, [function(x) for x in points])
        reached = strategy.result.fbest <= TARGET
        counts.append(int(strategy.result.evaluations) if reached else None)
    return counts


# Functions for L-BFGS-B, by complex steps: they are analytic.


def smooth_rosenbrock(x):
    return np.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2)


def smooth_ellipsoid(x):
    weights = 10.0 ** (3.0 * np.arange(len(x)) / (len(x) - 1))
    return np.sum(weights * (x - 0.5) ** 2)


def beale(x):
    return (
        (1.5 - x[0] + x[0] * x[1]) ** 2
        + (2.25 - x[0] + x[0] * x[1] ** 2) ** 2
        + (2.625 - x[0] + x[0] * x[1] ** 3) ** 2
    )


def wood(x):
    return (
        100 * (x[0] ** 2 - x[1]) ** 2
        + (x[0] - 1) ** 2
        + (x[2] - 1) ** 2
        + 90 * (x[2] ** 2 - x[3]) ** 2
        + 10.1 * ((x[1] - 1) ** 2 + (x[3] - 1) ** 2)
        + 19.8 * (x[1] - 1) * (x[3] - 1)
    )


def powell(x):
    return (
        (x[0] + 10 * x[1]) ** 2
        + 5 * (x[2] - x[3]) ** 2
        + (x[1] - 2 * x[2]) ** 4
        + 10 * (x[0] - x[3]) ** 4
    )


def trid(x):
    return np.sum((x - 1) ** 2) - np.sum(x[1:] * x[:-1])


def gradient(function, x):
    step = 1e-30
    steps = np.eye(len(x)) * 1j * step
    return np.array([function(x + e).imag / step for e in steps])


INFINITY = float("inf")
SMOOTH = [
    # name, function, start and how often it is repeated, lower, upper
    ("rosenbrock", smooth_rosenbrock, [-1.2, 1.0], 1, -INFINITY, INFINITY),
    ("rosenbrock", smooth_rosenbrock, [-1.2, 1.0], 5, -INFINITY, INFINITY),
    ("rosenbrock", smooth_rosenbrock, [-1.2, 1.0], 20, -INFINITY, INFINITY),
    ("rosenbrock", smooth_rosenbrock, [-1.2, 0.5], 5, -1.5, 0.8),
    ("rosenbrock", smooth_rosenbrock, [0.0, 0.5], 20, 0.0, 2.0),
    ("ellipsoid", smooth_ellipsoid, [2.0], 10, -INFINITY, INFINITY),
    ("ellipsoid", smooth_ellipsoid, [2.0], 10, 0.6, 3.0),
    ("beale", beale, [1.0, 1.0], 1, -INFINITY, INFINITY),
    ("beale", beale, [1.0, 1.0], 1, -4.5, 2.0),
    ("wood", wood, [-3.0, -1.0], 2, -INFINITY, INFINITY),
    ("wood", wood, [-3.0, -1.0], 2, -10.0, 0.9),
    ("powell", powell, [3.0, -1.0, 0.0, 1.0], 1, -INFINITY, INFINITY),
    ("trid", trid, [0.0], 12, -INFINITY, INFINITY),
    ("trid", trid, [0.0], 12, 0.0, 20.0),
]


def smooth(function, start, lower, upper):
    bounds = [(lower, upper)] * len(start)
    result = minimize(
        lambda x: float(function(x)),
        np.array(start),
        jac=lambda x: gradient(function, x.astype(complex)),
        method="L-BFGS-B",
        bounds=bounds,
    )
    return int(result.nfev), float(result.fun)


# Models of the problems of NIST.

MODELS = {
    "Misra1a": lambda b, x: b[0] * (1 - np.exp(-b[1] * x)),
    "Chwirut2": lambda b, x: np.exp(-b[0] * x) / (b[1] + b[2] * x),
    "Lanczos3": lambda b, x: (
        b[0] * np.exp(-b[1] * x) + b[2] * np.exp(-b[3] * x) + b[4] * np.exp(-b[5] * x)
    ),
    "Gauss1": lambda b, x: (
        b[0] * np.exp(-b[1] * x)
        + b[2] * np.exp(-(((x - b[3]) / b[4]) ** 2))
        + b[5] * np.exp(-(((x - b[6]) / b[7]) ** 2))
    ),
    "MGH17": lambda b, x: b[0] + b[1] * np.exp(-x * b[3]) + b[2] * np.exp(-x * b[4]),
    "Misra1d": lambda b, x: b[0] * b[1] * x / (1 + b[1] * x),
    "Roszman1": lambda b, x: b[0] - b[1] * x - np.arctan(b[2] / (x - b[3])) / np.pi,
    "DanWood": lambda b, x: b[0] * x ** b[1],
    "Kirby2": lambda b, x: (
        (b[0] + b[1] * x + b[2] * x**2) / (1 + b[3] * x + b[4] * x**2)
    ),
    "Hahn1": lambda b, x: (
        (b[0] + b[1] * x + b[2] * x**2 + b[3] * x**3)
        / (1 + b[4] * x + b[5] * x**2 + b[6] * x**3)
    ),
    "ENSO": lambda b, x: (
        b[0]
        + b[1] * np.cos(np.pi * x / 6)
        + b[2] * np.sin(np.pi * x / 6)
        + b[4] * np.cos(2 * np.pi * x / b[3])
        + b[5] * np.sin(2 * np.pi * x / b[3])
        + b[7] * np.cos(2 * np.pi * x / b[6])
        + b[8] * np.sin(2 * np.pi * x / b[6])
    ),
    "MGH09": lambda b, x: b[0] * (x**2 + x * b[1]) / (x**2 + x * b[2] + b[3]),
    "BoxBOD": lambda b, x: b[0] * (1 - np.exp(-b[1] * x)),
    "Rat42": lambda b, x: b[0] / (1 + np.exp(b[1] - b[2] * x)),
    "Rat43": lambda b, x: b[0] / (1 + np.exp(b[1] - b[2] * x)) ** (1 / b[3]),
    "MGH10": lambda b, x: b[0] * np.exp(b[1] / (x + b[2])),
    "Eckerle4": lambda b, x: b[0] / b[1] * np.exp(-0.5 * ((x - b[2]) / b[1]) ** 2),
    "Bennett5": lambda b, x: b[0] * (b[1] + x) ** (-1 / b[2]),
}
MODELS["Thurber"] = MODELS["Hahn1"]
TOLERANCE = 1e-10


def regression(name, problem, start):
    x, y = np.array(problem["x"]), np.array(problem["y"])
    model = MODELS[name]

    def jacobian(b):
        step = 1e-30
        columns = [
            model(b + e, x).imag / step for e in np.eye(len(b)) * 1j * step
        ]
        return np.array(columns).T

    counts = {}
    for method in ("trf", "lm"):
        try:
            result = least_squares(
                lambda b: model(b, x) - y,
                start,
                jac=jacobian,
                method=method,
                x_scale="jac",
                ftol=TOLERANCE,
                xtol=TOLERANCE,
                gtol=TOLERANCE,
                max_nfev=5000,
            )
            solved = 2 * result.cost <= problem["sum_of_squares"] * (1 + 1e-6) + 1e-20
            counts[method] = int(result.nfev) if solved else None
        except ValueError:
            counts[method] = None
    return counts


def main():
    nist_path, out_path = sys.argv[1:3]
    with open(nist_path) as file:
        nist = json.load(file)
    reference = {
        "made_with": f"cma {cma.__version__}, scipy {scipy.__version__}",
        "evolution": [
            {
                "name": name,
                "dimension": dimension,
                "start": start,
                "sigma": sigma,
                "target": TARGET,
                "evaluations": evolution(function, dimension, start, sigma),
            }
            for name, function, dimension, start, sigma in EVOLUTION
        ],
        "smooth": [],
        "regression": [],
    }
    for name, function, start, times, lower, upper in SMOOTH:
        evaluations, value = smooth(function, times * start, lower, upper)
        reference["smooth"].append(
            {
                "name": name,
                "start": start,
                "times": times,
                "lower": None if lower == -INFINITY else lower,
                "upper": None if upper == INFINITY else upper,
                "evaluations": evaluations,
                "value": value,
            }
        )
    for name, problem in nist.items():
        for number, start in enumerate(problem["starts"]):
            counts = regression(name, problem, start)
            reference["regression"].append({"name": name, "start": number, **counts})
    with open(out_path, "w") as file:
        sections = []
        for key, value in reference.items():
            if isinstance(value, list):
                rows = ",\n".join("  " + json.dumps(row) for row in value)
                sections.append(f' "{key}": [\n{rows}\n ]')
            else:
                sections.append(f' "{key}": {json.dumps(value)}')
        file.write("{\n" + ",\n".join(sections) + "\n}\n")


main()
