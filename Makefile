# Two commands do everything on a fresh machine: make box, make test.

GO      ?= go
VERSION := $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
LDFLAGS := -s -w -X hermes-box/cli.Version=$(VERSION)
HELPERS := assets/helper/hermes-box-guest-linux-amd64.zst assets/helper/hermes-box-guest-linux-arm64.zst
SOURCES := $(shell find guest assets/guestfiles assets/pack -name '*_test.go' -prune -o -type f -print) go.mod go.sum
LAB     := $(GO) run ./e2e/lab

.PHONY: build test check demo screenshots e2e box lab bench clean

build: hermes-box

# The keychain of macOS is used through cgo.
CGO := $(if $(filter Darwin,$(shell uname -s)),1,0)

hermes-box: $(HELPERS) FORCE
	CGO_ENABLED=$(CGO) $(GO) build -trimpath -ldflags '$(LDFLAGS)' -o $@ .

assets/helper/hermes-box-guest-linux-%.zst: $(SOURCES)
	CGO_ENABLED=0 GOOS=linux GOARCH=$* $(GO) build -trimpath -ldflags '-s -w' -o bin/hermes-box-guest-linux-$* ./guest/helper
	$(GO) run ./assets/pack bin/hermes-box-guest-linux-$* $@

# The tests of the keyring need these programs. On a machine without them the tests say NOT CHECKED.
KEYRING := command -v dbus-daemon >/dev/null && command -v gnome-keyring-daemon >/dev/null
APT     := DEBIAN_FRONTEND=noninteractive apt-get -q -o DPkg::Lock::Timeout=300

# Tests of verbs mostly wait for processes, so four of a package run at the same time, even on two CPUs.
test: build
	@$(KEYRING) || ! test "$$(id -u)" = 0 || ! command -v apt-get >/dev/null || { $(APT) update; \
		$(APT) install --yes --no-install-recommends dbus gnome-keyring; } || true
	$(GO) test -timeout 20m -parallel 4 ./...

# The checks that must pass before a change lands. CI runs them.
check: build
	@test -z "$$(gofmt -l .)" || { echo "gofmt wants:"; gofmt -l .; exit 1; }
	$(GO) vet ./...
	$(GO) vet -tags e2e ./e2e/...
	$(GO) run honnef.co/go/tools/cmd/staticcheck@v0.8.2 ./...
	CGO_ENABLED=0 GOOS=darwin GOARCH=arm64 $(GO) build -o /dev/null .
	$(GO) test -race -timeout 40m ./...
	$(GO) test ./tui -run '^TestSizes$$' -args -every

# The whole product without a VM. If the demo has no box yet, the dashboard offers to create it.
demo: build
	./hermes-box --demo

# The pictures of the README, taken from the real program with its demo.
FONT := /usr/share/fonts/truetype/dejavu/DejaVuSansMono.ttf
screenshots: build
	@test -e $(FONT) || ! test "$$(id -u)" = 0 || apt-get install --yes --no-install-recommends fonts-dejavu-core || true
	$(GO) run ./screenshots

# The lab: limactl 2.1.3, a guest image, the real software, and a lock of all of it.
lab:
	$(LAB) prepare

# Tests on a real VM. KEEP=1 keeps the box, CASE=exec runs one case on a kept box, SKIP=memory,kill leaves cases out.
e2e: build lab
	$(LAB) run -- sh -c 'HERMES_BOX_LAB_LIMACTL=$$HERMES_BOX_LAB/lima/bin/limactl HERMES_BOX_LAB_USER=$$($(LAB) user) \
		$(GO) test -count=1 -run "^(TestConformance|TestRealValidate)$$" ./limactl'
	$(LAB) run -- $(GO) test -tags e2e -count=1 -timeout 80m -v -run TestBox ./e2e -args $(if $(KEEP),-keep) $(if $(CASE),-case $(CASE)) $(if $(SKIP),-skip $(SKIP))

# Install everything that a box needs, and create a box of your own.
box: build lab
	$(LAB) install
	$(LAB) run -- ./e2e/box.sh

# Benchmarks. CASE=Dashboard measures only the dashboard, without a VM. On a box that `make e2e KEEP=1` has kept, CASE=SSH
# measures only status and attach, and CASE=Backup only backups and restores.
bench: build $(if $(filter Dashboard,$(CASE)),,lab)
	$(if $(filter Dashboard,$(CASE)),,$(LAB) run --) $(GO) test -tags e2e -count=1 -timeout 60m -v -run TestBench$(CASE) ./e2e -args -bench

clean:
	rm -rf bin hermes-box $(HELPERS)

FORCE:
