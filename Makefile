# Every target creates .venv and installs what it needs; only Python 3.11+ and make are needed.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# Unused modules of large packages need not be compiled to bytecode; Python compiles what it imports.
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile
# Extras by name, as in: make install EXTRAS=gymnasium,report
EXTRAS ?=
# Two test processes with two threads each would wait for one another on two cores, hence OPENBLAS_NUM_THREADS=1. Tests
# start many processes, each of which would compile its packages to bytecode where PYTHONDONTWRITEBYTECODE is set. With
# --dist worksteal, tests of a file run one after another in one process, so that they share what the file prepares.
TESTS := OPENBLAS_NUM_THREADS=1 PYTHONDONTWRITEBYTECODE= $(BIN)/python -m pytest -n 2
# What tests, style, types and benchmarks need: every extra and the tools.
DEVELOP := $(VENV)/.installed-all,dev

.PHONY: help install demo test thorough coverage lint types format fuzz fuzz-totals fuzz-rules fuzz-readers bench bench-first-use bench-formats bench-growth bench-size bench-limits bench-parallel bench-search bench-trees bench-front bench-answers bench-side-by-side bench-solvers bench-milp bench-viper bench-certificates bench-evaluation bench-objectives bench-rules bench-learn bench-coverage reproduce docs gallery clean

help:
	@echo "make install       install omdt into .venv; with extras by name: make install EXTRAS=gymnasium,report"
	@echo "make demo          solve a real problem and show the tree with its proof"
	@echo "make test          run the tests"
	@echo "make thorough      all cases of the tests of which make test runs a sample (some minutes)"
	@echo "make coverage      print how much of the search its own tests execute; fail below 95 % of lines"
	@echo "make lint          check style"
	@echo "make types         check types"
	@echo "make format        put the code into the project's style"
	@echo "make fuzz          compare search, programs and brute force on random problems (SECONDS=600 SEED=0)"
	@echo "make fuzz-totals   the same for probabilities and totals without a discount (CASES=1000 SEED=0)"
	@echo "make fuzz-rules    the same under random rules (CASES=1000 SEED=0)"
	@echo "make fuzz-readers  read random bytes as files of every format (SECONDS=600 for each; Linux)"
	@echo "make bench         print build, planning and simulation times"
	@echo "make bench-first-use  CPU seconds of a first solve that compiles, and the kernels it compiles (a minute)"
	@echo "make bench-formats print time and memory of reading large models"
	@echo "make bench-growth  time and memory of the search as lakes and networks grow (up to 20 minutes)"
	@echo "make bench-size    planning, trees, bounds and memory of every family from 10^3 to 10^6 states (hours; goes on where it ended; options: ONLY=--fresh)"
	@echo "make bench-limits  whether time limits and Ctrl-C are kept, from 10^3 to 10^6 states (some minutes)"
	@echo "make bench-parallel  seconds to the proof on one core and on two (up to three hours)"
	@echo "make bench-search  solve the paper's 52 cells with the method search (up to an hour)"
	@echo "make bench-trees   trees of 20 s of CPU over five seeds beside the best known ones (20 minutes)"
	@echo "make bench-front   the front to eight leaves beside eight separate solves, to the same proofs (some minutes)"
	@echo "make bench-side-by-side  the same cells by two versions (OLD=a clone of the old one; half an hour)"
	@echo "make bench-answers compare the files of all answers with those kept of another version (KEPT=a folder)"
	@echo "make bench-solvers compare the inner solvers of the search by the shape of the problem (half a minute)"
	@echo "make bench-milp    compare forms and solvers of the mixed-integer program (about an hour)"
	@echo "make bench-viper   compare VIPER with the paper's figures and with a plain loop (a few minutes)"
	@echo "make bench-certificates  time and size of certificates, and the time to check them (up to an hour)"
	@echo "make bench-evaluation  evaluation of policies beside a plain sparse LU (a minute)"
	@echo "make bench-rules   what each rule does to the time of a proof on six environments (some minutes)"
	@echo "make bench-coverage  how often guaranteed returns are kept, over 500 simulated logs per row (ten minutes)"
	@echo "make bench-objectives  trees for every property of the corpus of PRISM models (up to 20 minutes; needs Storm)"
	@echo "make reproduce     the paper's tables and figures with five seconds a run (about ten minutes on two cores)"
	@echo "make docs          build the documentation site into site/"
	@echo "make gallery       find the trees and draw the pictures of the gallery anew (some minutes)"
	@echo "make clean         remove what the other targets made, but for the runs in reproduction/"

install: $(VENV)/.installed$(if $(EXTRAS),-$(EXTRAS))

$(VENV)/.made:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
		|| { echo "omdt needs Python 3.11 or newer; call make PYTHON=/path/to/python3.11" >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)
	@touch $@

$(VENV)/.installed: pyproject.toml | $(VENV)/.made
	$(PIP) --editable .
	@touch $@

$(VENV)/.installed-%: pyproject.toml | $(VENV)/.made
	$(PIP) --editable '.[$*]'
	@touch $@

demo: install
	$(BIN)/omdt solve traffic_intersection --depth 2

test: $(DEVELOP)
	$(TESTS) --dist worksteal

thorough: $(DEVELOP)
	$(TESTS) --dist worksteal --thorough

coverage: $(DEVELOP)
	$(TESTS) tests/methods/search \
		--cov=omdt.methods.search --cov-report=term --cov-fail-under=95

lint: $(DEVELOP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(DEVELOP)
	$(BIN)/mypy

format: $(DEVELOP)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

SECONDS ?= 600
SEED ?= 0

fuzz: $(DEVELOP)
	$(BIN)/python tests/fuzz.py --seconds $(SECONDS) --seed $(SEED)

CASES ?= 1000

fuzz-totals: $(DEVELOP)
	$(BIN)/python tests/fuzz_totals.py --cases $(CASES) --seed $(SEED)

fuzz-rules: $(DEVELOP)
	$(BIN)/python tests/fuzz_rules.py --cases $(CASES) --seed $(SEED)

fuzz-readers: $(DEVELOP) $(VENV)/.installed-fuzz
	for reader in npz drn tra csv json; do \
		$(BIN)/python tests/fuzz_readers.py $$reader --seconds $(SECONDS) || exit 1; \
	done

bench: $(DEVELOP)
	$(BIN)/python benchmarks/foundation.py

bench-first-use: $(DEVELOP)
	$(BIN)/python benchmarks/first_use.py --kernels

bench-formats: $(DEVELOP)
	$(BIN)/python benchmarks/formats.py

bench-growth: $(DEVELOP)
	$(BIN)/python benchmarks/growth.py

# Options of the benchmark, as in: make bench-size ONLY="--threads 1 --exponents 3 4"
ONLY ?=

bench-size: $(DEVELOP)
	$(BIN)/python benchmarks/size.py $(ONLY)

bench-limits: $(DEVELOP)
	$(BIN)/python benchmarks/limits.py

bench-parallel: $(DEVELOP)
	$(BIN)/python benchmarks/parallel.py

bench-search: $(DEVELOP)
	$(BIN)/python benchmarks/search.py

bench-trees: $(DEVELOP)
	$(BIN)/python benchmarks/trees.py

bench-front: $(DEVELOP)
	$(BIN)/python benchmarks/front.py

bench-side-by-side: $(DEVELOP)
	$(BIN)/python benchmarks/side_by_side.py $(OLD)

bench-answers: $(DEVELOP)
	$(BIN)/python benchmarks/answers.py compare $(KEPT)

bench-solvers: $(DEVELOP)
	$(BIN)/python benchmarks/solvers.py

bench-milp: $(DEVELOP)
	$(BIN)/python benchmarks/milp.py

bench-viper: $(DEVELOP)
	$(BIN)/python benchmarks/viper.py

bench-certificates: $(DEVELOP)
	$(BIN)/python benchmarks/certificates.py

bench-evaluation: $(DEVELOP)
	$(BIN)/python benchmarks/evaluation.py

bench-rules: $(DEVELOP)
	$(BIN)/python benchmarks/rules.py

bench-coverage: $(DEVELOP)
	$(BIN)/python benchmarks/guarantees.py

bench-learn: $(DEVELOP)
	$(BIN)/python benchmarks/learn.py

bench-objectives: $(DEVELOP)
	$(BIN)/python benchmarks/objectives.py

reproduce: $(VENV)/.installed-reproduce
	$(BIN)/omdt reproduce all --budget 5 --seeds 1

docs: $(VENV)/.installed-docs
	$(BIN)/mkdocs build --strict

gallery: $(VENV)/.installed-plots
	$(BIN)/python docs/gallery.py

clean:
	rm -rf $(VENV) site dist .coverage .pytest_cache .mypy_cache .ruff_cache .hypothesis
