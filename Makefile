# The two commands of a newcomer are `make run` and `make test`.
export CCACHE_BASEDIR := $(CURDIR)
export CCACHE_NOHASHDIR := 1
export JOBS ?= $(shell nproc)
DRACHMA = build/release/drachma

.PHONY: run test build install bench nightly e2e-upstream format clean
run: install
	@scripts/build.sh release drachma
	@scripts/quickstart.sh $(DRACHMA)

test: build
	@command -v kubectl >/dev/null || echo 'there is no kubectl here: the end-to-end tests are left out'
	@tests/run_suites.py build/release

build: install
	@scripts/build.sh release

install:
	@mkdir -p build
	@scripts/install.sh

# One quickstart against a real etcd and kube-apiserver.
e2e-upstream: build
	@tests/upstream/e2e/run.sh $(DRACHMA)

bench: install
	@scripts/bench.sh

# What takes too long for every change.
nightly: build
	@scripts/nightly.sh

format:
	@git ls-files '*.cc' '*.h' | xargs clang-format-19 -i

clean:
	@rm -rf build
